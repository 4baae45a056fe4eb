"""Start times of the runs in logs, and classes as a spec of timetable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType

import numpy as np

from mrdsl.profiling import spec_text as parts
from mrdsl.profiling.classes import JobClass, Summary
from mrdsl.profiling.cluster import counts_of
from mrdsl.profiling.containers import Containers, lines, machine_of
from mrdsl.profiling.gathering import Gathered
from mrdsl.profiling.spec_text import GUESSED, Price

SECOND = 1000
STEPS = (3600, 60, 1)
"""Intervals of recurrences are whole hours, minutes or seconds, the first that fits."""
JITTER, MOST_JITTER = 0.01, 60.0
"""Starts are regular if each is this share of the interval away at most, or a second, and no more than a minute."""


def starts_apart(classes: Sequence[Summary]) -> bool:
    """Return True if all runs have known times, start at different ones, and do not all overlap."""
    spans = [span for each in classes for span in each.spans]
    if len(spans) < sum(each.runs for each in classes) or len({begin for begin, _ in spans}) < 2:
        return False
    return max(begin for begin, _ in spans) >= min(end for _, end in spans)


def most_runs_at_once(classes: Sequence[Summary]) -> int:
    """Return the most concurrent runs of all classes together."""
    return counts_of(span for each in classes for span in each.spans).most


def never_together(classes: Sequence[Summary]) -> list[list[Summary]]:
    """Return the classes in groups of which no two ever ran at the same time, each in the first group that fits.

    A class without known times is alone.
    """
    groups: list[list[Summary]] = []
    for each in classes:
        fitting = (group for group in groups if all(_apart(each, other) for other in group))
        if (found := next(fitting, None)) is None:
            groups.append([each])
        else:
            found.append(each)
    return groups


def _apart(some: Summary, others: Summary) -> bool:
    """Return True if no run of one class overlaps one of the other; what ends when another begins does not."""
    if min(len(some.spans), len(others.spans)) == 0:
        return False
    begins, ends = np.array(some.spans, dtype=np.int64).T
    latest = np.maximum.accumulate(np.concatenate([[np.iinfo(np.int64).min], ends]))
    own = np.array(others.spans, dtype=np.int64)
    return not bool((latest[np.searchsorted(begins, own[:, 1])] > own[:, 0]).any())


def recurrence(starts: Sequence[int]) -> int | None:
    """Return the interval of regular starts, in whole seconds as the starts; None if they are not regular."""
    if len(starts) < 2 or starts[-1] <= starts[0]:
        return None
    mean = (starts[-1] - starts[0]) / (len(starts) - 1)
    for step in STEPS:
        every = round(mean / step) * step
        most = max(1.0, min(JITTER * every, MOST_JITTER))
        if every and all(abs(start - starts[0] - number * every) <= most for number, start in enumerate(starts)):
            return every
    return None


def timetable(
    gathered: Gathered,
    price: Price | None,
    samples: str | None,
    executors: Mapping[str, Containers] = MappingProxyType({}),
) -> Iterator[str]:
    """Yield a spec of timetable, with ``executors`` by class if all have the same. Raises ValueError without starts."""
    classes: list[Summary] = [each for each in (*gathered.classes, *gathered.stage_classes) if each.spans]
    if not classes:
        raise ValueError("the logs have no start times, which a timetable needs")
    starts = {each.name: [begin // SECOND for begin, _ in each.spans] for each in classes}
    dated = len({_moment(each).date() for times in starts.values() for each in times}) > 1
    dated |= any(len(set(times)) < len(times) for times in starts.values())
    words = parts.words_of(classes)
    same = len({replace(each, driver=None) for each in executors.values()}) == 1
    there = executors if same and all(each.name in executors for each in classes) else {}
    machine = machine_of(run for run, _ in gathered.applications) if there else None
    cluster = gathered.cluster
    if cluster.machines.passing and not cluster.machines.kept and len(cluster.requests) > 1:
        yield "param way = per_job  # VMs for each run, as in the logs; or constant, elastic, cheapest"
    else:
        yield "param way = constant  # machines stay on; or per_job, elastic, cheapest (EMR takes constant and per_job)"
    yield "rent = way"
    yield ""
    yield from parts.observed(gathered)
    yield "vm machine {"
    yield "  on_demand { price = price }"
    yield f"  boot = boot{'' if machine is None else machine.items}"
    yield "}"
    yield ""
    if machine is not None:
        yield from machine.lines()
    yield parts.price_param(price or GUESSED, price is None)
    yield "param boot = 2 min  # a guess: from the request of a VM to its first task"
    if not there:
        yield _slots(gathered)
    yield from parts.input_params(classes, words)
    for each, word in zip(classes, words, strict=True):
        yield f"param deadline_{word} = {parts.guessed_deadline(each)}  # a guess: twice the longest that it took"
    yield ""
    yield "# Start times are in UTC."
    for each, word in zip(classes, words, strict=True):
        yield ""
        yield from parts.comments(each)
        if each.runs > len(each.spans):
            yield f"# {each.runs - len(each.spans)} of its runs have no known times and are left out."
        yield f"class {parts.name(each.name)} {{"
        if isinstance(each, JobClass):
            yield from parts.profile(each, word)
            if samples is not None:
                yield parts.recorded(each, word, samples)
            yield (
                "  slots { map = task_slots, reduce = task_slots }"
                if each.reduce_tasks
                else "  slots { map = task_slots }"
            )
        else:
            files = None if samples is None else f"{samples}/{word}"
            yield from parts.stages(each, files, with_delays=False, word=word)  # type: ignore[arg-type]
            known = there.get(each.name)
            yield from ["  slots { task = task_slots }"] if known is None else lines(replace(known, driver=None), 0)
        yield from parts.startup(each, with_delays=True)
        yield f"  runs {{ {_runs(starts[each.name], dated)} }}"
        yield from parts.took(each)
        yield f"  deadline = deadline_{word}"
        yield "}"
    yield ""
    yield "minimize cost"


def _slots(gathered: Gathered) -> str:
    """Return the param for the tasks of any kind on one VM."""
    cluster = gathered.cluster
    most = max(cluster.map.on_one, cluster.reduce.on_one, cluster.task.on_one)
    if not most:
        return parts.slots_param("task", cluster.task, 4, pod=cluster.pod_slots)
    kind = "cores of executors" if cluster.task.on_one == most else "tasks of a kind"
    return f"param task_slots = {most}  # the most {kind} on one VM in the logs"


def _runs(starts: Sequence[int], dated: bool) -> str:
    """Return the items of ``runs`` for starts in seconds."""
    every = recurrence(starts)
    if every is not None:
        return f"from = {_clock(starts[0], dated)}, every = {_time(every)}, times = {len(starts)}"
    return f"at = [{', '.join(_clock(start, dated) for start in starts)}]"


def _time(seconds: int) -> str:
    size, unit = next((size, unit) for size, unit in ((3600, "h"), (60, "min"), (1, "s")) if seconds % size == 0)
    return f"{seconds // size} {unit}"


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _clock(seconds: int, dated: bool) -> str:
    at = _moment(seconds)
    return f"{at:%Y-%m-%dT%H:%M:%S}" if dated else f"{at:%H:%M:%S}"
