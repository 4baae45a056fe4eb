"""Classes of Spark applications: many runs of one DAG of stages, summed up for a spec.

A run is one application: its stages that ran, each after those of its parents that ran in the same job, and the first
ones of a job after the last ones of the jobs that had ended when it was submitted. Retries of a stage belong to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mrdsl.exchange.logs.records import SparkApplication, SparkJob, StageRun
from mrdsl.profiling.classes import MAX, LeftOut, Measured, One, Summary, doubts, measured, summed_up
from mrdsl.profiling.phases import Durations, Overhead, Times, believed

Grouped = tuple[SparkApplication, str]
Shape = tuple[tuple[int, ...], ...]
"""For every stage of a run the places of those that it comes after."""


@dataclass(frozen=True)
class StageProfile:
    """One stage in all runs of a class: its mean number of tasks, their times, the places of those it comes after."""

    title: str
    tasks: int
    times: Measured
    after: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class StageClass(Summary):
    """The contents of a spec for a class of Spark applications."""

    stages: tuple[StageProfile, ...]


@dataclass(frozen=True)
class Ran:
    """A stage that ran, its retries with it."""

    number: int
    title: str
    tasks: int
    durations: tuple[int, ...]
    after: tuple[int, ...]


def sort_out_applications(named: Iterable[Grouped]) -> tuple[list[Grouped], list[LeftOut]]:
    """Return applications that make a profile, and those that do not: cut, failed and empty ones, those that come
    twice.
    """
    used: list[Grouped] = []
    left: list[LeftOut] = []
    seen: set[tuple[str, int | None]] = set()
    for application, name in named:
        twice = (application.application, application.started) in seen
        reason = _unfit(application, twice)
        seen.add((application.application, application.started))
        if reason:
            overhead = overhead_of(application)
            held = 0.0 if twice else overhead.time + overhead.work
            left.append(LeftOut(application.source, application.application, reason, held))
        else:
            used.append((application, name))
    return used, left


def _unfit(application: SparkApplication, twice: bool) -> str:
    if twice:
        return "it comes twice; the first one counts"
    if application.finished is None:
        return "its log ends before it does"
    if any(job.failed for job in application.jobs):
        return "a job of it failed"
    if not any(stage.launches for stage in application.stages):
        return "no task of it succeeded"
    return ""


def stage_classes_of(named: Iterable[Grouped], *, longest: str = MAX) -> tuple[StageClass, ...]:
    """Return the classes of applications, by name; ``longest`` is ``max`` or ``p95``."""
    groups: dict[str, list[SparkApplication]] = {}
    for application, name in named:
        groups.setdefault(name, []).append(application)
    return tuple(_class(name, group, longest) for name, group in sorted(groups.items()))


def _class(name: str, group: Sequence[SparkApplication], longest: str) -> StageClass:
    ran = [ran_stages(each) for each in group]
    shapes: list[Shape] = [tuple(stage.after for stage in stages) for stages in ran]
    ((shape, alike),) = Counter(shapes).most_common(1)
    kept = [stages for stages, own in zip(ran, shapes, strict=True) if own == shape]
    runs = [each for each, own in zip(group, shapes, strict=True) if own == shape]
    summary = StageClass(
        **summed_up(name, [_one(each, stages) for each, stages in zip(runs, kept, strict=True)]),
        stages=tuple(_stage(alike_ones, longest) for alike_ones in zip(*kept, strict=True)),
    )
    others = len(group) - alike
    warning = (f"{others} of {len(group)} runs have other stages and do not count: group them otherwise",)
    return replace(summary, warnings=(*doubts(summary), *summary.warnings, *(warning if others else ())))


def _stage(runs: Sequence[Ran], longest: str) -> StageProfile:
    times = measured(Durations.of(value for run in runs for value in run.durations), longest)
    assert times is not None, "a stage that ran has tasks"
    return StageProfile(runs[0].title, max(1, round(float(np.mean([run.tasks for run in runs])))), times, runs[0].after)


def _one(application: SparkApplication, stages: Sequence[Ran]) -> One:
    durations = [value for stage in stages for value in stage.durations]
    return One(
        _times(application),
        sum(durations) / len(durations),
        len(durations),
        sum(stage.input_bytes for stage in application.stages) or None,
        overhead_of(application),
    )


def _times(application: SparkApplication) -> Times:
    first = min((time for stage in application.stages for time in stage.launches), default=None)
    last = max((time for stage in application.stages for time in stage.finishes), default=None)
    return believed(application.started, None, application.finished, first, last)


def overhead_of(application: SparkApplication) -> Overhead:
    """Return the lost attempts in all its stages."""
    stages = application.stages
    return Overhead(
        sum(stage.failed for stage in stages),
        sum(stage.killed for stage in stages),
        sum(stage.failed_time for stage in stages) / 1000,
        sum(stage.killed_time for stage in stages) / 1000,
        sum(sum(stage.durations) for stage in stages) / 1000,
    )


def ran_stages(application: SparkApplication) -> tuple[Ran, ...]:
    """Return the stages of an application that ran, in the order of their numbers."""
    attempts: dict[int, list[StageRun]] = {}
    for stage in application.stages:
        if stage.launches:
            attempts.setdefault(stage.stage, []).append(stage)
    places = {number: place for place, number in enumerate(sorted(attempts))}
    before = _job_order(application.jobs, attempts)
    stages = []
    for number in sorted(attempts):
        runs = attempts[number]
        durations = tuple(max(0, value) for run in runs for value in run.durations)
        parents = {parent for run in runs for parent in run.parents if parent in places} | before.get(number, set())
        after = tuple(sorted(places[parent] for parent in parents if parent < number))
        stages.append(Ran(number, runs[0].name, _tasks(runs, len(durations)), durations, after))
    return tuple(stages)


def _tasks(runs: Sequence[StageRun], succeeded: int) -> int:
    """Return the number of tasks of the stage from its own record, since a retry repeats some of them."""
    return min(runs[0].planned or succeeded, succeeded)


def _job_order(jobs: Sequence[SparkJob], ran: dict[int, list[StageRun]]) -> dict[int, set[int]]:
    """For the first stages of every job the last ones of the jobs before it."""
    taken: set[int] = set()
    own: list[tuple[SparkJob, set[int]]] = []
    for job in jobs:
        mine = {stage for stage in job.stages if stage in ran} - taken
        taken |= mine
        if mine:
            own.append((job, mine))
    before: dict[int, set[int]] = {}
    for job, mine in own:
        lasts = {last for other in _just_before(job, own) for last in _last(other, ran)}
        for stage in mine:
            if not any(parent in mine for run in ran[stage] for parent in run.parents):
                before[stage] = lasts
    return before


def _just_before(job: SparkJob, own: Sequence[tuple[SparkJob, set[int]]]) -> Iterator[set[int]]:
    """Yield the stages of each job that had ended when this one was submitted, but of those before others of them."""
    if job.submitted is None:
        return
    ended = [(other, mine) for other, mine in own if other.ended is not None and other.ended <= job.submitted]
    latest = max((other.submitted or 0 for other, _ in ended), default=0)
    for other, mine in ended:
        if other.ended is not None and (other.ended > latest or other.submitted == latest):
            yield mine


def _last(mine: set[int], ran: dict[int, list[StageRun]]) -> set[int]:
    followed = {parent for stage in mine for run in ran[stage] for parent in run.parents}
    return mine - followed
