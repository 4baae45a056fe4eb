"""The step that only DSPS needs: its second stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.tolerances import ROUNDING
from mrdsl.core.whole_numbers import floor
from mrdsl.families.energy.assignment import job_use
from mrdsl.families.energy.cluster import Floats, Ints, Machines
from mrdsl.families.energy.methods.attempts import Attempt, DealtJob, each_attempt
from mrdsl.families.energy.methods.steps import machine_cost, ordered


def move_late_tasks(draft: Draft, steps: int = 10) -> Draft:
    """Lines 15-22 of Algorithm 1: while the budget is exceeded, late tasks move on to the next cheaper VM.

    VMs stand in falling order of (13). Late are the tasks that start in the last P percent of their VM's running time,
    with P from 100 / ``steps`` to 100 percent, each tried by itself. (Line 18 as printed compares the start with ``P``
    times the running time, which are the last 100 - P percent; and ``i`` counts along two queues, one per kind of task,
    that are walked separately here.) A task moves only if the time left for map and reduce phase still suffices. A pass
    in which no task moves ends the attempt: there is no plan on this way.
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
        """Tasks that start in the last ``step`` of ``steps`` equal parts of the VM's running time."""
        rounds = -(-self.counts[vm] // self.slots[vm])
        first = -(-rounds * (steps - step) // steps)
        return max(0, self.counts[vm] - first * self.slots[vm])

    def move_pass(self, step: int, steps: int, room: float) -> bool:
        """One walk along the VMs; ``room`` is what the other phase leaves for this one."""
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
