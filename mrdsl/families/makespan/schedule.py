"""Schedules of a batch: pools of slots, an order in each, and the waves that follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mrdsl.families.makespan.batch import Batch
from mrdsl.simulation.waves import Tasks, Wave, run


@dataclass(frozen=True)
class PoolOrder:
    """A share of the cluster's slots and the jobs that it runs, as indices into the batch, in order."""

    map_slots: int
    reduce_slots: int
    order: tuple[int, ...]


@dataclass(frozen=True)
class Schedule:
    """Pools and the waves that run on them; ``makespan`` is the last end, in ticks."""

    pools: tuple[PoolOrder, ...]
    waves: tuple[Wave, ...]

    @property
    def makespan(self) -> float:
        return max((wave.end for wave in self.waves), default=0.0)


def simulate(batch: Batch, pools: Iterable[PoolOrder]) -> Schedule:
    """Runs every pool by itself, at task and slot level."""
    kept = tuple(pools)
    return Schedule(kept, tuple(wave for i, pool in enumerate(kept) for wave in simulate_pool(batch, pool, i)))


def simulate_pool(batch: Batch, pool: PoolOrder, index: int = 0) -> list[Wave]:
    """The waves of one pool: maps in order; reduce phases as the map phases end, ties in order."""
    maps = run(
        (Tasks(j, int(batch.map_tasks[j]), float(batch.map_time[j])) for j in pool.order),
        pool.map_slots,
        "map",
        index,
    )
    return maps + run(reduce_sequence(batch, pool.order, ends(maps)), pool.reduce_slots, "reduce", index)


def reduce_sequence(batch: Batch, order: Sequence[int], map_end: dict[int, float]) -> list[Tasks]:
    """The reduce phases of the jobs in the order in which their map phases end, ties in the given order."""
    turn = sorted(order, key=lambda j: map_end[j])
    return [
        Tasks(j, int(batch.reduce_tasks[j]), float(batch.reduce_time[j]), map_end[j])
        for j in turn
        if batch.reduce_tasks[j] > 0
    ]


def ends(waves: Iterable[Wave]) -> dict[int, float]:
    """When the last of each job's waves ends."""
    last: dict[int, float] = {}
    for wave in waves:
        last[wave.job] = max(last.get(wave.job, 0.0), wave.end)
    return last


def whole_cluster(batch: Batch, order: Sequence[int]) -> tuple[PoolOrder, ...]:
    """One pool of all slots."""
    return (PoolOrder(batch.map_slots, batch.reduce_slots, tuple(int(j) for j in order)),)


def earlier(batch: Batch, waves: Sequence[Wave]) -> Schedule:
    """The same tasks in the same sequence on one pool, none later than before, without needless idle time."""
    ordered = sorted(waves, key=lambda w: (w.start, w.job))
    maps = run((Tasks(w.job, w.count, w.length) for w in ordered if w.phase == "map"), batch.map_slots, "map")
    mapped = ends(maps)
    reduces = [Tasks(w.job, w.count, w.length, mapped[w.job]) for w in ordered if w.phase == "reduce"]
    return in_order_of_start(batch, maps + run(reduces, batch.reduce_slots, "reduce"))


def in_order_of_start(batch: Batch, waves: Sequence[Wave]) -> Schedule:
    """A schedule on one pool whose waves were placed freely; its order is that of the jobs' first starts."""
    first: dict[int, float] = {}
    for wave in waves:
        if wave.phase == "map":
            first[wave.job] = min(first.get(wave.job, wave.start), wave.start)
    ordered = sorted(range(len(batch)), key=lambda j: (first[j], j))
    return Schedule(whole_cluster(batch, ordered), tuple(sorted(waves, key=lambda w: (w.start, w.job, w.phase))))
