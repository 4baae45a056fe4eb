"""Classes of Spark applications: many runs of one DAG of stages, summed up for a spec.

A run is one application: its stages that ran, each after those of its parents that ran in the same job, and the first
ones of a job after the last ones of the jobs that had ended when it was submitted. Retries of a stage belong to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from statistics import median

from mrdsl.core.diagnostics import number_of
from mrdsl.exchange.logs.records import SparkApplication
from mrdsl.profiling.classes import MAX, LeftOut, Measured, One, Summary, doubts, measured, summed_up
from mrdsl.profiling.cluster import counts_of
from mrdsl.profiling.losses import (
    LONGEST_IDLE,
    SIZES,
    Growth,
    RunGrowth,
    damage,
    growth_of,
    lost_tasks,
    run_growth,
    usable,
)
from mrdsl.profiling.phases import Durations, Overhead, Times, believed
from mrdsl.profiling.ran import Alike, Ran, alike, idle_between, ran_stages

Grouped = tuple[SparkApplication, str]
MOST_KINDS = 4
"""Classes of runs of one name, at most."""


@dataclass(frozen=True)
class StageProfile:
    """One stage in all runs of a class: its mean number of tasks, their times, the places of those it comes after.

    ``delay`` is the median time before it in which no task runs [s], ``durations`` are those of all its tasks.
    ``shuffled`` is the mean of the bytes that they fetched from shuffles. Each takes ``slots``; ``barrier``: all run at
    once.
    ``more_tasks`` and ``longer`` are the growth of their number and of their mean time [s] with the input.
    """

    title: str
    tasks: int
    times: Measured
    after: tuple[int, ...]
    delay: float = 0.0
    durations: Durations = field(default=Durations(), repr=False, compare=False)
    more_tasks: Growth | None = None
    longer: Growth | None = None
    shuffled: float = 0.0
    slots: int = 1
    barrier: bool = False


@dataclass(frozen=True, kw_only=True)
class StageClass(Summary):
    """The contents of a spec for a class of Spark applications.

    ``growth`` is that of the time of runs, if they are of several sizes.
    """

    stages: tuple[StageProfile, ...]
    growth: RunGrowth | None = None


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
    held = 0.0 if twice else overhead.time + overhead.work + application.dropped_time / 1000
    return LeftOut(application.source, application.application, reason, held, damaged)


def _unfit(application: SparkApplication, kept: SparkApplication) -> str:
    if application.finished is None and not kept.jobs:
        return "its log ends before a job of it does"
    if application.jobs and not kept.jobs:
        return "every job of it failed" if all(job.failed for job in application.jobs) else "no job of it ended well"
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
    beside = _beside([application for group in groups.values() for application in group])
    for name, group in sorted(groups.items()):
        kinds = alike([ran_stages(each) for each in group])
        names = (
            each for each in chain([name], (f"{name}_{n}" for n in count(2))) if each == name or each not in groups
        )
        for kind, own in zip(kinds[:MOST_KINDS], names, strict=False):
            runs = [group[place] for place in kind.runs]
            classes.append(_class(own, runs, kind, len(group), longest, beside))
            used += [(each, own) for each in runs]
        others = [group[place] for kind in kinds[MOST_KINDS:] for place in kind.runs]
        left += [_left(each, "its stages differ from those of most runs of its class") for each in others]
    return tuple(sorted(classes, key=lambda each: each.name)), used, left


def _beside(runs: Sequence[SparkApplication]) -> set[int]:
    """Return the ids of the runs that shared a cluster: another one ran then, or their cores are limited."""
    spans = sorted((run.started, run.finished, id(run)) for run in runs if run.started and run.finished)
    found = {id(run) for run in runs if "spark.cores.max" in run.configuration}
    latest, last = 0, 0
    for begin, end, run in spans:
        if begin < latest:
            found |= {run, last}
        if end > latest:
            latest, last = end, run
    return found


def _class(
    name: str, runs: Sequence[SparkApplication], kind: Alike, of: int, longest: str, beside: set[int]
) -> StageClass:
    present = [[kind.stages[place][run] for place in range(len(kind.stages))] for run in range(len(runs))]
    ones = [
        _one(each, [stage for stage in own if stage], id(each) in beside)
        for each, own in zip(runs, present, strict=True)
    ]
    known = summed_up(name, ones)
    inputs = known["sizes"]
    summary = StageClass(
        **known,
        growth=_growth(runs, inputs),
        stages=tuple(
            _stage(stages, after, longest, inputs) for stages, after in zip(kind.stages, kind.after, strict=True)
        ),
    )
    fewer = sum(None in own for own in present)
    return replace(summary, warnings=(*doubts(summary), *summary.warnings, *_doubts(runs, of, fewer)))


def _doubts(runs: Sequence[SparkApplication], of: int, fewer: int) -> Iterator[str]:
    if of > len(runs):
        yield f"runs of its name with these stages: {len(runs)} of {of}; the others are classes of their own"
    if fewer:
        yield f"runs without some of its stages: {fewer} of {len(runs)}; a stage has its mean number of tasks over all"
    if losses := [loss for each in runs for loss in lost_tasks(each)]:
        read, tasks = sum(loss.read for loss in losses), sum(loss.tasks for loss in losses)
        stages = number_of(len(losses), "stage")
        yield f"{stages} with lost ends of tasks: {read:,} of {tasks:,} are read, and scaled up"
    if dropped := sum(len(each.dropped_jobs) for each in runs):
        jobs = dropped + sum(len(each.jobs) for each in runs)
        yield f"Spark jobs left out, which failed or did not end: {dropped} of {jobs}"
    if lost := sum(len(each.lost_attempts) for each in runs):
        yield f"{number_of(lost, 'earlier attempt')} of its runs lost, whose tasks are lost attempts"
    if cut := sum(each.finished is None for each in runs):
        yield f"{number_of(cut, 'run')} without an end, used up to the last job that ended"


def _growth(runs: Sequence[SparkApplication], inputs: Sequence[float]) -> RunGrowth | None:
    """Return the growth of the time of runs with known times; None if too few have them, or all are of one size."""
    known = [
        (size, slots_of_run(run), (times.end - times.begin) / 1000)
        for run, size, times in zip(runs, inputs or [1.0] * len(runs), map(times_of, runs), strict=True)
        if times.begin is not None and times.end is not None
    ]
    differ = len({slots for _, slots, _ in known}) >= SIZES or (inputs and len(known) >= SIZES)
    return run_growth(*zip(*known, strict=True)) if differ else None


def slots_of_run(run: SparkApplication) -> int:
    """Return the most slots of its executors at once, or its most concurrent tasks if they are unknown."""
    if run.cores and run.cores >= run.task_cpus:
        return run.cores // run.task_cpus
    spans = (span for each in run.stages for span in zip(each.launches, each.finishes, strict=True))
    return counts_of(spans).most or 1


def _stage(runs: Sequence[Ran | None], after: tuple[int, ...], longest: str, inputs: Sequence[float]) -> StageProfile:
    there = [run for run in runs if run is not None]
    durations = Durations.of(value for run in there for value in run.durations)
    times = measured(durations, longest)
    assert times is not None, "a stage that ran has tasks"
    tasks = max(1, round(sum(run.tasks for run in there) / len(runs)))
    more = growth_of(inputs, [0.0 if run is None else float(run.tasks) for run in runs]) if inputs else None
    means = [
        (size, sum(run.durations) / len(run.durations) / 1000) for size, run in zip(inputs, runs, strict=False) if run
    ]
    longer = growth_of(*zip(*means, strict=True)) if len({size for size, _ in means}) >= SIZES else None
    delay = median(run.delay for run in there) / 1000
    shuffled = sum(run.shuffled for run in there) / len(there)
    slots, barrier = max(run.slots for run in there), any(run.barrier for run in there)
    return StageProfile(there[0].title, tasks, times, after, delay, durations, more, longer, shuffled, slots, barrier)


def _one(application: SparkApplication, stages: Sequence[Ran], shared: bool) -> One:
    durations = [value for stage in stages for value in stage.durations]
    times = times_of(application)
    came = min((each.added for each in application.lives if each.added is not None), default=None)
    if shared and came is not None and times.begin is not None:
        times = replace(times, waited=max(0, min(came - times.begin, times.before)))
    begins = [times.begin, *(times_of(each).begin for each in application.lost_attempts)]
    return One(
        replace(times, begin=min((each for each in begins if each is not None), default=None)),
        sum(durations) / len(durations),
        sum(stage.tasks for stage in stages),
        input_of(application),
        overhead_of(application),
    )


def input_of(application: SparkApplication) -> int | None:
    """Return the bytes that an application read, None if unknown."""
    return sum(stage.input_bytes for stage in application.stages) or None


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
    """Return the lost attempts in all its stages, and all tasks of its lost attempts as killed ones."""
    stages = application.stages
    lost = [stage for each in application.lost_attempts for stage in each.stages]
    every = [*stages, *lost]
    return Overhead(
        sum(stage.failed for stage in every),
        sum(stage.killed for stage in every) + sum(len(stage.launches) for stage in lost),
        sum(stage.failed_time for stage in every) / 1000,
        (sum(stage.killed_time for stage in every) + sum(sum(stage.durations) for stage in lost)) / 1000,
        sum(sum(stage.durations) for stage in stages) / 1000,
    )
