"""Annealing over an order of the map phases and a priority of each job's reduces, one schedule after the other.

A free map slot takes the next task of the first job in the order that has one left. A free reduce slot takes a task of
the job with the highest priority among those whose map phase has ended, at any time. So a job that is mapped late may
still overtake in the reduce phase, which no order of jobs alone expresses. A schedule is counted in groups of slots
that become free together; the common part of a neighbour and the present schedule is not counted again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import heappop, heappush
from math import exp

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.result import Termination
from mrdsl.core.rounding import ROUNDING
from mrdsl.families.makespan.methods.orders import Progress, late, offer_schedule, work_of
from mrdsl.families.makespan.schedule import Batch, Schedule, in_order_of_start
from mrdsl.simulation.waves import Phase, Wave

Free = list[tuple[float, int]]
CHECKED = 64
"""Every so many neighbours the clock is looked at."""
COOLED = 1e-3
"""The last temperature, as a share of the first."""


@dataclass(frozen=True)
class Order:
    """``maps``: jobs in the order of their map phases; ``reduces``: jobs, the first before all others."""

    maps: tuple[int, ...]
    reduces: tuple[int, ...]


@dataclass
class Mapped:
    """The map phases of an order: the slots before each position, as a heap, and when each job's phase ends."""

    before: list[Free]
    end: list[float]


def priorities(draft: Draft, neighbours: int = 20_000, heat: float = 0.001, placements: int = 10_000_000) -> Draft:
    """Improve the best schedule so far; stop at the lower bound, or after ``neighbours`` neighbours.

    ``heat`` is the share of the makespan that is risked at first. If schedules have many waves there are fewer
    neighbours, so that about ``placements`` waves are placed in all.
    """
    progress = work_of(draft)
    if progress.schedule is None or progress.proven or len(progress.batch) < 2:
        return replace(draft, state=progress)
    start = order_of(progress.batch, progress.schedule)
    judge = Judge(progress.batch)
    waves = len(judge.schedule(start).waves)
    best = _anneal(draft, progress, judge, start, min(neighbours, placements // waves), heat)
    if late(draft):
        draft = replace(draft, termination=Termination.TIME_LIMIT)
    return offer_schedule(draft, progress, judge.schedule(best))


def order_of(batch: Batch, schedule: Schedule) -> Order:
    """Return the jobs of a schedule by the starts of their maps, and of their reduces."""
    starts: dict[tuple[int, Phase], float] = {}
    for wave in schedule.waves:
        key = wave.job, wave.phase
        starts[key] = min(starts.get(key, wave.start), wave.start)
    jobs = range(len(batch))
    maps = sorted(jobs, key=lambda j: (starts[j, "map"], j))
    reducing = [j for j in jobs if batch.reduce_tasks[j] > 0]
    return Order(tuple(maps), tuple(sorted(reducing, key=lambda j: (starts[j, "reduce"], j))))


class Judge:
    """Schedules of a batch by their orders, in ticks."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.maps = list(zip(batch.map_tasks.astype(int).tolist(), batch.map_time.tolist(), strict=True))
        self.reduces = list(zip(batch.reduce_tasks.astype(int).tolist(), batch.reduce_time.tolist(), strict=True))

    def mapped(self, order: tuple[int, ...], known: Mapped | None = None, first: int = 0) -> Mapped:
        """Return the map phases; those before position ``first`` are as in ``known``."""
        before = known.before[:first] if known else []
        end = known.end.copy() if known else [0.0] * len(self.maps)
        free = known.before[first].copy() if known else [(0.0, self.batch.map_slots)]
        for job in order[first:]:
            before.append(free.copy())
            end[job] = place(free, *self.maps[job])
        return Mapped(before, end)

    def reduced(self, order: tuple[int, ...], released: list[float], waves: list[Wave] | None = None) -> float:
        """Return the end of the last reduce task; ``waves`` takes the tasks, if given."""
        rank = {job: turn for turn, job in enumerate(order)}
        coming = sorted(order, key=lambda j: -released[j])
        left = [tasks for tasks, _ in self.reduces]
        free: Free = [(0.0, self.batch.reduce_slots)]
        ready: list[tuple[int, int]] = []
        now = last = 0.0
        while coming or ready:
            at, idle = heappop(free)
            if at > now:
                now = at
            if not ready and released[coming[-1]] > now:
                now = released[coming[-1]]
            while coming and released[coming[-1]] <= now:
                job = coming.pop()
                heappush(ready, (rank[job], job))
            while free and free[0][0] <= now:
                idle += heappop(free)[1]
            while idle and ready:
                job = ready[0][1]
                taken = min(idle, left[job])
                end = now + self.reduces[job][1]
                heappush(free, (end, taken))
                if waves is not None:
                    waves.append(Wave(job, "reduce", now, self.reduces[job][1], taken))
                last = max(last, end)
                idle -= taken
                left[job] -= taken
                if not left[job]:
                    heappop(ready)
            if idle:
                heappush(free, (now, idle))
        return last

    def makespan(self, order: Order, mapped: Mapped) -> float:
        """Return the end of the last task."""
        return max(max(mapped.end), self.reduced(order.reduces, mapped.end))

    def schedule(self, order: Order) -> Schedule:
        """Return the schedule of an order, on one pool."""
        waves: list[Wave] = []
        free, end = [(0.0, self.batch.map_slots)], [0.0] * len(self.maps)
        for job in order.maps:
            end[job] = place(free, *self.maps[job], job, waves)
        self.reduced(order.reduces, end, waves)
        return in_order_of_start(self.batch, waves)


def place(free: Free, tasks: int, time: float, job: int = 0, waves: list[Wave] | None = None) -> float:
    """Give alike map tasks to the slots that fall free first; when the last of them ends."""
    end = 0.0
    while tasks:
        at, idle = heappop(free)
        while free and free[0][0] == at:
            idle += heappop(free)[1]
        taken = min(idle, tasks)
        tasks -= taken
        end = at + time
        if waves is not None:
            waves.append(Wave(job, "map", at, time, taken))
        heappush(free, (end, taken))
        if idle > taken:
            heappush(free, (at, idle - taken))
    return end


def _anneal(draft: Draft, progress: Progress, judge: Judge, start: Order, neighbours: int, heat: float) -> Order:
    state = best = start
    mapped = judge.mapped(state.maps)
    value = least = judge.makespan(state, mapped)
    draws = np.random.default_rng([draft.seed, 5]).random((neighbours, 5)).tolist()
    hot = heat * value
    for at, (kind, source, sink, chance, both) in enumerate(draws):
        if least <= progress.goal or (at % CHECKED == 0 and late(draft)):
            break
        near, first = _neighbour(state, kind, source, sink, both)
        after = mapped if first is None else judge.mapped(near.maps, mapped, first)
        reached = judge.makespan(near, after)
        worse = reached - value
        if worse > 0 and chance >= exp(-worse / (hot * COOLED ** (at / neighbours))):
            continue
        state, mapped, value = near, after, reached
        if value < least:
            best, least = state, value
    return best


def _neighbour(state: Order, kind: float, source: float, sink: float, both: float) -> tuple[Order, int | None]:
    """Return another order, and the first position at which its maps differ, None if they are equal."""
    if kind < 0.4 and len(state.reduces) > 1:
        return Order(state.maps, _moved(state.reduces, source, sink, kind < 0.15)[0]), None
    maps, first = _moved(state.maps, source, sink, kind > 0.8)
    job = state.maps[int(source * len(state.maps))]
    if both < 0.3 and job in state.reduces:
        where = state.reduces.index(job) / len(state.reduces)
        return Order(maps, _moved(state.reduces, where + ROUNDING, sink, False)[0]), first
    return Order(maps, state.reduces), first


def _moved(order: tuple[int, ...], source: float, sink: float, exchange: bool) -> tuple[tuple[int, ...], int]:
    """Return one job at another place, or two exchanged; and the first position that differs."""
    items = list(order)
    i, k = int(source * len(items)), int(sink * len(items))
    if exchange:
        items[i], items[k] = items[k], items[i]
    else:
        items.insert(k, items.pop(i))
    return tuple(items), min(i, k)
