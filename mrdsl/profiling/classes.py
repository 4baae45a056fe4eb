"""Classes of MapReduce jobs: many jobs of one kind summed up as a spec states them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from mrdsl.exchange.logs.records import Attempt, AttemptEnd, MapReduceJob, TaskKind
from mrdsl.profiling.concurrency import counts_of, growth
from mrdsl.profiling.phases import Durations, Phases, phases_of

SPREAD_OF_A_CLASS = 1.0
MAX, P95 = "max", "p95"


@dataclass(frozen=True)
class Measured:
    """A phase of all jobs of a class, in seconds; None where no task had it."""

    average: float
    longest: float


@dataclass(frozen=True)
class JobClass:
    """What a spec states of a class, and how far to trust it.

    ``jobs_low`` and ``jobs_high`` are the median and the 95th percentile of the jobs of the class that ran at once,
    over the time during which any did. ``spread`` is the standard deviation of the jobs' mean map times over their
    mean. ``grows`` is the growth of its input over the time of the logs as a share of its mean, None where unknown.
    ``completion`` are the seconds from submission to end of its jobs.
    """

    name: str
    runs: int
    map_tasks: int
    reduce_tasks: int
    map: Measured
    first_shuffle: Measured | None
    typical_shuffle: Measured | None
    reduce: Measured | None
    stands_in: str
    jobs_low: int
    jobs_high: int
    spread: float
    task_spread: float
    grows: float | None
    completion: tuple[float, ...]
    failed: int
    killed: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class LeftOut:
    """A job that makes no profile, and why."""

    source: str
    job: str
    reason: str


@dataclass(frozen=True)
class Cluster:
    """The cluster as the logs show it: the most tasks of a kind at once, and their share of use over the time."""

    map_slots: int
    reduce_slots: int
    map_use: float
    reduce_use: float
    hours: float


@dataclass(frozen=True)
class Gathered:
    """All that the logs gave."""

    classes: tuple[JobClass, ...]
    left_out: tuple[LeftOut, ...]
    cluster: Cluster
    jobs: tuple[tuple[MapReduceJob, Phases, str], ...] = field(repr=False)


def gather(
    named: Iterable[tuple[MapReduceJob, str]], *, longest: str = MAX, sort_counts_as: str = "reduce"
) -> Gathered:
    """Classes out of jobs with the names of their classes.

    ``longest`` is ``max`` or ``p95``, what stands as the maximum of a phase; ``sort_counts_as`` is ``reduce`` or
    ``shuffle``. Jobs that did not succeed, have no map task that did, or come twice make no profile and are told.
    """
    used: list[tuple[MapReduceJob, Phases, str]] = []
    left: list[LeftOut] = []
    seen: set[tuple[str, int | None]] = set()
    for job, name in named:
        phases = phases_of(job)
        reason = _unfit(job, phases, (job.job, job.submitted) in seen)
        seen.add((job.job, job.submitted))
        if reason:
            left.append(LeftOut(job.source, job.job, reason))
        else:
            used.append((job, phases, name))
    groups: dict[str, list[tuple[MapReduceJob, Phases]]] = {}
    for job, phases, name in used:
        groups.setdefault(name, []).append((job, phases))
    classes = tuple(_class(name, group, longest, sort_counts_as) for name, group in sorted(groups.items()))
    return Gathered(classes, tuple(left), cluster_of([job for job, _, _ in used]), tuple(used))


def _unfit(job: MapReduceJob, phases: Phases, twice: bool) -> str:
    if twice:
        return "it comes twice; the first one counts"
    if not job.succeeded:
        return f"it did not succeed ({job.status.lower()})"
    if phases.map.count == 0:
        return "no map task of it succeeded"
    if job.total_maps and phases.map.count < job.total_maps:
        return f"only {phases.map.count} of its {job.total_maps} map tasks are in the log"
    return ""


def cluster_of(jobs: Sequence[MapReduceJob]) -> Cluster:
    """Today's cluster: the most tasks seen at once, all attempts included, and how busy so many slots were."""
    counts = {
        kind: counts_of(
            (each.start, each.finish)
            for job in jobs
            for each in job.attempts
            if each.kind is kind and each.start is not None and each.finish is not None
        )
        for kind in TaskKind
    }
    starts = [int(each.times[0]) for each in counts.values() if len(each.times)]
    ends = [int(each.times[-1]) for each in counts.values() if len(each.times)]
    length = max(ends) - min(starts) if starts else 0
    maps, reduces = counts[TaskKind.MAP], counts[TaskKind.REDUCE]

    def use(busy: float, slots: int) -> float:
        return busy / (slots * length) if slots and length else 0.0

    return Cluster(
        maps.most, reduces.most, use(maps.busy, maps.most), use(reduces.busy, reduces.most), length / 3_600_000
    )


def parallel_tasks(job: MapReduceJob, kind: TaskKind) -> int:
    """The most tasks of a kind that the job itself had running at once."""
    return counts_of(_times(job.attempts, kind)).most


def _times(attempts: Iterable[Attempt], kind: TaskKind) -> Iterable[tuple[int, int]]:
    for each in attempts:
        if (
            each.kind is kind
            and each.end is AttemptEnd.SUCCEEDED
            and each.start is not None
            and each.finish is not None
        ):
            yield each.start, each.finish


def _class(name: str, group: Sequence[tuple[MapReduceJob, Phases]], longest: str, sort_counts_as: str) -> JobClass:
    jobs = [job for job, _ in group]
    pooled = {phase: _pooled(group, phase) for phase in ("map", "first_shuffle", "typical_shuffle", "sort", "reduce")}
    first, typical = pooled["first_shuffle"], pooled["typical_shuffle"]
    reduces = pooled["reduce"]
    extra = pooled["sort"]
    if sort_counts_as == "reduce":
        reduces = _with_sort(group, "reduce")
    elif extra.count:
        first, typical = _with_sort(group, "first_shuffle"), _with_sort(group, "typical_shuffle")
    stands_in = ""
    if reduces.count and not typical.count and first.count:
        typical, stands_in = first, "the first shuffle stands in for the typical one: every job ran in one wave"
    elif reduces.count and not first.count and typical.count:
        first, stands_in = (
            typical,
            "the typical shuffle stands in for the first one: no reduce started before the maps ended",
        )
    counts = counts_of((job.submitted, job.finished) for job in jobs if job.submitted is not None and job.finished)
    spread = _spread([phases.map.average or 0.0 for _, phases in group])
    map_tasks = [phases.map.count for _, phases in group]
    reduce_tasks = [phases.reduce.count for _, phases in group]
    inputs = [(job.submitted, job.input_bytes) for job in jobs if job.submitted is not None and job.input_bytes]
    grows = growth([time for time, _ in inputs], [size for _, size in inputs])
    made = JobClass(
        name,
        len(jobs),
        max(1, round(float(np.mean(map_tasks)))),
        max(1, round(float(np.mean(reduce_tasks)))) if any(reduce_tasks) else 0,
        _measured(pooled["map"], longest) or Measured(0.0, 0.0),
        _measured(first, longest),
        _measured(typical, longest),
        _measured(reduces, longest),
        stands_in,
        max(1, counts.quantile(0.5)),
        max(1, counts.quantile(0.95)),
        spread,
        _spread([float(each) for each in map_tasks]),
        grows,
        tuple((job.finished - job.submitted) / 1000 for job in jobs if job.submitted is not None and job.finished),
        sum(phases.failed for _, phases in group),
        sum(phases.killed for _, phases in group),
    )
    return JobClass(**{**made.__dict__, "warnings": tuple(_doubts(made, group))})


def _doubts(node: JobClass, group: Sequence[tuple[MapReduceJob, Phases]]) -> Iterable[str]:
    if node.spread > SPREAD_OF_A_CLASS or node.task_spread > SPREAD_OF_A_CLASS:
        yield "its jobs differ so much that it is hardly a class: group them otherwise"
    without = sum(phases.reduce.count == 0 for _, phases in group)
    if node.reduce_tasks and without:
        yield f"{without} of its {node.runs} jobs have no reduce tasks: group them otherwise"
    if node.runs == 1:
        yield "it is one job only"
    if any(phases.negative for _, phases in group):
        yield f"{sum(phases.negative for _, phases in group)} phases end before they begin and were left out"
    if any(job.uberized for job, _ in group):
        yield "some of its jobs ran inside their application master"
    if node.reduce_tasks and node.map.longest == 0.0:
        yield "its map tasks took no time"
    if node.stands_in:
        yield node.stands_in


def _pooled(group: Sequence[tuple[MapReduceJob, Phases]], phase: str) -> Durations:
    return Durations(tuple(value for _, phases in group for value in getattr(phases, phase).values))


def _with_sort(group: Sequence[tuple[MapReduceJob, Phases]], phase: str) -> Durations:
    """A phase with the mean time of sorting added to each of its tasks.

    Sort and the other phases are counted for the same tasks, but the pooled values of a job whose phases are partly
    unknown do not pair up; so where they pair, task by task, else the mean.
    """
    values: list[int] = []
    for _, phases in group:
        own, sorts = getattr(phases, phase).values, phases.sort.values
        if len(own) == len(sorts):
            values.extend(a + b for a, b in zip(own, sorts, strict=True))
        else:
            extra = round(phases.sort.average or 0.0)
            values.extend(value + extra for value in own)
    return Durations(tuple(values))


def _measured(durations: Durations, longest: str) -> Measured | None:
    if not durations.count:
        return None
    high = durations.percentile(0.95) if longest == P95 else durations.longest
    average = durations.average or 0.0
    return Measured(average / 1000, max(high or 0, average) / 1000)


def _spread(values: Sequence[float]) -> float:
    mean = float(np.mean(values)) if values else 0.0
    return float(np.std(values)) / mean if mean else 0.0


def features(jobs: Sequence[MapReduceJob]) -> list[tuple[float, ...]]:
    """What jobs are clustered by: mean map and reduce times, numbers of tasks, bytes read."""
    rows: list[tuple[float, ...]] = []
    for job in jobs:
        phases = phases_of(job)
        rows.append(
            (
                phases.map.average or 0.0,
                phases.reduce.average or 0.0,
                float(phases.map.count),
                float(phases.reduce.count),
                float(job.input_bytes or 0),
            )
        )
    return rows
