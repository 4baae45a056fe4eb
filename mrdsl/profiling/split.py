"""Profiles from the first part of the time, checked on the rest: predictions compared with the logs.

Jobs of MapReduce are split by their submission: those of the first part make the classes. Each of the others is
predicted with its class's task times, its own numbers of tasks, and k slots, the most concurrent tasks that it had. A
stage of Spark is predicted from those of its tasks that had ended after the first part of its own time. Predictions are
the estimates of paper 000, and simulations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from mrdsl.core.result import Table
from mrdsl.exchange.logs.records import MapReduceJob, SparkApplication, StageRun, TaskKind
from mrdsl.formulas import mapreduce
from mrdsl.profiling.classes import BY_NAME, MAX, P95, Profiled, Taught, with_sort
from mrdsl.profiling.cluster import counts_of, parallel_tasks
from mrdsl.profiling.phases import Phases
from mrdsl.simulation.engine.draws import Samples, TaskTimes
from mrdsl.simulation.engine.scenario import JobClass, QueueRule, Scenario, Users, run_once
from mrdsl.simulation.engine.world import JobKind, Machines, Stage

RUNS = 20


@dataclass(frozen=True)
class Times:
    """Recorded times of tasks in seconds; reduce tasks after their shuffle, which is ``first`` in the first wave."""

    map: Sequence[float]
    first_shuffle: Sequence[float] = ()
    shuffle: Sequence[float] = ()
    reduce: Sequence[float] = ()


@dataclass(frozen=True)
class Forecast:
    """Seconds from the first task's start to the last one's end: three estimates, and the mean of a simulation."""

    lower: float
    average: float
    upper: float
    simulated: float


def forecast(
    times: Times, tasks: tuple[int, int], slots: tuple[int, int], seed: int, name: str, longest: str = MAX
) -> Forecast:
    """Return the prediction of a job alone on its map and reduce slots, with task times drawn from ``times``.

    The estimates use equations (1) to (4) of paper 000. The simulation draws the time of every task from the recorded
    ones, with replacement, and runs the job :data:`RUNS` times. ``name`` and ``seed`` select the random streams;
    ``longest`` is ``max`` or ``p95``, the maximum in the estimates.
    """
    profile = _profile(times, tasks, longest)
    one = np.ones(1)
    counts = [np.array([float(max(1, count))]) for count in slots]
    lower, average, upper = (
        float(mapreduce.completion(estimate(profile), one, *counts)[0])
        for estimate in (mapreduce.lower, mapreduce.average, mapreduce.upper)
    )
    return Forecast(lower, average, upper, _simulated(times, tasks, slots, seed, name))


def _profile(times: Times, tasks: tuple[int, int], longest: str) -> mapreduce.Profile:
    def both(values: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
        known = np.asarray(values if len(values) else [np.nan])
        mean = known.mean(keepdims=True)
        high = np.quantile(known, 0.95, method="inverted_cdf") if longest == P95 else known.max()
        return mean, np.maximum(mean, high)

    return mapreduce.Profile(
        np.array([float(tasks[0])]),
        *both(times.map),
        *both(times.first_shuffle),
        *both(times.shuffle),
        np.array([float(tasks[1])]),
        *both(times.reduce),
    )


def _simulated(times: Times, tasks: tuple[int, int], slots: tuple[int, int], seed: int, name: str) -> float:
    stages, work = [Stage("map", tasks[0])], [TaskTimes(Samples(tuple(times.map)))]
    if tasks[1]:
        stages.append(Stage("reduce", tasks[1], (0,), 1))
        work.append(TaskTimes(*(Samples(tuple(each)) for each in (times.reduce, times.first_shuffle, times.shuffle))))
    job = JobClass(JobKind(name, tuple(stages)), tuple(work), Users(1), RUNS)
    machines = tuple(Machines(1, max(1, count), pool) for pool, count in enumerate(slots))
    seen = run_once(Scenario((job,), machines, ((QueueRule(),), (QueueRule(),)), 0.0), seed, 0)
    return float(np.mean(seen.times[0]))


LEAST_TASKS = 3


@dataclass(frozen=True)
class Predicted:
    """One job or stage: tasks and slots of both kinds, the prediction, and the seconds of its tasks.

    ``took`` are the seconds from submission to end, None for a stage.
    """

    group: str
    name: str
    tasks: tuple[int, int]
    slots: tuple[int, int]
    forecast: Forecast
    ran: float
    took: float | None = None


@dataclass(frozen=True)
class Split:
    """Jobs and stages that were predicted; ``learned`` is from how many jobs.

    ``unknown`` jobs are of no class of the first part; of ``unknown_stages`` no task had ended after it.
    """

    jobs: tuple[Predicted, ...]
    stages: tuple[Predicted, ...]
    learned: int
    unknown: int
    unknown_stages: int


def split(
    jobs: Sequence[Profiled],
    applications: Iterable[SparkApplication],
    share: float,
    seed: int = 0,
    taught: Taught = BY_NAME,
) -> Split:
    """Return predictions for the jobs submitted after ``share`` of the time, and for every stage of three tasks or
    more.
    """
    before, after = _parted([each for each in jobs if each[1].times.begin is not None], share)
    if taught.clusters is not None:
        before, after = _clustered(before, after, taught.clusters)
    named: dict[str, list[Phases]] = {}
    for _, phases, name in before:
        named.setdefault(name, []).append(phases)
    times = {name: _times(group, taught.sort_counts_as) for name, group in named.items()}
    predicted = tuple(
        _predicted_job(job, phases, name, times[name], seed, taught.longest)
        for job, phases, name in after
        if name in times and (not phases.reduce.count or times[name].reduce)
    )
    stages = [each for run in applications for each in _stages(run, share, seed, taught.longest)]
    known_stages = tuple(each for each in stages if each is not None)
    unknown = len(after) - len(predicted), len(stages) - len(known_stages)
    return Split(predicted, known_stages, len(before), *unknown)


def _parted(jobs: Sequence[Profiled], share: float) -> tuple[list[Profiled], list[Profiled]]:
    begins = [phases.times.begin or 0 for _, phases, _ in jobs]
    moment = min(begins) + share * (max(begins) - min(begins)) if begins else 0.0
    before = [each for each, begin in zip(jobs, begins, strict=True) if begin <= moment]
    return before, [each for each, begin in zip(jobs, begins, strict=True) if begin > moment]


def _clustered(
    before: Sequence[Profiled], after: Sequence[Profiled], clusters: Callable[[Sequence[MapReduceJob]], Sequence[str]]
) -> tuple[list[Profiled], list[Profiled]]:
    """Return the jobs with classes: each later job has the class of the nearest earlier one in the features known at
    submission.
    """
    if not before:
        return [], list(after)
    names = clusters([job for job, _, _ in before])
    sizes = np.array([_size(phases) for _, phases, _ in before])
    nearest = [int(((sizes - _size(phases)) ** 2).sum(axis=1).argmin()) for _, phases, _ in after]
    learned = [(job, phases, name) for (job, phases, _), name in zip(before, names, strict=True)]
    return learned, [(job, phases, names[place]) for (job, phases, _), place in zip(after, nearest, strict=True)]


def _size(phases: Phases) -> np.ndarray:
    """Return the logarithms of its numbers of tasks."""
    return np.log1p([phases.map.count, phases.reduce.count])


def _times(jobs: Sequence[Phases], sort_counts_as: str) -> Times:
    def pooled(name: str, sorted_in: bool) -> list[float]:
        return [
            value / 1000
            for phases in jobs
            for value in (with_sort(phases, name) if sorted_in else getattr(phases, name).values)
        ]

    with_reduce = sort_counts_as == "reduce"
    first, later = (pooled(name, not with_reduce) for name in ("first_shuffle", "typical_shuffle"))
    reduces = pooled("reduce", with_reduce)
    return Times(pooled("map", False), first or later or [0.0], later or first or [0.0], reduces)


def _predicted_job(job: MapReduceJob, phases: Phases, name: str, times: Times, seed: int, longest: str) -> Predicted:
    tasks = phases.map.count, phases.reduce.count
    slots = parallel_tasks(job, TaskKind.MAP), parallel_tasks(job, TaskKind.REDUCE)
    starts = [each.start for each in job.attempts if each.start is not None and each.finish is not None]
    ends = [each.finish for each in job.attempts if each.finish is not None]
    at = phases.times
    return Predicted(
        name,
        job.job,
        tasks,
        slots,
        forecast(times, tasks, slots, seed, job.job, longest),
        (max(ends) - min(starts)) / 1000,
        (at.end - at.begin) / 1000 if at.end is not None and at.begin is not None else None,
    )


def _stages(application: SparkApplication, share: float, seed: int, longest: str) -> Iterator[Predicted | None]:
    for stage in application.stages:
        if len(stage.launches) < LEAST_TASKS:
            continue
        begin, end = min(stage.launches), max(stage.finishes)
        times = _ended_by(stage, begin + share * (end - begin))
        if not times:
            yield None
            continue
        slots = counts_of(zip(stage.launches, stage.finishes, strict=True)).most
        name = f"{stage.stage}.{stage.attempt}"
        tasks, stream = (len(stage.launches), 0), f"{application.application} {name}"
        expected = forecast(Times(times), tasks, (slots, 0), seed, stream, longest)
        yield Predicted(application.name, name, (len(stage.launches), 0), (slots, 0), expected, (end - begin) / 1000)


def _ended_by(stage: StageRun, moment: float) -> list[float]:
    """Return seconds of the tasks that had ended by then."""
    times = zip(stage.launches, stage.finishes, strict=True)
    return [max(0, finish - launch) / 1000 for launch, finish in times if finish <= moment]


def split_tables(result: Split) -> tuple[Table, ...]:
    """Return the predictions and the logs, row by row, with the errors."""
    jobs = [
        (each.group, each.name, *each.tasks, *each.slots, *_cells(each.forecast), each.ran, each.took, *_off(each))
        for each in result.jobs
    ]
    stages = [
        (each.group, each.name, each.tasks[0], each.slots[0], *_cells(each.forecast), each.ran, *_off(each))
        for each in result.stages
    ]
    tables = Table("Jobs predicted", _JOB_COLUMNS, jobs), Table("Stages predicted", _STAGE_COLUMNS, stages)
    return (*(table for table in tables if table.rows), _summary(result))


_FORECAST = ("lower [s]", "average [s]", "upper [s]", "simulated [s]")
_OFF = ("average off [%]", "simulated off [%]")
_JOB_COLUMNS = (
    *("class", "job", "maps", "reduces", "k map", "k reduce"),
    *_FORECAST,
    *("tasks ran [s]", "took [s]"),
    *_OFF,
)
_STAGE_COLUMNS = ("application", "stage", "tasks", "k", *_FORECAST, "tasks ran [s]", *_OFF)


def _cells(forecast: Forecast) -> tuple[float, ...]:
    return forecast.lower, forecast.average, forecast.upper, forecast.simulated


def _off(each: Predicted) -> tuple[float | None, float | None]:
    if each.ran <= 0.0:
        return None, None
    return 100.0 * (each.forecast.average / each.ran - 1), 100.0 * (each.forecast.simulated / each.ran - 1)


def _summary(result: Split) -> Table:
    rows = []
    parts = ("jobs", result.jobs, result.unknown), ("stages", result.stages, result.unknown_stages)
    for what, predicted, unknown in parts:
        off = [each for each in map(_off, predicted) if each[0] is not None and each[1] is not None]
        if off:
            within = sum(each.forecast.lower <= each.ran <= each.forecast.upper for each in predicted)
            medians = [median(abs(each[place] or 0.0) for each in off) for place in (0, 1)]
            missed = sum(abs(each.forecast.simulated - each.ran) for each in predicted)
            together = 100.0 * missed / sum(each.ran for each in predicted)
            rows.append((what, len(predicted), unknown, 100.0 * within / len(predicted), *medians, together))
        elif unknown:
            rows.append((what, 0, unknown, None, None, None, None))
    title = f"How far off; {result.learned} jobs were learned from"
    columns = (
        "what",
        "predicted",
        "not predicted",
        "between lower and upper [%]",
        *(f"{each}, median" for each in _OFF),
        "simulated off, of all their time [%]",
    )
    return Table(title, columns, rows)
