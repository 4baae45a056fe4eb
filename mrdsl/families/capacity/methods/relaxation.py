"""The relaxed optimum for scarce VMs, by a master problem that finds their prices.

Of few lanes, or very many classes, it mixes the answers of all classes to earlier prices (Dantzig and Wolfe 1960,
*Decomposition principle for linear programs*): its value falls, the dual bound rises, and they meet. Of others
:mod:`mrdsl.families.capacity.methods.pair_program` finds them.
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
    Relaxed,
    Task,
    cheapest,
    closed_form,
    dearest,
    dual_bound,
    wanted,
)
from mrdsl.families.capacity.methods.pair_program import by_pairs, is_scarce
from mrdsl.families.capacity.plan_parts import summed

Flags = NDArray[np.bool_]
FEW_LANES, MANY_CLASSES = 24, 5_000
"""Of more lanes and no more classes, the master problem has a column for a pair of both: it takes a row for each class,
and one of answers takes a round for each price that quotas make."""
ROUNDS = 400
DEAR, DEARER = 1e2, 1e6
"""What a VM that there is not costs in the master, beside the dearest that there is and what any job is worth."""


@dataclass
class _Answers:
    """Answers of the groups of classes to earlier prices: VMs by lane and saved penalties, for each group."""

    taken: list[Floats] = field(default_factory=list)
    spared: list[Floats] = field(default_factory=list)
    jobs: list[Floats] = field(default_factory=list)


def relaxed(task: Task, gap: float, until: float | None = None) -> Relaxed:
    """The optimum of the relaxation, to a relative ``gap``; how near it is ``until`` then, on the monotonic clock."""
    simple = None if has_program(task) else closed_form(task)
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
    mix = replace(task.mix, market=free, penalty=np.zeros_like(task.mix.penalty))
    return _method(task)(replace(task, mix=mix, high=task.low), ROUNDING, DEAR, until).bound > ROUNDING


def has_program(task: Task) -> bool:
    """Return True if whole jobs have to fit quotas, which a program of pairs of classes and lanes is there for."""
    return task.same_type and is_scarce(task) and len(task.mix) <= MANY_CLASSES


def _method(task: Task) -> Callable[[Task, float, float, float | None], Relaxed]:
    """Return the pricing by pairs of classes and lanes if there are many lanes, otherwise by answers of all classes."""
    lanes, classes = task.mix.gamma.shape
    few = lanes <= FEW_LANES or classes > MANY_CLASSES
    return _by_master if few and not has_program(task) else by_pairs


def _by_master(task: Task, gap: float, dear: float, until: float | None) -> Relaxed:
    """Return prices from the master problem until its value and the dual bound meet, or the time is over."""
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


class _Master:
    """The master problem: how to mix the answers, and what VMs to buy for them."""

    def __init__(self, task: Task, dear: float) -> None:
        self.task = task
        classes = len(task.mix)
        self.groups = np.arange(classes) % min(GROUPS, classes)
        self.count = min(GROUPS, classes)
        self.answers = _Answers()
        self.dearest = dear * dearest(task)
        self.limited = np.flatnonzero(np.isfinite(task.available))

    def first_prices(self) -> tuple[Floats, Floats]:
        """Return the prices of the most expensive offer of each lane, and 0 for quotas."""
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
        """Return value, VMs by offer, weights of answers by group, lacking VMs, and prices of lanes and quotas."""
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
        """Return the jobs by lane that the weights mix."""
        by_round = weights.reshape(len(self.answers.jobs), self.count)[:, self.groups]
        jobs = np.zeros_like(self.task.mix.gamma)
        for weight, answer in zip(by_round, self.answers.jobs, strict=True):
            if weight.any():
                jobs += weight * answer
        return jobs
