"""Times of one job on slots of its own: list scheduling of its tasks (Graham 1969), without faults.

A free slot takes the next task of the first stage that is ready. For the same draws the engine gives the same times,
and takes thirty times as long: here slots are a heap of the moments at which they fall free, and a stage is a loop.
Stages that can run at once share the slots; others, such as map and reduce tasks, can have slots of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heapreplace
from itertools import islice
from math import ceil, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.simulation.engine.draws import TaskTimes, mean_attempt, mean_work, recorded_runs
from mrdsl.simulation.engine.world import Stage
from mrdsl.simulation.sampling import stream

Floats = NDArray[np.float64]
Slots = int | tuple[int, ...]
"""The slots of all stages, or of each pool of stages."""
LEAST_JOBS, MOST_JOBS = 4, 2000
"""Jobs that are drawn for a mean, at least, and at most where tasks wait for slots."""
STARTS, VALUES = 8_000, 48_000
"""Tasks of the jobs that are drawn for a mean: where tasks wait for slots, and where each task has one."""
WAVES = 4
"""Waves of tasks up to which a mean takes all these jobs."""


@dataclass(frozen=True)
class OwnStage:
    """A stage of some jobs: the places of the stages before it, its delay [s], and the times of its tasks [s].

    ``times`` has a row for each job. ``first`` are those of the first wave, if they differ: those of a first shuffle.
    ``pool`` is the place of its kind of slots.
    """

    after: tuple[int, ...]
    delay: float
    times: Floats
    first: Floats | None = None
    pool: int = 0

    def on(self, slots: int) -> Floats:
        """Return the times of tasks of a stage that runs with no other one, on a number of slots."""
        return self.times if self.first is None else np.hstack([self.first[:, :slots], self.times[:, slots:]])


def drawn(
    stages: Sequence[Stage], times: Sequence[TaskTimes], jobs: int, seed: int, speed: float = 1.0, even: bool = False
) -> list[OwnStage]:
    """Draw the task times of jobs, those of each stage from the stream of the seed, "own" and the place of the stage.

    Args:
        stages: The stages, each after its parents.
        times: The distributions of their task times.
        jobs: Number of jobs.
        seed: Seed of the streams.
        speed: Divisor of the work of tasks, but not of their shuffles.
        even: Spread all times of a stage evenly over their distribution, see :class:`Even`.
    """
    found = []
    for place, (stage, each) in enumerate(zip(stages, times, strict=True)):
        own, shape = stream(seed, "own", place), (jobs, stage.tasks)
        random: Any = Even(own) if even else own
        count = jobs * stage.tasks
        work = each.work(random, count) / speed
        first = None if each.first is None else work + each.first(random, count)
        later = work if each.shuffle is None else work + each.shuffle(random, count)
        if each.slow is not None:
            slow = each.slow(random, count)
            first, later = None if first is None else first * slow, later * slow
        first = None if first is None else first.reshape(shape)
        found.append(OwnStage(stage.after, stage.delay, later.reshape(shape), first, stage.pool))
    return found


class Even:
    """A stream of values that are spread evenly over their distribution and come in a random order.

    Means over all of them, and over their longest ones, differ far less from their limits than those of independent
    values (Latin hypercube sampling).
    """

    def __init__(self, random: np.random.RandomState) -> None:
        self.random = random

    def random_sample(self, count: int) -> Floats:
        """Return values between 0 and 1, one in each interval of the length 1 / count."""
        found: Floats = (self.random.permutation(count) + self.random.random_sample(count)) / count
        return found

    def standard_normal(self, count: int) -> Floats:
        """Return standard normal values."""
        from scipy.special import ndtri

        found: Floats = ndtri(self.random_sample(count))
        return found

    def standard_exponential(self, count: int) -> Floats:
        """Return exponential values with the mean 1."""
        return -np.log1p(-self.random_sample(count))

    def randint(self, low: int, high: int, count: int) -> NDArray[np.int64]:
        """Return whole numbers from ``low`` to ``high - 1``."""
        return low + (self.random_sample(count) * (high - low)).astype(np.int64)


def job_times(stages: Sequence[OwnStage], slots: Slots) -> Floats:
    """Return the time of each job [s] from its start to its end on own slots.

    Raises ValueError if a stage with a first wave, or of another pool, can run while another one does.
    """
    every = [
        _block_times([stages[place] for place in block], block[0], _slots(slots, stages[block[0]]))
        for block in blocks_of(stages)
    ]
    found: Floats = np.sum(every, axis=0)
    return found


def mean_times(
    stages: Sequence[Stage], times: Sequence[TaskTimes], slots: Sequence[Slots], seed: int = 0, speed: float = 1.0
) -> Floats:
    """Return the mean time of a job [s] on each of some numbers of own slots.

    If all times are recorded, it is that of the recorded runs, their tasks in order.

    The tasks of the jobs that are drawn, evenly spread, are :data:`VALUES` in number for blocks of stages in which each
    task has a slot. They are :data:`STARTS` for others, and fewer if these have more than :data:`WAVES` waves of tasks:
    their times differ less. The mean is corrected by the work of these jobs, whose mean is known, over the slots.
    """
    runs = [None if each.slow is not None or each.first is not None else recorded_runs(each.work) for each in times]
    known = [each / speed for each in runs if each is not None]
    if len(known) == len(stages):
        most = np.arange(max(map(len, known)))
        own = [
            OwnStage(stage.after, stage.delay, rows[most % len(rows)], None, stage.pool)
            for stage, rows in zip(stages, known, strict=True)
        ]
        return np.array([job_times(own, each).mean() for each in slots])
    tasks = sum(stage.tasks for stage in stages)
    means = [mean_attempt(each) - (1.0 - 1.0 / speed) * mean_work(each) for each in times]
    many = drawn(stages, times, max(LEAST_JOBS, VALUES // tasks), seed, speed, True)
    fewer = drawn(stages, times, max(LEAST_JOBS, min(MOST_JOBS, STARTS // tasks)), seed, speed, True)
    found = np.zeros(len(slots))
    for block in blocks_of(many):
        count = sum(stages[place].tasks for place in block)
        mean = sum(stages[place].tasks * means[place] for place in block)
        for place, counts in enumerate(slots):
            each = _slots(counts, many[block[0]])
            own = [(many if each >= count else fewer)[one] for one in block]
            if WAVES * each < count:
                jobs = max(LEAST_JOBS, ceil(len(own[0].times) * WAVES * each / count))
                own = [
                    replace(row, times=row.times[:jobs], first=None if row.first is None else row.first[:jobs])
                    for row in own
                ]
            excess = sum(row.times.sum(axis=1) for row in own) - mean
            found[place] += np.mean(_block_times(own, block[0], each) - excess / min(each, count))
    return found


def _slots(slots: Slots, stage: OwnStage) -> int:
    return slots if isinstance(slots, int) else slots[stage.pool]


def completion(stages: Sequence[tuple[tuple[int, ...], float, Sequence[float]]], slots: int) -> float:
    """Return the time of one job [s] whose task times are known, in their order, on own slots.

    Args:
        stages: For each stage the places of those before it, its delay [s] and the times of its tasks [s].
        slots: Number of slots.
    """
    free = [0.0] * min(slots, max(1, sum(len(times) for _, _, times in stages)))
    ends, begun = [0.0] * len(stages), [0] * len(stages)
    ready: dict[int, float] = {}
    waiting = dict(enumerate(stages))
    while True:
        for place, (after, delay, _) in list(waiting.items()):
            if all(begun[before] == len(stages[before][2]) for before in after):
                ready[place] = max((ends[before] for before in after), default=0.0) + delay
                del waiting[place]
        if not ready:
            return max(ends)
        now = max(free[0], min(ready.values()))
        place = min(each for each, moment in ready.items() if moment <= now)
        until = min((moment for each, moment in ready.items() if each < place), default=inf)
        if now > free[0]:
            free = [max(each, now) for each in free]
        times = stages[place][2]
        begun[place], ends[place] = _started(times, begun[place], ends[place], free, until)
        if begun[place] == len(times):
            del ready[place]


def _started(times: Sequence[float], begun: int, end: float, free: list[float], until: float) -> tuple[int, float]:
    """Start tasks before ``until`` on slots that are ``free`` from some moments on, a heap.

    Return the number of tasks that have begun, and the moment at which the last one of these ends. Another stage can
    only go first when it is ready, which is known before: its parents have started.
    """
    count = len(free)
    if until == inf and not begun and len(times) > count and free[0] == max(free):
        free[:] = _filled(times, count, free[0])
        return len(times), max(free)
    moments = [end]
    for time in islice(times, begun, None):
        moment = free[0]
        if moment >= until:
            break
        moment += time
        moments.append(moment)
        heapreplace(free, moment)
    return begun + len(moments) - 1, max(moments)


def _filled(times: Sequence[float], count: int, now: float = 0.0) -> list[float]:
    """Return when slots that are all free now are free after tasks, of which there are more."""
    free = [now + time for time in times[:count]]
    heapify(free)
    for time in islice(times, count, None):
        heapreplace(free, free[0] + time)
    return free


def _block_times(stages: Sequence[OwnStage], first: int, slots: int) -> Floats:
    """Return the times of stages that run with no other one; the first of them has this place in the job."""
    if len(stages) == 1:
        stage = stages[0]
        tasks = stage.times.shape[1]
        times = stage.on(slots)
        if slots >= tasks or slots == 1:
            found: Floats = (times.max if slots >= tasks else times.sum)(axis=1) + stage.delay
            return found
        return stage.delay + np.array([max(_filled(row, slots)) for row in times.tolist()])
    if any(stage.first is not None or stage.pool != stages[0].pool for stage in stages):
        raise ValueError("a stage with a first wave, or with slots of its own, runs while another one does")
    after = [tuple(parent - first for parent in stage.after if parent >= first) for stage in stages]
    rows = zip(*(stage.times.tolist() for stage in stages), strict=True)
    delays = [stage.delay for stage in stages]
    return np.array([completion(list(zip(after, delays, row, strict=True)), slots) for row in rows])


def blocks_of(stages: Sequence[OwnStage]) -> list[range]:
    """Return the least runs of stages of which each run begins after the ones before it have ended."""
    before: list[int] = []
    for stage in stages:
        own = 0
        for parent in stage.after:
            own |= before[parent] | 1 << parent
        before.append(own)
    cuts, every = [], (1 << len(stages)) - 1
    for place in reversed(range(len(stages))):
        every &= before[place]
        earlier = (1 << place) - 1
        if every & earlier == earlier:
            cuts.append(place)
    cuts.reverse()
    return [range(one, other) for one, other in zip(cuts, [*cuts[1:], len(stages)], strict=True)]
