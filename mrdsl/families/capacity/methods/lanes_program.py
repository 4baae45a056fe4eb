"""Whole jobs and VMs on a few lanes by one integer program: what single moves of jobs do not find.

The lanes are some of those that there are, so that the program is small; its optimum is no bound for all of them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.tolerances import ROUNDING
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_prices import Task

Flags = NDArray[np.bool_]
MOST_PAIRS = 600
"""Pairs of lanes and classes of a program: with more, whole VMs and jobs matter little beside all of them."""
GAP, NODES = 5e-3, 20
"""How near to the optimum on the lanes is near enough, and how many nodes are looked at: but for a time limit no clock
decides."""
LEAST_TIME = 0.01


@dataclass(frozen=True)
class _Pairs:
    """The pairs of lanes and classes that may have jobs, and the offers of the lanes."""

    lane: NDArray[np.int64]
    index: NDArray[np.int64]
    offers: NDArray[np.int64]


def is_small(task: Task, lanes: Flags) -> bool:
    """Whether a program of these lanes is looked at."""
    return int(task.mix.possible[lanes].sum()) <= MOST_PAIRS


def improved(task: Task, jobs: Floats, lanes: Flags, until: float | None = None) -> Floats:
    """Whole jobs on some lanes, the cheapest that are found; ``jobs`` itself, which run there, where there are none.

    A class that stays on one type stays on the one where it is. What is found ``until`` then, on the monotonic clock.
    """
    mix, pairs = task.mix, _pairs(task, jobs, lanes)
    found = _solved(task, pairs, until)
    if found is None:
        return jobs
    better = np.zeros_like(jobs)
    better[pairs.lane, pairs.index] = np.rint(found[: len(pairs.lane)])
    vms = np.where(mix.possible, mix.gamma, 0.0) * better
    total = vms.sum(axis=0)
    over = vms[mix.market.spot].sum(axis=0) > mix.spot_share * total + ROUNDING * np.maximum(1.0, total)
    return jobs if over.any() else better


def _pairs(task: Task, jobs: Floats, lanes: Flags) -> _Pairs:
    mix, market = task.mix, task.market
    used = lanes | (market.masters_of_lane > 0.0)
    there = mix.possible & used[:, None]
    if task.same_type and mix.together.any():
        mine = np.zeros((len(market.names), len(mix)), dtype=bool)
        np.logical_or.at(mine, market.vm_of_lane, jobs > 0.0)
        there &= mine[market.vm_of_lane] | ~mix.together[None, :]
    lane, index = there.nonzero()
    offers = np.array([number for number, offer in enumerate(market.offers) if used[offer.lane]], dtype=np.int64)
    return _Pairs(lane, index, offers)


def _solved(task: Task, pairs: _Pairs, until: float | None) -> Floats | None:
    """Jobs of pairs, VMs of offers, and the constant part of the cost, for the gap; None where there are none."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    mix, market, count = task.mix, task.market, len(pairs.lane)
    offers = [market.offers[number] for number in pairs.offers.tolist()]
    of_lane = np.array([offer.lane for offer in offers], dtype=np.int64)
    width = count + len(offers) + 1
    places, bought = np.arange(count), np.arange(count, width - 1)
    gamma = mix.gamma[pairs.lane, pairs.index]

    def rows(number: int, *entries: tuple[NDArray[np.int64], NDArray[np.int64], Floats]) -> object:
        at, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
        return csr_array((values, (at, columns)), shape=(number, width))

    spared = float(mix.penalty @ mix.expected)
    lanes, classes, types = len(market.lanes), len(mix), len(market.names)
    limited = np.isfinite(task.available)
    time_limit = {} if until is None else {"time_limit": max(until - time.monotonic(), LEAST_TIME)}
    spot = gamma * (market.spot[pairs.lane] - mix.spot_share[pairs.index])
    constraints = [
        LinearConstraint(
            rows(lanes, (pairs.lane, places, gamma), (of_lane, bought, -np.ones(len(offers)))),
            -np.inf,
            np.where(market.masters_of_lane > 0.0, -market.masters_of_lane, 0.0),
        ),
        LinearConstraint(rows(classes, (pairs.index, places, np.ones(count))), task.low, task.high),
        LinearConstraint(rows(classes, (pairs.index, places, spot)), -np.inf, ROUNDING),
        LinearConstraint(
            rows(types, (market.vm_of_lane[of_lane], bought, np.ones(len(offers)))),
            -np.inf,
            np.where(limited, task.available, np.inf),
        ),
    ]
    found = milp(
        np.concatenate([-mix.penalty[pairs.index], [offer.price for offer in offers], [1.0]]),
        constraints=constraints,
        integrality=np.concatenate([np.ones(width - 1), [0.0]]),
        bounds=Bounds(
            np.concatenate([np.zeros(width - 1), [spared]]),
            np.concatenate([task.high[pairs.index], [offer.available for offer in offers], [spared]]),
        ),
        options={"mip_rel_gap": GAP, "node_limit": NODES, **time_limit},
    )
    return None if found.x is None else np.asarray(found.x)
