"""The relaxed P2 of several VM types, by prices of VMs: exact for the relaxation, without a row for each class.

At given prices of the VMs of each lane every class takes the cheapest way of running a job, in full where that costs
less than the penalty, at its least where not. A *way* is one lane, or, where only a part of a class's VM time may be
spot, a firm and a spot lane in the proportion that this part allows: these are the extreme rays of what the class may
do. Where nothing that is cheaper than the VMs that are to be had in any number is scarce, their prices are the optimal
ones, which is a closed form. Else the prices come from a master problem over answers to earlier prices (Dantzig and
Wolfe 1960, *Decomposition principle for linear programs*): its value falls, the dual bound rises, and they meet.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.tolerances import ROUNDING, SAME_SUM
from mrdsl.families.capacity.market import Floats, Market
from mrdsl.families.capacity.mix import Mix
from mrdsl.families.capacity.mixture import summed

Places = NDArray[np.int64]

GROUPS = 24
"""Classes answer in so many groups, whose answers the master may mix apart: more converge sooner, each costs a row."""
ROUNDS = 400
AT_ONCE = 2_000_000
"""So many pairs of lanes and classes are compared at once."""
PAIR = 25
"""What a class in a lane takes, beside a firm and a spot lane compared for it: rounding looks at each class alone."""
NONE = -1
DEAR, DEARER = 1e2, 1e6
"""What a VM that there is not costs in the master, beside the dearest that there is and what any job is worth."""


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
    """What is to be decided: a mix, the range of each class's jobs, the VMs of each type, the price of what lacks."""

    mix: Mix
    low: Floats
    high: Floats
    available: Floats
    same_type: bool

    @property
    def market(self) -> Market:
        return self.mix.market


@dataclass(frozen=True)
class Relaxed:
    """The relaxed optimum: jobs (lanes, classes), VMs by offer, ``prices`` of lanes and ``quotas``, value, ``bound``.

    ``lacking``: VMs that even the least jobs lack, where there is no plan. ``rounds`` of the master problem it took.
    """

    jobs: Floats
    bought: Floats
    prices: Floats
    quotas: Floats
    value: float
    bound: float
    lacking: float = 0.0
    rounds: int = 0


@dataclass
class _Answers:
    """What the groups of classes answered to earlier prices: VMs by lane and penalties spared, for each group."""

    taken: list[Floats] = field(default_factory=list)
    spared: list[Floats] = field(default_factory=list)
    jobs: list[Floats] = field(default_factory=list)


def relaxed(task: Task, gap: float, until: float | None = None) -> Relaxed:
    """The optimum of the relaxation, to a relative ``gap``; how near it is ``until`` then, on the monotonic clock."""
    simple = closed_form(task)
    if simple is not None:
        return simple
    found = _by_master(task, gap, DEAR, until)
    if found.lacking <= ROUNDING:
        return found
    again = _by_master(task, gap, DEARER, until)
    return replace(again, bound=max(found.bound, again.bound), rounds=found.rounds + again.rounds)


def never_fits(task: Task, until: float | None = None) -> bool:
    """Whether the least jobs are proven to take more VMs than there are, however they are placed."""
    market = task.market
    free = replace(market, offers=tuple(replace(offer, price=0.0) for offer in market.offers))
    mix = replace(task.mix, market=free, penalty=np.zeros_like(task.mix.penalty))
    return _by_master(replace(task, mix=mix, high=task.low), ROUNDING, DEAR, until).bound > ROUNDING


def closed_form(task: Task) -> Relaxed | None:
    """The optimum at the prices of VMs that are to be had in any number; None where something cheaper is scarce."""
    market = task.market
    prices = market.cheapest(np.isinf(market.there))
    ways = cheapest(task, prices)
    count = wanted(task, ways)
    jobs = ways.jobs(count, len(prices))
    needed = vms_of(task.mix, jobs)
    bought = market.buy(needed)
    idle = (market.prices < prices[market.lane_of_offer]) & (bought < market.there)
    if idle.any() or bool((by_type(market, bought) > task.available * (1.0 + SAME_SUM)).any()):
        return None
    value = task.mix.cost(bought, jobs)
    return Relaxed(jobs, bought, prices, np.zeros(len(market.names)), value, value)


def vms_of(mix: Mix, jobs: Floats) -> Floats:
    """The VMs of each lane that jobs and masters take."""
    used = np.where(mix.possible, mix.gamma, 0.0)
    return np.asarray(np.einsum("ln,ln->l", used, jobs) + mix.market.masters_of_lane)


def by_type(market: Market, bought: Floats) -> Floats:
    """The VMs of each type, however bought."""
    return summed(market.vm_of_lane[market.lane_of_offer], bought, len(market.names))


def wanted(task: Task, ways: Ways) -> Floats:
    """The jobs of each class at the cost of its way: all where the penalty is more, else the least."""
    return np.where(task.mix.penalty > ways.cost, task.high, task.low)


def cheapest(task: Task, prices: Floats) -> Ways:
    """The cheapest way of one job of each class."""
    mix, spot = task.mix, task.market.spot
    with np.errstate(invalid="ignore"):
        cost = np.where(mix.possible, prices[:, None] * mix.gamma, np.inf)
    free = ~spot[:, None] | (mix.spot_share >= 1.0)[None, :]
    alone = np.where(free, cost, np.inf)
    lane = alone.argmin(axis=0)
    best = np.take_along_axis(alone, lane[None, :], axis=0)[0]
    found = Ways(lane, np.full(len(lane), NONE), np.zeros(len(lane)), best)
    capped = np.flatnonzero((mix.spot_share < 1.0) & (mix.possible & spot[:, None]).any(axis=0))
    firm_lanes, spot_lanes = np.flatnonzero(~spot), np.flatnonzero(spot)
    step = max(1, AT_ONCE // max(1, len(firm_lanes) * len(spot_lanes)))
    for start in range(0, len(capped), step):
        _mixed(task, cost, capped[start : start + step], firm_lanes, spot_lanes, found)
    return found


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


def _mixed(task: Task, cost: Floats, at: Places, firm: Places, spot: Places, found: Ways) -> None:
    """Where a firm lane with a spot lane beside it is cheaper than one alone, that way instead."""
    total, part = _mixed_cost(task, cost, at, firm, spot)
    flat = total.reshape(-1, len(at))
    best = flat.argmin(axis=0)
    each = np.arange(len(at))
    better = flat[best, each] < found.cost[at]
    places, kind = at[better], best[better]
    found.lane[places] = firm[kind // len(spot)]
    found.spot[places] = spot[kind % len(spot)]
    found.part[places] = part.reshape(-1, len(at))[kind, each[better]]
    found.cost[places] = flat[kind, each[better]]


def costs_on_types(task: Task, prices: Floats, classes: int) -> Floats:
    """What one job of each of the first classes costs at least on each VM type, (types, classes).

    A part on spot beside firm VMs, where a class may have one, may be of any type.
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
    """What a relaxation with so many rounds of the master problem takes, in steps of some hundredths of a microsecond.

    Each compares all lanes for all classes and the firm with the spot ones for those that may have a part there, and
    has a linear program whose columns are answers of groups of classes.
    """
    mix, spot = task.mix, task.market.spot
    lanes, classes = len(spot), len(mix)
    parts = int(np.count_nonzero((mix.spot_share < 1.0) & (mix.possible & spot[:, None]).any(axis=0)))
    pairs = int(np.count_nonzero(spot)) * int(np.count_nonzero(~spot)) * parts
    return (1 + rounds) * (PAIR * lanes * classes + pairs) + rounds * PAIR * lanes * min(GROUPS, classes)


def _by_master(task: Task, gap: float, dear: float, until: float | None) -> Relaxed:
    """Prices from the master problem until its value and the dual bound meet, or the time is over."""
    master = _Master(task, dear)
    prices, quotas = master.first_prices()
    best_bound, best_prices, best_quotas = -np.inf, prices, quotas
    market = task.market
    value, bought, jobs, lacking = np.inf, np.zeros(len(market.offers)), np.zeros_like(task.mix.gamma), 0.0
    rounds = 0
    while rounds < ROUNDS:
        ways = cheapest(task, prices)
        count = wanted(task, ways)
        bound = dual_bound(task, prices, quotas, ways, count)
        if bound > best_bound:
            best_bound, best_prices, best_quotas = bound, prices, quotas
        master.add(ways.jobs(count, len(prices)))
        value, bought, weights, lacking, master_prices, master_quotas = master.solve()
        rounds += 1
        if value - best_bound <= gap * max(abs(value - market.of_masters), SAME_SUM * max(1.0, abs(value))):
            break
        if until is not None and time.monotonic() > until:
            break
        inside = 0.5 if rounds % 2 == 0 else 0.0
        prices = inside * best_prices + (1.0 - inside) * master_prices
        quotas = inside * best_quotas + (1.0 - inside) * master_quotas
    jobs = master.mixture(weights)
    return Relaxed(jobs, bought, best_prices, best_quotas, value, min(best_bound, value), lacking, rounds)


def dual_bound(task: Task, prices: Floats, quotas: Floats, ways: Ways, count: Floats) -> float:
    """What any plan costs at least, by prices of lanes and of quotas, whatever they are: weak duality.

    No price may exceed that of VMs to be had in any number by more than the quota's: there it would prove nothing.
    """
    market, mix = task.market, task.mix
    lanes, there = market.lane_of_offer, market.there
    surplus = prices[lanes] - market.prices - quotas[market.vm_of_lane[lanes]]
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
        + (ways.cost - mix.penalty) @ count
    )


class _Master:
    """The master problem: how to mix the answers, and what VMs to buy for them."""

    def __init__(self, task: Task, dear: float) -> None:
        self.task = task
        market, mix = task.market, task.mix
        classes = len(mix)
        self.groups = np.arange(classes) % min(GROUPS, classes)
        self.count = min(GROUPS, classes)
        self.answers = _Answers()
        worth = float((mix.penalty / np.where(mix.possible, mix.gamma, np.inf).min(axis=0)).max(initial=0.0))
        self.dearest = dear * (max(worth, float(market.prices.max(initial=0.0))) or 1.0)
        self.limited = np.flatnonzero(np.isfinite(task.available))

    def first_prices(self) -> tuple[Floats, Floats]:
        """Those of the dearest offer of each lane, and nothing for quotas."""
        market = self.task.market
        prices = np.zeros(len(market.lanes))
        for offer in market.offers:
            prices[offer.lane] = max(prices[offer.lane], offer.price)
        return prices, np.zeros(len(market.names))

    def add(self, jobs: Floats) -> None:
        """The answer of all classes to some prices."""
        mix = self.task.mix
        used = np.where(mix.possible, mix.gamma, 0.0) * jobs
        taken = np.stack([summed(self.groups, row, self.count) for row in used])
        self.answers.taken.append(taken)
        spared = summed(self.groups, mix.penalty * jobs.sum(axis=0), self.count)
        self.answers.spared.append(spared)
        self.answers.jobs.append(jobs)

    def solve(self) -> tuple[float, Floats, Floats, float, Floats, Floats]:
        """Value, VMs by offer, the weight of each answer by group, what lacks, and the prices of lanes and quotas."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, hstack, vstack

        task, market = self.task, self.task.market
        lanes, offers, rounds = len(market.lanes), len(market.offers), len(self.answers.taken)
        supply = csr_array((-np.ones(offers), (market.lane_of_offer, range(offers))), shape=(lanes, offers))
        taken = np.concatenate(self.answers.taken, axis=1)
        rows = hstack([csr_array(taken), supply, -csr_array(np.eye(lanes))])
        vms = market.vm_of_lane[market.lane_of_offer]
        quota = (vms[None, :] == self.limited[:, None]).astype(float)
        empty = csr_array((len(self.limited), taken.shape[1]))
        limits = hstack([empty, csr_array(quota), csr_array((len(self.limited), lanes))])
        mixing = np.tile(np.eye(self.count), rounds)
        convex = hstack([csr_array(mixing), csr_array((self.count, offers + lanes))])
        found = linprog(
            np.concatenate([*(-each for each in self.answers.spared), market.prices, np.full(lanes, self.dearest)]),
            A_ub=vstack([rows, limits]),
            b_ub=np.concatenate([-market.masters_of_lane, task.available[self.limited]]),
            A_eq=convex,
            b_eq=np.ones(self.count),
            bounds=[
                *([(0.0, None)] * taken.shape[1]),
                *((0.0, offer.available) for offer in market.offers),
                *([(0.0, None)] * lanes),
            ],
            method="highs",
        )
        mix = task.mix
        weights, bought, lacks = np.split(found.x, [taken.shape[1], taken.shape[1] + offers])
        duals = -found.ineqlin.marginals
        quotas = np.zeros(len(market.names))
        quotas[self.limited] = np.maximum(duals[lanes:], 0.0)
        value = float(found.fun) + float(mix.penalty @ mix.expected)
        return value, bought, weights, float(lacks.sum()), np.maximum(duals[:lanes], 0.0), quotas

    def mixture(self, weights: Floats) -> Floats:
        """The jobs by lane that the weights mix."""
        by_round = weights.reshape(len(self.answers.jobs), self.count)[:, self.groups]
        jobs = np.zeros_like(self.task.mix.gamma)
        for weight, answer in zip(by_round, self.answers.jobs, strict=True):
            if weight.any():
                jobs += weight * answer
        return jobs
