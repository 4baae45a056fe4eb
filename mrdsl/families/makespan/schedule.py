"""Jobs of a batch as arrays, and the schedule of an order of them, simulated wave by wave.

Within a pool, a map slot that becomes free takes the next task of the first job in the order that has one left. A
reduce slot takes a task of the job whose map phase ended first (ties: the order). Tasks do not move between pools and
are not interrupted. Equal tasks that start together are one :class:`Wave`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from heapq import heapify, heappop, heappush
from math import gcd
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mrdsl.families.makespan.facts import Job, MakespanFacts
from mrdsl.families.makespan.plan import JobTimes, MakespanPlan, Pool, TaskWave
from mrdsl.spec.columns import column, names_of
from mrdsl.spec.spec import Spec

Phase = Literal["map", "reduce"]


@dataclass(frozen=True, slots=True)
class Wave:
    """``count`` alike tasks of one job that start together; ``job`` is an index, times are in ticks."""

    job: int
    phase: Phase
    start: float
    length: float
    count: int
    pool: int = 0

    @property
    def end(self) -> float:
        return self.start + self.length


@dataclass(frozen=True, slots=True)
class Tasks:
    """``count`` alike tasks of one job, in the sequence in which slots take them."""

    job: int
    count: int
    length: float
    release: float = 0.0


def run_tasks(sequence: Iterable[Tasks], slots: int, phase: Phase, pool: int = 0) -> list[Wave]:
    """Give each task in turn to the slot that falls free first, not before its release."""
    free: list[tuple[float, int]] = [(0.0, slots)]
    waves = []
    for tasks in sequence:
        left = tasks.count
        if free[0][0] < tasks.release:
            free = _idle_until(free, tasks.release)
        while left:
            start, idle = heappop(free)
            while free and free[0][0] == start:
                idle += heappop(free)[1]
            taken = min(idle, left)
            left -= taken
            waves.append(Wave(tasks.job, phase, start, tasks.length, taken, pool))
            heappush(free, (start + tasks.length, taken))
            if idle > taken:
                heappush(free, (start, idle - taken))
    return waves


def _idle_until(free: Sequence[tuple[float, int]], release: float) -> list[tuple[float, int]]:
    later = [group for group in free if group[0] > release]
    later.append((release, sum(count for time, count in free if time <= release)))
    heapify(later)
    return later


TICK = 1e-6
LARGEST = 2.0**50

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Batch:
    """``n`` jobs and the cluster's slots.

    ``map_tasks``, ``reduce_tasks``: shape (n,), whole numbers. ``map_time``, ``reduce_time``: shape (n,), ticks of one
    task, at least 1 (1 also if a job has no reduce tasks). ``tick`` is the length of a tick in seconds.
    """

    names: tuple[str, ...]
    map_tasks: Floats
    map_time: Floats
    reduce_tasks: Floats
    reduce_time: Floats
    map_slots: int
    reduce_slots: int
    tick: float = TICK

    def __len__(self) -> int:
        return len(self.names)

    @property
    def map_work(self) -> Floats:
        """Slot-ticks of each job's map phase."""
        return self.map_tasks * self.map_time

    @property
    def reduce_work(self) -> Floats:
        """Slot-ticks of each job's reduce phase."""
        return self.reduce_tasks * self.reduce_time

    @cached_property
    def unit(self) -> float:
        """The greatest common divisor of all task times, in ticks.

        The least makespan is a multiple of it: in some best schedule every task starts at the end of others, so at a
        sum of task times.
        """
        return float(reduce(gcd, [int(t) for t in (*self.map_time, *self.reduce_time[self.reduce_tasks > 0])]))

    def phases(self, map_slots: int, reduce_slots: int) -> tuple[Floats, Floats]:
        """Compute M_j and R_j (5.3): the time of each phase alone on the given slots, in whole waves, in ticks."""
        return (
            np.ceil(self.map_tasks / map_slots) * self.map_time,
            np.ceil(self.reduce_tasks / reduce_slots) * self.reduce_time,
        )

    def seconds(self, ticks: float) -> float:
        """Return ticks in seconds."""
        return float(ticks) * self.tick


def batch_of(spec: Spec) -> Batch:
    """Return the batch that a spec states, jobs in spec order, then those of classes."""
    facts: MakespanFacts = spec.facts
    parts = [_columns(facts.jobs, facts), _columns(facts.classes, facts)]
    repeat = np.concatenate([np.ones(len(facts.jobs)), column(facts.classes, "jobs", 1.0)]).astype(int)
    stacked = [np.repeat(np.concatenate(pair), repeat) for pair in zip(*parts, strict=True)]
    tick = _tick(stacked)
    map_tasks, map_time, reduce_tasks, reduce_time = stacked
    return Batch(
        names=job_names(facts),
        map_tasks=map_tasks,
        map_time=np.maximum(np.rint(map_time / tick), 1.0),
        reduce_tasks=reduce_tasks,
        reduce_time=np.maximum(np.rint(reduce_time / tick), 1.0),
        map_slots=facts.cluster.slots.map,
        reduce_slots=facts.cluster.slots.reduce,
        tick=tick,
    )


def job_names(facts: MakespanFacts) -> tuple[str, ...]:
    """Return the names of all jobs: those of ``job`` blocks, then NAME-1 to NAME-k for a class of k jobs (NAME for
    one).
    """
    names = [str(name) for name in names_of(facts.jobs)]
    counts = column(facts.classes, "jobs", 1.0)
    for name, count in zip(names_of(facts.classes), counts, strict=True):
        names += [str(name)] if count == 1 else [f"{name}-{i}" for i in range(1, int(count) + 1)]
    return tuple(names)


def _tick(stacked: Sequence[Floats]) -> float:
    """Return a microsecond, or ten times as long until the whole batch on one slot stays exact."""
    map_tasks, map_time, reduce_tasks, reduce_time = stacked
    total = float(np.sum(map_tasks * map_time) + np.sum(reduce_tasks * reduce_time))
    tick = TICK
    while total / tick > LARGEST:
        tick *= 10
    return tick


def _columns(jobs: Sequence[Job], facts: MakespanFacts) -> tuple[Floats, Floats, Floats, Floats]:
    """Return tasks and seconds per task of both phases of each job.

    A profile's phase takes the time of the wave-based model on the whole cluster (003, eq. 3.1-3.10), evenly spread
    over its waves. A map task takes (min + max)/2. A reduce task takes the same of its time plus the typical shuffle;
    the first wave has a different shuffle. ``min`` is 2 avg - max, not below 0, if the profile does not set it.
    """
    map_tasks = column(jobs, "map.tasks")
    reduce_tasks = column(jobs, "reduce.tasks", 0.0)
    waves = np.maximum(np.ceil(reduce_tasks / facts.cluster.slots.reduce), 1.0)
    first = _first_shuffle(jobs)
    shuffle = ((waves - 1) * _middle(jobs, "shuffle.") + first) / waves
    map_time = column(jobs, "map.time")
    reduce_time = column(jobs, "reduce.time")
    return (
        map_tasks,
        np.where(np.isnan(map_time), _middle(jobs, "map."), map_time),
        reduce_tasks,
        np.where(np.isnan(reduce_time), _middle(jobs, "reduce.") + shuffle, reduce_time),
    )


def _middle(jobs: Sequence[Job], prefix: str) -> Floats:
    """Compute (min + max)/2 of a profile's times, 0 without a profile."""
    average = column(jobs, prefix + "avg", 0.0)
    longest = column(jobs, prefix + "max", 0.0)
    shortest = column(jobs, prefix + "min")
    shortest = np.where(np.isnan(shortest), np.maximum(2 * average - longest, 0.0), shortest)
    return (shortest + longest) / 2


def _first_shuffle(jobs: Sequence[Job]) -> Floats:
    """Return Shf_avg of (3.7): the profile's ``first_avg``, or ``first_max`` if only that is given."""
    average = column(jobs, "shuffle.first_avg")
    return np.where(np.isnan(average), column(jobs, "shuffle.first_max", 0.0), average)


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
    """Run every pool by itself, at task and slot level."""
    kept = tuple(pools)
    return Schedule(kept, tuple(wave for i, pool in enumerate(kept) for wave in simulate_pool(batch, pool, i)))


def simulate_pool(batch: Batch, pool: PoolOrder, index: int = 0) -> list[Wave]:
    """Return the waves of one pool: maps in order; reduce phases as the map phases end, ties in order."""
    maps = run_tasks(
        (Tasks(j, int(batch.map_tasks[j]), float(batch.map_time[j])) for j in pool.order),
        pool.map_slots,
        "map",
        index,
    )
    return maps + run_tasks(reduce_sequence(batch, pool.order, ends(maps)), pool.reduce_slots, "reduce", index)


def reduce_sequence(batch: Batch, order: Sequence[int], map_end: dict[int, float]) -> list[Tasks]:
    """Return the reduce phases of the jobs in the order in which their map phases end, ties in the given order."""
    turn = sorted(order, key=lambda j: map_end[j])
    return [
        Tasks(j, int(batch.reduce_tasks[j]), float(batch.reduce_time[j]), map_end[j])
        for j in turn
        if batch.reduce_tasks[j] > 0
    ]


def ends(waves: Iterable[Wave]) -> dict[int, float]:
    """Return the end of the last wave of each job."""
    last: dict[int, float] = {}
    for wave in waves:
        last[wave.job] = max(last.get(wave.job, 0.0), wave.end)
    return last


def whole_cluster(batch: Batch, order: Sequence[int]) -> tuple[PoolOrder, ...]:
    """Return one pool of all slots."""
    return (PoolOrder(batch.map_slots, batch.reduce_slots, tuple(int(j) for j in order)),)


def earlier(batch: Batch, waves: Sequence[Wave]) -> Schedule:
    """Return the same tasks in the same sequence on one pool, none later than before, without needless idle time."""
    ordered = sorted(waves, key=lambda w: (w.start, w.job))
    maps = run_tasks((Tasks(w.job, w.count, w.length) for w in ordered if w.phase == "map"), batch.map_slots, "map")
    mapped = ends(maps)
    reduces = [Tasks(w.job, w.count, w.length, mapped[w.job]) for w in ordered if w.phase == "reduce"]
    return in_order_of_start(batch, maps + run_tasks(reduces, batch.reduce_slots, "reduce"))


def in_order_of_start(batch: Batch, waves: Sequence[Wave]) -> Schedule:
    """Return a schedule on one pool whose waves were placed freely; its order is that of the jobs' first starts."""
    first: dict[int, float] = {}
    for wave in waves:
        if wave.phase == "map":
            first[wave.job] = min(first.get(wave.job, wave.start), wave.start)
    ordered = sorted(range(len(batch)), key=lambda j: (first[j], j))
    return Schedule(whole_cluster(batch, ordered), tuple(sorted(waves, key=lambda w: (w.start, w.job, w.phase))))


def plan_of(batch: Batch, schedule: Schedule, lower_bound: float) -> MakespanPlan:
    """Return the plan of a schedule; ``lower_bound`` in ticks."""
    names, tick = batch.names, batch.tick
    start: dict[int, float] = {}
    map_end: dict[int, float] = {}
    finish: dict[int, float] = {}
    home: dict[int, int] = {}
    for wave in schedule.waves:
        home[wave.job] = wave.pool
        finish[wave.job] = max(finish.get(wave.job, 0.0), wave.end)
        if wave.phase == "map":
            start[wave.job] = min(start.get(wave.job, wave.start), wave.start)
            map_end[wave.job] = max(map_end.get(wave.job, 0.0), wave.end)
    return MakespanPlan(
        pools=tuple(
            Pool(pool.map_slots, pool.reduce_slots, tuple(names[j] for j in pool.order)) for pool in schedule.pools
        ),
        jobs={
            names[j]: JobTimes(home[j], start[j] * tick, map_end[j] * tick, finish[j] * tick) for j in range(len(batch))
        },
        lower_bound=lower_bound * tick,
        waves=tuple(
            TaskWave(names[w.job], w.phase, w.pool, w.start * tick, w.end * tick, w.count) for w in schedule.waves
        ),
    )
