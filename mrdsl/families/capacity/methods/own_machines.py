"""The step of ``direct`` that rounds jobs and VMs if classes share no VM: every class has separate machines.

At given prices of the VMs of each lane the classes are independent. Dynamic programming finds the cheapest whole
machines of each class, and these add up to a bound on every plan (Geoffrion 1974, *Lagrangean relaxation for integer
programming*). A plan begins without jobs. One class after another takes the machines that are cheapest given those of
the others, until no class can improve. Integer programs then place some classes at a time together; see
:mod:`mrdsl.families.capacity.methods.class_columns`.

The cost of a class's machines in addition to all others counts contracts first, then VMs of unlimited number.
Unavailable machines cost far more than any available ones, so the search leaves plans that lack machines if there is
another.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from mrdsl.core.rounding import ROUNDING, SAME_SUM, ceiling, floor
from mrdsl.families.capacity.lanes import lacking
from mrdsl.families.capacity.market import Floats, Market
from mrdsl.families.capacity.methods.class_columns import Answers, ClassProgram, bound_at, is_limited
from mrdsl.families.capacity.methods.lane_prices import Places, Relaxed, Task, exceeds
from mrdsl.families.capacity.methods.machine_sizes import by_sizes
from mrdsl.families.capacity.plan_parts import summed
from mrdsl.formulas.knapsack import cheapest_mixes

LACKING = 1000.0
"""Price of a machine beyond the available ones, in multiples of the largest machine price and penalty."""


@dataclass(frozen=True)
class Tariff:
    """Costs of each machine of a lane: ``prices`` of ``widths`` machines from the ``starts`` on, (lanes, steps)."""

    starts: Floats
    widths: Floats
    prices: Floats

    def cost(self, lanes: Places, vms: Floats) -> Floats:
        """Return the cost of ``vms`` machines of each of the lanes; ``vms`` has the shape (lanes, ...)."""
        each = (slice(None), slice(None), *(None,) * (vms.ndim - 1))
        starts, widths, prices = (steps[lanes][each] for steps in (self.starts, self.widths, self.prices))
        return np.asarray((prices * np.clip(vms[:, None] - starts, 0.0, widths)).sum(axis=1))


def tariff_of(market: Market, lacking: float) -> Tariff:
    """Return the offers of each lane, the cheapest first; after the last one, machines at the price ``lacking``."""
    by_lane = [
        sorted((offer.price, offer.available) for offer in market.offers if offer.lane == lane)
        for lane in range(len(market.lanes))
    ]
    steps = 1 + max(map(len, by_lane), default=0)
    rows = [[*each, *[(lacking, np.inf)] * (steps - len(each))] for each in by_lane]
    prices, widths = np.moveaxis(np.array(rows).reshape(len(by_lane), steps, 2), 2, 0)
    finite = np.minimum(widths, 1e15)
    return Tariff(np.cumsum(finite, axis=1) - finite, widths, prices)


class Rents:
    """Whole jobs by lane and class, and the machines that each class has for itself."""

    def __init__(self, task: Task, jobs: Floats) -> None:
        market, mix = task.market, task.mix
        self.task, self.jobs = task, jobs.copy()
        self.gamma = np.where(mix.possible, mix.gamma, 0.0)
        self.vms = np.asarray(ceiling(self.gamma * jobs))
        for index in task.spare.entries:
            self.vms[:, index] = self._vms(index, jobs[:, index])
        self.total = self.vms.sum(axis=1) + market.masters_of_lane
        dearest = float(market.prices.max(initial=0.0)) + float(mix.worth.max(initial=0.0))
        self.lacking = LACKING * max(dearest, SAME_SUM)
        self.tariff = tariff_of(market, self.lacking)

    @classmethod
    def at(cls, task: Task, prices: Floats) -> Rents:
        """No machines yet, each of which costs the price of its lane."""
        mix = replace(task.mix, market=replace(task.market, quotas=()))
        free = replace(task, mix=mix, available=np.full(len(task.available), np.inf))
        found = cls(free, np.zeros_like(task.mix.gamma))
        found.total = np.zeros(len(prices))
        widths = np.full((len(prices), 1), np.inf)
        found.tariff = Tariff(np.zeros((len(prices), 1)), widths, prices[:, None])
        return found

    def without(self, index: int) -> Rents:
        """Return the same with no machines of one class; its jobs are not looked at."""
        found = object.__new__(Rents)
        found.__dict__.update(self.__dict__, total=self.total - self.vms[:, index])
        return found

    def more(self, lanes: Places, vms: Floats) -> Floats:
        """Return the cost of more machines of each of the lanes separately; ``vms`` has the shape (lanes, numbers)."""
        market = self.task.market
        over = np.maximum(vms - self._left()[market.vm_of_lane[lanes]][:, None], 0.0)
        for cores, left in zip(market.cores_of_quotas, self._cores_left().tolist(), strict=True):
            over = over + np.maximum(cores[lanes][:, None] * vms - left, 0.0)
        before = self.total[lanes]
        costs = self.tariff.cost(lanes, before[:, None] + vms) - self.tariff.cost(lanes, before)[:, None]
        return np.asarray(costs + self.lacking * over)

    def _left(self) -> Floats:
        """Compute the VMs of each type that its quota still leaves."""
        market = self.task.market
        return np.maximum(self.task.available - summed(market.vm_of_lane, self.total, len(market.names)), 0.0)

    def _cores_left(self) -> Floats:
        """Compute the cores that each quota still leaves."""
        market = self.task.market
        return np.asarray(np.maximum(market.quota_limits - market.cores_of_quotas @ self.total, 0.0))

    def _vms(self, index: int, jobs: Floats) -> Floats:
        """Return the machines that jobs of a class by lane take, those for slots beyond the fewest among them."""
        spare = self.task.spare.vms(index, jobs) if index in self.task.spare.entries else None
        return np.asarray(ceiling(self.gamma[:, index] * jobs + (0.0 if spare is None else spare)))

    def cost_of(self, index: int, jobs: Floats) -> float:
        """Compute the cost of a class's machines less the penalties that its jobs, by lane, spare.

        Infinite if more of its VM time is on spot than its part allows, whatever slots its firm jobs hold.
        """
        if lacking(self.task.mix, index, jobs) > 0.0 and self.task.spare.vms(index, jobs) is None:
            return np.inf
        lanes, market = np.flatnonzero(jobs), self.task.market
        vms, before = self._vms(index, jobs)[lanes], self.total[lanes]
        taken = summed(market.vm_of_lane[lanes], vms, len(market.names))
        cost = float((self.tariff.cost(lanes, before + vms) - self.tariff.cost(lanes, before)).sum())
        cores = market.cores_of_quotas[:, lanes] @ vms - self._cores_left()
        cost += self.lacking * float(np.maximum(taken - self._left(), 0.0).sum() + np.maximum(cores, 0.0).sum())
        return cost - float(self.task.mix.worth[index] * jobs.sum())

    def give(self, index: int, jobs: Floats) -> None:
        """Replace a class's jobs by these if they cost less, or if it has too few."""
        without = self.without(index)
        before, after = without.cost_of(index, self.jobs[:, index]), without.cost_of(index, jobs)
        if self.jobs[:, index].sum() < self.task.low[index]:
            before = np.inf
        if not after < before - ROUNDING * max(1.0, abs(after)):
            return
        self.total = without.total
        self.jobs[:, index] = jobs
        self.vms[:, index] = self._vms(index, jobs)
        self.total = self.total + self.vms[:, index]

    def cost(self) -> float:
        """Return the cost of all machines, masters and penalties included; far too high if machines are lacking."""
        every = np.arange(len(self.total))
        types, market, mix = self.task.market.vm_of_lane, self.task.market, self.task.mix
        over = np.maximum(summed(types, self.total, len(market.names)) - self.task.available, 0.0)
        cores = np.maximum(market.cores_of_quotas @ self.total - market.quota_limits, 0.0)
        turned_away = mix.cost_of_jobs(self.jobs.sum(axis=0))
        return float(
            self.tariff.cost(every, self.total).sum() + turned_away + self.lacking * (over.sum() + cores.sum())
        )


AT_ONCE = 60
"""Classes that an integer program places together: other groups after these take a quarter more time for 0.1 %."""
CLOSE = 3e-3
"""Relative distance to the bound at which a plan by sizes of pieces is not compared with others."""
PASSES = 20
"""So often every class is looked at."""
LITTLE = 0.02
"""Another pass is made where the last one closed more than this part of the gap that is left."""
AMONG = 6
"""Number of lanes, the cheapest for one job and for all jobs, from which one class takes machines."""


@dataclass(frozen=True)
class Found:
    """Whole jobs (lanes, classes) and VMs by offer, None if not found, and a lower bound on every plan's cost."""

    placed: tuple[Floats, Floats] | None
    bound: float


def on_own_machines(task: Task, below: Task, relaxed: Relaxed, gap: float, until: float | None) -> Found:
    """Return the cheapest plan found, and a bound; stops within the ``gap`` of the bound, and at ``until``.

    Jobs of ``below`` take no more machines than those of ``task``; ``relaxed`` is the optimum of its relaxation.
    """
    bound = max(bound_at(Answers(below), relaxed.prices, relaxed.quotas, relaxed.cores), relaxed.bound)
    enough = bound + gap * abs(bound - task.market.of_masters)
    best: tuple[float, Floats, Floats] | None = None
    sized, proven = by_sizes(task, relaxed.prices, until)
    bound = max(bound, proven) if below is task else bound
    if sized is not None:
        bought = task.market.buy(_needed(task, sized))
        cost = task.mix.cost(bought, sized)
        best = None if exceeds(task, bought, ROUNDING) else (cost, sized, bought)
        if best is not None and cost - bound <= max(CLOSE, gap) * abs(bound - task.market.of_masters):
            return Found(best[1:], bound)
    if below is not task:
        bound = max(bound, by_sizes(below, relaxed.prices, until)[1])
    endless = bool(np.isinf(task.market.there).all())
    for start in _starts(task, relaxed):
        jobs = _settled(task, start, enough, until)
        bought = task.market.buy(_needed(task, jobs))
        cost = task.mix.cost(bought, jobs)
        if not exceeds(task, bought, ROUNDING):
            best = (cost, jobs, bought) if best is None or cost < best[0] else best
        if best is not None and (best[0] <= enough or endless):
            break
    if best is None or best[0] <= enough or not endless:
        return Found(None if best is None else best[1:], bound)
    jobs, proven = _together(task, below, best[1], relaxed.quotas, until)
    bound = max(bound, proven)
    bought = task.market.buy(_needed(task, jobs))
    return Found((jobs, bought), bound)


def _starts(task: Task, relaxed: Relaxed) -> Iterator[Floats]:
    """Yield plans to begin with: no jobs, those that are cheapest at the relaxed prices, and the relaxed ones."""
    yield np.zeros_like(task.mix.gamma)
    jobs, _ = Answers(task).at_prices(relaxed.prices)
    rents = Rents.at(task, relaxed.prices)
    for index in range(len(task.mix)):
        if is_limited(task, index):
            jobs[:, index] = _alone(task, rents, index)
    yield jobs
    yield rounded(task, relaxed.jobs)


def _together(task: Task, below: Task, jobs: Floats, quotas: Floats, until: float | None) -> tuple[Floats, float]:
    """Return cheaper jobs, of which some classes at a time are placed together, and a bound if these are all."""
    free = np.array([index for index in range(len(task.mix)) if not is_limited(task, index)], dtype=np.int64)
    groups = max(1, -(-len(free) // AT_ONCE))
    bound = -np.inf
    order = np.random.RandomState(0).permutation(free)
    for part in np.array_split(order, groups):
        if not len(part) or (until is not None and time.monotonic() > until):
            return jobs, bound
        rents = Rents(task, jobs)
        others = rents.total - rents.vms[:, part].sum(axis=1)
        left = task.available - summed(task.market.vm_of_lane, others, len(task.market.names))
        program = ClassProgram(task, np.sort(part), left, quotas)
        answers = program.chosen(jobs, until)
        if len(part) == len(task.mix):
            prices = task.market.cheapest() + program.quotas[task.market.vm_of_lane]
            bound = bound_at(Answers(below), prices, program.quotas)
        for found in answers:
            better = jobs.copy()
            better[:, part] = found[:, part]
            if Rents(task, better).cost() < Rents(task, jobs).cost() * (1.0 - SAME_SUM):
                jobs = better
    return jobs, bound


def _needed(task: Task, jobs: Floats) -> Floats:
    """Return the VMs of each lane: whole ones of each class, and masters."""
    return np.asarray(Rents(task, jobs).total)


def _settled(task: Task, jobs: Floats, enough: float, until: float | None) -> Floats:
    """Let each class in turn take its cheapest machines given those of the others, repeatedly; return the jobs."""
    rents, cost = Rents(task, jobs), np.inf
    for _ in range(PASSES):
        before = cost
        for index in np.flatnonzero(task.high > 0.0).tolist():
            if until is not None and time.monotonic() > until:
                return rents.jobs
            _takes_better(task, rents, index)
        cost = rents.cost()
        if cost <= enough or before - cost <= LITTLE * (cost - enough):
            break
    return rents.jobs


def _takes_better(task: Task, rents: Rents, index: int) -> None:
    """Give a class the cheapest machines, given those of the others, if they are cheaper than its current ones."""
    without = rents.without(index)
    if is_limited(task, index):
        rents.give(index, _alone(task, without, index))
        return
    possible = np.flatnonzero(task.mix.possible[:, index])
    most = int(task.high[index])
    alone = without.more(possible, ceiling(task.mix.gamma[possible, index][:, None] * np.arange(most + 1.0)))
    lanes = np.unique(np.concatenate([np.argsort(alone[:, jobs], kind="stable")[:AMONG] for jobs in {1, most}]))
    least, mixes = cheapest_mixes(alone[lanes][:, None, :])
    total = least[0] - task.mix.worth[index] * np.arange(most + 1.0)
    low = int(task.low[index])
    count = low + int(total[low:].argmin())
    jobs = np.zeros(len(task.market.lanes))
    jobs[possible[lanes]] = mixes[:, 0, count]
    rents.give(index, jobs)


def _alone(task: Task, rents: Rents, index: int) -> Floats:
    """Return the cheapest placement of a class on one lane, or on a firm lane with the largest part on spot."""
    mix, market = task.mix, task.market
    possible, share = np.flatnonzero(mix.possible[:, index]), float(mix.spot_share[index])
    alone = market.spot[possible] & (share < 1.0)
    firm, spot = (_cheapest_lanes(task, rents, index, possible[part]) for part in (~alone, alone))
    if mix.together[index]:
        spot = possible[alone & np.isin(market.vm_of_lane[possible], market.vm_of_lane[firm])]
    best, jobs = np.inf, np.zeros(len(market.lanes))
    for lane in firm.tolist():
        for count in _numbers(task, lane, index):
            for other, part in _beside(task, lane, spot, index, count):
                counts = np.zeros(len(market.lanes))
                counts[other] = part
                counts[lane] += count - part
                cost = rents.cost_of(index, counts)
                if cost < best:
                    best, jobs = cost, counts
    return jobs


def _cheapest_lanes(task: Task, rents: Rents, index: int, lanes: Places) -> Places:
    """Return the lanes, ``AMONG`` at the most, on which all jobs of a class cost least."""
    vms = ceiling(task.mix.gamma[lanes, index] * task.high[index])
    costs = rents.more(lanes, vms[:, None])[:, 0]
    return lanes[np.argsort(costs, kind="stable")[:AMONG]]


def _numbers(task: Task, lane: int, index: int) -> list[float]:
    """Return the candidates for the best number of jobs on one lane.

    They are the most, the fewest, and the number that fills the VMs of the most.
    """
    low, high, gamma = float(task.low[index]), float(task.high[index]), float(task.mix.gamma[lane, index])
    full = floor(floor(gamma * high) / gamma) if gamma else high
    return sorted({low, high, min(max(full, low), high)}, reverse=True)


def _beside(task: Task, lane: int, spot: Places, index: int, count: float) -> list[tuple[int, float]]:
    """Return the lane itself, and each of the ``spot`` lanes with the most jobs that can move there."""
    mix, market = task.mix, task.market
    share, wide = float(mix.spot_share[index]), float(mix.gamma[lane, index])
    found = [(lane, 0.0)]
    if market.spot[lane] or not 0.0 < share < 1.0:
        return found
    for other in spot.tolist():
        if mix.together[index] and market.vm_of_lane[other] != market.vm_of_lane[lane]:
            continue
        narrow = float(mix.gamma[other, index])
        part = floor(count * share * wide / (narrow * (1.0 - share) + share * wide))
        found += [(other, some) for some in (part, part + 1.0) if some < count or share >= 1.0]
    return found


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
