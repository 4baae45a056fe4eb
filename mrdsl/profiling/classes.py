"""Classes of MapReduce jobs: many jobs of one kind summed up as a spec states them.

Classes of Spark runs share the summary of runs: how many there are, how many run at once, how much they differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import add
from statistics import median
from typing import Any

import numpy as np

from mrdsl.core.diagnostics import number_of
from mrdsl.exchange.logs.records import MapReduceJob
from mrdsl.profiling.cluster import HOUR, counts_of, growth, most_within
from mrdsl.profiling.losses import MIB, Growth, growth_of, sizes_of
from mrdsl.profiling.phases import Durations, Overhead, Phases, Times, phases_of, summed

SPREAD_OF_A_CLASS = 1.0
MAX, P95 = "max", "p95"


@dataclass(frozen=True)
class Taught:
    """The method for summing up the first part: the maximum, the phase of sorting, and the clustering of its jobs.

    ``clusters`` gives the class of each of some jobs, from those of the first part alone; None if names give the class.
    """

    longest: str = MAX
    sort_counts_as: str = "reduce"
    clusters: Callable[[Sequence[MapReduceJob]], Sequence[str]] | None = None


BY_NAME = Taught()


@dataclass(frozen=True)
class Measured:
    """A phase of all runs of a class, in seconds."""

    average: float
    longest: float


@dataclass(frozen=True)
class LeftOut:
    """A run that makes no profile, and why; ``slot_time`` are the slot-seconds that all its attempts held.

    ``damaged`` ones lack events that cannot be replaced.
    """

    source: str
    job: str
    reason: str
    slot_time: float = 0.0
    damaged: bool = False


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The reliability of a class.

    ``jobs_low`` and ``jobs_high`` are the median and the 95th percentile of the concurrent runs of the class, over the
    time with any; ``per_hour`` is the most that were submitted within an hour. ``spread`` is the standard deviation of
    the runs' mean task times over their mean, ``task_spread`` that of their numbers of tasks. ``grows`` is the growth
    of its input over the time of the logs as a share of its mean, None if unknown. ``completion`` are the seconds from
    submission to end of its runs, ``overhead`` the time of lost attempts. ``spans`` are
    begin and end of each run with known times in milliseconds, in the order of their begin. ``before`` and ``after``
    are the medians of the seconds before the first task of a run and after its last one; ``waited`` is that of the
    seconds that it waited before, on a shared cluster, for its first executor. ``sizes`` are the inputs of
    all runs in MiB if they differ enough to see how a class grows with them, otherwise empty. ``read`` are the smallest
    and the largest input of a run in MiB, None if some are unknown.
    """

    name: str
    runs: int
    jobs_low: int
    jobs_high: int
    per_hour: int
    spread: float
    task_spread: float
    grows: float | None
    completion: tuple[float, ...]
    overhead: Overhead
    spans: tuple[tuple[int, int], ...]
    before: float = 0.0
    after: float = 0.0
    waited: float = 0.0
    sizes: tuple[float, ...] = ()
    read: tuple[float, float] | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class One:
    """One run as its class sums it up: when it went on, its mean task time, tasks, input, attempts lost."""

    times: Times
    mean: float
    tasks: int
    input_bytes: int | None
    overhead: Overhead


def summed_up(name: str, runs: Sequence[One]) -> dict[str, Any]:
    """Return the fields of a :class:`Summary`, but its warnings."""
    begins = [one.times.begin for one in runs if one.times.begin is not None]
    times = [(one.times.begin, one.times.end) for one in runs if one.times.begin is not None and one.times.end]
    counts = counts_of(times)
    inputs = [(one.times.begin, one.input_bytes) for one in runs if one.times.begin is not None and one.input_bytes]
    return {
        "name": name,
        "runs": len(runs),
        "jobs_low": max(1, counts.quantile(0.5)),
        "jobs_high": max(1, counts.quantile(0.95)),
        "per_hour": max(1, most_within(HOUR, begins)),
        "spread": spread([one.mean for one in runs]),
        "task_spread": spread([float(one.tasks) for one in runs]),
        "grows": growth([time for time, _ in inputs], [size for _, size in inputs]),
        "completion": tuple((end - begin) / 1000 for begin, end in times),
        "before": median(one.times.before - one.times.waited for one in runs) / 1000,
        "waited": median(one.times.waited for one in runs) / 1000,
        "after": median(one.times.after for one in runs) / 1000,
        "overhead": summed(one.overhead for one in runs),
        "spans": tuple(sorted(times)),
        "sizes": sizes_of([one.input_bytes for one in runs]),
        "read": _read([one.input_bytes or 0 for one in runs]),
        "warnings": tuple(_wrong_times(runs)),
    }


def _read(inputs: Sequence[int]) -> tuple[float, float] | None:
    return (min(inputs) / MIB, max(inputs) / MIB) if min(inputs) else None


def _wrong_times(runs: Sequence[One]) -> Iterator[str]:
    if doubted := sum(one.times.doubted for one in runs):
        yield f"the times of tasks replace an impossible begin or end of {number_of(doubted, 'run')}"


def doubts(summary: Summary) -> Iterator[str]:
    """Yield the reasons to doubt a class."""
    if summary.spread > SPREAD_OF_A_CLASS or summary.task_spread > SPREAD_OF_A_CLASS:
        yield "its jobs differ so much that it is hardly a class: group them otherwise"
    if summary.runs == 1:
        yield "it is one job only"


def measured(durations: Durations, longest: str) -> Measured | None:
    """Return mean and maximum (or 95th percentile, at least the mean) in seconds, or None without measurements."""
    if not durations.count:
        return None
    high = durations.percentile(0.95) if longest == P95 else durations.longest
    average = durations.average or 0.0
    return Measured(average / 1000, max(high or 0, average) / 1000)


def spread(values: Sequence[float]) -> float:
    """Return the standard deviation over the mean; 0 if the mean is 0."""
    mean = float(np.mean(values)) if values else 0.0
    return float(np.std(values)) / mean if mean else 0.0


Profiled = tuple[MapReduceJob, Phases, str]
"""A job that makes a profile, its phases, and the name of its class."""


@dataclass(frozen=True, kw_only=True)
class JobClass(Summary):
    """The contents of a spec for a class of MapReduce jobs; ``stands_in`` names the shuffle that is used for the other
    one, ``more_maps`` is the growth of its map tasks with the input.
    """

    map_tasks: int
    reduce_tasks: int
    map: Measured
    first_shuffle: Measured | None
    typical_shuffle: Measured | None
    reduce: Measured | None
    stands_in: str
    more_maps: Growth | None = None


def sort_out(named: Iterable[tuple[MapReduceJob, str]]) -> tuple[list[Profiled], list[LeftOut]]:
    """Return jobs that make a profile, and those that do not: failed ones, those that come twice, those not wholly
    there.
    """
    used: list[Profiled] = []
    left: list[LeftOut] = []
    seen: set[tuple[str, int | None]] = set()
    for job, name in named:
        phases = phases_of(job)
        twice = (job.job, job.submitted) in seen
        lost = "" if twice or not job.succeeded else _lost(job, phases)
        seen.add((job.job, job.submitted))
        if reason := _unfit(job, phases, twice) or lost:
            left.append(LeftOut(job.source, job.job, reason, _held(phases.overhead, twice), bool(lost)))
        else:
            used.append((job, phases, name))
    return used, left


def classes_of(jobs: Iterable[Profiled], *, longest: str = MAX, sort_counts_as: str = "reduce") -> tuple[JobClass, ...]:
    """Return the classes of jobs, by name.

    ``longest`` is ``max`` or ``p95``, the maximum of a phase; ``sort_counts_as`` is ``reduce`` or ``shuffle``.
    """
    groups: dict[str, list[tuple[MapReduceJob, Phases]]] = {}
    for job, phases, name in jobs:
        groups.setdefault(name, []).append((job, phases))
    return tuple(_class(name, group, longest, sort_counts_as) for name, group in sorted(groups.items()))


def _held(overhead: Overhead, twice: bool) -> float:
    return 0.0 if twice else overhead.time + overhead.work


def _unfit(job: MapReduceJob, phases: Phases, twice: bool) -> str:
    if twice:
        return "it comes twice; the first one counts"
    if not job.succeeded:
        return f"it did not succeed ({job.status.lower()})"
    if phases.map.count == 0:
        return "no map task of it succeeded"
    return ""


def _lost(job: MapReduceJob, phases: Phases) -> str:
    counts = ("map", job.total_maps, phases.map.count), ("reduce", job.total_reduces, phases.reduces)
    for kind, tasks, read in counts:
        if tasks and read < tasks:
            return f"only {read} of its {tasks} {kind} tasks are in the log"
    return ""


def _class(name: str, group: Sequence[tuple[MapReduceJob, Phases]], longest: str, sort_counts_as: str) -> JobClass:
    pooled = {phase: _pooled(group, phase) for phase in ("map", "first_shuffle", "typical_shuffle", "sort", "reduce")}
    first, typical = pooled["first_shuffle"], pooled["typical_shuffle"]
    reduces = pooled["reduce"]
    extra = pooled["sort"]
    if sort_counts_as == "reduce":
        reduces = _with_sort(group, "reduce")
    elif extra.count:
        first, typical = _with_sort(group, "first_shuffle"), _with_sort(group, "typical_shuffle")
    reduce_tasks = [phases.reduce.count for _, phases in group]
    stands_in = ""
    if reduces.count and not typical.count and first.count:
        typical, stands_in = first, "the first shuffle stands in for the typical one: every job ran in one wave"
    elif reduces.count and not first.count and typical.count:
        first, stands_in = (
            typical,
            "the typical shuffle stands in for the first one: no reduce started before the maps ended",
        )
    known = summed_up(name, [_one(job, phases) for job, phases in group])
    more = growth_of(known["sizes"], [phases.map.count for _, phases in group]) if known["sizes"] else None
    summary = JobClass(
        **known,
        more_maps=more,
        map_tasks=max(1, round(float(np.mean([phases.map.count for _, phases in group])))),
        reduce_tasks=max(1, round(float(np.mean(reduce_tasks)))) if any(reduce_tasks) else 0,
        map=measured(pooled["map"], longest) or Measured(0.0, 0.0),
        first_shuffle=measured(first, longest),
        typical_shuffle=measured(typical, longest),
        reduce=measured(reduces, longest),
        stands_in=stands_in,
    )
    return replace(summary, warnings=(*doubts(summary), *summary.warnings, *_doubts(summary, group)))


def _one(job: MapReduceJob, phases: Phases) -> One:
    return One(phases.times, phases.map.average or 0.0, phases.map.count, job.input_bytes, phases.overhead)


def _doubts(summary: JobClass, group: Sequence[tuple[MapReduceJob, Phases]]) -> Iterator[str]:
    without = sum(phases.reduce.count == 0 for _, phases in group)
    if summary.reduce_tasks and without:
        yield f"jobs without reduce tasks: {without} of {summary.runs}; group them otherwise"
    if negative := sum(phases.negative for _, phases in group):
        yield f"{number_of(negative, 'phase')} left out, since the end is before the begin"
    if any(job.uberized for job, _ in group):
        yield "some of its jobs ran inside their application master"
    if summary.reduce_tasks and summary.map.longest == 0.0:
        yield "its map tasks took no time"
    if summary.stands_in:
        yield summary.stands_in
    if summary.reduce_tasks and summary.typical_shuffle is None:
        yield "its logs do not tell the shuffle from the reduce tasks: it counts with them"
    more = sum(job.total_reduces is not None and phases.reduce.count > job.total_reduces for job, phases in group)
    if more:
        yield f"{number_of(more, 'job')} with more reduce tasks than the log announces"


def _pooled(group: Sequence[tuple[MapReduceJob, Phases]], phase: str) -> Durations:
    return Durations.of(value for _, phases in group for value in getattr(phases, phase).values)


def _with_sort(group: Sequence[tuple[MapReduceJob, Phases]], phase: str) -> Durations:
    """Return a phase with the mean time of sorting added to each of its tasks.

    Sort and the other phases are counted for the same tasks, but the pooled values of a job with partly unknown phases
    do not pair up. So they are added task by task if they pair up, otherwise by the mean.
    """
    return Durations.of(value for _, phases in group for value in with_sort(phases, phase))


def with_sort(phases: Phases, phase: str) -> Iterator[int]:
    """Yield a phase of one job, with the time of sorting added to each of its tasks, in milliseconds."""
    own, sorts = getattr(phases, phase).values, phases.sort.values
    if len(own) == len(sorts):
        return map(add, own, sorts)
    extra = round(phases.sort.average or 0.0)
    return (value + extra for value in own)
