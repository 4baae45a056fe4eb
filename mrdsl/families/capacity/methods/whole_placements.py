"""Whole jobs and whole VMs of several types, from a relaxed optimum: rounding, then moves of single jobs.

The relaxation bounds how far from the optimum the plan can be. Rounding costs part of a VM for each lane and part of a
job for each class that the relaxation splits; moves then use what whole VMs leave idle.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product, zip_longest

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import ROUNDING, SAME_SUM, ceiling, floor
from mrdsl.families.capacity.lanes import lacking
from mrdsl.families.capacity.market import Floats, Market
from mrdsl.families.capacity.methods.lane_prices import Task, exceeds, vms_of, vms_with_spare

EFFORT = 30_000_000
"""Most moves that are evaluated in total; at most ``MOST_MOVES`` of them are made."""
MOST_MOVES = 400
NOWHERE = -1
PASSES = 3
"""So often every class with a part on spot is looked at, one move each time."""
FEW = 400
"""With so few pairs of lanes and classes, whole classes are placed anew too."""


def whole_placement(task: Task, relaxed: Floats, enough: float, until: float | None) -> tuple[Floats, Floats] | None:
    """Return whole jobs by lane and whole VMs by offer; None if the least jobs were not found within the quotas.

    The search stops at a cost of ``enough``, at ``until`` on the monotonic clock, or when no move of one job pays. Jobs
    first settle in the lanes that are cheapest for parts of VMs, and alternatively do not: settling spreads jobs over
    more lanes, which can cost more.
    """
    start = rounded(task, relaxed)
    best = _Moves(task, start.copy())
    best.run(enough, until)
    other = _Moves(task, start)
    if best.cost() > enough and other.settle(until):
        other.run(enough, until)
        best = min(best, other, key=_Moves.cost)
    jobs = best.jobs
    bought = task.market.buy(np.asarray(ceiling(vms_with_spare(task.mix, jobs, task.spare))))
    return None if exceeds(task, bought, ROUNDING) or bool((jobs.sum(axis=0) < task.low).any()) else (jobs, bought)


def rounded(task: Task, relaxed: Floats) -> Floats:
    """Return whole jobs near the relaxed ones, within each class's range, part on spot and choice of types."""
    jobs = np.asarray(floor(relaxed))
    broken = (np.abs(relaxed - jobs) > 0.0).any(axis=0)
    if task.same_type:
        broken |= task.mix.together & ((relaxed > 0.0).sum(axis=0) > 1)
    for index in np.flatnonzero(broken).tolist():
        jobs[:, index] = _rounded_class(task, index, relaxed[:, index])
    return jobs


def _rounded_class(task: Task, index: int, relaxed: Floats) -> Floats:
    """Return one class: whole parts, then the rest for the largest remainders."""
    mix = task.mix
    total = float(np.clip(np.rint(relaxed.sum()), task.low[index], task.high[index]))
    if mix.together[index]:
        vms = mix.market.vm_of_lane
        first = vms[int(relaxed.argmax())]
        elsewhere = float(relaxed[vms != first].sum())
        relaxed = np.where(vms == first, relaxed, 0.0)
        relaxed[int(relaxed.argmax())] += elsewhere
    jobs = np.asarray(floor(relaxed))
    order = np.argsort(jobs - relaxed, kind="stable").tolist()
    used = [lane for lane in order if relaxed[lane] > 0.0]
    while jobs.sum() < total:
        for lane in used[: int(total - jobs.sum())]:
            jobs[lane] += 1.0
    while jobs.sum() > total:
        jobs[max((lane for lane in used if jobs[lane] > 0.0), key=lambda lane: mix.gamma[lane, index])] -= 1.0
    return _within_spot(task, index, jobs)


def _within_spot(task: Task, index: int, jobs: Floats) -> Floats:
    """Move jobs from spot to firm VMs until no more than the class's part is spot.

    Slots beyond the fewest cover a lack of firm VM time below half a job.
    """
    mix, spot = task.mix, task.market.spot
    gamma = np.where(mix.possible[:, index], mix.gamma[:, index], 0.0)
    vms = mix.market.vm_of_lane
    while (missing := lacking(mix, index, jobs)) > 0.0:
        if 2.0 * missing < float(gamma[jobs > 0.0].min()) and task.spare.vms(index, jobs) is not None:
            break
        lane = int(np.where(spot, jobs, 0.0).argmax())
        firm = np.flatnonzero(~spot & mix.possible[:, index])
        if mix.together[index]:
            firm = firm[vms[firm] == vms[lane]]
        jobs[lane] -= 1.0
        jobs[firm[(jobs[firm] * 1e6 - gamma[firm]).argmax()]] += 1.0
    return jobs


class _Moves:
    """Single jobs that go to another lane, come, or are turned away, the move that saves most first."""

    def __init__(self, task: Task, jobs: Floats) -> None:
        self.task, self.jobs = task, jobs
        mix, market = task.mix, task.market
        self.gamma = np.where(mix.possible, mix.gamma, 0.0)
        self.needed = vms_of(mix, jobs)
        self.spare = np.zeros_like(self.gamma)
        for index in task.spare.entries:
            self._spare_anew(index)
        dearest = float(market.prices.max(initial=0.0)) + float(mix.worth.max(initial=0.0))
        self.lacking = 1000.0 * max(dearest, SAME_SUM)
        self.steps = _steps(market)

    def _spare_anew(self, index: int) -> bool:
        """Give a class the spare slots that its jobs on spot VMs require; return False if none are enough."""
        if index not in self.task.spare.entries:
            return lacking(self.task.mix, index, self.jobs[:, index]) <= 0.0
        found = self.task.spare.vms(index, self.jobs[:, index])
        more = np.zeros(len(self.needed)) if found is None else found
        self.needed = self.needed + more - self.spare[:, index]
        self.spare[:, index] = more
        return found is not None

    def run(self, enough: float, until: float | None) -> None:
        """Move jobs while that pays."""
        lanes, classes = self.jobs.shape
        tries = max(2, min(MOST_MOVES, EFFORT // max(1, lanes * lanes * classes)))
        few = lanes * classes <= FEW
        for _ in range(tries):
            if (until is not None and time.monotonic() > until) or self.cost() <= enough:
                return
            if not (self._move() or (few and self._place_anew())):
                return

    def settle(self, until: float | None) -> bool:
        """Return True if jobs of classes with a part on spot moved to lanes that are cheaper for parts of VMs.

        One job saves less there than the VM that it begins costs, so no single move finds this.
        """
        mix = self.task.mix
        share = mix.spot_share
        limited = np.flatnonzero(
            (share > 0.0) & (share < 1.0) & self.task.market.spot.any() & (self.jobs.sum(axis=0) > 0.0)
        )
        settled = False
        for _ in range(PASSES):
            moved = False
            for index in limited.tolist():
                if until is not None and time.monotonic() > until:
                    return settled
                moved |= self._settle_class(index)
            settled |= moved
            if not moved:
                break
        return settled

    def _settle_class(self, index: int) -> bool:
        """Make the move of one job that saves most at the prices of the last and the next part of a VM, if it does."""
        mix, spot = self.task.mix, self.task.market.spot
        gamma, jobs = self.gamma[:, index], self.jobs[:, index]
        used = np.flatnonzero(jobs > 0.0)
        weight = gamma * (spot - float(mix.spot_share[index]))
        room = ROUNDING * max(1.0, float(gamma @ jobs)) - float(weight @ jobs)
        allowed = mix.possible[:, index][None, :] & (weight[None, :] - weight[used, None] <= room)
        allowed &= used[:, None] != np.arange(len(jobs))[None, :]
        if mix.together[index]:
            vms = self.task.market.vm_of_lane
            allowed &= vms[used][:, None] == vms[None, :]
        less, more = self._parts(index, -1.0), self._parts(index, 1.0)
        change = np.where(allowed, less[used, None] + more[None, :], np.inf)
        source, target = np.unravel_index(int(change.argmin()), change.shape)
        if change[source, target] >= -ROUNDING * max(1.0, float(np.abs(less).max())):
            return False
        self._shift(int(used[source]), int(target), index, 1.0)
        return True

    def _parts(self, index: int, sign: float) -> Floats:
        """Return the change of the cost of each lane, on parts of VMs, for one job fewer or one more of a class."""
        market, available = self.task.market, self.task.available
        after = np.maximum(self.needed + sign * self.gamma[:, index], 0.0)
        by_vm = np.bincount(market.vm_of_lane, weights=self.needed, minlength=len(available))
        there = np.maximum(by_vm - available, 0.0)[market.vm_of_lane]
        beyond = (by_vm - available)[market.vm_of_lane] + after - self.needed
        change = self._lane_costs(after) - self._lane_costs(self.needed)
        return change + self.lacking * (np.maximum(beyond, 0.0) - there)

    def cost(self) -> float:
        """Return the cost of the plan, and far more for VMs that there are not."""
        mix = self.task.mix
        whole = np.asarray(ceiling(self.needed))
        return float(self._lane_costs(whole).sum()) + self._over(whole) + mix.cost_of_jobs(self.jobs.sum(axis=0))

    def _over(self, whole: Floats) -> float:
        by_vm = np.bincount(self.task.market.vm_of_lane, weights=whole, minlength=len(self.task.available))
        beyond = float(np.maximum(by_vm - self.task.available, 0.0).sum())
        return self.lacking * (beyond + float(np.maximum(self._cores_beyond(whole) - ROUNDING, 0.0).sum()))

    def _cores_beyond(self, whole: Floats) -> Floats:
        """Return the cores in excess of each quota, negative if some are left."""
        market = self.task.market
        return np.asarray(market.cores_of_quotas @ whole - market.quota_limits)

    def _lane_costs(self, vms: Floats) -> Floats:
        """Return the cost of VMs of each lane, which are along the first axis, by offers in order of price."""
        cost = np.zeros_like(vms)
        for price, before, available in self.steps:
            shape = (-1, *(1,) * (vms.ndim - 1))
            cost += price.reshape(shape) * np.clip(vms - before.reshape(shape), 0.0, available.reshape(shape))
        return cost

    def _changes(self, sign: float) -> Floats:
        """Return the change of the cost of every lane for one job fewer, or one more, of every class."""
        whole = np.asarray(ceiling(self.needed))
        vm_of_lane, available = self.task.market.vm_of_lane, self.task.available
        by_vm = np.bincount(vm_of_lane, weights=whole, minlength=len(available))
        after = np.asarray(ceiling(np.maximum(self.needed[:, None] + sign * self.gamma, 0.0)))
        beyond = (by_vm - available)[vm_of_lane][:, None]
        over = np.maximum(beyond + after - whole[:, None], 0.0) - np.maximum(beyond, 0.0)
        change = self._lane_costs(after) - self._lane_costs(whole)[:, None] + self.lacking * over
        return change + self._core_changes(whole, after - whole[:, None])

    def _core_changes(self, whole: Floats, more: Floats) -> Floats | float:
        """Return the change of the worth of cores, (lanes, classes), and far more for quotas that are exceeded."""
        market, of_cores = self.task.market, self.task.of_cores
        if not market.quotas:
            return 0.0
        beyond = self._cores_beyond(whole)
        found = np.zeros_like(more)
        for place in np.flatnonzero(beyond > ROUNDING).tolist():
            cores = market.cores_of_quotas[place][:, None] * more
            found += self.lacking * (np.maximum(beyond[place] + cores, 0.0) - beyond[place])
        return found if of_cores is None else found + (of_cores @ market.cores_of_quotas)[:, None] * more

    def _move(self) -> bool:
        """Make the best move; return False if none pays."""
        task, mix, jobs = self.task, self.task.mix, self.jobs
        total = jobs.sum(axis=0)
        leave = np.where(jobs > 0.0, self._changes(-1.0), np.inf)
        come = np.where(mix.possible, self._changes(1.0), np.inf)
        come = np.where(self._may_come(), come, np.inf)
        before = self.cost()
        candidates: list[tuple[float, int, int, int]] = []
        away = np.where(total > task.low, leave + mix.worth, np.inf)
        candidates += _least(away, lambda place, index: (place, NOWHERE, index))
        admitted = np.where(total < task.high, come - mix.worth, np.inf)
        candidates += _least(admitted, lambda place, index: (NOWHERE, place, index))
        for lane in range(len(jobs)):
            there = come.copy()
            there[lane] = np.inf
            if task.same_type:
                others = mix.market.vm_of_lane != mix.market.vm_of_lane[lane]
                alone = total <= 1.0
                there[np.ix_(others, mix.together & ~alone)] = np.inf
            candidates += _least(leave[lane] + there, lambda place, index, lane=lane: (lane, place, index))
        for saved, source, target, index in sorted(candidates):
            if saved >= -SAME_SUM * max(1.0, abs(before)):
                return False
            self._shift(source, target, index, 1.0)
            if self._fits(index) and self.cost() < before * (1.0 - SAME_SUM):
                return True
            self._shift(source, target, index, -1.0)
        return False

    def _place_anew(self) -> bool:
        """Move all jobs of the first class for which another placement is better."""
        before = self.cost()
        for index in range(self.jobs.shape[1]):
            was, needed = self.jobs[:, index].copy(), self.needed.copy()
            spare = self.spare[:, index].copy()
            best, found = before * (1.0 - SAME_SUM), None
            for jobs in self._placements(index):
                cost = self.cost() if self._put(index, jobs) else np.inf
                if cost < best:
                    best, found = cost, jobs
            self._put(index, was if found is None else found)
            if found is not None:
                return True
            self.needed, self.spare[:, index] = needed, spare
        return False

    def _put(self, index: int, jobs: Floats) -> bool:
        self.needed = self.needed + self.gamma[:, index] * (jobs - self.jobs[:, index])
        self.jobs[:, index] = jobs
        return self._spare_anew(index)

    def _placements(self, index: int) -> Iterator[Floats]:
        """Yield all jobs of a class in one lane, or in a firm lane with the largest allowed part in a spot lane."""
        mix, spot, lanes = self.task.mix, self.task.market.spot, len(self.jobs)
        there = np.flatnonzero(mix.possible[:, index])
        numbers = np.unique(np.linspace(self.task.low[index], self.task.high[index], 40).round())
        for lane, other in product(there, (NOWHERE, *there)):
            if spot[lane] or (other != NOWHERE and not spot[other]):
                continue
            for number, more in product(numbers, (0.0,) if other == NOWHERE else (0.0, 1.0)):
                jobs = np.zeros(lanes)
                jobs[lane] = number
                if other != NOWHERE:
                    share = float(mix.spot_share[index])
                    wide, narrow = share * self.gamma[lane, index], (1.0 - share) * self.gamma[other, index]
                    part = floor(float(number) * wide / (wide + narrow)) if wide + narrow else number
                    jobs[other] = min(part + more, number)
                    jobs[lane] -= jobs[other]
                types = mix.market.vm_of_lane[jobs > 0.0]
                if not (mix.together[index] and len(set(types.tolist())) > 1):
                    yield jobs

    def _may_come(self) -> NDArray[np.bool_]:
        """Return the lanes that each class may use: those of its one type, or all if it has no jobs or no limit."""
        mix, market = self.task.mix, self.task.market
        if not (self.task.same_type and mix.together.any()):
            return np.ones_like(mix.possible)
        there = np.zeros((len(market.names), len(mix)), dtype=bool)
        np.logical_or.at(there, market.vm_of_lane, self.jobs > 0.0)
        free = ~mix.together | (self.jobs.sum(axis=0) <= 1.0)
        return np.asarray(there[market.vm_of_lane] | free[None, :])

    def _shift(self, source: int, target: int, index: int, by: float) -> None:
        for lane, change in ((source, -by), (target, by)):
            if lane != NOWHERE:
                self.jobs[lane, index] += change
                self.needed[lane] += change * self.gamma[lane, index]
        self._spare_anew(index)

    def _fits(self, index: int) -> bool:
        mix = self.task.mix
        if lacking(mix, index, self.jobs[:, index]) > 0.0 and self.task.spare.vms(index, self.jobs[:, index]) is None:
            return False
        types = np.unique(mix.market.vm_of_lane[self.jobs[:, index] > 0.0])
        return not (mix.together[index] and len(types) > 1)


def _steps(market: Market) -> list[tuple[Floats, Floats, Floats]]:
    """Return the first, second, ... cheapest offers of all lanes: prices, VMs of the offers before, VMs available."""
    offers: list[list[tuple[float, float]]] = [[] for _ in market.lanes]
    for offer in sorted(market.offers, key=lambda each: (each.price, each.available)):
        offers[offer.lane].append((offer.price, offer.available))
    found, before = [], np.zeros(len(offers))
    for step in zip_longest(*offers, fillvalue=(0.0, 0.0)):
        price, available = (np.array(column, dtype=np.float64) for column in zip(*step, strict=True))
        found.append((price, before, available))
        before = before + available
    return found


def _least(changes: Floats, named: object) -> list[tuple[float, int, int, int]]:
    """Return the few least changes, each with its lanes and its class."""
    flat = changes.ravel()
    few = np.argpartition(flat, min(3, len(flat) - 1))[:3] if len(flat) else np.zeros(0, dtype=np.int64)
    found = []
    for place in few.tolist():
        lane, index = divmod(place, changes.shape[-1])
        found.append((float(flat[place]), *named(lane, index)))  # type: ignore[operator]
    return found
