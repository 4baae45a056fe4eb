"""More than two pools (named as future work in 003, chapter 6): a local search over pools, their slots and their jobs.

A neighbour splits a pool, joins two, moves slots from one pool to another, or moves or exchanges jobs. Only the pools
that change are judged anew, each in Johnson's order, and all neighbours of a round at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.families.makespan.batch import Batch
from mrdsl.families.makespan.methods.orders import cut_short, offer, work_of
from mrdsl.families.makespan.methods.pool_rows import johnson_rows, makespans, pad
from mrdsl.families.makespan.schedule import PoolOrder

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
