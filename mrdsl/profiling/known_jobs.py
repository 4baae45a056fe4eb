"""Jobs as the engine and the estimates know them: stages with recorded task times, and times outside tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from types import SimpleNamespace

import numpy as np

from mrdsl.formulas import mapreduce
from mrdsl.formulas.profiles import profile_of
from mrdsl.profiling.classes import MAX, P95
from mrdsl.simulation.engine.draws import Floats, Samples, TaskTimes
from mrdsl.simulation.engine.world import Stage
from mrdsl.simulation.own_draws import OwnStage, drawn
from mrdsl.simulation.own_slots import job_times
from mrdsl.spec.blocks import Stage as SpecStage

RUNS, TASKS = 500, 100_000
"""Simulations of one job: so many, or fewer with so many tasks in total, but at least three."""


@dataclass(frozen=True)
class Part:
    """A stage of a job: its tasks, its predecessors, the time before it, and recorded times of its tasks [s].

    ``work`` are times after the shuffle, ``first`` and ``later`` those of the shuffle in the first wave and after it.
    """

    tasks: int
    after: tuple[int, ...]
    delay: float
    work: tuple[float, ...]
    first: tuple[float, ...] = ()
    later: tuple[float, ...] = ()
    pool: int = 0


@dataclass(frozen=True)
class Known:
    """A job: the time before its first task, its stages, and the time after its last task [s]."""

    before: float
    parts: tuple[Part, ...]
    end: float


def scaled(part: Part, own: Part) -> Part:
    """Return the part with the tasks of the own one, and its times with the means of the own ones."""
    work, first, later = (
        _scaled(values, wanted)
        for values, wanted in ((part.work, own.work), (part.first, own.first), (part.later, own.later))
    )
    return replace(part, tasks=own.tasks, work=work, first=first, later=later)


def _scaled(values: tuple[float, ...], wanted: tuple[float, ...]) -> tuple[float, ...]:
    mean = sum(values) / len(values) if values else 0.0
    if not mean or not wanted:
        return values
    factor = sum(wanted) / len(wanted) / mean
    return tuple(value * factor for value in values)


def together(jobs: Sequence[Known]) -> Known:
    """Return jobs as one: mean numbers of tasks, all task times, medians of times outside tasks.

    They are of one shape, but a job can lack the last parts of others.
    """
    longest = max(jobs, key=lambda job: len(job.parts)).parts
    parts = tuple(
        _pooled([job.parts[place] for job in jobs if place < len(job.parts)]) for place in range(len(longest))
    )
    return Known(median(job.before for job in jobs), parts, median(job.end for job in jobs))


def _pooled(parts: Sequence[Part]) -> Part:
    return replace(
        parts[0],
        tasks=max(1, round(sum(part.tasks for part in parts) / len(parts))),
        delay=median(part.delay for part in parts),
        work=tuple(value for part in parts for value in part.work),
        first=tuple(value for part in parts for value in part.first),
        later=tuple(value for part in parts for value in part.later),
    )


def simulated(job: Known, slots: Sequence[int], seed: int) -> float:
    """Return the mean time of a job alone on slots [s], with task times drawn from the recorded ones."""
    work = [
        TaskTimes(*(Samples(times) if times else None for times in (part.work, part.first, part.later)))  # type: ignore[arg-type]
        for part in job.parts
    ]
    runs = max(3, min(RUNS, TASKS // sum(part.tasks for part in job.parts)))
    stages = [
        Stage(f"s{place}", part.tasks, part.after, part.pool, delay=_delay(job, part))
        for place, part in enumerate(job.parts)
    ]
    return float(job_times(drawn(stages, work, runs, seed, even=True), tuple(slots)).mean()) + job.end


def repeated(job: Known, slots: Sequence[int]) -> float:
    """Return the time of a job alone on slots [s], with the recorded task times in their order."""
    return float(job_times(own_stages(job), tuple(slots))[0]) + job.end


def own_stages(job: Known) -> list[OwnStage]:
    """Return the stages of a job with the recorded task times in their order, repeated for tasks without times."""
    stages = []
    for part in job.parts:
        shape = (1, max(part.tasks, len(part.work)))
        work, first, later = (np.resize(times, shape) for times in (part.work, part.first, part.later))
        waves: tuple[Floats, Floats | None] = (work + later, work + first) if part.first else (work, None)
        stages.append(OwnStage(part.after, _delay(job, part), waves[0], waves[1], part.pool))
    return stages


def _delay(job: Known, part: Part) -> float:
    return part.delay + (0.0 if part.after else job.before)


def estimates(job: Known, slots: Sequence[int], longest: str = MAX) -> tuple[float, float, float]:
    """Return the lower, the average and the upper estimate of a job alone on slots [s].

    ``longest`` is ``max`` or ``p95``, the maximum of task times. The estimates use equations (1) to (4) of paper 000.
    """
    one, outside = np.ones(1), job.before + job.end
    counts = [np.array([float(count)]) for count in (*slots, *slots)[:2]]
    profile = _phases(job, longest) if len(job.parts) == 1 or job.parts[-1].first else _of_stages(job, longest)
    works = [estimate(profile) for estimate in (mapreduce.lower, mapreduce.average, mapreduce.upper)]
    low, middle, high = (outside + float(mapreduce.completion(work, one, *counts)[0]) for work in works)
    return max(low, outside + float(np.max(works[0].path))), middle, high


def _phases(job: Known, longest: str) -> mapreduce.Profile:
    """Return the profile of a map phase with its delay as startup, and a reduce phase if there is one."""
    maps, reduces = (*job.parts, Part(0, (), 0.0, ()))[:2]
    return mapreduce.Profile(
        np.array([float(maps.tasks)]),
        *_both(maps.work, longest),
        *_both(reduces.first, longest),
        *_both(reduces.later, longest),
        np.array([float(reduces.tasks)]),
        *_both(reduces.work, longest),
        startup=maps.delay,
    )


def _of_stages(job: Known, longest: str) -> mapreduce.Profile:
    stages = []
    for place, part in enumerate(job.parts):
        mean, high = (max(float(value[0]), 0.001) for value in _both(part.work, longest))
        after = tuple(f"s{other}" for other in part.after)
        stages.append(SpecStage(name=f"s{place}", tasks=part.tasks, avg=mean, max=high, delay=part.delay, after=after))
    return profile_of([SimpleNamespace(stages=tuple(stages), map=None, shuffle=None, reduce=None, startup=None)])


def _both(values: Sequence[float], longest: str) -> tuple[Floats, Floats]:
    """Return the mean and the maximum, or the 95th percentile but at least the mean; NaN without values."""
    known = np.asarray(values if len(values) else [np.nan])
    mean = known.mean(keepdims=True)
    high = np.quantile(known, 0.95, method="inverted_cdf") if longest == P95 else known.max()
    return mean, np.maximum(mean, high)
