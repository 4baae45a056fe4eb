"""The tasks that a makespan spec states, read job by job for verification."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

from mrdsl.families.makespan.facts import MakespanFacts


@dataclass(frozen=True)
class Stated:
    """Tasks of one job and seconds of one task, of both phases."""

    name: str
    map_tasks: int
    map_time: float
    reduce_tasks: int
    reduce_time: float


def stated(facts: MakespanFacts) -> Iterator[Stated]:
    """Read every job of the batch: those of a class are NAME-1 to NAME-k, or NAME for one."""
    for node in facts.jobs:
        yield _stated(node.name, node, facts.cluster.slots.reduce)
    for node in facts.classes:
        for number in range(1, node.jobs + 1):
            name = node.name if node.jobs == 1 else f"{node.name}-{number}"
            yield _stated(name, node, facts.cluster.slots.reduce)


def _stated(name: str, node: Any, reduce_slots: int) -> Stated:
    """Paper 003, (3.1) to (3.10): a task takes the middle of its times, a reduce its share of the shuffles."""
    map_time = node.map.time if node.map.time is not None else _middle(node.map)
    reduce, shuffle = node.reduce, node.shuffle
    if reduce is None:
        return Stated(name, node.map.tasks, map_time, 0, 0.0)
    if reduce.time is not None:
        return Stated(name, node.map.tasks, map_time, reduce.tasks, reduce.time)
    time = _middle(reduce)
    if shuffle is not None:
        waves = max(1, ceil(reduce.tasks / reduce_slots))
        first = shuffle.first_max if shuffle.first_avg is None else shuffle.first_avg
        time += (first + (waves - 1) * _middle(shuffle)) / waves
    return Stated(name, node.map.tasks, map_time, reduce.tasks, time)


def _middle(times: Any) -> float:
    average, longest = times.avg or 0.0, times.max or 0.0
    shortest = max(2.0 * average - longest, 0.0) if times.min is None else times.min
    return float(shortest + longest) / 2.0
