"""Counted simulation of tasks on slots, wave by wave: the reference for every makespan.

Within a pool, a map slot that becomes free takes the next task of the first job in the order that has one left. A
reduce slot takes a task of the job whose map phase ended first (ties: the order). Tasks do not move between pools and
are not interrupted. Equal tasks that start together are one :class:`Wave`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Literal

Phase = Literal["map", "reduce"]


@dataclass(frozen=True, slots=True)
class Wave:
    """``count`` alike tasks of one job that start together; ``job`` is an index, times are in ticks."""

    job: int
    phase: Phase
    start: float
    length: float
    count: int
    pool: int = 0

    @property
    def end(self) -> float:
        return self.start + self.length


@dataclass(frozen=True, slots=True)
class Tasks:
    """``count`` alike tasks of one job, in the sequence in which slots take them."""

    job: int
    count: int
    length: float
    release: float = 0.0


def run(sequence: Iterable[Tasks], slots: int, phase: Phase, pool: int = 0) -> list[Wave]:
    """Give each task in turn to the slot that falls free first, not before its release."""
    free: list[tuple[float, int]] = [(0.0, slots)]
    waves = []
    for tasks in sequence:
        left = tasks.count
        if free[0][0] < tasks.release:
            free = _idle_until(free, tasks.release)
        while left:
            start, idle = heappop(free)
            while free and free[0][0] == start:
                idle += heappop(free)[1]
            taken = min(idle, left)
            left -= taken
            waves.append(Wave(tasks.job, phase, start, tasks.length, taken, pool))
            heappush(free, (start + tasks.length, taken))
            if idle > taken:
                heappush(free, (start, idle - taken))
    return waves


def _idle_until(free: Sequence[tuple[float, int]], release: float) -> list[tuple[float, int]]:
    later = [group for group in free if group[0] > release]
    later.append((release, sum(count for time, count in free if time <= release)))
    heapify(later)
    return later
