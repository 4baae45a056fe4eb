"""Jobs as the engine and the estimates know them: stages with recorded task times, and times outside tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import add
from statistics import median

import numpy as np

from mrdsl.formulas.stages import longest_path
from mrdsl.profiling.classes import MAX, P95
from mrdsl.simulation.engine.draws import Floats, Samples, TaskTimes
from mrdsl.simulation.engine.world import Stage
from mrdsl.simulation.own_draws import OwnStage, drawn
from mrdsl.simulation.own_slots import blocks_of, job_times

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
    """Return the lower bound, the middle and the upper bound of the time of a job alone on slots [s].

    Blocks of stages that run with no other one add. With their work W and critical path P, a block takes at least W/k
    and P of averages, and at most (W - P)/k + P with P of longest tasks, and P if every task has a slot (Graham 1969).
    ``longest`` is ``max`` or ``p95``, the maximum of task times.
    """
    low = high = job.end
    for block in blocks_of(job.parts):
        own = [job.parts[place] for place in block]
        lower, upper = _block_bounds(job, own, block[0], slots[min(own[0].pool, len(slots) - 1)], longest)
        low, high = low + lower, high + upper
    return low, (low + high) / 2.0, high


def _block_bounds(job: Known, parts: Sequence[Part], start: int, slots: int, longest: str) -> tuple[float, float]:
    parents = tuple(tuple(parent - start for parent in part.after if parent >= start) for part in parts)
    delays = [_delay(job, part) for part in parts]
    work = [_mean(part.work) + max(_mean(part.first), _mean(part.later)) for part in parts]
    least = [_mean(part.work) + min(_mean(part.first), _mean(part.later)) for part in parts]
    ends = [_longest(part.work, longest) + _longest(part.later, longest) for part in parts]
    first = [_longest(part.work, longest) + _longest(part.first, longest) for part in parts]

    def path(lengths: Sequence[float]) -> float:
        return sum(lengths[place] for place in longest_path(parents, lengths))

    def summed(means: Sequence[float]) -> float:
        return sum(part.tasks * mean for part, mean in zip(parts, means, strict=True))

    ends = list(map(max, ends, first))
    alone = delays[0] if len(parts) == 1 else 0.0
    chain = path(ends)
    lower = max(summed(least) / slots + alone, path(list(map(add, least, delays))))
    if sum(part.tasks for part in parts) <= slots:
        return lower, path(list(map(add, ends, delays)))
    return lower, max(0.0, summed(work) - chain) / slots + chain + path(delays)


def _mean(times: Sequence[float]) -> float:
    return sum(times) / len(times) if times else 0.0


def _longest(times: Sequence[float], longest: str) -> float:
    """Return the maximum, or the 95th percentile but at least the mean; 0 without times."""
    if not times:
        return 0.0
    if longest == P95:
        return max(_mean(times), float(np.quantile(times, 0.95, method="inverted_cdf")))
    return max(times)
