"""Profiles as tables: a row a job, a row a stage, a row a class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mrdsl.exchange.logs.records import MapReduceJob, SparkApplication
from mrdsl.profiling.classes import JobClass, Profiled
from mrdsl.profiling.phases import Durations, phases_of

JOB_COLUMNS = (
    "source",
    "job",
    "status",
    "submit_ms",
    "finish_ms",
    "total_maps",
    "total_reduces",
    "map_n",
    "map_avg_ms",
    "map_max_ms",
    "first_shuffle_n",
    "first_shuffle_avg_ms",
    "first_shuffle_max_ms",
    "typ_shuffle_n",
    "typ_shuffle_avg_ms",
    "typ_shuffle_max_ms",
    "sort_n",
    "sort_avg_ms",
    "sort_max_ms",
    "reduce_n",
    "reduce_avg_ms",
    "reduce_max_ms",
)
STAGE_COLUMNS = (
    "file",
    "app",
    "stage",
    "attempt",
    "task_type",
    "tasks_ok",
    "tasks_failed",
    "avg_ms",
    "max_ms",
    "min_launch_ms",
    "max_finish_ms",
    "shuffle_read_bytes",
    "shuffle_write_bytes",
    "parents",
)
_SHUFFLE = ("shuffle.first_avg [s]", "shuffle.first_max [s]", "shuffle.avg [s]", "shuffle.max [s]")
_REDUCE = ("reduce.tasks", "reduce.avg [s]", "reduce.max [s]")


def job_rows(jobs: Iterable[MapReduceJob]) -> Iterable[Sequence[Any]]:
    """Yield one row a job, with the phases of its successful attempts."""
    for job in jobs:
        phases = phases_of(job)
        parts = (phases.map, phases.first_shuffle, phases.typical_shuffle, phases.sort, phases.reduce)
        yield (
            job.source,
            job.job,
            job.status,
            job.submitted,
            job.finished,
            job.total_maps,
            job.total_reduces,
            *(cell for part in parts for cell in _cells(part)),
        )


def _cells(part: Durations) -> tuple[int, float | None, int | None]:
    return part.count, None if part.average is None else round(part.average, 3), part.longest


def stage_rows(applications: Iterable[SparkApplication]) -> Iterable[Sequence[Any]]:
    """Yield one row an attempt at a stage that ran."""
    for application in applications:
        for stage in application.stages:
            if stage.skipped:
                continue
            done = Durations(stage.durations)
            yield (
                application.source,
                application.name,
                stage.stage,
                stage.attempt,
                stage.task_type,
                done.count,
                stage.failed + stage.killed,
                None if done.average is None else round(done.average, 3),
                done.longest,
                min(stage.launches, default=None),
                max(stage.finishes, default=None),
                stage.shuffle_read,
                stage.shuffle_write,
                str(list(stage.parents)),
            )


def class_table(classes: Sequence[JobClass]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Return columns and rows, one a class, as ``classes from "profiles.csv"`` reads them.

    If no class has reduce tasks there are no columns for them; otherwise classes without any have zeros.
    """
    reducing = any(each.reduce_tasks for each in classes)
    columns = ("name", "map.tasks", "map.avg [s]", "map.max [s]", *((*_SHUFFLE, *_REDUCE) if reducing else ()), "jobs")
    return columns, [_class_row(each, reducing) for each in classes]


def _class_row(each: JobClass, reducing: bool) -> tuple[Any, ...]:
    cells: list[Any] = [each.name, each.map_tasks, each.map.average, each.map.longest]
    if reducing:
        for part in (each.first_shuffle, each.typical_shuffle):
            known = part is not None and each.reduce_tasks > 0
            cells += [part.average, part.longest] if part is not None and known else [0, 0]
        reduces = each.reduce if each.reduce_tasks else None
        cells += [0, 0, 0] if reduces is None else [each.reduce_tasks, reduces.average, reduces.longest]
    jobs = each.jobs_high if each.jobs_low == each.jobs_high else f"{each.jobs_low}..{each.jobs_high}"
    return (*cells, jobs)


ARRIVAL_COLUMNS = (
    "name",
    "submit [s]",
    "map.tasks",
    "map.avg [s]",
    "reduce.tasks",
    "shuffle.avg [s]",
    "reduce.avg [s]",
)


def arrival_rows(jobs: Iterable[Profiled]) -> Iterable[Sequence[Any]]:
    """Yield one row a job as ``arrivals from "jobs.csv"`` reads them, in the order of their submission, from 0 s."""
    known = [(phases.times.begin, job.job, phases) for job, phases, _ in jobs if phases.times.begin is not None]
    known.sort(key=lambda each: each[:2])
    for submitted, name, phases in known:
        shuffle = phases.typical_shuffle if phases.typical_shuffle.count else phases.first_shuffle
        reduce = (phases.reduce.average or 0.0) + (phases.sort.average or 0.0)
        yield (
            name,
            (submitted - known[0][0]) / 1000,
            phases.map.count,
            max(1.0, phases.map.average or 0.0) / 1000,
            phases.reduce.count,
            (shuffle.average or 0.0) / 1000 if phases.reduce.count else 0,
            max(1.0, reduce) / 1000 if phases.reduce.count else 0,
        )
