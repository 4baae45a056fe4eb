"""BalancedPools (003, 5.5.3 and Algorithm 6): two pools of slots, each with jobs of its own.

Corrections to Algorithm 6: it repeats until the interval of sizes is at most 1 wide, with the middle rounded down
and at least one slot in either pool, and it keeps the best of every middle that it tries (the printed test stops at
once, and an integer middle otherwise sticks). Reduce slots are divided in the proportion of the map slots. All
splits of the job list are bisected side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mrdsl.heuristics.makespan import Work, offer, work_of
from mrdsl.heuristics.makespan_genetic import Effort, search
from mrdsl.heuristics.makespan_rows import johnson_rows, makespans, row_bounds
from mrdsl.heuristics.pipeline import Draft
from mrdsl.problems.makespan.batch import Batch, Floats
from mrdsl.problems.makespan.schedule import PoolOrder, whole_cluster
from mrdsl.simulation.slots import Integers


@dataclass
class _Best:
    """The best pools yet."""

    makespan: float = float("inf")
    pools: tuple[PoolOrder, ...] = field(default=())

    def take(self, makespan: float, pools: tuple[PoolOrder, ...]) -> None:
        if makespan < self.makespan:
            self.makespan, self.pools = makespan, pools


def balanced_pools(draft: Draft, order: str = "johnson", population: int = 20, generations: int = 12,
                   patience: int = 4) -> Draft:
    """The best division of jobs and slots in two, each pool in Johnson's order, or in a genetic search's.

    ``order`` is ``johnson`` or ``genetic``. A genetic search is spent only on pools that can still give a better
    makespan than the best one found; elsewhere Johnson's order decides which half of the interval goes on.
    """
    work = work_of(draft)
    effort = Effort(population, generations, patience) if order == "genetic" else None
    best = divide(work, effort, np.random.default_rng([draft.seed, 2]))
    return offer(draft, work, best.pools)


def divide(work: Work, effort: Effort | None, rng: np.random.Generator) -> _Best:
    """Tries every split of the jobs, sorted by their number of map tasks, and bisects the size of the first pool."""
    batch, n = work.batch, len(work.batch)
    best = _Best()
    total = np.array([batch.map_slots]), np.array([batch.reduce_slots])
    orders, values = _ordered(batch, np.arange(n)[None, :], *total, effort, rng, work.bound)
    best.take(float(values[0]), whole_cluster(batch, orders[0].tolist()))
    if min(batch.map_slots, batch.reduce_slots) < 2 or n < 2:
        return best
    first, second = _splits(batch)
    low, high = np.ones(n - 1, dtype=np.intp), np.full(n - 1, batch.map_slots)
    going = np.arange(n - 1)
    while len(going):
        middle = (low[going] + high[going]) // 2
        smaller = _try(batch, first[going], second[going], middle, effort, rng, best)
        if best.makespan <= work.bound:
            break
        high[going] = np.where(smaller, middle, high[going])
        low[going] = np.where(smaller, low[going], middle)
        going = going[high[going] - low[going] > 1]
    return best


def _splits(batch: Batch) -> tuple[Integers, Integers]:
    """The first s and the other jobs by number of map tasks, for s from 1 to n - 1."""
    n = len(batch)
    ranked = batch.map_tasks.argsort(kind="stable")
    head = np.arange(n) < np.arange(1, n)[:, None]
    return np.where(head, ranked, -1), np.where(head, -1, ranked)


def _try(batch: Batch, first: Integers, second: Integers, middle: Integers, effort: Effort | None,
         rng: np.random.Generator, best: _Best) -> np.ndarray:
    """Runs both pools of every split; whether the first one is done before the second."""
    other = batch.map_slots - middle
    share = np.clip(np.rint(middle * batch.reduce_slots / batch.map_slots), 1, batch.reduce_slots - 1).astype(np.intp)
    members = np.concatenate([first, second])
    map_slots = np.concatenate([middle, other])
    reduce_slots = np.concatenate([share, batch.reduce_slots - share])
    count = len(middle)
    orders = johnson_rows(batch, members, map_slots, reduce_slots)
    values = makespans(batch, orders, map_slots, reduce_slots)
    _keep(best, orders, values, map_slots, reduce_slots)
    if effort is not None:
        bounds = row_bounds(batch, members, map_slots, reduce_slots)
        useful = np.tile(np.maximum(bounds[:count], bounds[count:]) < best.makespan, 2) & (values > bounds)
        rows = np.flatnonzero(useful)
        if len(rows):
            orders[rows], values[rows] = search(batch, members[rows], map_slots[rows], reduce_slots[rows], effort, rng)
            _keep(best, orders, values, map_slots, reduce_slots)
    return np.asarray(values[:count] < values[count:])


def _keep(best: _Best, orders: Integers, values: Floats, map_slots: Integers, reduce_slots: Integers) -> None:
    count = len(values) // 2
    both = np.maximum(values[:count], values[count:])
    k = int(both.argmin())
    if both[k] < best.makespan:
        best.take(float(both[k]), tuple(
            PoolOrder(int(map_slots[row]), int(reduce_slots[row]), tuple(j for j in orders[row].tolist() if j >= 0))
            for row in (k, count + k)
        ))


def _ordered(batch: Batch, members: Integers, map_slots: Integers, reduce_slots: Integers, effort: Effort | None,
             rng: np.random.Generator, target: float) -> tuple[Integers, Floats]:
    if effort is not None:
        return search(batch, members, map_slots, reduce_slots, effort, rng, target)
    orders = johnson_rows(batch, members, map_slots, reduce_slots)
    return orders, makespans(batch, orders, map_slots, reduce_slots)
