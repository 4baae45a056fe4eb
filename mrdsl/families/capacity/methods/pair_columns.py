"""The relaxed P2 of many lanes by column generation: a linear program over some pairs of classes and lanes.

A catalogue with quotas has thousands of lanes, each scarce, and a class runs in a handful of them. The program has the
pairs that cost least at the prices of VMs so far; pairs whose reduced cost is negative at its dual prices are added
until the dual bound over all pairs meets its value (Gilmore and Gomory 1961, *A linear programming approach to the
cutting-stock problem*). The bound is computed from the prices alone, so that it holds whatever the program left out.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.tolerances import ROUNDING, SAME_SUM
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_prices import (
    NONE,
    Places,
    Relaxed,
    Task,
    Ways,
    cheapest,
    dearest,
    dual_bound,
    wanted,
)

Flags = NDArray[np.bool_]
FIRST, MORE = 10, 10
"""So many pairs of each class are there to begin with, of firm and of spot lanes, and come at most in a round."""
ROUNDS = 100


@dataclass
class _Found:
    """The best so far: a value with its point, and a bound with its prices of lanes and quotas."""

    prices: Floats
    quotas: Floats
    value: float = np.inf
    bound: float = -np.inf
    point: Floats = field(default_factory=lambda: np.zeros(0))


def by_pairs(task: Task, gap: float, dear: float, until: float | None) -> Relaxed:
    """Find the optimum of the relaxation to a relative ``gap``, or what is known ``until`` then.

    A VM that lacks costs ``dear`` times what any costs or is worth.
    """
    market, mix = task.market, task.mix
    program = _Program(task, dear)
    new = _first_pairs(task)
    found = _Found(market.cheapest(), np.zeros(len(market.names)))
    rounds = 0
    while new.any() and rounds < ROUNDS:
        program.add(new)
        solved = program.solve(None if until is None else until - time.monotonic())
        if solved is None:
            break
        rounds += 1
        found.value, found.point, prices, quotas, reduced = solved
        ways = cheapest(task, prices)
        bound = dual_bound(task, prices, quotas, ways, wanted(task, ways))
        if bound > found.bound:
            found.bound, found.prices, found.quotas = bound, prices, quotas
        away = found.value - found.bound
        if away <= gap * max(abs(found.value - market.of_masters), SAME_SUM * max(1.0, abs(found.value))):
            break
        new = (_least(np.where(reduced < 0.0, reduced, np.inf), MORE) | _taken(ways, mix.gamma.shape)) & mix.possible
        new &= ~program.there
    if not len(found.point):
        return _nothing(task, found, dear)
    bought, jobs, lacking = program.parts(found.point)
    bound = min(found.bound, found.value)
    return Relaxed(jobs, bought, found.prices, found.quotas, found.value, bound, lacking, rounds)


def _nothing(task: Task, found: _Found, dear: float) -> Relaxed:
    """No jobs, and the bound at the prices of the cheapest offers, where there was no time for more."""
    ways = cheapest(task, found.prices)
    bound = dual_bound(task, found.prices, found.quotas, ways, wanted(task, ways))
    bought = task.market.buy(task.market.masters_of_lane)
    short = float((np.where(task.mix.possible, task.mix.gamma, np.inf).min(axis=0) * task.low).sum())
    jobs = np.zeros_like(task.mix.gamma)
    value = task.mix.cost(bought, jobs) + dear * dearest(task) * short
    return Relaxed(jobs, bought, found.prices, found.quotas, value, min(bound, value), short)


class _Program:
    """The program: rows of lanes, quotas, parts on spot and classes; columns of offers, VMs that lack, jobs that are
    turned away, and then pairs in the order in which they come."""

    def __init__(self, task: Task, dear: float) -> None:
        from mrdsl.solving.backends.highs import GrowingProgram

        self.task, mix, market = task, task.mix, task.market
        lanes, classes, offers = len(market.lanes), len(mix), len(market.offers)
        self.limited = np.flatnonzero(np.isfinite(task.available))
        some = (mix.possible & market.spot[:, None]).any(axis=0)
        self.capped = np.flatnonzero((mix.spot_share < 1.0) & some)
        self.ends = np.cumsum([lanes, len(self.limited), len(self.capped), classes]).tolist()
        self.there = np.zeros_like(mix.possible)
        self.pairs: list[tuple[Places, Places]] = []
        free = np.full(lanes + len(self.limited) + len(self.capped), -np.inf)
        most = [-market.masters_of_lane, task.available[self.limited], np.zeros(len(self.capped)), task.high]
        self.program = GrowingProgram(np.concatenate([free, task.high]), np.concatenate(most))
        quota_of = np.full(len(market.names), NONE)
        quota_of[self.limited] = self.ends[0] + np.arange(len(self.limited))
        quota = quota_of[market.vm_of_lane[market.lane_of_offer]]
        limited = np.flatnonzero(quota != NONE)
        each = np.arange(classes)
        self._columns(
            np.concatenate([market.prices, np.full(lanes, dear * dearest(task)), np.zeros(classes)]),
            np.concatenate([market.there, np.full(lanes, np.inf), task.high - task.low]),
            (market.lane_of_offer, np.arange(offers), -np.ones(offers)),
            (quota[limited], limited, np.ones(len(limited))),
            (np.arange(lanes), offers + np.arange(lanes), -np.ones(lanes)),
            (self.ends[2] + each, offers + lanes + each, np.ones(classes)),
        )

    def add(self, new: Flags) -> None:
        """Add columns of pairs that are not there yet."""
        task, mix = self.task, self.task.mix
        of_class, of_lane = new.T.nonzero()
        self.there |= new
        self.pairs.append((of_lane, of_class))
        gamma, each = mix.gamma[of_lane, of_class], np.arange(len(of_class))
        part_of = np.full(len(mix), NONE)
        part_of[self.capped] = self.ends[1] + np.arange(len(self.capped))
        capped = np.flatnonzero(part_of[of_class] != NONE)
        beyond = gamma * (task.market.spot[of_lane] - mix.spot_share[of_class])
        self._columns(
            -mix.penalty[of_class],
            np.full(len(of_class), np.inf),
            (of_lane, each, gamma),
            (part_of[of_class][capped], capped, beyond[capped]),
            (self.ends[2] + of_class, each, np.ones(len(of_class))),
        )

    def _columns(self, costs: Floats, upper: Floats, *entries: tuple[Places, Places, Floats]) -> None:
        from scipy.sparse import coo_array

        rows, columns, values = (np.concatenate(each) for each in zip(*entries, strict=True))
        self.program.add(costs, upper, coo_array((values, (rows, columns)), shape=(self.ends[3], len(costs))))

    def solve(self, seconds: float | None) -> tuple[float, Floats, Floats, Floats, Floats] | None:
        """Return value, point, prices of lanes and of quotas, and reduced costs of all pairs; None if time is over.

        Prices of lanes are raised to those of their cheapest offers: a lane that no pair of the program has is not
        free.
        """
        solved = self.program.solve(seconds)
        if solved is None:
            return None
        value, point, duals = solved
        mix, market = self.task.mix, self.task.market
        of_lanes, of_quotas, of_parts, of_classes = np.split(duals, self.ends[:3])
        quotas, parts = np.zeros(len(market.names)), np.zeros(len(mix))
        quotas[self.limited], parts[self.capped] = np.maximum(-of_quotas, 0.0), np.maximum(-of_parts, 0.0)
        prices = np.maximum(-of_lanes, market.cheapest() + quotas[market.vm_of_lane])
        each = prices[:, None] + (market.spot[:, None] - mix.spot_share) * parts
        with np.errstate(invalid="ignore"):
            reduced = np.where(mix.possible, mix.gamma * each - mix.penalty - of_classes, np.inf)
        return value + float(mix.penalty @ mix.expected), point, prices, quotas, reduced

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
    """The cheapest lanes of each class, firm and spot, and lanes that hold all classes one after another."""
    mix, spot = task.mix, task.market.spot
    with np.errstate(invalid="ignore"):
        cost = np.where(mix.possible, task.market.cheapest()[:, None] * mix.gamma, np.inf)
    found = _filled(task, cost)
    for kind in (spot, ~spot):
        found |= _least(np.where(kind[:, None], cost, np.inf), FIRST)
    return found


def _least(values: Floats, count: int) -> Flags:
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
    left = task.available.copy()
    found = np.zeros_like(mix.possible)
    alone = np.where(task.market.spot[:, None] & (mix.spot_share < 1.0), np.inf, cost)
    for index, jobs in enumerate(task.high.tolist()):
        lanes = np.flatnonzero(np.isfinite(alone[:, index]) & (left[vms] > 0.0))
        for lane in lanes[np.argsort(alone[lanes, index], kind="stable")].tolist():
            gamma = float(mix.gamma[lane, index])
            taken = min(jobs * gamma, float(left[vms[lane]]))
            found[lane, index] = True
            left[vms[lane]] -= taken
            jobs -= taken / gamma
            if jobs <= ROUNDING:
                break
    return found
