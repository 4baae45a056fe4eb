"""Profiles from the first part of the time, checked on the rest: predictions compared with the logs.

Runs are split by their submission: those of the first part make the classes, and the others are predicted. A stage of
Spark is predicted from those of its tasks that had ended after the first part of its own time. Predictions are the
bounds of a job on its own slots with their middle, and simulations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from mrdsl.core.diagnostics import number_of
from mrdsl.core.result import Table
from mrdsl.exchange.logs.records import MapReduceJob, SparkApplication, StageRun
from mrdsl.profiling.classes import BY_NAME, Profiled, Taught
from mrdsl.profiling.cluster import counts_of
from mrdsl.profiling.gathering import Known, Part, estimates, simulated
from mrdsl.profiling.phases import Phases
from mrdsl.profiling.ran import shape_of
from mrdsl.profiling.stage_classes import Grouped, times_of
from mrdsl.profiling.whole_runs import CAUSES, RunPredicted, predicted_applications, predicted_jobs

LEAST_TASKS = 3


@dataclass(frozen=True)
class StagePredicted:
    """One stage of Spark: its estimates (lower, average, upper), a simulation, and the seconds of its tasks."""

    group: str
    name: str
    tasks: int
    slots: int
    estimates: tuple[float, float, float]
    simulated: float
    took: float


@dataclass(frozen=True)
class Split:
    """Runs and stages that were predicted; ``learned`` is from how many runs.

    ``unknown`` runs have no earlier one of their class; of ``unknown_stages`` no task had ended after the first part.
    """

    runs: tuple[RunPredicted, ...]
    stages: tuple[StagePredicted, ...]
    learned: int
    unknown: int
    unknown_stages: int


def split(
    jobs: Sequence[Profiled], applications: Sequence[Grouped], share: float, seed: int = 0, taught: Taught = BY_NAME
) -> Split:
    """Return predictions for the runs submitted after ``share`` of the time, and for every stage of three tasks or
    more.

    A run of Spark that alone has its graph of stages is predicted from its own first part, whenever it was submitted.
    """
    timed = [each for each in jobs if each[1].times.begin is not None]
    runs = [each for each in applications if times_of(each[0]).begin is not None]
    moment = _moment([*(each[1].times.begin for each in timed), *(times_of(each[0]).begin for each in runs)], share)
    before = [each for each in timed if (each[1].times.begin or 0) <= moment]
    after = [each for each in timed if (each[1].times.begin or 0) > moment]
    if taught.clusters is not None:
        before, after = _clustered(before, after, taught.clusters)
    shapes = [(name, shape_of(run)) for run, name in runs]
    counts = Counter(shapes)
    is_later = [
        (times_of(run).begin or 0) > moment or counts[shape] == 1 for (run, _), shape in zip(runs, shapes, strict=True)
    ]
    earlier = [each for each, later in zip(runs, is_later, strict=True) if not later]
    later = [each for each, later in zip(runs, is_later, strict=True) if later]
    predicted = [
        *predicted_jobs(before, after, seed, taught),
        *predicted_applications(earlier, later, share, seed, taught),
    ]
    stages = [each for run, _ in applications for each in _stages(run, share, seed, taught.longest)]
    return Split(
        tuple(each for each in predicted if each is not None),
        tuple(each for each in stages if each is not None),
        len(before) + len(earlier),
        sum(each is None for each in predicted),
        sum(each is None for each in stages),
    )


def _moment(begins: Sequence[int | None], share: float) -> float:
    known = [begin for begin in begins if begin is not None]
    return min(known) + share * (max(known) - min(known)) if known else 0.0


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


def _stages(application: SparkApplication, share: float, seed: int, longest: str) -> Iterator[StagePredicted | None]:
    for stage in application.stages:
        if len(stage.launches) < LEAST_TASKS:
            continue
        begin, end = min(stage.launches), max(stage.finishes)
        times = _ended_by(stage, begin + share * (end - begin))
        if not times:
            yield None
            continue
        slots = counts_of(zip(stage.launches, stage.finishes, strict=True)).most or 1
        job = Known(0.0, (Part(len(stage.launches), (), 0.0, times),), 0.0)
        yield StagePredicted(
            application.name,
            f"{stage.stage}.{stage.attempt}",
            len(stage.launches),
            slots,
            estimates(job, (slots,), longest),
            simulated(job, (slots,), seed),
            (end - begin) / 1000,
        )


def _ended_by(stage: StageRun, moment: float) -> tuple[float, ...]:
    """Return seconds of the tasks that had ended by then."""
    times = zip(stage.launches, stage.finishes, strict=True)
    return tuple(max(0, finish - launch) / 1000 for launch, finish in times if finish <= moment)


def split_tables(result: Split) -> tuple[Table, ...]:
    """Return the predictions and the logs, row by row, with the errors."""
    runs = [
        (
            each.group,
            each.name,
            each.learned or "its first part",
            *(", ".join(map(str, counts)) for counts in ((sum(each.tasks),), each.slots)),
            *each.estimates,
            each.simulated,
            each.took,
            *_off(each),
            *each.causes,
            each.cause,
        )
        for each in result.runs
    ]
    stages = [
        (each.group, each.name, each.tasks, each.slots, *each.estimates, each.simulated, each.took, *_off(each))
        for each in result.stages
    ]
    halves = [
        (each.group, each.name, ", ".join(map(str, each.fewer.slots)), each.fewer.simulated, each.fewer.repeated)
        for each in result.runs
    ]
    tables = (
        Table("Runs predicted", _RUN_COLUMNS, runs),
        Table("Runs on half of their slots", _HALF_COLUMNS, [(*row, _percent(row[3], row[4])) for row in halves]),
        Table("Stages predicted", _STAGE_COLUMNS, stages),
    )
    return (*(table for table in tables if table.rows), _summary(result))


_FORECAST = ("lower [s]", "average [s]", "upper [s]", "simulated [s]")
_OFF = ("average off [%]", "simulated off [%]")
_RUN_COLUMNS = (
    *("class", "run", "learned from", "tasks", "slots"),
    *_FORECAST,
    "took [s]",
    *_OFF,
    *(f"{each} [s]" for each in CAUSES),
    "cause",
)
_HALF_COLUMNS = ("class", "run", "slots", "simulated [s]", "repeated [s]", "off [%]")
_STAGE_COLUMNS = ("application", "stage", "tasks", "k", *_FORECAST, "took [s]", *_OFF)


def _percent(value: float, true: float) -> float | None:
    return 100.0 * (value / true - 1.0) if true > 0.0 else None


def _off(each: RunPredicted | StagePredicted) -> tuple[float | None, float | None]:
    return _percent(each.estimates[1], each.took), _percent(each.simulated, each.took)


def _summary(result: Split) -> Table:
    learned = [each for each in result.runs if each.learned]
    parts: tuple[tuple[str, Sequence[RunPredicted | StagePredicted], int], ...] = (
        ("runs", [each for each in learned if each.same_slots], result.unknown),
        ("runs on other slots", [each for each in learned if not each.same_slots], 0),
        ("runs from their first part", [each for each in result.runs if not each.learned], 0),
        ("stages", result.stages, result.unknown_stages),
    )
    rows = []
    for what, predicted, unknown in parts:
        off = [_off(each) for each in predicted if each.took > 0.0]
        if off:
            within = sum(each.estimates[0] <= each.took <= each.estimates[2] for each in predicted)
            medians = [median(abs(each[place] or 0.0) for each in off) for place in (0, 1)]
            missed = sum(abs(each.simulated - each.took) for each in predicted)
            together = 100.0 * missed / sum(each.took for each in predicted)
            rows.append((what, len(predicted), unknown, 100.0 * within / len(predicted), *medians, together))
        elif unknown:
            rows.append((what, 0, unknown, None, None, None, None))
    title = f"How far off; learned from {number_of(result.learned, 'run')}"
    columns = (
        "what",
        "predicted",
        "not predicted",
        "between lower and upper [%]",
        *(f"{each}, median" for each in _OFF),
        "simulated off, of all their time [%]",
    )
    return Table(title, columns, rows)
