"""Times of one job on slots of its own: list scheduling of its tasks (Graham 1969), without faults.

A free slot takes the next task of the first stage that is ready. For the same draws the engine gives the same times,
and takes thirty times as long: here slots are a heap of the moments at which they fall free, and a stage is a loop.
Stages that can run at once share the slots; others, such as map and reduce tasks, can have slots of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heapreplace
from itertools import islice
from math import inf
from typing import Protocol

import numpy as np

from mrdsl.simulation.engine.draws import TaskTimes
from mrdsl.simulation.engine.world import Stage
from mrdsl.simulation.own_draws import Floats, OwnStage, stated

Slots = int | tuple[int, ...]
"""The slots of all stages, or of each pool of stages."""


class Ordered(Protocol):
    """Anything with the places of the stages before it."""

    @property
    def after(self) -> tuple[int, ...]:
        """The places, all smaller than its own."""


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

    It is that of the jobs of :class:`mrdsl.simulation.own_draws.Stated`. For drawn jobs, the mean is corrected by their
    work, whose mean is known, over the slots.
    """
    jobs = stated(stages, times, seed, speed)
    if jobs.recorded:
        return np.array([job_times(jobs.recorded, each).mean() for each in slots])
    found = np.zeros(len(slots))
    for block in blocks_of(jobs.many):
        for place, counts in enumerate(slots):
            each = _slots(counts, jobs.many[block[0]])
            own, count, mean = jobs.block(block, each)
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


def blocks_of(stages: Sequence[Ordered]) -> list[range]:
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
