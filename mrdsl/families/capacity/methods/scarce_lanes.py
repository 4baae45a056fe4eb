"""Whole jobs where VMs are scarce: from the relaxed plan, one job after another into the lanes that have room.

The relaxation fills lanes to their quotas with parts of jobs. Their whole parts stay. What is left takes the lane that
is cheapest for it next to what is there, the dearest jobs first, at a price between that of the whole VMs that it
begins and that of the part of a VM that it takes: neither is the better one on all specs, so several parts are tried.
An integer program over the pairs that are cheap, or in use, then places the jobs of all classes at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.tolerances import ROUNDING
from mrdsl.core.whole_numbers import ceiling, floor
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.few_lanes import whole_cost
from mrdsl.families.capacity.methods.lane_prices import Relaxed, Task, by_type, vms_of
from mrdsl.families.capacity.methods.lanes_program import improved

Flags = NDArray[np.bool_]
PARTS = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
"""How much of a job's price is that of the part of a VM that it takes, in the plans that are tried."""
MOST_PAIRS = 1_500
"""Pairs of lanes and classes of the integer program."""
FEWEST = 3
"""With fewer lanes to choose from for each class the program is left out."""
NODES = 100
SLACK = 1e-7


def is_scarce(task: Task) -> bool:
    """Return whether quotas, of the types or of all their lanes, leave too few of the VMs that are cheapest."""
    return bool(np.isfinite(task.available).any())


def within_quotas(task: Task, relaxed: Relaxed, enough: float, until: float | None) -> tuple[Floats, float]:
    """Find whole jobs of shape (lanes, classes) that fit the quotas, where that is not too hard, and a bound.

    The bound is that of the integer program where it has all pairs, else minus infinity.
    """
    plans = [placed_in_turn(task, relaxed.jobs, part) for part in PARTS]
    costs = [whole_cost(task, jobs) for jobs in plans]
    best = int(np.argmin(costs))
    jobs, cost, bound = plans[best], costs[best], -np.inf
    if cost <= enough:
        return jobs, bound
    pairs = _candidates(task, relaxed, plans)
    if pairs.any() and int(pairs.sum()) <= MOST_PAIRS:
        found, bound = improved(task, jobs, pairs, until, NODES)
        if whole_cost(task, found) < cost:
            jobs = found
        if not bool((pairs == task.mix.possible).all()):
            bound = -np.inf
    return jobs, bound


def placed_in_turn(task: Task, relaxed: Floats, part: float) -> Floats:
    """Place the whole parts of relaxed jobs, then what is left of each class, the dearest jobs first.

    ``part`` is how much of a job's price is that of the part of a VM that it takes. Jobs for which there is no room are
    left out, though a class may have too few of them then.
    """
    mix = task.mix
    room = _Room(task, part)
    total = np.clip(np.rint(relaxed.sum(axis=0)), task.low, task.high)
    for index in range(len(mix)):
        if mix.together[index] and task.same_type:
            continue
        room.put(index, _within_share(task, index, floor(relaxed[:, index] + SLACK)))
    with np.errstate(invalid="ignore"):
        price = np.where(mix.possible, task.market.cheapest()[:, None] * mix.gamma, np.inf).min(axis=0)
    left = total - room.jobs.sum(axis=0)
    size = np.where(mix.together & task.same_type, price * np.maximum(total, 1.0), price)
    for index in np.argsort(-size, kind="stable").tolist():
        if mix.together[index] and task.same_type:
            room.put_together(index, float(total[index]))
            continue
        for _ in range(int(left[index])):
            if not room.put_one(index):
                break
    return room.jobs


def _within_share(task: Task, index: int, jobs: Floats) -> Floats:
    """Leave jobs out on spot VMs until no more of the class's VMs than its part are spot."""
    spot, share = task.market.spot, float(task.mix.spot_share[index])
    gamma = np.where(task.mix.possible[:, index], task.mix.gamma[:, index], 0.0)
    jobs = np.minimum(jobs, np.where(task.mix.possible[:, index], np.inf, 0.0))
    while float(gamma[spot] @ jobs[spot]) > share * float(gamma @ jobs) + ROUNDING:
        jobs[int(np.where(spot, jobs, 0.0).argmax())] -= 1.0
    return np.asarray(jobs)


class _Room:
    """Jobs by lane and class, and the VMs that they take of each lane."""

    def __init__(self, task: Task, part: float) -> None:
        self.task, self.part = task, part
        self.gamma = np.where(task.mix.possible, task.mix.gamma, np.inf)
        self.jobs = np.zeros_like(task.mix.gamma)
        self.needed = vms_of(task.mix, self.jobs)
        self.price = task.market.cheapest()

    def put(self, index: int, jobs: Floats) -> None:
        """Add jobs of a class by lane."""
        lanes = np.flatnonzero(jobs)
        self.jobs[lanes, index] += jobs[lanes]
        self.needed[lanes] += self.gamma[lanes, index] * jobs[lanes]

    def put_one(self, index: int) -> bool:
        """Add one job of a class where it costs least; return False where no lane has room."""
        jobs, spot, share = self.jobs[:, index], self.task.market.spot, float(self.task.mix.spot_share[index])
        vms = np.where(np.isfinite(self.gamma[:, index]), self.gamma[:, index], 0.0) * jobs
        on_spot, total = float(vms[spot].sum()), float(vms.sum())
        with np.errstate(invalid="ignore"):
            fits = ~spot | (on_spot + self.gamma[:, index] <= share * (total + self.gamma[:, index]) + ROUNDING)
        lane = self._cheapest(index, 1.0, fits)
        if lane is not None:
            self.jobs[lane, index] += 1.0
            self.needed[lane] += self.gamma[lane, index]
        return lane is not None

    def put_together(self, index: int, count: float) -> None:
        """Add all jobs of a class in one lane, where they cost least, if one has room."""
        alone = ~self.task.market.spot | (float(self.task.mix.spot_share[index]) >= 1.0)
        lane = self._cheapest(index, count, alone) if count else None
        if lane is not None:
            self.jobs[lane, index] += count
            self.needed[lane] += self.gamma[lane, index] * count

    def _cheapest(self, index: int, count: float, allowed: Flags) -> int | None:
        task, vms = self.task, self.task.market.vm_of_lane
        taken = np.where(np.isfinite(self.gamma[:, index]), self.gamma[:, index], 0.0) * count
        whole, after = ceiling(self.needed), ceiling(self.needed + taken)
        by_vm = by_type(task.market, task.market.buy(np.asarray(whole)))
        fits = allowed & np.isfinite(self.gamma[:, index])
        fits &= by_vm[vms] + after - whole <= task.available[vms] + ROUNDING
        price = self.price * ((1.0 - self.part) * (after - whole) + self.part * taken)
        cost = np.where(fits, price, np.inf)
        lane = int(cost.argmin())
        return lane if np.isfinite(cost[lane]) else None


def _candidates(task: Task, relaxed: Relaxed, plans: list[Floats]) -> Flags:
    """Mark all pairs where they are few; else those of the plans, and of each class the cheapest at the relaxed prices,
    for all its jobs on whole VMs, and for one; none where that leaves little choice."""
    mix = task.mix
    if int(mix.possible.sum()) <= MOST_PAIRS:
        return mix.possible
    used = np.logical_or.reduce([jobs > 0.0 for jobs in plans]) | (relaxed.jobs > ROUNDING)
    each = (MOST_PAIRS - int(used.sum())) // (3 * len(mix))
    if each < FEWEST:
        return np.zeros_like(used)
    with np.errstate(invalid="ignore"):
        gamma = np.where(mix.possible, mix.gamma, np.inf)
        at_prices = relaxed.prices[:, None] * gamma
        whole = task.market.cheapest()[:, None] * np.ceil(gamma * np.maximum(task.high, 1.0) - SLACK)
        for_one = task.market.cheapest()[:, None] * np.ceil(gamma - SLACK)
    for cost in (at_prices, whole, for_one):
        order = np.argsort(cost, axis=0, kind="stable")[:each]
        used[order, np.arange(len(mix))] = True
    return np.asarray(used & mix.possible)
