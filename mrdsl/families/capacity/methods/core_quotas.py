"""Whole jobs within quotas of cores, which several VM types share.

The relaxation finds a price for a core of each quota. At these prices types are compared as without quotas, one by one,
so few lanes are found in the same way. An integer program on these lanes, with the quotas themselves, then decides
which jobs run where. The prices also bound the cost: :func:`mrdsl.families.capacity.methods.lane_prices.dual_bound`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import ROUNDING
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.few_lanes import (
    FEWEST_NODES,
    NODES,
    PARTS,
    improved,
    is_scarce,
    on_few_lanes,
    placed_in_turn,
    whole_cost,
)
from mrdsl.families.capacity.methods.lane_prices import Relaxed, Task

Flags = NDArray[np.bool_]
MOST_PAIRS = 6_000
"""Most pairs of lanes and classes of the integer program."""


def within_core_quotas(task: Task, relaxed: Relaxed, enough: float, until: float | None) -> tuple[Floats, float]:
    """Find whole jobs, shape (lanes, classes), that fit all quotas unless that is too hard, and a bound.

    The bound is minus infinity unless the integer program has all pairs.
    """
    plans = [relaxed.jobs]
    if not is_scarce(task):
        free = replace(task.without_quotas, available=task.available)
        plans.append(on_few_lanes(free, relaxed.jobs, -np.inf, until))
    anew = np.zeros_like(relaxed.jobs)
    turns = [placed_in_turn(task, plan, part, begun) for plan in plans for part in PARTS for begun in (None, anew)]
    costs = [whole_cost(task, jobs) for jobs in turns]
    jobs = turns[int(np.argmin(costs))]
    cost = min(costs)
    if cost <= enough:
        return jobs, -np.inf
    pairs = _pairs(task, [*plans, *turns])
    nodes = max(FEWEST_NODES, NODES // max(1, int(pairs.sum())))
    found, bound = improved(task, jobs, pairs, until, nodes)
    if bool((pairs < task.mix.possible).any()):
        bound = -np.inf
    return found if whole_cost(task, found) < cost else jobs, min(bound, cost)


def _pairs(task: Task, plans: list[Floats]) -> Flags:
    """Mark all pairs of the lanes in use, and as many of the cheapest as there may be."""
    mix = task.mix
    used = np.logical_or.reduce([jobs > ROUNDING for jobs in plans])
    with np.errstate(invalid="ignore"):
        price = np.where(mix.possible, task.prices[:, None] * mix.gamma, np.inf)
    lanes = used.any(axis=1)
    if int(mix.possible[lanes].sum()) <= MOST_PAIRS:
        return np.asarray(mix.possible & lanes[:, None])
    each = max(2, (MOST_PAIRS - int(used.sum())) // len(mix))
    order = np.argsort(np.where(lanes[:, None], price, np.inf), axis=0, kind="stable")[:each]
    used[order, np.arange(len(mix))] = True
    return np.asarray(used & mix.possible)
