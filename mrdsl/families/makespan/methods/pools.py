"""Orders of jobs in several pools: balanced pools, and searches over many pools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

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
    pad,
    row_bounds,
    work_of,
)
from mrdsl.families.makespan.schedule import Batch, Floats, PoolOrder
from mrdsl.simulation.slots import Integers

PLACEMENTS = 200_000
SEARCHED = 6_000_000
"""So many jobs are placed by genetic searches in all, on about ``USUAL_SLOTS`` slots; more slots cost more."""
USUAL_SLOTS = 400


def balanced_pools(
    draft: Draft, order: str = "johnson", population: int = 20, generations: int = 12, patience: int = 4
) -> Draft:
    """The best division of jobs and slots in two, each pool in Johnson's order, or in a genetic search's.

    ``order`` is ``johnson`` or ``genetic``. A genetic search is spent only on pools that can still give a better
    makespan than the best one found; elsewhere Johnson's order decides which half of the interval goes on.
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
    """Tries every split of the jobs, sorted by their number of map tasks, and bisects the size of the first pool.

    Without ``effort`` the pools are in Johnson's order. Stops where a makespan meets ``bound``, in ticks, and soon
    after ``stop`` returns True. No genetic search is spent on pools that cannot do better than ``known``.
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
    """The first s and the other jobs by number of map tasks, for s from 1 to n - 1.

    Of very many jobs only some s, evenly spread, so that a round places ``PLACEMENTS`` jobs at most.
    """
    n = len(batch)
    ranked = batch.map_tasks.argsort(kind="stable")
    sizes = np.unique(np.rint(np.linspace(1, n - 1, max(1, min(n - 1, PLACEMENTS // (2 * n))))).astype(np.intp))
    head = np.arange(n) < sizes[:, None]
    return np.where(head, ranked, -1), np.where(head, -1, ranked)


@dataclass
class Division:
    """The best pools yet: ``makespan`` in ticks, as ``judge`` says."""

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
        """Runs both pools of every split; whether the first one is done before the second."""
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
        """The makespans of the rows, two of which, ``apart`` from each other, are one division (0: each is one)."""
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
        """The rows that a search is spent on: all of them, or those of least makespan until ``SEARCHED`` is spent."""
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


MOST_NEIGHBOURS = 600


@dataclass(frozen=True)
class Share:
    """A pool before it is ordered: slots and jobs, the latter sorted."""

    map_slots: int
    reduce_slots: int
    jobs: tuple[int, ...]


Shares = tuple[Share, ...]


def many_pools(draft: Draft, most_pools: int = 6, rounds: int = 60) -> Draft:
    """The best pools that a local search finds from the best ones yet, and from one pool of everything."""
    progress = work_of(draft)
    if (stopped := cut_short(draft, progress)) is not None:
        return stopped
    batch = progress.batch
    everything: Shares = (Share(batch.map_slots, batch.reduce_slots, tuple(range(len(batch)))),)
    known = progress.schedule.pools if progress.schedule is not None else ()
    starts = [everything]
    if len(known) > 1:
        starts.append(tuple(Share(p.map_slots, p.reduce_slots, tuple(sorted(p.order))) for p in known))
    rng = np.random.default_rng([draft.seed, 4])
    draft = replace(draft, state=progress)
    for start in starts:
        search = _Search(batch, most_pools, rng)
        best = search.descend(start, rounds, progress.goal)
        draft = offer(draft, work_of(draft), search.ordered(best))
    return draft


class _Search:
    """One descent; remembers what every pool that it has judged takes."""

    def __init__(self, batch: Batch, most_pools: int, rng: np.random.Generator) -> None:
        self.batch, self.most_pools, self.rng = batch, most_pools, rng
        self.known: dict[Share, float] = {}

    def descend(self, start: Shares, rounds: int, bound: float) -> Shares:
        """The end of a descent by the best neighbour of each round."""
        self.judge([start])
        best, value = start, self.value(start)
        for _ in range(rounds):
            near = list(self.neighbours(best))
            if len(near) > MOST_NEIGHBOURS:
                picked = self.rng.choice(len(near), MOST_NEIGHBOURS, replace=False)
                near = [near[i] for i in sorted(picked)]
            self.judge(near)
            neighbour = min(near, key=self.value, default=best)
            if self.value(neighbour) >= value:
                break
            best, value = neighbour, self.value(neighbour)
            if value[0] <= bound:
                break
        return best

    def value(self, shares: Shares) -> tuple[float, ...]:
        """What is made less: the makespans of the pools, the longest first, so that a tie for the longest counts."""
        return tuple(sorted((self.known[share] for share in shares), reverse=True))

    def judge(self, many: list[Shares]) -> None:
        """Notes the makespans of all pools that are not known yet."""
        new = list(dict.fromkeys(s for shares in many for s in shares if s not in self.known))
        if new:
            orders, slots = self._orders(new)
            self.known.update(zip(new, makespans(self.batch, orders, *slots).tolist(), strict=True))

    def ordered(self, shares: Shares) -> tuple[PoolOrder, ...]:
        """The pools with their jobs in Johnson's order."""
        orders, _ = self._orders(list(shares))
        return tuple(
            PoolOrder(share.map_slots, share.reduce_slots, tuple(j for j in row if j >= 0))
            for share, row in zip(shares, orders.tolist(), strict=True)
        )

    def _orders(self, shares: list[Share]) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        slots = np.array([s.map_slots for s in shares]), np.array([s.reduce_slots for s in shares])
        return johnson_rows(self.batch, pad([list(s.jobs) for s in shares]), *slots), slots

    def neighbours(self, shares: Shares) -> Iterator[Shares]:
        """All pools that one step leads to; the order of pools has no meaning."""
        for i, share in enumerate(shares):
            rest = shares[:i] + shares[i + 1 :]
            if len(shares) < self.most_pools:
                yield from ((*rest, *halves) for halves in self._splits(share))
            for k, other in enumerate(rest):
                others = rest[:k] + rest[k + 1 :]
                if i <= k:
                    yield (*others, _join(share, other))
                yield from ((*others, *pair) for pair in _give_slots(share, other))
                yield from ((*others, *pair) for pair in _give_job(share, other))
                if i <= k:
                    yield from ((*others, *pair) for pair in _exchange_jobs(share, other))

    def _splits(self, share: Share) -> Iterator[Shares]:
        """Two pools out of one: jobs by map tasks or at one job, slots in proportion to work or by halves."""
        if len(share.jobs) < 2 or min(share.map_slots, share.reduce_slots) < 2:
            return
        batch = self.batch
        ranked = sorted(share.jobs, key=lambda j: (batch.map_tasks[j], j))
        heads = [tuple(sorted(ranked[:s])) for s in range(1, len(ranked))] + [(j,) for j in share.jobs]
        for head in dict.fromkeys(heads):
            tail = tuple(j for j in share.jobs if j not in head)
            for map_part, reduce_part in ((self._part(head, share.jobs)), (0.5, 0.5)):
                maps = min(max(round(share.map_slots * map_part), 1), share.map_slots - 1)
                reduces = min(max(round(share.reduce_slots * reduce_part), 1), share.reduce_slots - 1)
                yield (Share(maps, reduces, head), Share(share.map_slots - maps, share.reduce_slots - reduces, tail))

    def _part(self, head: tuple[int, ...], jobs: tuple[int, ...]) -> tuple[float, float]:
        shares = []
        for work in (self.batch.map_work, self.batch.reduce_work):
            total = float(work[list(jobs)].sum())
            shares.append(float(work[list(head)].sum()) / total if total else 0.5)
        return shares[0], shares[1]


def _join(first: Share, second: Share) -> Share:
    return Share(
        first.map_slots + second.map_slots,
        first.reduce_slots + second.reduce_slots,
        tuple(sorted(first.jobs + second.jobs)),
    )


def _give_slots(first: Share, second: Share) -> Iterator[Shares]:
    """Some slots of the first pool to the second, of one kind or of both."""
    amounts = sorted({1, 2, 4, *(max(1, first.map_slots // d) for d in (2, 4, 8))})
    for amount in amounts:
        for maps, reduces in ((amount, 0), (0, amount), (amount, amount)):
            if maps < first.map_slots and reduces < first.reduce_slots:
                yield (
                    replace(first, map_slots=first.map_slots - maps, reduce_slots=first.reduce_slots - reduces),
                    replace(second, map_slots=second.map_slots + maps, reduce_slots=second.reduce_slots + reduces),
                )


def _give_job(first: Share, second: Share) -> Iterator[Shares]:
    """One job of the first pool to the second."""
    if len(first.jobs) > 1:
        for job in first.jobs:
            yield (
                replace(first, jobs=tuple(j for j in first.jobs if j != job)),
                replace(second, jobs=tuple(sorted((*second.jobs, job)))),
            )


def _exchange_jobs(first: Share, second: Share) -> Iterator[Shares]:
    """One job of each pool to the other."""
    for a in first.jobs:
        for b in second.jobs:
            yield (
                replace(first, jobs=tuple(sorted((b, *(j for j in first.jobs if j != a))))),
                replace(second, jobs=tuple(sorted((a, *(j for j in second.jobs if j != b))))),
            )
