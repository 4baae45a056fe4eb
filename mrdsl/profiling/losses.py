"""Events that a Spark log lost: tasks by stage, jobs without an end, and clocks that jump.

The record of a stage contains its number of tasks. If ends of tasks are missing from the log, the number of the record
counts, with the mean time of the tasks that were read. This is sound if the loss does not depend on the time of a task,
and if the standard error of the run's work is small: with n of N tasks of a stage read, whose times have the variance
s^2, the variance of its work is N^2 (1 - n/N) s^2 / n (Cochran, Sampling Techniques, equation 2.22).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mrdsl.exchange.logs.records import Run, SparkApplication, SparkJob, StageRun

LARGEST_ERROR = 0.05
"""Of the work of a run: the standard error, at most."""
JUMP = 3_600_000
"""An hour in milliseconds: the time that a task is believed to hold its slot while its executor does not work on it."""
BACK = 60_000
"""A minute in milliseconds: the time by which a stage is believed to begin before those that it reads."""
LONGEST_IDLE = 6 * 3_600_000
"""Six hours in milliseconds: the time that a job is believed to run no task, and an application to outlive its jobs."""


@dataclass(frozen=True)
class StageLoss:
    """A stage whose log lacks ends of tasks: ``read`` of ``tasks`` are there."""

    stage: int
    title: str
    tasks: int
    read: int


def submissions(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Return the runs with the attempts of each application on YARN as one: the last one, with those before it."""
    kept: dict[object, list[Run]] = {}
    for place, run in enumerate(runs):
        attempt = run.attempt if isinstance(run, SparkApplication) and run.application else ""
        numbered = attempt.isascii() and attempt.isdecimal()
        kept.setdefault(getattr(run, "application", "") if numbered else place, []).append(run)
    return tuple(each for own in kept.values() for each in (_as_one(own) if len(own) > 1 else own))


def _as_one(found: list[Run]) -> list[Run]:
    """Return the last attempt, with each of those before it once, and further copies of the last one."""
    attempts = {int(each.attempt): each for each in reversed(found) if isinstance(each, SparkApplication)}
    *lost, last = (attempts[number] for number in sorted(attempts))
    copies = [each for each in found if each is not last and getattr(each, "attempt", "") == last.attempt]
    return [replace(last, lost_attempts=tuple(lost)), *copies]


def attempts_of(application: SparkApplication) -> dict[int, list[StageRun]]:
    """Return the attempts at each stage, in order."""
    attempts: dict[int, list[StageRun]] = {}
    for stage in application.stages:
        attempts.setdefault(stage.stage, []).append(stage)
    return attempts


def planned(runs: Sequence[StageRun], complete: bool) -> int:
    """Return the number of tasks of a stage from its record if it is complete, otherwise at most as many as were read.

    A retry repeats some of the tasks.
    """
    succeeded = sum(len(run.launches) for run in runs)
    recorded = runs[0].planned or succeeded
    return recorded if complete else min(recorded, succeeded)


def complete_stages(application: SparkApplication) -> set[int]:
    """Return the stages that ended well: by their own record, or since a job that needed them did."""
    complete = {stage.stage for stage in application.stages if stage.completed}
    ran = {stage.stage for stage in application.stages if not stage.skipped}
    for job in application.jobs:
        if job.ended is not None and not job.failed:
            complete |= ran.intersection(job.stages)
    return complete


def lost_tasks(application: SparkApplication) -> tuple[StageLoss, ...]:
    """Return the complete stages of which tasks are missing."""
    complete = complete_stages(application)
    losses = []
    for number, runs in sorted(attempts_of(application).items()):
        tasks, read = planned(runs, number in complete), sum(len(run.launches) for run in runs)
        if read < tasks:
            losses.append(StageLoss(number, runs[0].name, tasks, read))
    return tuple(losses)


def usable(application: SparkApplication) -> SparkApplication:
    """Return the application without the jobs that failed or did not end, and without the stages of these jobs alone.

    A job without an end counts as ended if its last stage, which has the largest number, is complete: with its tasks.
    """
    complete = complete_stages(application)
    well = [job for job in application.jobs if _ended_well(job, complete)]
    kept = tuple(job if job.ended is not None else replace(job, ended=_last(job, application)) for job in well)
    if len(kept) == len(application.jobs):
        return application if kept == application.jobs else replace(application, jobs=kept)
    needed = {stage for job in kept for stage in job.stages}
    dropped = {stage for job in application.jobs for stage in job.stages} - needed
    stages = tuple(stage for stage in application.stages if stage.stage not in dropped)
    held = [stage for stage in application.stages if stage.stage in dropped]
    time = sum(sum(stage.durations) + stage.failed_time + stage.killed_time for stage in held)
    others = tuple(job for job in application.jobs if job not in well)
    return replace(application, jobs=kept, stages=stages, dropped_jobs=others, dropped_time=time)


def _last(job: SparkJob, application: SparkApplication) -> int | None:
    ends = (max(stage.finishes) for stage in application.stages if stage.stage in job.stages and stage.finishes)
    return max(ends, default=None)


def _ended_well(job: SparkJob, complete: set[int]) -> bool:
    if job.failed:
        return False
    return job.ended is not None or (bool(job.stages) and max(job.stages) in complete)


def damage(application: SparkApplication) -> str:
    """Return the reason why what is lost cannot be replaced, or "" if nothing is, or all can be."""
    if application.started is None and (not application.jobs or application.jobs[0].number > 0):
        return "its log begins after it did"
    if application.missing_files:
        return "files of its log are missing"
    if jump := _jump(application):
        return f"its clock jumps by {jump / 60_000:,.0f} min"
    losses = lost_tasks(application)
    if losses and not _is_sound(application, losses):
        return "too many ends of its tasks are lost"
    return ""


def _is_sound(application: SparkApplication, losses: Sequence[StageLoss]) -> bool:
    if any(loss.read < 2 for loss in losses):
        return False
    work, error = estimated_work(application, losses)
    return error <= LARGEST_ERROR * work


def estimated_work(application: SparkApplication, losses: Sequence[StageLoss]) -> tuple[float, float]:
    """Return the work [ms] of a run that lost ends of tasks, and its standard error.

    At least two tasks of each stage must have been read.
    """
    lacking = {loss.stage: loss.tasks for loss in losses}
    work = variance = 0.0
    for number, runs in attempts_of(application).items():
        times = np.array([value for run in runs for value in run.durations], dtype=float)
        if number not in lacking:
            work += float(times.sum())
            continue
        tasks, read = lacking[number], len(times)
        work += tasks * float(times.mean())
        variance += tasks * (tasks - read) * float(times.var(ddof=1)) / read
    return work, math.sqrt(variance)


def _jump(application: SparkApplication) -> int:
    """Return the milliseconds by which the driver's clock jumped, 0 if its times do not contradict each other."""
    jumps = [stage.unexplained for stage in application.stages if stage.unexplained > JUMP]
    jumps += [back for back in _steps_back(application) if back > BACK]
    jumps += [idle for idle in _idle(application) if idle > LONGEST_IDLE]
    return max(jumps, default=0)


def _steps_back(application: SparkApplication) -> Iterator[int]:
    """Yield the time by which each stage begins before a parent ends, for stages without retries."""
    once = {number: runs[0] for number, runs in attempts_of(application).items() if len(runs) == 1}
    for stage in once.values():
        for parent in stage.parents:
            if stage.launches and parent in once and once[parent].finishes:
                yield max(once[parent].finishes) - min(stage.launches)
    for job in application.jobs:
        if job.submitted is not None and job.ended is not None:
            yield job.submitted - job.ended


def _idle(application: SparkApplication) -> Iterator[int]:
    """Yield the gaps without tasks within each job, but not those that begin with it: its executors can be late."""
    gaps = _gaps(application)
    for job in application.jobs:
        if job.submitted is not None and job.ended is not None:
            yield from (begin - end for end, begin in gaps if job.submitted < end and begin < job.ended)


def _gaps(application: SparkApplication) -> list[tuple[int, int]]:
    """Return the gaps of more than :data:`LONGEST_IDLE` between tasks."""
    none = np.zeros(0, np.int64)
    starts, ends = (
        np.concatenate([none, *(np.frombuffer(getattr(stage, side), np.int64) for stage in application.stages)])
        for side in ("launches", "finishes")
    )
    order = np.argsort(starts, kind="stable")
    starts, latest = starts[order][1:], np.maximum.accumulate(ends[order])[:-1]
    places = np.flatnonzero(starts - latest > LONGEST_IDLE)
    return [(int(latest[place]), int(starts[place])) for place in places]
