"""Events that a Spark log lost: tasks by stage, jobs without an end, and clocks that jump; and growth with the input.

The record of a stage contains its number of tasks. If ends of tasks are missing from the log, the number of the record
counts, with the mean time of the tasks that were read. This is sound if the loss does not depend on the time of a task,
and if the standard error of the run's work is small: with n of N tasks of a stage read, whose times have the variance
s^2, the variance of its work is N^2 (1 - n/N) s^2 / n (Cochran, Sampling Techniques, equation 2.22).

Tasks and mean task times of a stage have the terms 1 and n, with n the input of a run. The time of whole runs has the
terms of Ernest (Venkataraman et al., NSDI 2016, section 3): 1, n/m, log m and m, with m slots; or 1, n/m and its
square, unless Ernest's describe the runs clearly better. The square stands for work that grows faster than the input of
a slot, for example because memory is short.

Runs of one name that read very different inputs are several classes, since their mean is typical of none of them. The
inputs, in order, are divided where the next is :data:`DIVIDED` times as large, if the work of the runs on both sides
differs too. The part with most runs keeps the name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from statistics import mean
from typing import TypeVar

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


MIB = float(2**20)
SIZES, APART = 3, 1.5
"""The least number of different inputs, and the least ratio of the largest to the smallest."""
EXPLAINED = 0.5
"""The least part of the variance that growth explains."""
NAMES = ("1", "n/m", "(n/m)²", "log m", "m")
ERNEST, SQUARE = (0, 1, 3, 4), (0, 1, 2)
NOTABLE = 0.25
"""The part of the time on the fewest slots from which the square is worth a warning."""
CLEARLY = 1.2
"""Squares of errors with the square of n/m, in those of Ernest's terms, from which Ernest's are used."""
LEAST_TIME = 0.001
"""A millisecond in seconds: shorter runs count as long in relative errors."""


@dataclass(frozen=True)
class Growth:
    """``constant + slope * input / MiB``, and the half width of the interval of 95 % for a run of usual size."""

    constant: float
    slope: float
    interval: float

    def at(self, size: float) -> float:
        """Return the value for an input in MiB."""
        return self.constant + self.slope * size


@dataclass(frozen=True)
class RunGrowth:
    """The time of runs [s]: a coefficient for each term of :data:`NAMES`, and the half width of the interval of 95 %.

    ``runs`` is their number, ``least`` and ``most`` are the smallest and the largest input in MiB, ``fewest``
    the least slots. ``held_out`` is the
    mean of the relative errors for the runs on each number of slots from those on the others, None for fewer than
    :data:`SIZES` numbers.
    """

    coefficients: tuple[float, ...]
    interval: float
    runs: int
    least: float
    most: float
    fewest: int
    held_out: float | None = None

    def at(self, size: float, slots: int) -> float:
        """Return the time for an input in MiB on a number of slots [s]."""
        return float(_terms(np.array([size]), np.array([float(slots)]))[0] @ np.array(self.coefficients))

    @property
    def warning(self) -> str:
        """What to say if the square of n/m is a part of the time that matters, otherwise ""."""
        worst = _terms(np.array([self.most]), np.array([float(self.fewest)]))[0] * np.array(self.coefficients)
        short = worst[2] > NOTABLE * worst.sum()
        return f"memory may be short on {self.fewest} slots or fewer" if short else ""


def sizes_of(inputs: Sequence[int | None]) -> tuple[float, ...]:
    """Return inputs [B] in MiB if all are known and differ enough, otherwise ()."""
    known = [size / MIB for size in inputs if size]
    if len(known) < len(inputs) or len(set(known)) < SIZES or max(known) < APART * min(known):
        return ()
    return tuple(known)


def growth_of(inputs: Sequence[float], values: Sequence[float]) -> Growth | None:
    """Return the growth of values with inputs in MiB; None if they do not grow with it."""
    terms = np.column_stack([np.ones(len(inputs)), inputs])
    found, interval, explained = _fitted(terms, values)
    return Growth(found[0], found[1], interval) if found[1] > 0.0 and explained >= EXPLAINED else None


def run_growth(inputs: Sequence[float], slots: Sequence[int], times: Sequence[float]) -> RunGrowth:
    """Return the time of runs by the terms that describe it; Ernest's of slots are left out if all runs had as many.

    Squares of relative errors are least, since runs on few slots take many times as long as those on many.
    """
    n, m, t = (np.asarray(each, dtype=float) for each in (inputs, slots, times))
    found, interval = _run_fit(n, m, t)
    counts, errors = sorted(set(slots)), []
    for each in counts if len(counts) >= SIZES else ():
        out = m == each
        without, _ = _run_fit(n[~out], m[~out], t[~out])
        errors += np.abs(_terms(n[out], m[out]) @ np.array(without) / t[out] - 1.0).tolist()
    held_out = sum(errors) / len(errors) if errors else None
    return RunGrowth(found, interval, len(times), float(n.min()), float(n.max()), min(slots), held_out)


def _terms(n: np.ndarray, m: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(n)), n / m, (n / m) ** 2, np.log(m), m])


def _run_fit(n: np.ndarray, m: np.ndarray, times: np.ndarray) -> tuple[tuple[float, ...], float]:
    """Return the coefficients of :data:`NAMES`, and the half width of the interval of 95 %."""
    weights, fits = 1.0 / np.maximum(times, LEAST_TIME), []
    for kept in (SQUARE, ERNEST) if len(set(m)) > 1 else (ERNEST[:2],):
        found, interval, _ = _fitted(_terms(n, m)[:, kept], times, weights)
        every = np.zeros(len(NAMES))
        every[list(kept)] = found
        off = float((((_terms(n, m) @ every - times) * weights) ** 2).sum())
        fits.append((off, tuple(every.tolist()), interval))
    best = fits[-1] if fits[0][0] > CLEARLY * fits[-1][0] else fits[0]
    return best[1], best[2]


def _fitted(
    terms: np.ndarray, values: Sequence[float] | np.ndarray, weights: np.ndarray | float = 1.0
) -> tuple[tuple[float, ...], float, float]:
    """Return the coefficients, the half width of the interval of 95 % for a new run, and the explained variance.

    The sum of squares of errors times their ``weights`` is least.
    """
    from scipy.optimize import nnls
    from scipy.special import stdtrit

    wanted = np.asarray(values, dtype=float)
    each = np.broadcast_to(weights, wanted.shape)
    scale = np.abs(terms * each[:, None]).max(axis=0)
    scale[scale == 0.0] = 1.0
    found, _ = nnls(terms * each[:, None] / scale, wanted * each)
    left = wanted - (terms / scale) @ found
    free = len(wanted) - int((found > 0.0).sum())
    spread = float(np.sqrt((left**2).sum() / free)) if free > 0 else 0.0
    half = float(stdtrit(free, 0.975)) * spread * float(np.sqrt(1.0 + 1.0 / len(wanted))) if free > 0 else 0.0
    total = float(((wanted - wanted.mean()) ** 2).sum())
    explained = 1.0 - float((left**2).sum()) / total if total > 0.0 else 0.0
    return tuple((found / scale).tolist()), half, explained


DIVIDED, MORE_WORK = 4.0, 2.0
"""The ratio of an input to the next smaller one, and of the mean work of runs, that divide a class."""
MOST_PARTS = 4
"""Classes of one name by input, at most."""
_NUMBER = re.compile(r"_[0-9]+$")
Each = TypeVar("Each")


def divided(
    named: Sequence[tuple[Each, str]], size: Callable[[Each], int | None], work: Callable[[Each], float]
) -> list[tuple[Each, str]]:
    """Return runs with the names of their classes, those with far larger inputs in classes of their own.

    Args:
        named: Runs with the names of their classes.
        size: The input of a run [B], None or 0 if unknown. Names with such runs are not divided.
        work: The slot time of a run.
    """
    places: dict[str, list[int]] = {}
    for place, (_, name) in enumerate(named):
        places.setdefault(name, []).append(place)
    names = [name for _, name in named]
    for name, own in places.items():
        sizes = {place: size(named[place][0]) or 0 for place in own}
        if min(sizes.values()) > 0:
            parts = _parts(sorted(own, key=sizes.__getitem__), sizes, lambda place: work(named[place][0]))
            parts.sort(key=len, reverse=True)
            numbered = (each for each in (f"{name}_{n}" for n in count(2)) if each not in places)
            for part, new in zip(parts, chain([name], numbered), strict=False):
                for place in part:
                    names[place] = new
    return [(run, name) for (run, _), name in zip(named, names, strict=True)]


def _parts(ranked: list[int], sizes: dict[int, int], work: Callable[[int], float]) -> list[list[int]]:
    """Return the runs in parts, from the smallest input to the largest."""
    ratios = {cut: sizes[ranked[cut]] / sizes[ranked[cut - 1]] for cut in range(1, len(ranked))}
    cuts = sorted(ratios, key=ratios.__getitem__, reverse=True)[: MOST_PARTS - 1]
    parts: list[list[int]] = [[]]
    for place, run in enumerate(ranked):
        if place in cuts and ratios[place] >= DIVIDED:
            parts.append([])
        parts[-1].append(run)
    kept = parts[:1]
    for part in parts[1:]:
        if mean(map(work, part)) >= MORE_WORK * mean(map(work, kept[-1])):
            kept.append(part)
        else:
            kept[-1] += part
    return kept


def stem(name: str) -> str:
    """Return the name of a class without the number that divides classes of one name."""
    return _NUMBER.sub("", name)


def alike(some: tuple[float, float] | None, others: tuple[float, float] | None) -> bool:
    """Return True if two ranges of inputs are so close that they divide no class, or one is unknown."""
    if some is None or others is None:
        return True
    return max(some[0], others[0]) < DIVIDED * min(some[1], others[1])
