"""Balanced pools: the best division of jobs and slots in two (003, Algorithm 6); genetic search for an order (5.5.2).

The search runs for many pools together.

The thesis crosses permutations at a single point, which does not give a permutation. As usual the child takes the first
parent's head and then the missing jobs in the second parent's order. Selection is by roulette wheel, the best two
survive, and a mutation moves one job. If there are no more orders than the search would try, all are tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations
from math import factorial

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.pipeline import Draft
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


ELITE = 2
MUTATION = 0.3


@dataclass(frozen=True)
class Effort:
    """Limits of a search: ``population``, at most ``generations`` generations, ``patience`` without progress.

    Many jobs have fewer generations, which place at most ``placements`` jobs in all.
    """

    population: int = 40
    generations: int = 60
    patience: int = 15
    placements: int = 500_000

    def generations_for(self, jobs: int) -> int:
        """Return the number of generations for a number of jobs."""
        return max(1, min(self.generations, self.placements // (self.population * jobs)))

    def placements_for(self, jobs: int) -> int:
        """Return the most jobs that one search places, for a number of jobs."""
        return self.population * self.generations_for(max(jobs, 1)) * jobs


def genetic(draft: Draft, population: int = 40, generations: int = 60, patience: int = 15) -> Draft:
    """Return the best order of a genetic search on the whole cluster, started from Johnson's order and random ones."""
    progress = work_of(draft)
    if (stopped := cut_short(draft, progress)) is not None:
        return stopped
    batch, n = progress.batch, len(progress.batch)
    slots = np.array([batch.map_slots]), np.array([batch.reduce_slots])
    orders, _ = search(
        batch,
        np.arange(n)[None, :],
        *slots,
        Effort(population, generations, patience),
        np.random.default_rng([draft.seed, 1]),
        target=progress.goal,
        stop=lambda: late(draft),
    )
    return offer(draft, progress, [PoolOrder(batch.map_slots, batch.reduce_slots, tuple(orders[0].tolist()))])


def search(
    batch: Batch,
    members: Integers,
    map_slots: Integers,
    reduce_slots: Integers,
    effort: Effort,
    rng: np.random.Generator,
    target: float = 0.0,
    judge: Judge = makespans,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[Integers, Floats]:
    """Return the best order found for each row of jobs, and its makespan in ticks, by ``judge``.

    A row is done when it meets its lower bound, or ``target``, below which its makespan has no use. It also ends at the
    next generation after ``stop`` returns True.
    """
    orders = johnson_rows(batch, members, map_slots, reduce_slots)
    best = judge(batch, orders, map_slots, reduce_slots)
    goal = np.maximum(row_bounds(batch, members, map_slots, reduce_slots), target)
    sizes = (members >= 0).sum(axis=1)
    for size in np.unique(sizes[best > goal]):
        rows = np.flatnonzero((sizes == size) & (best > goal))
        part = orders[rows, :size], map_slots[rows], reduce_slots[rows]
        if size <= 12 and factorial(size) <= effort.population * effort.generations:
            found = _all_orders(batch, *part, judge)
        else:
            found = _evolve(batch, *part, goal[rows], effort, rng, judge, stop)
        orders[rows, :size], best[rows] = found
    return orders, best


def _all_orders(
    batch: Batch, start: Integers, map_slots: Integers, reduce_slots: Integers, judge: Judge
) -> tuple[Integers, Floats]:
    rows, size = start.shape
    every = np.array(list(permutations(range(size))), dtype=np.intp)
    tried = start[:, every]
    values = _values(judge, batch, tried, map_slots, reduce_slots)
    first = values.argmin(axis=1)
    return tried[np.arange(rows), first], values[np.arange(rows), first]


def _evolve(
    batch: Batch,
    start: Integers,
    map_slots: Integers,
    reduce_slots: Integers,
    goal: Floats,
    effort: Effort,
    rng: np.random.Generator,
    judge: Judge,
    stop: Callable[[], bool],
) -> tuple[Integers, Floats]:
    """Return one population per row, all of the same number of jobs; rows that are done drop out."""
    rows, size = start.shape
    keys = rng.random((rows, effort.population, size))
    keys[:, 0] = np.arange(size) / size
    people = np.take_along_axis(np.broadcast_to(start[:, None, :], keys.shape), keys.argsort(axis=2), axis=2)
    values = _values(judge, batch, people, map_slots, reduce_slots)
    best_order, best = start.copy(), np.full(rows, np.inf)
    at, idle = np.arange(rows), np.zeros(rows, dtype=np.intp)
    generations = effort.generations_for(size)
    for generation in range(generations):
        champion = values.argmin(axis=1)
        champions = values[np.arange(len(at)), champion]
        better = champions < best[at]
        best[at[better]] = champions[better]
        best_order[at[better]] = people[np.arange(len(at)), champion][better]
        idle = np.where(better, 0, idle + 1)
        going = (best[at] > goal[at]) & (idle < effort.patience)
        at, people, values, idle = at[going], people[going], values[going], idle[going]
        if not len(at) or generation == generations - 1 or stop():
            break
        children = _breed(people, values, rng)
        offspring = _values(judge, batch, children, map_slots[at], reduce_slots[at])
        people, values = _survive(people, values, children, offspring)
    return best_order, best


def _breed(people: Integers, values: Floats, rng: np.random.Generator) -> Integers:
    """As many children as there are orders: roulette wheel, order crossover at one point, mutation."""
    rows, count, size = people.shape
    fitness = values.max(axis=1, keepdims=True) - values
    fitness += 0.05 * fitness.max(axis=1, keepdims=True) + 1.0
    wheel = np.cumsum(fitness, axis=1) / fitness.sum(axis=1, keepdims=True)
    spins = rng.random((rows, 2 * count))
    chosen = np.minimum((wheel[:, None, :] < spins[:, :, None]).sum(axis=2), count - 1)
    parents = np.take_along_axis(people, chosen[:, :, None], axis=1)
    cut = rng.integers(1, max(size, 2), (rows, count, 1))
    children = cross(parents[:, :count], parents[:, count:], cut)
    return _mutate(children, rng)


def cross(first: Integers, second: Integers, cut: Integers) -> Integers:
    """Order crossover: ``cut`` jobs of the first parent, then the others as the second parent has them.

    Parents hold the same distinct jobs along the last axis.
    """
    by_job = first.argsort(axis=-1)
    rank_in_second = second.argsort(axis=-1).argsort(axis=-1)
    where_in_first = np.take_along_axis(by_job, rank_in_second, axis=-1)
    size = first.shape[-1]
    key = np.where(where_in_first < cut, where_in_first, size + np.arange(size))
    child: Integers = np.take_along_axis(second, key.argsort(axis=-1), axis=-1)
    return child


def _mutate(children: Integers, rng: np.random.Generator) -> Integers:
    """Move one job of some children to another place."""
    rows, count, size = children.shape
    source, sink = rng.integers(0, size, (2, rows, count, 1))
    key = np.broadcast_to(2.0 * np.arange(size), children.shape).copy()
    moved = 2.0 * sink + np.where(sink > source, 1.0, -1.0)
    moved = np.where(rng.random((rows, count, 1)) < MUTATION, moved, 2.0 * source)
    np.put_along_axis(key, source, moved, axis=2)
    mutated: Integers = np.take_along_axis(children, key.argsort(axis=2), axis=2)
    return mutated


def _survive(people: Integers, values: Floats, children: Integers, offspring: Floats) -> tuple[Integers, Floats]:
    """Return the children, the worst of them replaced by the best of their parents' generation."""
    elite = values.argsort(axis=1, kind="stable")[:, :ELITE]
    worst = offspring.argsort(axis=1, kind="stable")[:, -ELITE:]
    np.put_along_axis(children, worst[:, :, None], np.take_along_axis(people, elite[:, :, None], axis=1), axis=1)
    np.put_along_axis(offspring, worst, np.take_along_axis(values, elite, axis=1), axis=1)
    return children, offspring


def _values(judge: Judge, batch: Batch, people: Integers, map_slots: Integers, reduce_slots: Integers) -> Floats:
    rows, count, size = people.shape
    values = judge(
        batch, people.reshape(rows * count, size), np.repeat(map_slots, count), np.repeat(reduce_slots, count)
    )
    return values.reshape(rows, count)
