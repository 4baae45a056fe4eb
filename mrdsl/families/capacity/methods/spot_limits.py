"""Limits on the part of classes on spot VMs in the relaxation of containers, with their prices; and whole jobs near it.

A limit compares VM times, which cores and memory do not give: a cheap firm VM counts as much as a large spot VM. So
firm jobs on many small VMs leave room for spot jobs on few large ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from mrdsl.core.rounding import ROUNDING, ceiling, floor
from mrdsl.families.capacity.facts import NO
from mrdsl.families.capacity.instance import Mix
from mrdsl.families.capacity.lanes import limited_classes
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_prices import Places, Task
from mrdsl.families.capacity.methods.slot_prices import least_slots

FEWEST = 4
"""Most slots that are added in a round beyond those of jobs, of each class."""


@dataclass(frozen=True)
class Least:
    """The cost of one job at prices, as a part of a VM of the lane, its map and reduce slots, and a constant.

    ``fillers`` are kinds, lanes and classes of slots beyond the fewest that would cost less than 0.
    """

    gamma: Floats
    maps: Floats
    reduces: Floats
    constant: float
    fillers: tuple[Places, Places, Places]


class Limits:
    """The limits on the parts of classes on spot, and their prices.

    Slots x and y of class i in a lane take ``T = x / a + y / b`` of VM time, by the slots of a kind per VM. The limit s
    is the row ``sum T (spot - s) <= 0`` over all slots of the class, where spot is 1 in spot lanes and 0 in firm ones.

    **Proof of the bound** for prices ``sigma >= 0``: a plan costs at least its cost plus ``sum sigma(i) row(i)``, since
    no row is above 0 in it. So a slot of class i in lane l costs its weighted part of a VM at the price of l, plus
    ``sigma(i) (spot(l) - s(i)) / a``. Prices are so low that no slot costs less than 0. Slots beyond the fewest then
    cost at least 0. A job costs at least what its cheapest pair of slots costs, of all pairs that meet its time limit.
    The rest is as in :func:`mrdsl.families.capacity.methods.lane_prices.dual_bound`, with that cost of a job.

    A second row holds for whole jobs: with s < 1, a class that has jobs has a firm one. For if it has jobs on spot, it
    has firm VM time, which only firm jobs hold. So its firm jobs are at least 1 if its fewest jobs are. Otherwise they
    are at least all its jobs, which are at most ``high``, divided by ``high``. At a price tau, a firm job
    costs tau less. In the first case the plan costs tau more, and in the second each job costs ``tau / high`` more.
    """

    def __init__(self, task: Task) -> None:
        mix = task.mix
        self.classes, vms, pairs = limited_classes(mix), mix.market.vm_of_lane, mix.pairs
        some = task.low[self.classes] > 0.0
        self.least_firm = np.where(some, 1.0, 0.0)
        self.of_job = np.where(some, 0.0, 1.0 / np.maximum(task.high[self.classes], 1.0))
        self.there = np.isin(np.arange(len(mix)), self.classes)
        self.beyond = mix.market.spot[:, None] - mix.spot_share
        per_vm = np.stack([pairs.map_per_vm, pairs.reduce_per_vm])[:, vms]
        self.times = np.where(mix.possible, 1.0 / np.where(mix.possible, per_vm, 1.0), 0.0)
        self.kinds = np.stack([pairs.limits.map_most, pairs.limits.reduce_most])[:, vms] > 0.0
        self.counts: Floats = ~mix.market.spot[:, None] - self.of_job
        self.firm = self.kinds & mix.possible & ~mix.market.spot[:, None]

    def vm_time(self, maps: Floats, reduces: Floats) -> Floats:
        """Return the VM time of slots, (lanes, classes)."""
        there = self.times > 0.0
        slots = np.where(there, np.stack([maps, reduces]), 0.0)
        return np.asarray((slots * self.times).sum(axis=0))

    def least(self, mix: Mix, weights: Floats, prices: Floats, shares: Floats, firm: Floats) -> Least:
        """Return the least cost of one job at prices of lanes, of shares and of the first firm jobs."""
        assert mix.sizes is not None
        both = np.stack([weights, 1.0 - weights])[:, :, None]
        parts = (mix.sizes.parts[:, :, mix.market.vm_of_lane] * both).sum(axis=1)
        at, every, whole = self.classes, np.arange(len(mix)), mix.wholeness != NO
        if not len(at):
            none = np.zeros(0, dtype=np.int64)
            return Least(*least_slots(mix, (parts[0], parts[1]), every, whole), 0.0, (none, none, none))
        worth, times, beyond = parts[:, :, at] * prices[:, None], self.times[:, :, at], self.beyond[:, at]
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(self.firm[:, :, at], worth / (-beyond * times), np.inf)
        rows, columns = _least_of(most.reshape(-1, len(at)), shares)
        free = (mix.possible[:, at] & (prices[:, None] <= 0.0)).any(axis=0)
        shares = np.where(free, 0.0, np.minimum(shares, (1.0 - ROUNDING) * most.min(axis=(0, 1))))
        firm = np.where(free, 0.0, firm)
        kinds = self.kinds[:, :, at] & mix.possible[:, at] & ~free
        costs = np.where(kinds, worth + shares * beyond * times, parts[:, :, at])
        parts[:, :, at] = costs
        gamma, maps, reduces = least_slots(mix, (parts[0], parts[1]), every, whole)
        cost = sum(
            np.where(each & mix.possible[:, at], one * number[:, at], 0.0)
            for each, one, number in zip(kinds, costs, (maps, reduces), strict=True)
        )
        cost = (cost - firm * self.counts) / np.where(prices > 0.0, prices, 1.0)[:, None]
        cost = np.where(mix.possible[:, at], cost, np.inf)
        gamma[:, at[~free]] = cost[:, ~free]
        return Least(gamma, maps, reduces, float(firm @ self.least_firm), (*np.divmod(rows, len(prices)), at[columns]))


def _least_of(most: Floats, shares: Floats) -> tuple[Places, Places]:
    """Return the few rows of each column with the least values below its share."""
    some = np.argsort(most, axis=0, kind="stable")[:FEWEST]
    rows, columns = (np.take_along_axis(most, some, axis=0) < shares).nonzero()
    return some[rows, columns], columns


def rounded_within_spot(task: Task, index: int, relaxed: Floats, prices: Floats) -> Floats | None:
    """Return whole jobs of a limited class near relaxed ones: spot jobs as these, and firm ones of one lane.

    Spot jobs may also be of one lane. Of both, the cheapest ones are taken, with the slots that firm jobs hold in
    addition. None if no lane has enough VM time.
    """
    mix, spot = task.mix, task.market.spot
    count = float(np.clip(np.rint(relaxed.sum()), task.low[index], task.high[index]))
    if count == 0.0:
        return np.zeros_like(relaxed)
    share, gamma = float(mix.spot_share[index]), np.where(mix.possible[:, index], mix.gamma[:, index], 0.0)
    taken = mix.taken(mix.map_slots, mix.reduce_slots)[:, :, index].max(axis=0)
    room = np.where(np.isfinite(task.available), task.available, np.inf)[task.market.vm_of_lane]
    lanes = np.flatnonzero(~spot & mix.possible[:, index])
    vms, limits = task.market.vm_of_lane[lanes], mix.pairs.limits
    kinds = (
        (mix.pairs.map_per_vm, limits.map_most, mix.map_slots, 0),
        (mix.pairs.reduce_per_vm, limits.reduce_most, mix.reduce_slots, 1),
    )
    best, found = np.inf, None
    first = max(float(floor(relaxed[~spot].sum())), 1.0)
    numbers = sorted({min(number, count) for number in (first, first + 1.0, first + 2.0, count)})
    ways = [np.where(spot, relaxed, 0.0)]
    ways += [np.where(np.arange(len(relaxed)) == lane, 1.0, 0.0) for lane in np.flatnonzero(ways[0]).tolist()]
    for number, way in product(numbers, ways):
        jobs = _apportioned(way, count - number)
        if jobs is None or (taken * jobs > room).any():
            continue
        missing = float(gamma @ jobs) * (1.0 - share) / share - number * gamma[lanes]
        cost, more = number * taken[lanes], np.where(missing > 0.0, np.inf, 0.0)
        for per_vm, most, slots, kind in kinds:
            wanted = ceiling(np.maximum(missing, 0.0) * per_vm[vms, index])
            ample = wanted <= number * (most[vms, index] - slots[lanes, index])
            part = mix.sizes.parts[kind][:, vms, index].max(axis=0) if mix.sizes else 1.0 / per_vm[vms, index]
            more = np.where(ample, np.minimum(more, wanted * part), more)
        costs = np.where(cost + more <= room[lanes], prices[lanes] * (cost + more), np.inf)
        lane = int(costs.argmin())
        total = float(costs[lane] + prices @ (taken * jobs))
        if total < best:
            jobs[lanes[lane]] += number
            best, found = total, jobs
    return found


def _apportioned(relaxed: Floats, count: float) -> Floats | None:
    """Return whole jobs in proportion to relaxed ones, by largest remainder; None if there are none."""
    total = float(relaxed.sum())
    if count <= 0.0:
        return np.zeros_like(relaxed)
    if total <= 0.0:
        return None
    exact = relaxed * (count / total)
    jobs = np.asarray(floor(exact))
    jobs[np.argsort(jobs - exact, kind="stable")[: int(count - jobs.sum())]] += 1.0
    return jobs
