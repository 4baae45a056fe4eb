"""Whole jobs of few classes on whole VMs by an integer program over the contents of lanes: a plan, and a bound.

A content is whole jobs on ``k`` VMs. The integer program chooses a number of VMs for each lane and a content for each
lane in use (:mod:`mrdsl.families.capacity.methods.lane_columns`). It has each content and each lane that a plan below
some cost can use.

**Proof of the bound.** At the prices ``pi`` of jobs, the program of columns proves the bound ``L`` of every plan, with
the best saving ``s`` of each lane as its part. A plan in which a lane saves only ``v`` costs at least ``L + s - v``. So
a plan below the cost ``A`` has no content on ``k`` VMs of a lane that is worth less than their price plus ``s`` less
``A - L``. A content to which a job fits is worth no more than the content with that job, and this may replace it, since
jobs beyond those that are needed can be left out. So the largest contents of that worth are enough: each plan costs at
least ``A`` or the bound of the integer program, whichever is less. If two lanes share a type, ``s`` counts as 0: the
best saving of both is no less than that of the other lane. QED (Baldacci and others 2008, *An exact algorithm for the
vehicle routing problem*, leave out columns in this way.)
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mrdsl.core.rounding import ROUNDING, ceiling, floor
from mrdsl.families.capacity.lanes import limited_classes
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_columns import Content, LaneProgram, Packer
from mrdsl.families.capacity.methods.lane_prices import Places, Task
from mrdsl.families.capacity.methods.vector_program import Placed

MOST_CONTENTS, STEPS = 2_500, 200_000
"""Most contents of the integer program, and most steps of the search for them."""
PARTS = (1.0, 0.5, 0.25, 0.125)
"""Parts of the distance between the bound and a plan for which contents are searched, until they are few."""
UNKNOWN = 0.1
"""That distance without a plan, relative to the bound."""
FEWEST_NODES, NODES, COLUMNS = 20, 400, 200_000
"""Fewest and most nodes of the integer program, and most nodes times contents."""


def by_contents(
    task: Task, program: LaneProgram, cost: float, gap: float, until: float | None
) -> Iterator[tuple[Placed | None, float]]:
    """Yield plans near the optimum, or None, each with a bound; ``cost`` is that of a known plan, or infinite.

    There are none if the contents are too many, a lane has fractional VMs, or parts of classes are on spot VMs.
    """
    lanes, mix = program.lanes, task.mix
    limited = len(limited_classes(mix)) or len(task.spare.entries) or (task.same_type and mix.together.any())
    if limited or program.task is not task or len(task.market.quota_limits) or not np.isfinite(program.bound):
        return
    least = program.with_a_vm()
    away = (cost if np.isfinite(cost) else program.bound * (1.0 + UNKNOWN)) - program.bound
    for part in PARTS:
        below = program.bound + part * away
        some = np.flatnonzero(least < below)
        if not lanes.narrow[some].all():
            return
        found = _contents(task, program, some, below)
        if found is not None:
            break
    else:
        return
    program.only(*found)
    nodes = max(FEWEST_NODES, min(NODES, COLUMNS // max(1, len(found[1]))))
    point, proven = program.whole(gap, nodes, None if until is None else until - time.monotonic())
    bound = min(below, proven)
    if point is None:
        yield None, bound
        return
    packer, used = lanes.packer(), list(_assigned(program, point))
    yield _placed(task, program, point, used), bound
    if all(_packs(packer, lane, *program.chosen[number][1:]) for lane, number in used):
        return
    lane_of = {int(lanes.kind[lane]): lane for lane, _ in sorted(found[0], reverse=True)}
    there = [
        (number, lane_of[kind], vms, content)
        for number, (kind, vms, content) in program.chosen.items()
        if kind in lane_of
    ]
    program.close([number for number, lane, vms, content in there if not _packs(packer, lane, vms, content)])
    point, _ = program.whole(gap, nodes, None if until is None else until - time.monotonic())
    if point is not None:
        yield _placed(task, program, point, list(_assigned(program, point))), bound


def _packs(packer: Packer, lane: int, vms: int, content: Content) -> bool:
    """Return True if the slots of jobs are packed on so many VMs of a lane."""
    return bool((packer.packed(lane, vms, content)[1].jobs >= content.jobs).all())


def _contents(
    task: Task, program: LaneProgram, some: Places, below: float
) -> tuple[set[tuple[int, int]], list[tuple[int, int, Content]]] | None:
    """Return lanes with numbers of VMs, and their largest contents, for plans that cost less; None if too many.

    Each content is a kind of lanes, a number of VMs, and the jobs of each class.
    """
    lanes, market = program.lanes, task.market
    alone = np.bincount(market.vm_of_lane, minlength=len(lanes.room)) == 1
    budget = _Budget(MOST_CONTENTS, STEPS)
    found: list[tuple[int, int, Content]] = []
    rented: set[tuple[int, int]] = set()
    worth = program.worth(program.at)
    for filling, mine in lanes.contents(worth, some):
        kind = int(lanes.kind[mine[0]])
        least = np.full(len(filling.worth), np.inf)
        for lane in mine.tolist():
            costs = lanes.costs(lane)
            saved = float((filling.worth[: len(costs)] - costs).max()) if alone[market.vm_of_lane[lane]] else 0.0
            needed = costs + saved - (below - program.bound)
            least[: len(costs)] = np.minimum(least[: len(costs)], needed)
            pays = np.flatnonzero(filling.worth[: len(costs)] >= needed)
            rented.update((lane, vms) for vms in pays.tolist() if vms)
        gamma = lanes.gamma[kind]
        if bool((gamma <= 0.0).any()):
            return None
        for vms in range(1, len(least)):
            if filling.worth[vms] >= least[vms]:
                jobs = _largest(gamma, lanes.high[kind], worth[kind], vms, float(least[vms]), budget)
                if jobs is None:
                    return None
                found += [(kind, vms, Content(each)) for each in jobs]
    return rented, found


@dataclass
class _Budget:
    """Contents that a search may still find, and steps that it may still take."""

    contents: int
    steps: int


def _largest(
    gamma: Floats, most: Floats, prices: Floats, vms: int, least: float, budget: _Budget
) -> list[Floats] | None:
    """Return the contents of so many VMs worth at least ``least`` to which no job can be added; None if too many."""
    there = np.flatnonzero(np.isfinite(gamma) & (most > 0.0))
    order = there[np.argsort(-prices[there] / gamma[there], kind="stable")]
    classes = list(
        zip(order.tolist(), gamma[order].tolist(), most[order].tolist(), prices[order].tolist(), strict=True)
    )
    least -= ROUNDING * (1.0 + abs(least))
    jobs, found = np.zeros(len(gamma)), list[Floats]()

    def extended(place: int, room: float, worth: float) -> bool:
        """Add jobs of the classes from a place on; return False if the budget is spent."""
        budget.steps -= 1
        if budget.steps < 0:
            return False
        if place == len(classes):
            if not any(size <= room and jobs[index] < high for index, size, high, _ in classes):
                budget.contents -= 1
                found.append(jobs.copy())
            return budget.contents >= 0
        left, best = room, worth
        for _, size, high, price in classes[place:]:
            count = min(high, left / size)
            best, left = best + count * price, left - count * size
            if left <= 0.0:
                break
        if best < least:
            return True
        index, size, high, price = classes[place]
        for count in range(int(min(high, floor(room / size))), -1, -1):
            jobs[index] = count
            if not extended(place + 1, room - count * size, worth + count * price):
                return False
        return True

    return found if extended(0, vms * (1.0 + ROUNDING), 0.0) else None


def _assigned(program: LaneProgram, point: Floats) -> Iterator[tuple[int, int]]:
    """Yield each lane in use and the number of its content in the program."""
    free: dict[tuple[int, int], list[int]] = {}
    for number, (lane, vms) in program.vms.items():
        if point[number] > 0.5:
            free.setdefault((int(program.lanes.kind[lane]), vms), []).append(lane)
    for number, (kind, vms, _) in program.chosen.items():
        for _ in range(round(point[number])):
            yield free[kind, vms].pop(), number


def _placed(task: Task, program: LaneProgram, point: Floats, used: list[tuple[int, int]]) -> Placed:
    """Return the jobs of a point on their VMs, without jobs that contents have beyond the point's numbers.

    Those are left out on the most expensive lanes first.
    """
    jobs = np.zeros_like(task.mix.gamma)
    for lane, number in used:
        jobs[lane] = program.chosen[number][2].jobs
    surplus = np.maximum(jobs.sum(axis=0) - task.low - np.rint(point[: len(task.low)]), 0.0)
    for lane in np.argsort(-program.lanes.price, kind="stable").tolist():
        less = np.minimum(surplus, jobs[lane])
        jobs[lane] -= less
        surplus = surplus - less
    gamma = np.where(task.mix.possible, task.mix.gamma, 0.0)
    vms = ceiling((gamma * jobs).sum(axis=1) + task.market.masters_of_lane)
    return Placed(task, jobs, task.market.buy(np.asarray(vms)))
