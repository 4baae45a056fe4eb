"""Genetic search for an order (003, 5.5.2), for many pools together.

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
