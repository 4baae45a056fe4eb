"""The relaxed optimum for scarce VMs, by a master problem that finds their prices.

For few lanes, the master problem mixes the answers of all classes to earlier prices (Dantzig and Wolfe 1960,
*Decomposition principle for linear programs*). Its value falls, the dual bound rises, and they meet.

For many lanes, column generation solves the relaxed P2: a linear program over some pairs of classes and lanes.

A catalogue with quotas has thousands of lanes, each of them scarce, and a class runs in a handful of them. The program
starts with the pairs that cost least at the current prices of VMs. It adds pairs with a negative reduced cost at its
dual prices until the dual bound over all pairs meets its value. The bound depends on the prices alone, so it is valid
for all pairs. Source: Gilmore and Gomory 1961, *A linear programming approach to the cutting-stock problem*.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import ROUNDING, SAME_SUM
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_prices import (
    GROUPS,
    NONE,
    Places,
    Relaxed,
    Task,
    Ways,
    cheapest,
    closed_form,
    dearest,
    dual_bound,
    wanted,
)
from mrdsl.families.capacity.plan_parts import summed

Flags = NDArray[np.bool_]
FIRST, MORE = 10, 10
"""First pairs of each class, of firm and of spot lanes, and most new pairs in a round."""
COLUMN_ROUNDS = 100


@dataclass
class _Found:
    """The best so far: a value with its point, and a bound with its prices of lanes, quotas and cores."""

    prices: Floats
    quotas: Floats
    cores: Floats
    value: float = np.inf
    bound: float = -np.inf
    point: Floats = field(default_factory=lambda: np.zeros(0))


def by_pairs(task: Task, gap: float, dear: float, until: float | None) -> Relaxed:
    """Find the optimum of the relaxation to a relative ``gap``, or the best known result at the time ``until``.

    A lacking VM costs ``dear`` times the highest cost or worth of a VM.
    """
    market, mix = task.market, task.mix
    program = _Program(task, dear)
    new = _first_pairs(task)
    found = _Found(market.cheapest(), np.zeros(len(market.names)), np.zeros(len(market.quotas)))
    rounds = 0
    while new.any() and rounds < COLUMN_ROUNDS:
        program.add(new)
        solved = program.solve(None if until is None else until - time.monotonic())
        if solved is None:
            break
        rounds += 1
        found.value, found.point, prices, quotas, cores, reduced = solved
        ways = cheapest(task, prices)
        bound = dual_bound(task, prices, quotas, ways, wanted(task, ways), cores)
        if bound > found.bound:
            found.bound, found.prices, found.quotas, found.cores = bound, prices, quotas, cores
        away = found.value - found.bound
        if away <= gap * max(abs(found.value - market.of_masters), SAME_SUM * max(1.0, abs(found.value))):
            break
        new = (
            least_of_columns(np.where(reduced < 0.0, reduced, np.inf), MORE) | _taken(ways, mix.gamma.shape)
        ) & mix.possible
        new &= ~program.there
    if not len(found.point):
        return _nothing(task, found, dear)
    bought, jobs, lacking = program.parts(found.point)
    bound = min(found.bound, found.value)
    return Relaxed(jobs, bought, found.prices, found.quotas, found.value, bound, lacking, rounds, found.cores)


def _nothing(task: Task, found: _Found, dear: float) -> Relaxed:
    """Return no jobs, and the bound at the prices of the cheapest offers, if there was no time for more."""
    ways = cheapest(task, found.prices)
    bound = dual_bound(task, found.prices, found.quotas, ways, wanted(task, ways), found.cores)
    bought = task.market.buy(task.market.masters_of_lane)
    short = float((np.where(task.mix.possible, task.mix.gamma, np.inf).min(axis=0) * task.low).sum())
    jobs = np.zeros_like(task.mix.gamma)
    value = task.mix.cost(bought, jobs) + dear * dearest(task) * short
    return Relaxed(jobs, bought, found.prices, found.quotas, value, min(bound, value), short, cores=found.cores)


class _Program:
    """The linear program of lanes, quotas of types and of cores, parts on spot and classes (rows).

    Its columns are offers, lacking VMs and rejected jobs, followed by pairs in the order of their addition.
    """

    def __init__(self, task: Task, dear: float) -> None:
        from mrdsl.solving.backends.highs import GrowingProgram

        self.task, mix, market = task, task.mix, task.market
        lanes, classes, offers = len(market.lanes), len(mix), len(market.offers)
        self.limited = np.flatnonzero(np.isfinite(task.available))
        some = (mix.possible & market.spot[:, None]).any(axis=0)
        self.capped = np.flatnonzero((mix.spot_share < 1.0) & some)
        many = [lanes, len(self.limited), len(market.quotas), len(self.capped), classes]
        self.ends = np.cumsum(many).tolist()
        self.there = np.zeros_like(mix.possible)
        self.pairs: list[tuple[Places, Places]] = []
        free = np.full(self.ends[3], -np.inf)
        limits = task.available[self.limited], market.quota_limits
        most = [-market.masters_of_lane, *limits, np.zeros(len(self.capped)), task.high]
        self.program = GrowingProgram(np.concatenate([free, task.high]), np.concatenate(most))
        quota_of = np.full(len(market.names), NONE)
        quota_of[self.limited] = self.ends[0] + np.arange(len(self.limited))
        quota = quota_of[market.vm_of_lane[market.lane_of_offer]]
        limited = np.flatnonzero(quota != NONE)
        of_cores = market.cores_of_quotas[:, market.lane_of_offer]
        core_quota, counted = of_cores.nonzero()
        each = np.arange(classes)
        self._columns(
            np.concatenate([market.prices, np.full(lanes, dear * dearest(task)), np.zeros(classes)]),
            np.concatenate([market.there, np.full(lanes, np.inf), task.high - task.low]),
            (market.lane_of_offer, np.arange(offers), -np.ones(offers)),
            (quota[limited], limited, np.ones(len(limited))),
            (self.ends[1] + core_quota, counted, of_cores[core_quota, counted]),
            (np.arange(lanes), offers + np.arange(lanes), -np.ones(lanes)),
            (self.ends[3] + each, offers + lanes + each, np.ones(classes)),
        )

    def add(self, new: Flags) -> None:
        """Add columns of pairs that are not there yet."""
        task, mix = self.task, self.task.mix
        of_class, of_lane = new.T.nonzero()
        self.there |= new
        self.pairs.append((of_lane, of_class))
        gamma, each = mix.gamma[of_lane, of_class], np.arange(len(of_class))
        part_of = np.full(len(mix), NONE)
        part_of[self.capped] = self.ends[2] + np.arange(len(self.capped))
        capped = np.flatnonzero(part_of[of_class] != NONE)
        beyond = gamma * (task.market.spot[of_lane] - mix.spot_share[of_class])
        self._columns(
            -mix.worth[of_class],
            np.full(len(of_class), np.inf),
            (of_lane, each, gamma),
            (part_of[of_class][capped], capped, beyond[capped]),
            (self.ends[3] + of_class, each, np.ones(len(of_class))),
        )

    def _columns(self, costs: Floats, upper: Floats, *entries: tuple[Places, Places, Floats]) -> None:
        from scipy.sparse import coo_array

        rows, columns, values = (np.concatenate(each) for each in zip(*entries, strict=True))
        self.program.add(costs, upper, coo_array((values, (rows, columns)), shape=(self.ends[4], len(costs))))

    def solve(self, seconds: float | None) -> tuple[float, Floats, Floats, Floats, Floats, Floats] | None:
        """Return value, point, prices of lanes, quotas and cores, and reduced costs of all pairs; None without time.

        Prices of lanes are raised to those of their cheapest offers: a lane that no pair of the program has is not
        free.
        """
        solved = self.program.solve(seconds)
        if solved is None:
            return None
        value, point, duals = solved
        mix, market = self.task.mix, self.task.market
        of_lanes, of_quotas, of_cores, of_parts, of_classes = np.split(duals, self.ends[:4])
        cores = np.maximum(-of_cores, 0.0)
        quotas, parts = np.zeros(len(market.names)), np.zeros(len(mix))
        quotas[self.limited], parts[self.capped] = np.maximum(-of_quotas, 0.0), np.maximum(-of_parts, 0.0)
        added = quotas[market.vm_of_lane] + cores @ market.cores_of_quotas
        prices = np.maximum(-of_lanes, market.cheapest() + added)
        each = prices[:, None] + (market.spot[:, None] - mix.spot_share) * parts
        with np.errstate(invalid="ignore"):
            reduced = np.where(mix.possible, mix.gamma * each - mix.worth - of_classes, np.inf)
        return value + float(mix.penalty @ mix.expected), point, prices, quotas, cores, reduced

    def parts(self, point: Floats) -> tuple[Floats, Floats, float]:
        """Return VMs by offer, jobs of shape (lanes, classes), and VMs that lack."""
        market, classes = self.task.market, len(self.task.mix)
        offers, lanes = len(market.offers), len(market.lanes)
        bought, lacks, _, jobs = np.split(point, np.cumsum([offers, lanes, classes]))
        of_lane, of_class = (np.concatenate(each) for each in zip(*self.pairs, strict=True))
        placed = np.zeros_like(self.task.mix.gamma)
        placed[of_lane[: len(jobs)], of_class[: len(jobs)]] = np.maximum(jobs, 0.0)
        return np.maximum(bought, 0.0), placed, float(lacks.sum())


def _first_pairs(task: Task) -> Flags:
    """Return the cheapest lanes of each class, firm and spot, and lanes that hold all classes one after another."""
    mix, spot = task.mix, task.market.spot
    with np.errstate(invalid="ignore"):
        cost = np.where(mix.possible, task.market.cheapest()[:, None] * mix.gamma, np.inf)
    found = _filled(task, cost)
    for kind in (spot, ~spot):
        found |= least_of_columns(np.where(kind[:, None], cost, np.inf), FIRST)
    return found


def least_of_columns(values: Floats, count: int) -> Flags:
    """Mark the least values of each column, ``count`` of them at the most, that are finite."""
    found = np.zeros(values.shape, dtype=bool)
    count = min(count, len(values))
    if count:
        rows = np.argpartition(values, count - 1, axis=0)[:count]
        found[rows, np.arange(values.shape[1])] = True
    return found & np.isfinite(values)


def _taken(ways: Ways, shape: tuple[int, ...]) -> Flags:
    """Mark the lanes of each class's way."""
    found = np.zeros(shape, dtype=bool)
    found[ways.lane, np.arange(shape[1])] = True
    beside = np.flatnonzero(ways.spot != NONE)
    found[ways.spot[beside], beside] = True
    return found


def _filled(task: Task, cost: Floats) -> Flags:
    """Mark pairs that hold the most jobs of all classes, each in turn in its cheapest lanes with room left."""
    mix, vms = task.mix, task.market.vm_of_lane
    left, cores, each = task.available.copy(), task.market.quota_limits.copy(), task.market.cores_of_quotas
    found = np.zeros_like(mix.possible)
    alone = np.where(task.market.spot[:, None] & (mix.spot_share < 1.0), np.inf, cost)
    for index, jobs in enumerate(task.high.tolist()):
        lanes = np.flatnonzero(np.isfinite(alone[:, index]) & (left[vms] > 0.0))
        for lane in lanes[np.argsort(alone[lanes, index], kind="stable")].tolist():
            gamma = float(mix.gamma[lane, index])
            counted = each[:, lane] > 0.0
            room = float((cores[counted] / each[counted, lane]).min(initial=np.inf))
            taken = min(jobs * gamma, float(left[vms[lane]]), room)
            if taken <= 0.0:
                continue
            found[lane, index] = True
            left[vms[lane]] -= taken
            cores -= taken * each[:, lane]
            jobs -= taken / gamma
            if jobs <= ROUNDING:
                break
    return found


FEW_LANES, MANY_CLASSES = 24, 5_000
"""Of more lanes and no more classes, the master problem has a column for a pair of both: it takes a row for each class,
and one of answers takes a round for each price that quotas make."""
ROUNDS = 400
LARGEST = 1e15
"""The largest cost that HiGHS gets: 1e20 is infinite to it."""
DEAR, DEARER = 1e2, 1e6
"""Price in the master of a VM beyond the available ones, relative to the dearest VM and to the largest value of a
job."""


def relaxed(task: Task, gap: float, until: float | None = None) -> Relaxed:
    """Return the optimum of the relaxation to a relative ``gap``, or the best result at ``until``.

    ``until`` is a time on the monotonic clock [s].
    """
    simple = closed_form(task)
    if simple is not None:
        return simple
    method = _method(task)
    found = method(task, gap, DEAR, until)
    if found.lacking <= ROUNDING:
        return found
    again = method(task, gap, DEARER, until)
    return replace(again, bound=max(found.bound, again.bound), rounds=found.rounds + again.rounds)


def never_fits(task: Task, until: float | None = None) -> bool:
    """Return True if the least jobs are proven to take more VMs than there are, however they are placed."""
    market = task.market
    free = replace(market, offers=tuple(replace(offer, price=0.0) for offer in market.offers))
    none = np.zeros(len(task.mix))
    mix = replace(task.mix, market=free, penalty=none, transfer=none)
    return _method(task)(replace(task, mix=mix, high=task.low), ROUNDING, DEAR, until).bound > ROUNDING


def _method(task: Task) -> Callable[[Task, float, float, float | None], Relaxed]:
    """Return the pricing by pairs of classes and lanes if there are many lanes, otherwise by answers of all classes."""
    lanes, classes = task.mix.gamma.shape
    return by_pairs if lanes > FEW_LANES and classes <= MANY_CLASSES else _by_master


def _by_master(task: Task, gap: float, dear: float, until: float | None) -> Relaxed:
    """Return prices from the master problem until its value and the dual bound meet, or the time is over."""
    master = _Master(task, dear)
    prices, quotas, cores = master.first_prices()
    best_bound, best = -np.inf, (prices, quotas, cores)
    market = task.market
    value, bought, jobs, lacking = np.inf, np.zeros(len(market.offers)), np.zeros_like(task.mix.gamma), 0.0
    rounds = 0
    while rounds < ROUNDS:
        ways = cheapest(task, prices)
        count = wanted(task, ways)
        bound = dual_bound(task, prices, quotas, ways, count, cores)
        if bound > best_bound:
            best_bound, best = bound, (prices, quotas, cores)
        master.add(ways.jobs(count, len(prices)))
        value, bought, weights, lacking, *of_master = master.solve()
        rounds += 1
        if value - best_bound <= gap * max(abs(value - market.of_masters), SAME_SUM * max(1.0, abs(value))):
            break
        if until is not None and time.monotonic() > until:
            break
        inside = 0.5 if rounds % 2 == 0 else 0.0
        both = zip(best, of_master, strict=True)
        prices, quotas, cores = (inside * known + (1.0 - inside) * new for known, new in both)
    jobs = master.mixture(weights)
    return Relaxed(jobs, bought, best[0], best[1], value, min(best_bound, value), lacking, rounds, best[2])


class _Master:
    """The master problem: how to mix the answers, and what VMs to buy for them."""

    def __init__(self, task: Task, dear: float) -> None:
        from mrdsl.solving.backends.highs import GrowingProgram

        self.task, market = task, task.market
        classes, lanes, offers = len(task.mix), len(market.lanes), len(market.offers)
        largest = max(dear * dearest(task), float(np.abs(task.mix.worth * task.high).sum()))
        self.scale = 1.0 if largest <= LARGEST else LARGEST / largest
        self.count = min(GROUPS, classes)
        self.groups = np.arange(classes) % self.count
        self.jobs: list[Floats] = []
        self.limited = np.flatnonzero(np.isfinite(task.available))
        self.ends = np.cumsum([lanes, len(self.limited), len(market.quotas)]).tolist()
        once, most = np.ones(self.count), [-market.masters_of_lane, task.available[self.limited], market.quota_limits]
        free = np.full(self.ends[-1], -np.inf)
        self.program = GrowingProgram(np.concatenate([free, once]), np.concatenate([*most, once]))
        supply = -(market.lane_of_offer[None] == np.arange(lanes)[:, None]).astype(float)
        of_types = (market.vm_of_lane[market.lane_of_offer][None] == self.limited[:, None]).astype(float)
        of_offers = np.concatenate([supply, of_types, market.cores_of_quotas[:, market.lane_of_offer]])
        self._columns(market.prices, market.there, of_offers, np.zeros((self.count, offers)))
        lacking = np.concatenate([-np.eye(lanes), np.zeros((self.ends[-1] - lanes, lanes))])
        dearer = np.full(lanes, dear * dearest(task))
        self._columns(dearer, np.full(lanes, np.inf), lacking, np.zeros((self.count, lanes)))

    def _columns(self, costs: Floats, upper: Floats, *rows: Floats) -> None:
        from scipy.sparse import csc_array

        self.program.add(costs * self.scale, upper, csc_array(np.concatenate(rows)))

    def first_prices(self) -> tuple[Floats, Floats, Floats]:
        """Return the prices of the most expensive offer of each lane, and 0 for quotas and cores."""
        market = self.task.market
        prices = np.zeros(len(market.lanes))
        for offer in market.offers:
            prices[offer.lane] = max(prices[offer.lane], offer.price)
        return prices, np.zeros(len(market.names)), np.zeros(len(market.quotas))

    def add(self, jobs: Floats) -> None:
        """The answer of all classes to some prices."""
        mix = self.task.mix
        used = np.where(mix.possible, mix.gamma, 0.0) * jobs
        taken = np.stack([summed(self.groups, row, self.count) for row in used])
        spared = summed(self.groups, mix.worth * jobs.sum(axis=0), self.count)
        none = np.zeros((self.ends[-1] - len(taken), self.count))
        self._columns(-spared, np.full(self.count, np.inf), taken, none, np.eye(self.count))
        self.jobs.append(jobs)

    def solve(self) -> tuple[float, Floats, Floats, float, Floats, Floats, Floats]:
        """Return value, VMs by offer, weights of answers by group, lacking VMs; prices of lanes, quotas and cores."""
        market, mix = self.task.market, self.task.mix
        lanes, offers = len(market.lanes), len(market.offers)
        solved = self.program.solve()
        assert solved is not None, "lacking VMs make every program feasible"
        value, point, duals = solved[0] / self.scale, solved[1], solved[2] / self.scale
        bought, lacks, weights = np.split(point, [offers, offers + lanes])
        quotas = np.zeros(len(market.names))
        of_lanes, of_types, cores, _ = np.split(np.maximum(-duals, 0.0), self.ends)
        quotas[self.limited] = of_types
        return value + float(mix.penalty @ mix.expected), bought, weights, float(lacks.sum()), of_lanes, quotas, cores

    def mixture(self, weights: Floats) -> Floats:
        """Return the jobs by lane that the weights mix."""
        by_round = weights.reshape(len(self.jobs), self.count)[:, self.groups]
        jobs = np.zeros_like(self.task.mix.gamma)
        for weight, answer in zip(by_round, self.jobs, strict=True):
            if weight.any():
                jobs += weight * answer
        return jobs
