"""Balanced pools: the best division of jobs and slots in two (003, Algorithm 6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.pipeline import Draft
from mrdsl.families.makespan.methods.genetic import Effort, search
from mrdsl.families.makespan.methods.orders import (
    Judge,
    cut_short,
    johnson_rows,
    late,
    makespans,
    offer,
    row_bounds,
    work_of,
)
from mrdsl.families.makespan.schedule import Batch, Floats, PoolOrder
from mrdsl.simulation.slots import Integers

PLACEMENTS = 200_000
SEARCHED = 6_000_000
"""Most jobs that genetic searches place in total, on about ``USUAL_SLOTS`` slots; more slots cost more."""
USUAL_SLOTS = 400


def balanced_pools(
    draft: Draft, order: str = "johnson", population: int = 20, generations: int = 12, patience: int = 4
) -> Draft:
    """Find the best division of jobs and slots in two pools, each in Johnson's or a genetic search's order.

    ``order`` is ``johnson`` or ``genetic``. A genetic search runs only on pools that can still give a better makespan
    than the best one found. Otherwise Johnson's order selects the half of the interval to continue with.
    """
    progress = work_of(draft)
    if (stopped := cut_short(draft, progress)) is not None:
        return stopped
    effort = Effort(population, generations, patience) if order == "genetic" else None
    rng = np.random.default_rng([draft.seed, 2])
    known = progress.schedule.makespan if progress.schedule is not None else float("inf")
    division = divide(progress.batch, effort, rng, progress.goal, stop=lambda: late(draft), known=known)
    return offer(draft, progress, division.pools)


def divide(
    batch: Batch,
    effort: Effort | None,
    rng: np.random.Generator,
    bound: float = 0.0,
    judge: Judge = makespans,
    stop: Callable[[], bool] = lambda: False,
    known: float = float("inf"),
) -> Division:
    """Try every split of the jobs, sorted by their number of map tasks, and bisect the size of the first pool.

    Without ``effort`` the pools are in Johnson's order. The search stops if a makespan meets ``bound``, in ticks, and
    soon after ``stop`` returns True. It spends no genetic search on pools that cannot do better than ``known``.
    """
    division = Division(batch, effort, rng, judge, stop, known, bound)
    everything = np.arange(len(batch))[None, :]
    division.judged(everything, np.array([batch.map_slots]), np.array([batch.reduce_slots]))
    if min(batch.map_slots, batch.reduce_slots) < 2 or len(batch) < 2:
        return division
    first, second = _splits(batch)
    low, high = np.ones(len(first), dtype=np.intp), np.full(len(first), batch.map_slots)
    going = np.flatnonzero(high - low > 1) if batch.map_slots > 2 else np.arange(len(first))
    while len(going) and division.makespan > bound and not stop():
        middle = (low[going] + high[going]) // 2
        smaller = division.tried(first[going], second[going], middle)
        high[going] = np.where(smaller, middle, high[going])
        low[going] = np.where(smaller, low[going], middle)
        going = going[high[going] - low[going] > 1]
    smallest = np.flatnonzero((low == 1) & (high == 2))
    if len(smallest) and division.makespan > bound and not stop():
        division.tried(first[smallest], second[smallest], np.ones(len(smallest), dtype=np.intp))
    return division


def _splits(batch: Batch) -> tuple[Integers, Integers]:
    """Return the first s and the other jobs by number of map tasks, for s from 1 to n - 1.

    For very many jobs, only some evenly spread s are used, so that a round places ``PLACEMENTS`` jobs at most.
    """
    n = len(batch)
    ranked = batch.map_tasks.argsort(kind="stable")
    sizes = np.unique(np.rint(np.linspace(1, n - 1, max(1, min(n - 1, PLACEMENTS // (2 * n))))).astype(np.intp))
    head = np.arange(n) < sizes[:, None]
    return np.where(head, ranked, -1), np.where(head, -1, ranked)


@dataclass
class Division:
    """Best pools so far: ``makespan`` in ticks, by ``judge``."""

    batch: Batch
    effort: Effort | None
    rng: np.random.Generator
    judge: Judge
    stop: Callable[[], bool] = lambda: False
    known: float = float("inf")
    bound: float = 0.0
    makespan: float = float("inf")
    pools: tuple[PoolOrder, ...] = ()
    searched: float = 0.0

    def tried(self, first: Integers, second: Integers, middle: Integers) -> NDArray[np.bool_]:
        """Run both pools of every split; whether the first one is done before the second."""
        slots, others = self.batch.map_slots, self.batch.reduce_slots
        share = np.clip(np.rint(middle * others / slots), 1, others - 1).astype(np.intp)
        values = self.judged(
            np.concatenate([first, second]),
            np.concatenate([middle, slots - middle]),
            np.concatenate([share, others - share]),
            len(middle),
        )
        return np.asarray(values[: len(middle)] < values[len(middle) :])

    def judged(self, members: Integers, map_slots: Integers, reduce_slots: Integers, apart: int = 0) -> Floats:
        """Return the makespans of the rows, two of which, ``apart`` from each other, are one division (0: each
        is one).
        """
        orders = johnson_rows(self.batch, members, map_slots, reduce_slots)
        values = self.judge(self.batch, orders, map_slots, reduce_slots)
        self._keep(orders, values, map_slots, reduce_slots, apart)
        if self.effort is None or self.makespan <= self.bound:
            return values
        bounds = row_bounds(self.batch, members, map_slots, reduce_slots)
        least = np.tile(np.maximum(bounds[:apart], bounds[apart:]), 2) if apart else bounds
        rows = self._affordable(
            np.flatnonzero((least < min(self.makespan, self.known)) & (values > bounds)), members, values
        )
        if len(rows) and not self.stop():
            orders[rows], values[rows] = search(
                self.batch,
                members[rows],
                map_slots[rows],
                reduce_slots[rows],
                self.effort,
                self.rng,
                judge=self.judge,
                stop=self.stop,
            )
            self._keep(orders, values, map_slots, reduce_slots, apart)
        return values

    def _affordable(self, rows: Integers, members: Integers, values: Floats) -> Integers:
        """Return the rows that a search is spent on: all of them, or those of least makespan until ``SEARCHED`` is
        spent.
        """
        assert self.effort is not None
        sizes = (members[rows] >= 0).sum(axis=1)
        wide = max(1.0, max(self.batch.map_slots, self.batch.reduce_slots) / USUAL_SLOTS)
        costs = np.array([self.effort.placements_for(int(size)) for size in sizes]) * wide
        if self.searched + costs.sum() > SEARCHED:
            turn = values[rows].argsort(kind="stable")
            kept = np.sort(turn[np.cumsum(costs[turn]) <= SEARCHED - self.searched])
            rows, costs = rows[kept], costs[kept]
        self.searched += float(costs.sum())
        return rows

    def _keep(self, orders: Integers, values: Floats, map_slots: Integers, reduce_slots: Integers, apart: int) -> None:
        both = np.maximum(values[:apart], values[apart:]) if apart else values
        k = int(both.argmin())
        if both[k] < self.makespan:
            self.makespan = float(both[k])
            self.pools = tuple(
                PoolOrder(int(map_slots[r]), int(reduce_slots[r]), tuple(j for j in orders[r].tolist() if j >= 0))
                for r in ((k, apart + k) if apart else (k,))
            )
