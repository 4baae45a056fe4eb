"""The relaxed P2 of several VM types, by prices of VMs: exact for the relaxation, without a row for each class.

At given prices of the VMs of each lane, every class takes its cheapest way of running a job. It runs all jobs if that
costs less than the penalty, otherwise the fewest. A *way* is one lane. If only a part of a class's VM time may be spot,
it can also be a firm and a spot lane in the proportion of that part. These are the extreme rays of the class's choices.

Jobs on more slots than the fewest are not a cheaper way: if their firm VM time makes room for jobs on spot VMs, these
jobs need more of it. If no VMs are scarce that are cheaper than those of unlimited number, their prices are optimal.
That is a closed form; otherwise :mod:`mrdsl.families.capacity.methods.relaxation` finds the prices.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import ROUNDING, SAME_SUM, floor
from mrdsl.families.capacity.instance import Mix
from mrdsl.families.capacity.lanes import SpareSlots
from mrdsl.families.capacity.market import Floats, Market
from mrdsl.families.capacity.plan_parts import summed

Places = NDArray[np.int64]

GROUPS = 24
"""Groups of classes that the master can mix separately: more groups converge sooner, and each costs a row."""
GUESSES = 30
"""So often at most the least cost of a firm lane with a spot lane is guessed anew; a handful is enough."""
TYPICAL = 5
"""Usual number of iterations."""
PAIR = 25
"""Steps of a class in a lane, as :func:`effort` counts them."""
NONE = -1


@dataclass(frozen=True)
class Ways:
    """The way that each class takes: ``lane``, with ``part`` of its jobs in the lane ``spot`` instead (NONE for none).

    ``cost`` is that of one job at the prices asked.
    """

    lane: Places
    spot: Places
    part: Floats
    cost: Floats

    def jobs(self, count: Floats, lanes: int) -> Floats:
        """So many jobs of each class by lane, of shape (lanes, classes)."""
        jobs = np.zeros((lanes, len(count)))
        each = np.arange(len(count))
        jobs[self.lane, each] = (1.0 - self.part) * count
        mixed = self.spot != NONE
        jobs[self.spot[mixed], each[mixed]] += (self.part * count)[mixed]
        return jobs


@dataclass(frozen=True)
class Task:
    """The problem: a mix, the range of each class's jobs, and the VMs of each type.

    ``of_cores`` are prices of a core in each quota of cores, at which searches compare lanes.
    """

    mix: Mix
    low: Floats
    high: Floats
    available: Floats
    same_type: bool
    of_cores: Floats | None = None

    @property
    def market(self) -> Market:
        return self.mix.market

    @cached_property
    def prices(self) -> Floats:
        """The price of a VM of each lane, with those of its cores."""
        cheapest = self.market.cheapest()
        return cheapest if self.of_cores is None else cheapest + self.of_cores @ self.market.cores_of_quotas

    @cached_property
    def without_quotas(self) -> Task:
        """The task without quotas of cores, in which offers cost the prices of their cores in addition.

        A type has no more VMs than its quotas allow it alone.
        """
        if self.of_cores is None or not self.market.quotas:
            return self
        market = self.market
        cores = market.cores_of_quotas
        with np.errstate(divide="ignore", invalid="ignore"):
            alone = floor(np.where(cores > 0.0, market.quota_limits[:, None] / cores, np.inf).min(axis=0))
        most = summed(market.vm_of_lane, alone, len(market.names))
        prices = market.prices + (self.of_cores @ market.cores_of_quotas)[market.lane_of_offer]
        offers = tuple(replace(each, price=price) for each, price in zip(market.offers, prices.tolist(), strict=True))
        mix = replace(self.mix, market=replace(market, offers=offers, quotas=()))
        return replace(self, mix=mix, available=np.minimum(self.available, most), of_cores=None)

    @cached_property
    def of_limits(self) -> float:
        """The worth of all cores of the quotas: bounds on :attr:`without_quotas` less this are bounds on the task."""
        return 0.0 if self.of_cores is None else float(self.of_cores @ self.market.quota_limits)

    @property
    def has_limits(self) -> bool:
        """True if VMs of a type, or cores of several types, are limited."""
        return bool(self.market.quotas) or bool(np.isfinite(self.available).any())

    @cached_property
    def spare(self) -> SpareSlots:
        """The slots beyond the fewest that make room for jobs on spot VMs."""
        return SpareSlots(self.mix)


@dataclass(frozen=True)
class Relaxed:
    """The relaxed optimum: jobs (lanes, classes), VMs by offer, ``prices`` of lanes and ``quotas``, value, ``bound``.

    ``lacking``: VMs that even the fewest jobs lack, if there is no plan. ``rounds``: rounds of the master problem.
    ``cores`` are the prices of a core in each quota of cores, which those of lanes contain.
    """

    jobs: Floats
    bought: Floats
    prices: Floats
    quotas: Floats
    value: float
    bound: float
    lacking: float = 0.0
    rounds: int = 0
    cores: Floats = field(default_factory=lambda: np.zeros(0))


def closed_form(task: Task) -> Relaxed | None:
    """Return the optimum at the prices of VMs of unlimited number; None if cheaper VMs are scarce."""
    market = task.market
    prices = market.cheapest(np.isinf(market.there))
    ways = cheapest(task, prices)
    count = wanted(task, ways)
    jobs = ways.jobs(count, len(prices))
    needed = vms_of(task.mix, jobs)
    bought = market.buy(needed)
    idle = (market.prices < prices[market.lane_of_offer]) & (bought < market.there)
    if idle.any() or exceeds(task, bought, relative=SAME_SUM):
        return None
    value = task.mix.cost(bought, jobs)
    free = np.zeros(len(market.names)), np.zeros(len(market.quotas))
    return Relaxed(jobs, bought, prices, free[0], value, value, cores=free[1])


def vms_of(mix: Mix, jobs: Floats) -> Floats:
    """Return the VMs of each lane that jobs on the fewest slots and masters take."""
    used = np.where(mix.possible, mix.gamma, 0.0)
    return np.asarray(np.einsum("ln,ln->l", used, jobs) + mix.market.masters_of_lane)


def dearest(task: Task) -> float:
    """Return the highest cost or worth of a VM; 1 if that is 0."""
    mix = task.mix
    worth = float((mix.worth / np.where(mix.possible, mix.gamma, np.inf).min(axis=0)).max(initial=0.0))
    return max(worth, float(mix.market.prices.max(initial=0.0))) or 1.0


def by_type(market: Market, bought: Floats) -> Floats:
    """Return the VMs of each type, however bought."""
    return summed(market.vm_of_lane[market.lane_of_offer], bought, len(market.names))


def exceeds(task: Task, bought: Floats, absolute: float = 0.0, relative: float = 0.0) -> bool:
    """Return True if VMs by offer are more than there are of a type, or have more cores than a quota allows.

    ``absolute`` is a tolerance of VMs; ``relative`` is one of VMs and of cores.
    """
    market = task.market
    over = by_type(market, bought) > task.available * (1.0 + relative) + absolute
    beyond = market.cores_in_quotas(bought) > market.quota_limits * (1.0 + max(relative, ROUNDING)) + ROUNDING
    return bool(over.any()) or bool(beyond.any())


def wanted(task: Task, ways: Ways) -> Floats:
    """Return the jobs of each class at the cost of its way: all if the penalty is higher, otherwise the fewest."""
    return np.where(task.mix.worth > ways.cost, task.high, task.low)


def cheapest(task: Task, prices: Floats) -> Ways:
    """Return the cheapest way of one job of each class."""
    mix, spot = task.mix, task.market.spot
    with np.errstate(invalid="ignore"):
        cost = np.where(mix.possible, prices[:, None] * mix.gamma, np.inf)
    free = ~spot[:, None] | (mix.spot_share >= 1.0)[None, :]
    alone = np.where(free, cost, np.inf)
    lane = alone.argmin(axis=0)
    best = np.take_along_axis(alone, lane[None, :], axis=0)[0]
    found = Ways(lane, np.full(len(lane), NONE), np.zeros(len(lane)), best)
    capped = np.flatnonzero((mix.spot_share < 1.0) & (mix.possible & spot[:, None]).any(axis=0))
    if len(capped):
        apart = mix.together[capped] & task.same_type
        _mixed_on_one_type(task, prices, capped[apart], found)
        _mixed(task, prices, capped[~apart], found)
    return found


def costs_by_way(task: Task, prices: Floats) -> Floats:
    """Return the least cost of one job of each class on any VMs, and that on firm ones, shape (2, classes)."""
    mix, cost = task.mix, cheapest(task, prices).cost
    firm = mix.possible & ~task.market.spot[:, None]
    alone = np.where(firm, prices[:, None] * np.where(firm, mix.gamma, 0.0), np.inf).min(axis=0)
    return np.stack([cost, np.where(np.isfinite(alone), np.maximum(alone, cost), cost)])


def _mixed_cost(task: Task, cost: Floats, at: Places, firm: Places, spot: Places) -> tuple[Floats, Floats]:
    """Of one job in a firm lane with its class's part in a spot lane, (firm, spot, classes); and that part of jobs."""
    mix = task.mix
    share = mix.spot_share[at]
    gamma = np.where(mix.possible, mix.gamma, 1.0)
    wide, narrow = gamma[np.ix_(firm, at)][:, None, :], gamma[np.ix_(spot, at)][None, :, :]
    part = share * wide / (narrow * (1.0 - share) + share * wide)
    total = (1.0 - part) * cost[np.ix_(firm, at)][:, None, :] + part * cost[np.ix_(spot, at)][None, :, :]
    if task.same_type:
        vms = mix.market.vm_of_lane
        apart = vms[firm][:, None] != vms[spot][None, :]
        total = np.where(apart[:, :, None] & mix.together[at], np.inf, total)
    return total, part


def _mixed(task: Task, prices: Floats, at: Places, found: Ways) -> None:
    """Replace the way of each class for which a firm and a spot lane together are cheaper than one lane.

    VMs shared ``1 - s`` to ``s`` cost ``((1 - s) p_f + s p_k) / ((1 - s) / gamma_f + s / gamma_k)`` a job. This is a
    quotient of sums: for a guess of the least cost, the lanes are chosen separately. The cost of that choice is the
    next guess (Dinkelbach 1967, *On nonlinear fractional programming*).
    """
    spot, share = task.market.spot, task.mix.spot_share[at]
    part = np.where(spot[:, None], share, 1.0 - share)
    possible = task.mix.possible[:, at]
    work = 1.0 / np.where(possible, task.mix.gamma[:, at], 1.0)
    least = np.full(len(at), np.inf)
    guess = np.zeros(len(at))
    lanes = [np.zeros(len(at), dtype=np.int64), np.zeros(len(at), dtype=np.int64)]
    for _ in range(GUESSES):
        left = np.where(possible, part * (prices[:, None] - guess * work), np.inf)
        chosen = [np.where(kind[:, None], left, np.inf).argmin(axis=0) for kind in (~spot, spot)]
        costs, parts = _two_lanes(task, prices, at, *chosen)
        better = costs < least
        for known, now in zip(lanes, chosen, strict=True):
            known[better] = now[better]
        if not better.any():
            break
        least = np.minimum(least, costs)
        guess = np.where(np.isfinite(least), least, 0.0)
    costs, parts = _two_lanes(task, prices, at, *lanes)
    better = costs < found.cost[at]
    _take(found, at[better], (lanes[0][better], lanes[1][better]), parts[better], costs[better])


def _mixed_on_one_type(task: Task, prices: Floats, at: Places, found: Ways) -> None:
    """The same of classes whose firm and spot VMs are of one type."""
    market = task.market
    firm_of = {int(market.vm_of_lane[lane]): lane for lane in np.flatnonzero(~market.spot).tolist()}
    for spot in np.flatnonzero(market.spot).tolist():
        firm = firm_of.get(int(market.vm_of_lane[spot]))
        if firm is None:
            continue
        both = np.full(len(at), firm), np.full(len(at), spot)
        costs, parts = _two_lanes(task, prices, at, *both)
        better = costs < found.cost[at]
        _take(found, at[better], (both[0][better], both[1][better]), parts[better], costs[better])


def _two_lanes(task: Task, prices: Floats, at: Places, firm: Places, spot: Places) -> tuple[Floats, Floats]:
    """Return the cost of one job of each class with its part in a spot lane, and that part of its jobs.

    The cost is infinite if the class cannot run in both lanes.
    """
    mix, share = task.mix, task.mix.spot_share[at]
    possible = mix.possible[firm, at] & mix.possible[spot, at]
    wide = np.where(possible, mix.gamma[firm, at], 1.0)
    narrow = np.where(possible, mix.gamma[spot, at], 1.0)
    part = share * wide / (narrow * (1.0 - share) + share * wide)
    cost = (1.0 - part) * wide * prices[firm] + part * narrow * prices[spot]
    return np.where(possible, cost, np.inf), part


def _take(found: Ways, at: Places, lanes: tuple[Places, Places], part: Floats, cost: Floats) -> None:
    found.lane[at], found.spot[at] = lanes
    found.part[at], found.cost[at] = part, cost


def costs_on_types(task: Task, prices: Floats, classes: int) -> Floats:
    """Return the least cost of one job of each of the first classes on each VM type, (types, classes).

    If a class has a part on spot in addition to firm VMs, that part may be of any type.
    """
    mix, market = task.mix, task.market
    at = np.arange(min(classes, len(mix)))
    with np.errstate(invalid="ignore"):
        cost = np.where(mix.possible, prices[:, None] * mix.gamma, np.inf)
    free = ~market.spot[:, None] | (mix.spot_share >= 1.0)[None, :]
    best = np.full((len(market.names), len(at)), np.inf)
    np.minimum.at(best, market.vm_of_lane, np.where(free, cost, np.inf)[:, at])
    firm, spot = np.flatnonzero(~market.spot), np.flatnonzero(market.spot)
    sold: NDArray[np.bool_] = np.asarray((mix.possible & market.spot[:, None]).any(axis=0))
    for index in at[(mix.spot_share[at] < 1.0) & sold[at]].tolist():
        total, _ = _mixed_cost(task, cost, np.array([index]), firm, spot)
        np.minimum.at(best[:, index], market.vm_of_lane[firm], total.min(axis=1)[:, 0])
    return best


def effort(task: Task, rounds: int) -> int:
    """Return the effort of a relaxation with ``rounds`` rounds, in steps of some hundredths of a microsecond.

    Each round compares all lanes for all classes, several times for those that may have a part on spot. It also solves
    a linear program whose columns are answers of groups of classes.
    """
    mix, spot = task.mix, task.market.spot
    lanes, classes = len(spot), len(mix)
    parts = int(np.count_nonzero((mix.spot_share < 1.0) & (mix.possible & spot[:, None]).any(axis=0)))
    return (1 + rounds) * PAIR * lanes * (classes + TYPICAL * parts) + rounds * PAIR * lanes * min(GROUPS, classes)


def dual_bound(
    task: Task, prices: Floats, quotas: Floats, ways: Ways, count: Floats, cores: Floats | None = None
) -> float:
    """Return a lower bound on the cost of any plan, for any prices of lanes, of quotas and of cores: weak duality.

    No price may exceed that of VMs of unlimited number by more than the prices of its quotas: then it would not be a
    bound. ``cores`` are the prices of a core in each quota of cores; they must not be negative.

    **Proof** for prices mu of cores: a plan within the quotas has ``cores(q) <= limit(q)`` for each quota q. So its
    cost is at least its cost plus ``sum mu(q) (cores(q) - limit(q))``. That is its cost with offers more expensive by
    ``sum mu(q) cores(q, offer)``, less ``sum mu(q) limit(q)``. The first part is bounded as without quotas of cores.
    """
    market, mix = task.market, task.mix
    lanes, there = market.lane_of_offer, market.there
    of_cores = np.zeros(len(market.quotas)) if cores is None else cores
    surplus = prices[lanes] - market.prices - (quotas[market.vm_of_lane] + of_cores @ market.cores_of_quotas)[lanes]
    endless = np.isinf(there)
    small = ROUNDING * max(1.0, float(np.abs(market.prices).max(initial=0.0)))
    if bool((surplus[endless] > small).any()):
        return -np.inf
    limited = np.isfinite(task.available)
    return float(
        mix.penalty @ mix.expected
        + prices @ market.masters_of_lane
        - (there[~endless] * np.maximum(surplus[~endless], 0.0)).sum()
        - quotas[limited] @ task.available[limited]
        - of_cores @ market.quota_limits
        + np.where(count > 0.0, ways.cost - mix.worth, 0.0) @ count
    )
