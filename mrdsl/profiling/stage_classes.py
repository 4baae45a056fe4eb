"""Classes of Spark applications: many runs of one DAG of stages, summed up for a spec.

A run is one application: its stages that ran, each after those of its parents that ran in the same job, and the first
ones of a job after the last ones of the jobs that had ended when it was submitted. Retries of a stage belong to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from mrdsl.exchange.logs.records import SparkApplication, SparkJob, StageRun
from mrdsl.profiling.classes import MAX, LeftOut, Measured, One, Summary, doubts, measured, summed_up
from mrdsl.profiling.gaps import delays_of, idle_between
from mrdsl.profiling.losses import LONGEST_IDLE, complete_stages, damage, lost_tasks, planned, usable
from mrdsl.profiling.phases import Durations, Overhead, Times, believed

Grouped = tuple[SparkApplication, str]
Shape = tuple[tuple[int, ...], ...]
"""For every stage of a run the places of those that it comes after."""


@dataclass(frozen=True)
class StageProfile:
    """One stage in all runs of a class: its mean number of tasks, their times, the places of those it comes after.

    ``delay`` is the median time before it in which no task runs [s].
    """

    title: str
    tasks: int
    times: Measured
    after: tuple[int, ...]
    delay: float = 0.0


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
    delay: int = 0


def sort_out_applications(named: Iterable[Grouped]) -> tuple[list[Grouped], list[LeftOut]]:
    """Return applications that make a profile, without the jobs that failed or did not end, and those that do not.

    These are damaged, failed and empty ones, and those that come twice.
    """
    used: list[Grouped] = []
    left: list[LeftOut] = []
    seen: set[tuple[str, int | None]] = set()
    for application, name in named:
        twice = (application.application, application.started) in seen
        seen.add((application.application, application.started))
        kept = usable(application)
        lost = "" if twice else damage(kept)
        if reason := "it comes twice; the first one counts" if twice else lost or _unfit(application, kept):
            left.append(_left(application, reason, twice, bool(lost)))
        else:
            used.append((kept, name))
    return used, left


def _left(application: SparkApplication, reason: str, twice: bool = False, damaged: bool = False) -> LeftOut:
    overhead = overhead_of(application)
    held = 0.0 if twice else overhead.time + overhead.work
    return LeftOut(application.source, application.application, reason, held, damaged)


def _unfit(application: SparkApplication, kept: SparkApplication) -> str:
    if application.finished is None and not kept.jobs:
        return "its log ends before a job of it does"
    if application.jobs and not kept.jobs:
        return "every job of it failed"
    if not any(stage.launches for stage in kept.stages):
        return "no task of it succeeded"
    return ""


def stage_classes_of(
    named: Iterable[Grouped], *, longest: str = MAX
) -> tuple[tuple[StageClass, ...], list[Grouped], list[LeftOut]]:
    """Return the classes of applications, by name, their applications, and those with other stages.

    ``longest`` is ``max`` or ``p95``.
    """
    groups: dict[str, list[SparkApplication]] = {}
    for application, name in named:
        groups.setdefault(name, []).append(application)
    classes, used, left = [], [], []
    for name, group in sorted(groups.items()):
        alike, others = _alike(group)
        classes.append(_class(name, alike, len(others), longest))
        used += [(each, name) for each in alike]
        left += [_left(each, "its stages differ from those of most runs of its class") for each in others]
    return tuple(classes), used, left


def _alike(group: Sequence[SparkApplication]) -> tuple[list[SparkApplication], list[SparkApplication]]:
    """Return the runs with the most frequent graph of stages, and the others."""
    shapes = [shape_of(each) for each in group]
    ((shape, _),) = Counter(shapes).most_common(1)
    chosen = [own == shape for own in shapes]
    return (
        [each for each, alike in zip(group, chosen, strict=True) if alike],
        [each for each, alike in zip(group, chosen, strict=True) if not alike],
    )


def _class(name: str, runs: Sequence[SparkApplication], others: int, longest: str) -> StageClass:
    ran = [ran_stages(each) for each in runs]
    summary = StageClass(
        **summed_up(name, [_one(each, stages) for each, stages in zip(runs, ran, strict=True)]),
        stages=tuple(_stage(alike, longest) for alike in zip(*ran, strict=True)),
    )
    return replace(summary, warnings=(*doubts(summary), *summary.warnings, *_doubts(runs, others)))


def _doubts(runs: Sequence[SparkApplication], others: int) -> Iterator[str]:
    if others:
        yield f"{others} of {len(runs) + others} runs have other stages and do not count: group them otherwise"
    if losses := [loss for each in runs for loss in lost_tasks(each)]:
        read, tasks = sum(loss.read for loss in losses), sum(loss.tasks for loss in losses)
        yield f"{len(losses)} of its stages lost ends of tasks: {read:,} of {tasks:,} are read, and scaled up"
    if dropped := sum(len(each.dropped_jobs) for each in runs):
        jobs = dropped + sum(len(each.jobs) for each in runs)
        yield f"{dropped} of the {jobs} Spark jobs of its runs failed or did not end and do not count"
    if cut := sum(each.finished is None for each in runs):
        yield f"{cut} of its runs have no end: they count up to the last job that ended"


def _stage(runs: Sequence[Ran], longest: str) -> StageProfile:
    times = measured(Durations.of(value for run in runs for value in run.durations), longest)
    assert times is not None, "a stage that ran has tasks"
    tasks = max(1, round(float(np.mean([run.tasks for run in runs]))))
    return StageProfile(runs[0].title, tasks, times, runs[0].after, median(run.delay for run in runs) / 1000)


def _one(application: SparkApplication, stages: Sequence[Ran]) -> One:
    durations = [value for stage in stages for value in stage.durations]
    return One(
        times_of(application),
        sum(durations) / len(durations),
        sum(stage.tasks for stage in stages),
        sum(stage.input_bytes for stage in application.stages) or None,
        overhead_of(application),
    )


def times_of(application: SparkApplication) -> Times:
    """Return begin and end of an application, and its times before the first task and after the last one."""
    first = min((time for stage in application.stages for time in stage.launches), default=None)
    ends = [job.ended for job in application.jobs if job.ended is not None]
    tasks = max((time for stage in application.stages for time in stage.finishes), default=None)
    last = max((*ends, *(() if tasks is None else (tasks,))), default=None)
    times = believed(application.started, None, application.finished, first, last)
    if last is not None and times.end is not None and times.end - last > LONGEST_IDLE:
        times = replace(times, end=last, doubted=True)
    if tasks is not None and times.end is not None:
        times = replace(times, after=idle_between(application, tasks, times.end))
    return times


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
    before, complete = _job_order(application.jobs, attempts), complete_stages(application)
    stages = []
    for number in sorted(attempts):
        runs = attempts[number]
        durations = tuple(max(0, value) for run in runs for value in run.durations)
        parents = {parent for run in runs for parent in run.parents if parent in places} | before.get(number, set())
        after = tuple(sorted(places[parent] for parent in parents if parent < number))
        stages.append(Ran(number, runs[0].name, planned(runs, number in complete), durations, after))
    delays = delays_of(application, [stage.number for stage in stages], [stage.after for stage in stages])
    return tuple(replace(stage, delay=delay) for stage, delay in zip(stages, delays, strict=True))


def shape_of(application: SparkApplication) -> Shape:
    """Return the graph of its stages that ran."""
    return tuple(stage.after for stage in ran_stages(application))


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
