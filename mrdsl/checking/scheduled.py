"""Mean times of jobs on slots of their own, computed a second time for verification: task by task, event by event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

REDUCES = 1
"""The kind of reduce tasks."""


def mean_of(drawn: Callable[[Any, int, float], Any]) -> Callable[[Any, int, float, tuple[int, ...]], list[float]]:
    """Return a function of a class, a kind of tasks, a speed and numbers of slots to mean times of a job [s].

    Args:
        drawn: Gives the jobs of a class, a kind of tasks and a speed over which the mean is taken.
    """

    def means(node: Any, kind: int, speed: float, slots: tuple[int, ...]) -> list[float]:
        jobs = drawn(node, kind, speed)
        outside = 0.0 if kind == REDUCES else node.startup
        return [_mean(jobs, each) + outside for each in slots]

    return means


def _mean(jobs: Any, slots: int) -> float:
    if jobs.recorded:
        return float(np.mean(_times(jobs.recorded, list(range(len(jobs.recorded))), slots)))
    total = 0.0
    for block in _parts([stage.after for stage in jobs.many]):
        own, count, mean = jobs.block(block, slots)
        work = [sum(float(stage.times[row].sum()) for stage in own) for row in range(len(own[0].times))]
        total += float(np.mean(_times(own, block, slots))) - (float(np.mean(work)) - mean) / min(slots, count)
    return total


def _parts(after: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """Return the parts of a job, each of which starts after all stages of the ones before it have ended."""
    before: list[set[int]] = []
    for parents in after:
        before.append(set(parents).union(*(before[parent] for parent in parents)))
    parts: list[list[int]] = []
    for place in range(len(after)):
        if all(before[later] >= set(range(place)) for later in range(place, len(after))):
            parts.append([])
        parts[-1].append(place)
    return parts


def _times(stages: Sequence[Any], places: Sequence[int], slots: int) -> list[float]:
    """Return the time of each job: a free slot takes the next task of the first stage that is ready."""
    number = {place: index for index, place in enumerate(places)}
    parents = [[number[one] for one in stage.after if one in number] for stage in stages]
    rows = range(len(stages[0].times))
    return [
        _time([_row(stage, row, slots) for stage in stages], [s.delay for s in stages], parents, slots) for row in rows
    ]


def _row(stage: Any, row: int, slots: int) -> list[float]:
    later = stage.times[row].tolist()
    return later if stage.first is None else [*stage.first[row].tolist()[:slots], *later[slots:]]


def _time(tasks: Sequence[list[float]], delays: Sequence[float], parents: Sequence[list[int]], slots: int) -> float:
    """Return the end of a job: events are ends of tasks, and ends of the delays of stages."""
    events: list[tuple[float, int, int]] = []
    waits, left, begun = [len(each) for each in parents], [len(each) for each in tasks], [0] * len(tasks)
    ready: set[int] = set()
    for stage, count in enumerate(waits):
        if not count:
            heappush(events, (delays[stage], 0, stage))
    free, now = slots, 0.0
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _, ends, stage = heappop(events)
            if not ends:
                ready.add(stage)
                continue
            free += 1
            left[stage] -= 1
            if not left[stage]:
                for follower, others in enumerate(parents):
                    if stage in others:
                        waits[follower] -= 1
                        if not waits[follower]:
                            heappush(events, (now + delays[follower], 0, follower))
        for stage in sorted(ready):
            while free and begun[stage] < len(tasks[stage]):
                heappush(events, (now + tasks[stage][begun[stage]], 1, stage))
                begun[stage] += 1
                free -= 1
            if begun[stage] == len(tasks[stage]):
                ready.discard(stage)
    return now
