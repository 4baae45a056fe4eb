"""Moves of local search: the second stage of DSPS, and changes of the machines of a state in ``mrdsl-energy``.

Moves take, return and swap VMs, or hand them over. Every function gives moves, each the changes of some jobs' numbers
of VMs per type. The caller checks that the stock has enough VMs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.rounding import ROUNDING, floor
from mrdsl.families.energy.assignment import Attempt, DealtJob, each_attempt, job_use
from mrdsl.families.energy.cluster import Floats, Ints, Machines
from mrdsl.families.energy.methods.steps import machine_cost, ordered
from mrdsl.families.energy.sets import Placement


def move_late_tasks(draft: Draft, steps: int = 10) -> Draft:
    """Move late tasks to the next cheaper VM while the budget is exceeded (lines 15-22 of Algorithm 1).

    VMs are in falling order of (13). Late tasks start in the last P percent of their VM's running time, with P from 100
    / ``steps`` to 100 percent, each tried separately. (Line 18 as printed compares the start with ``P`` times the
    running time, which are the last 100 - P percent. ``i`` counts along two queues, one per kind of task, that are
    processed separately here.) A task moves only if the time left for map and reduce phase still suffices. A pass
    without a move ends the attempt: it has no plan.
    """

    def move(machines: Machines, own: DealtJob, attempt: Attempt) -> Sequence[Attempt]:
        if not attempt.placed or _cost(machines, own, attempt) <= own.job.budget * (1 + ROUNDING):
            return [attempt]
        orders = [ordered(-cost)[np.isfinite(cost[ordered(-cost)])] for cost in machine_cost(machines, own)]
        moved = (_move(machines, own, attempt, orders, step, steps) for step in range(1, steps + 1))
        return [one for one in moved if one is not None]

    return each_attempt(draft, move)


def _cost(machines: Machines, own: DealtJob, attempt: Attempt) -> float:
    return job_use(machines, own.job, own.share(attempt)).cost


@dataclass
class _Side:
    """One kind of task on the VMs, dearest first."""

    order: list[int]
    slots: list[int]
    time: list[float]
    counts: list[int]

    def busy(self, vm: int) -> float:
        return ceil(self.counts[vm] / self.slots[vm]) * self.time[vm] if self.counts[vm] else 0.0

    def longest(self) -> float:
        return max((self.busy(vm) for vm in self.order), default=0.0)

    def late(self, vm: int, step: int, steps: int) -> int:
        """Return tasks that start in the last ``step`` of ``steps`` equal parts of the VM's running time."""
        rounds = -(-self.counts[vm] // self.slots[vm])
        first = -(-rounds * (steps - step) // steps)
        return max(0, self.counts[vm] - first * self.slots[vm])

    def move_pass(self, step: int, steps: int, room: float) -> bool:
        """Process the VMs in order; return True if a task moved. ``room`` is the time that the other phase leaves."""
        moved = False
        for here, there in zip(self.order, self.order[1:], strict=False):
            late = self.late(here, step, steps) if self.counts[here] else 0
            if not late:
                continue
            able = int(floor(room / self.time[there])) * self.slots[there] - self.counts[there]
            count = max(0, min(late, able))
            self.counts[here] -= count
            self.counts[there] += count
            moved = moved or count > 0
        return moved


def _move(
    machines: Machines, own: DealtJob, attempt: Attempt, orders: list[Ints], step: int, steps: int
) -> Attempt | None:
    job = own.job
    assert attempt.maps is not None
    assert attempt.reduces is not None
    maps = _side(orders[0], machines.map_slots[own.types], job.map_time[own.types], attempt.maps)
    reduces = _side(orders[1], machines.reduce_slots[own.types], job.reduce_time[own.types], attempt.reduces)
    room = attempt.room if np.isfinite(attempt.room) else maps.longest() + reduces.longest()
    while _cost(machines, own, attempt) > job.budget * (1 + ROUNDING):
        moved = maps.move_pass(step, steps, room - reduces.longest())
        moved = reduces.move_pass(step, steps, room - maps.longest()) or moved
        if not moved:
            return None
        attempt = replace(attempt, maps=np.array(maps.counts), reduces=np.array(reduces.counts))
    return attempt


def _side(order: Ints, slots: Ints, time: Floats, counts: Ints) -> _Side:
    return _Side(order.tolist(), slots.tolist(), time.tolist(), counts.tolist())


State = tuple[Placement, ...]
"""One placement per job."""

Move = tuple[tuple[int, Ints], ...]
"""Changes of the numbers of VMs per type, job by job."""


def _change(state: State, *steps: tuple[int, int]) -> Ints:
    """Return a change of the numbers by ``(kind, count)``."""
    delta = np.zeros_like(state[0].vms)
    for kind, count in steps:
        delta[kind] += count
    return delta


def _present(state: State, j: int) -> list[int]:
    return [int(kind) for kind in np.flatnonzero(state[j].vms)]


def singles(available: Ints, state: State) -> Iterator[Move]:
    """Yield one VM more or less, in large stocks also several."""
    for j in range(len(state)):
        for kind in range(len(available)):
            for step in _steps(int(available[kind])):
                yield ((j, _change(state, (kind, -step))),)
                yield ((j, _change(state, (kind, step))),)


def _steps(available: int) -> list[int]:
    return [step for step in (1, 4, 16, 64) if step == 1 or step * 2 <= available]


def swaps(available: Ints, state: State) -> Iterator[Move]:
    """Yield one VM for one of another type; between jobs, one VM handed over."""
    for j in range(len(state)):
        for less in _present(state, j):
            for more in range(len(available)):
                if more != less:
                    yield ((j, _change(state, (less, -1), (more, 1))),)
            for other in range(len(state)):
                if other != j:
                    yield ((j, _change(state, (less, -1))), (other, _change(state, (less, 1))))


def triples(available: Ints, state: State) -> Iterator[Move]:
    """Yield one VM for two others, two for one, in every combination of types; for a job by itself."""
    if len(state) > 1:
        return
    kinds = len(available)
    for one in range(kinds):
        for first in range(kinds):
            for second in range(first, kinds):
                if one not in (first, second):
                    yield ((0, _change(state, (first, 1), (second, 1), (one, -1))),)
                    yield ((0, _change(state, (first, -1), (second, -1), (one, 1))),)
