"""Second attempts of runs on spot VMs and their exposure to losses, for verification alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, floor

import numpy as np

from mrdsl.core.rounding import ROUNDING
from mrdsl.families.timetable.facts import Billing
from mrdsl.model.check import SLACK

Durations = list[tuple[int, float, tuple[int, ...]]]
"""Of each stage of a run the tasks, the time of one [s], and the stages before."""


def second_length(stages: Durations, slots: int) -> float:
    """Return the time of a second attempt: its longest path if each task has a slot, or all stages in turn [s]."""
    if slots >= most_tasks(stages):
        return longest_path(stages)
    return sum(ceil(tasks / max(slots, 1)) * time for tasks, time, _ in stages)


def longest_path(stages: Durations) -> float:
    """Return the time of the longest path of stages [s]."""
    ends: dict[int, float] = {}
    while len(ends) < len(stages):
        for index, (_, time, parents) in enumerate(stages):
            if index not in ends and all(parent in ends for parent in parents):
                ends[index] = time + max((ends[parent] for parent in parents), default=0.0)
    return max(ends.values())


def most_tasks(stages: Durations) -> int:
    """Return the most tasks at once if each starts as soon as the stages before it have ended."""
    ends: dict[int, float] = {}
    while len(ends) < len(stages):
        for at, (_, time, parents) in enumerate(stages):
            if at not in ends and all(parent in ends for parent in parents):
                ends[at] = time + max((ends[parent] for parent in parents), default=0.0)
    spans = [(ends[at] - time, ends[at], tasks) for at, (tasks, time, _) in enumerate(stages)]
    return max(sum(n for a, b, n in spans if a <= begin + SLACK and b > begin + SLACK) for begin, _, _ in spans)


def expected_time(paid: Billing, span: float, rate: float) -> float:
    """Return the time that rentals alone are expected to be paid for, if one loss at this rate ends all [s]."""
    periods, full = ceil(span / paid.period - ROUNDING), floor(paid.minimum / paid.period + ROUNDING)
    if periods <= full:
        return paid.minimum
    falls = np.exp(-rate * paid.period * np.array([full, full + 1, periods]))
    steps = periods - full - 1 if rate == 0.0 else (falls[1] - falls[2]) / -np.expm1(-rate * paid.period)
    return float(paid.minimum + ((full + 1) * paid.period - paid.minimum) * falls[0] + paid.period * steps)


def held_time(rentals: Sequence[Sequence[tuple[int, float, int]]], stages: Durations, slots: int) -> float:
    """Return the VM seconds that hold tasks of a run, or output that a later stage still needs.

    Args:
        rentals: Of each rental the tasks that start together: stage, start [s], count.
        stages: The stages.
        slots: The slots of a VM.
    """
    until: dict[int, float] = {}
    for stage, start, _ in (each for tasks in rentals for each in tasks):
        for before in stages[stage][2]:
            until[before] = max(until.get(before, 0.0), round(start + stages[stage][1], 6))
    total = 0.0
    for tasks in rentals:
        spans = [
            (stage, round(start, 6), round(start + stages[stage][1], 6), int(count)) for stage, start, count in tasks
        ]
        had: dict[int, int] = {}
        for begin, end in pairwise(sorted({time for _, a, b, _ in spans for time in (a, b)} | {*until.values()})):
            now: dict[int, int] = {}
            for stage, a, b, count in spans:
                if a <= begin < b:
                    now[stage] = now.get(stage, 0) + count
            had |= {stage: max(had.get(stage, 0), count) for stage, count in now.items()}
            kept = [count for stage, count in had.items() if begin < until.get(stage, begin)]
            total += ceil(max([sum(now.values()), *kept]) / slots) * (end - begin)
    return total
