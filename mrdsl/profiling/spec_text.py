"""Text of a spec from logs: values from the logs, params for others, and start times."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, count
from types import MappingProxyType

import numpy as np

from mrdsl.core.diagnostics import number_of
from mrdsl.core.units import HOUR, MONEY, TIME, UNITS, scaled
from mrdsl.profiling.classes import JobClass, Measured, Summary
from mrdsl.profiling.cluster import Slots, counts_of
from mrdsl.profiling.containers import Containers, lines, machine_of
from mrdsl.profiling.gathering import Gathered
from mrdsl.profiling.losses import Growth
from mrdsl.profiling.stage_classes import StageClass, StageProfile

_PRICE = re.compile(r"^\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([A-Za-z]+)\s*/\s*([A-Za-z]+)\s*$")


@dataclass(frozen=True)
class Price:
    """A price as it was written, and in its currency an hour."""

    text: str
    hourly: float
    currency: str


GUESSED = Price("0.20 USD/h", 0.20, "USD")


def parse_price(text: str) -> Price:
    """Return the price in a text. Raises ValueError if it is not a price."""
    match = _PRICE.match(text)
    money, time = (UNITS.get(match[2]), UNITS.get(match[3])) if match else (None, None)
    if match is None or money is None or time is None or money.dimension != MONEY or time.dimension != TIME:
        raise ValueError(f"`{text}` is not a price of a VM")
    amount = float(match[1])
    if not amount > 0.0:
        raise ValueError(f"`{text}` is not a price of a VM: it must be above 0")
    per_hour = scaled(scaled(amount, money.factor), HOUR / time.factor)
    return Price(f"{match[1]} {match[2]}/{match[3]}", per_hour, money.currency)


MIB = 2**20
_WORD = re.compile(r"^[A-Za-z_]\w*$")


def head(gathered: Gathered, price: Price | None) -> Iterator[str]:
    """Yield a description of the logs, and the cluster as it was, to compare plans with."""
    cluster = gathered.cluster
    left = f"; {len(gathered.left_out)} more were left out" if gathered.left_out else ""
    yield f"# From {number_of(gathered.runs, 'run')} in logs over {times_of(gathered)}{left}."
    share = gathered.share([*gathered.classes, *gathered.stage_classes])
    yield f"# The classes stand for {share:.0%} of the slot time of all runs."
    for kind, slots in (("map", cluster.map), ("reduce", cluster.reduce), ("Spark", cluster.task)):
        if slots.most:
            used = f"{slots.use:.0%} of {'the slots of its executors' if kind == 'Spark' else 'so many slots'} used"
            yield f"# The cluster as it was: {number_of(slots.most, f'{kind} task')} at most at once, {used}."
    if cluster.vms:
        hours, compare = cluster.machines.hours, "multiply by the price to compare"
        cost = f"which cost {hours * price.hourly:,.2f} {price.currency}" if price is not None else compare
        yield f"# It had {number_of(cluster.vms, 'VM')} at most at once, {hours:,.4g} VM-hours in all: {cost}."
        for what, hosts in cluster.machines.parts("VMs") if gathered.runs > 1 else ():
            yield f"# {what}: {len(hosts.spans)}."
    if cluster.most_pods:
        pods = f"{number_of(cluster.most_pods, 'pod')} at most at once, {cluster.pods.hours:,.4g} pod-hours in all"
        yield f"# It had {pods}: on Kubernetes the hosts of logs are pods, and the logs do not name VMs."


def times_of(gathered: Gathered) -> str:
    """Return the time of the logs, and how long of it tasks ran."""
    cluster = gathered.cluster
    return f"{_rounded(cluster.hours)}, in {_rounded(cluster.busy)} of which tasks ran"


def _rounded(hours: float) -> str:
    """Return a time in the largest unit of which it has two."""
    size, unit = next((size, unit) for size, unit in ((1.0, "h"), (1 / 60, "min"), (0.0, "s")) if hours >= 2.0 * size)
    return f"{hours / (size or 1 / 3600):,.3g} {unit}"


def price_param(price: Price, guessed: bool, of: str = "") -> str:
    """Return the param for the cost of one VM; its name ends with ``of``."""
    return f"param price{of} = {price.text}  # {'a guess: ' if guessed else ''}what one VM costs"


def slots_param(kind: str, slots: Slots, guess: int, of: str = "", pod: int = 0) -> str:
    """Return the param for the tasks of a kind on one VM; its name ends with ``of``. A ``pod`` had so many at most."""
    if slots.on_one:
        seen = "cores of executors" if kind == "task" else f"{kind} tasks at once"
        return f"param {kind}_slots{of} = {slots.on_one}  # the most {seen} on one VM in the logs"
    seen = f", those of one pod in the logs: write how many pods of {pod} fit on it" if pod else ""
    return f"param {kind}_slots{of} = {pod or guess}  # a guess: {kind} tasks that one VM hosts{seen}"


def comments(each: Summary) -> Iterator[str]:
    """Yield the reliability of a class."""
    runs = f"{each.runs} runs, mean task times spread by {each.spread:.0%}" if each.runs > 1 else "one run"
    read = "" if each.read is None else f"; input {_range(each.read)} MiB"
    grew = f"; its input grows by {each.grows:+.0%} over the logs" if each.grows is not None else ""
    lost = each.overhead
    attempts = (
        f"; {number_of(lost.failed, 'failed attempt')} and {lost.killed} killed, {lost.share:.1%} of the slot time"
    )
    yield f"# {runs}{read}{grew}{attempts if lost.attempts else ''}"
    for doubt in each.warnings:
        yield f"# beware: {doubt}"


def _range(read: tuple[float, float]) -> str:
    least, most = (f"{each:,.4g}" for each in read)
    return least if least == most else f"{least} to {most}"


def profile(each: JobClass, word: str = "") -> Iterator[str]:
    """Map, shuffle and reduce of a class; with ``word`` its map tasks grow with the param ``input_`` of that word."""
    tasks = _more(each.more_maps, word) if word and each.more_maps is not None else each.map_tasks
    yield f"  map {{ tasks = {tasks}, {times(each.map)} }}"
    if each.reduce_tasks and each.reduce is not None:
        typical = each.typical_shuffle or Measured(0.0, 0.0)
        first = each.first_shuffle or typical
        yield (
            f"  shuffle {{ first_avg = {_or_none(first.average)}, first_max = {_or_none(first.longest)}, "
            f"avg = {_or_none(typical.average)}, max = {_or_none(typical.longest)} }}"
        )
        yield f"  reduce {{ tasks = {each.reduce_tasks}, {times(each.reduce)} }}"


def _or_none(value: float) -> str:
    return seconds(value) if value else "0 s"


def recorded(each: JobClass, word: str, folder: str) -> str:
    """Return the files of recorded task times of a class."""
    files = [f"map = {quoted(f'{folder}/{word}-map.txt')}"]
    if each.reduce_tasks:
        files.append(f"reduce = {quoted(f'{folder}/{word}-reduce.txt')}")
    return f"  recorded {{ {', '.join(files)} }}"


def stages(each: StageClass, samples: str | None = None, with_delays: bool = True, word: str = "") -> Iterator[str]:
    """Yield the stages of a class, called s0, s1 and so on; ``samples`` is how the files of their task times begin.

    With ``word`` they grow with the param ``input_`` of that word.
    """
    for place, stage in enumerate(each.stages):
        delay = f", delay = {seconds(stage.delay)}" if stage.delay and with_delays else ""
        after = f", after = [{', '.join(f's{before}' for before in stage.after)}]" if stage.after else ""
        after += f", shuffle = {math.ceil(stage.shuffled / MIB)} MiB" if stage.after or stage.shuffled else ""
        after += f", slots = {stage.slots}" * (stage.slots > 1) + ", barrier = yes" * stage.barrier
        title = f"  # {printable(stage.title)}" if stage.title else ""
        recorded = "" if samples is None else f", samples = {quoted(f'{samples}-s{place}.txt')}"
        tasks, taken = _sized(stage, word) if word else (str(stage.tasks), times(stage.times))
        yield f"  stage s{place} {{ tasks = {tasks}, {taken}{delay}{after}{recorded} }}{title}"


def grows(each: Summary) -> bool:
    """Return True if stages of the class grow with its input."""
    if isinstance(each, StageClass):
        return any(stage.more_tasks or stage.longer for stage in each.stages)
    return isinstance(each, JobClass) and each.more_maps is not None


def input_params(classes: Sequence[Summary], words: Sequence[str]) -> Iterator[str]:
    """Yield the input of a run of each class that grows with it, with the range of the inputs in the logs."""
    for each, word in zip(classes, words, strict=True):
        if grows(each):
            seen = f"its mean; runs read {min(each.sizes):,.4g} to {max(each.sizes):,.4g} MiB"
            yield f"param input_{word} = {sum(each.sizes) / len(each.sizes):.6g} MiB  # {seen}"


def _more(tasks: Growth, word: str) -> str:
    return f"max(1, ceil({round(tasks.constant, 6):.4g} + {tasks.slope:.4g} * input_{word} / MiB))"


def _sized(stage: StageProfile, word: str) -> tuple[str, str]:
    """Return the tasks of a stage and their times, over the input ``word`` if they grow with it."""
    tasks, taken = str(stage.tasks), times(stage.times)
    size = f"* input_{word} / MiB"
    if stage.more_tasks is not None:
        tasks = _more(stage.more_tasks, word)
    if stage.longer is not None:
        mean = f"{round(stage.longer.constant, 6):.4g} s + {stage.longer.slope:.4g} s {size}"
        most = max(1.0, stage.times.longest / stage.times.average) if stage.times.average else 1.0
        taken = f"avg = {mean}, max = {most:.4g} * ({mean})"
    return tasks, taken


def startup(each: Summary, with_delays: bool = False) -> Iterator[str]:
    """Yield the time of a run before its first task and after its last one; ``with_delays`` also between stages."""
    between = _longest_delays(each) if with_delays and isinstance(each, StageClass) else 0.0
    shown = (
        (each.before, "before the first task"),
        (between, "between stages"),
        (each.after, "after the last task"),
    )
    if any(time for time, _ in shown):
        told = ", ".join(f"{seconds(time)} {when}" for time, when in shown if time)
        told += f"; {seconds(each.waited)} of waiting for an executor do not count" if each.waited else ""
        yield f"  startup = {seconds(each.before + between + each.after)}  # {told}"


def _longest_delays(each: StageClass) -> float:
    ends: list[float] = []
    for stage in each.stages:
        ends.append(stage.delay + max((ends[before] for before in stage.after), default=0.0))
    return max(ends)


def times(measured: Measured) -> str:
    """Return a mean and a maximum."""
    return f"avg = {seconds(measured.average)}, max = {seconds(measured.longest)}"


def seconds(value: float) -> str:
    """Return a time, at least a millisecond."""
    return f"{max(value, 0.001):.3f}".rstrip("0").rstrip(".") + " s"


def jobs_at_once(each: Summary) -> str:
    """Return the usual and the largest number of concurrent jobs."""
    return f"{each.jobs_low}..{each.jobs_high}" if each.jobs_low < each.jobs_high else str(each.jobs_high)


def guessed_deadline(each: Summary) -> str:
    """Twice the longest that a run took."""
    longest = max(each.completion, default=0.0) or 60.0
    return f"{max(1, math.ceil(2 * max(longest, _path(each)) / 60.0))} min"


def _path(each: Summary) -> float:
    """Return seconds that a run takes at least by its longest tasks, on however many slots."""
    outside = each.before + each.after
    if isinstance(each, JobClass):
        phases = (each.map, each.first_shuffle, each.reduce)
        return outside + sum(phase.longest for phase in phases if phase is not None)
    assert isinstance(each, StageClass)
    ends: list[float] = []
    for stage in each.stages:
        ends.append(stage.delay + stage.times.longest + max((ends[before] for before in stage.after), default=0.0))
    return outside + max(ends)


def words_of(classes: Sequence[Summary]) -> list[str]:
    """Return a word for each class that a param can be named after, no two alike."""
    return words_for([each.name for each in classes])


def words_for(names: Sequence[str]) -> list[str]:
    """Return the same of names."""
    taken: dict[str, None] = {}
    for each in names:
        stem = re.sub(r"\W+", "_", each, flags=re.ASCII).strip("_").lower() or "class"
        taken[next(word for word in chain([stem], (f"{stem}_{n}" for n in count(2))) if word not in taken)] = None
    return list(taken)


MOST_TIMES = 100
"""Times of runs in a class, at most; of more runs evenly spread ranks are taken."""


def took(each: Summary) -> Iterator[str]:
    """Yield the times that runs of a class took."""
    times = sorted(each.completion)
    if times:
        count = min(MOST_TIMES, len(times))
        chosen = [times[(2 * place + 1) * len(times) // (2 * count)] for place in range(count)]
        yield f"  took = [{', '.join(map(seconds, chosen))}]"


def observed(gathered: Gathered, requests: bool = False) -> Iterator[str]:
    """Yield the cluster as it was, to compare plans with, unless it was of pods; ``requests`` if plans use those."""
    cluster = gathered.cluster
    if not cluster.vms or not cluster.hours or cluster.most_pods:
        return
    yield "# The cluster of the logs, to compare the plan with; no plan depends on it."
    yield "observed {"
    yield f"  vms = {cluster.vms}"
    yield f"  time = {seconds(cluster.hours * 3600)}"
    if cluster.machines.times:
        yield f"  held = [{', '.join(seconds(each / 1000) for each in cluster.machines.times)}]"
    if requests:
        yield f"  requests = [{', '.join(seconds(each / 1000) if each else '0 s' for each in cluster.requests)}]"
    yield "  price = price"
    if cluster.used is not None:
        yield f"  used = {100.0 * cluster.used:.1f}%"
    if cluster.slots:
        yield f"  slots = [{', '.join(f'{value:.4g}' for value in cluster.slots)}]"
        yield f"  busy = [{', '.join(f'{value:.4g}' for value in cluster.busy_slots)}]"
    yield "}"
    yield ""


def name(name: str) -> str:
    """Return a name, in quotes if it is not a word."""
    return name if _WORD.match(name) else quoted(name)


def quoted(text: str) -> str:
    """Return a text in quotes, without characters that names cannot have."""
    return json.dumps(printable(text), ensure_ascii=False)


def printable(text: str) -> str:
    """Return a text on one line, without control characters."""
    return "".join(sign if sign.isprintable() else " " for sign in text)[:120]


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
    words = words_of(classes)
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
    yield from observed(gathered)
    yield "vm machine {"
    yield "  on_demand { price = price }"
    yield f"  boot = boot{'' if machine is None else machine.items}"
    yield "}"
    yield ""
    if machine is not None:
        yield from machine.lines()
    yield price_param(price or GUESSED, price is None)
    yield "param boot = 2 min  # a guess: from the request of a VM to its first task"
    if not there:
        yield _slots(gathered)
    yield from input_params(classes, words)
    for each, word in zip(classes, words, strict=True):
        yield f"param deadline_{word} = {guessed_deadline(each)}  # a guess: twice the longest that it took"
    yield ""
    yield "# Start times are in UTC."
    for each, word in zip(classes, words, strict=True):
        yield ""
        yield from comments(each)
        if each.runs > len(each.spans):
            yield f"# {each.runs - len(each.spans)} of its runs have no known times and are left out."
        yield f"class {name(each.name)} {{"
        if isinstance(each, JobClass):
            yield from profile(each, word)
            if samples is not None:
                yield recorded(each, word, samples)
            yield (
                "  slots { map = task_slots, reduce = task_slots }"
                if each.reduce_tasks
                else "  slots { map = task_slots }"
            )
        else:
            files = None if samples is None else f"{samples}/{word}"
            yield from stages(each, files, with_delays=False, word=word)  # type: ignore[arg-type]
            known = there.get(each.name)
            yield from ["  slots { task = task_slots }"] if known is None else lines(replace(known, driver=None), 0)
        yield from startup(each, with_delays=True)
        yield f"  runs {{ {_runs(starts[each.name], dated)} }}"
        yield from took(each)
        yield f"  deadline = deadline_{word}"
        yield "}"
    yield ""
    yield "minimize cost"


def _slots(gathered: Gathered) -> str:
    """Return the param for the tasks of any kind on one VM."""
    cluster = gathered.cluster
    most = max(cluster.map.on_one, cluster.reduce.on_one, cluster.task.on_one)
    if not most:
        return slots_param("task", cluster.task, 4, pod=cluster.pod_slots)
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
