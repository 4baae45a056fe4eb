"""Search over lists of map tasks and priorities of reduce tasks, alternately from the front and from the back.

A free map slot takes the next tasks of a list. A free reduce slot takes tasks of the first entry of another list whose
job has its maps done, at any time. So a job that is mapped late may still overtake in the reduce phase.

Read backwards, a schedule is one in which reduces come before maps. A pass places all tasks in one direction, as
early as possible there. The next pass takes them in the opposite direction, in the order in which they ended
(forward-backward improvement of project scheduling: Li and Willis 1992, Valls et al. 2005). Tasks of one job that
start apart remain apart, so passes also divide jobs. A neighbour shifts the starts of a few jobs and takes two
passes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.result import Termination
from mrdsl.families.makespan.methods.orders import Progress, late, offer_schedule, work_of
from mrdsl.families.makespan.schedule import Batch, Phase, Schedule, Wave, earlier

Entries = list[tuple[int, int]]
Group = tuple[float, int, int]
"""End, job and number of tasks that start together."""

CHECKED = 16
"""Neighbours between two looks at the clock."""
MOVED = 0.04
"""Share of the jobs that a neighbour shifts, on average."""
SHIFT = 0.3
"""Standard deviation of a shift, as a share of the makespan."""


@dataclass(frozen=True)
class Side:
    """One phase: slots, and the time of one task of each job."""

    phase: Phase
    slots: int
    times: list[float]


@dataclass(frozen=True)
class Pass:
    """Groups of both phases in the direction of a pass, and the last end; ``sides``: the first phase, the other."""

    sides: tuple[Side, Side]
    groups: tuple[list[Group], list[Group]]
    makespan: float

    def back(self) -> Pass:
        """Place all tasks in the opposite direction, those that ended last first."""
        first, second = (sorted(groups, key=lambda g: (-g[0], g[1])) for groups in self.groups)
        return passed((self.sides[1], self.sides[0]), joined(second), joined(first))

    def shifted(self, rng: np.random.Generator, jobs: int) -> Pass:
        """Place all tasks in the same direction after a shift of the starts of a few jobs."""
        moved = rng.random(jobs) < MOVED
        moved[int(rng.integers(jobs))] = True
        shifts = (rng.normal(0.0, SHIFT * self.makespan, (2, jobs)) * moved).tolist()
        first, second = (
            sorted([(end - side.times[job] + shift[job], job, count) for end, job, count in groups])
            for groups, side, shift in zip(self.groups, self.sides, shifts, strict=True)
        )
        return passed(self.sides, joined(first), joined(second))

    def waves(self) -> list[Wave]:
        """Return the tasks in the direction of time."""
        ahead = self.sides[0].phase == "map"
        return [
            Wave(job, side.phase, end - side.times[job] if ahead else self.makespan - end, side.times[job], count)
            for side, groups in zip(self.sides, self.groups, strict=True)
            for end, job, count in groups
        ]


def priorities(draft: Draft, neighbours: int = 4000, heat: float = 0.003, placements: int = 2_000_000) -> Draft:
    """Improve the best schedule so far; stop at the lower bound, or after ``neighbours`` neighbours.

    ``heat`` is the largest share of the makespan by which a step may be worse. If schedules have many waves there are
    fewer neighbours, so that about ``placements`` waves are placed in all.
    """
    progress = work_of(draft)
    if progress.schedule is None or progress.proven or len(progress.batch) < 2:
        return replace(draft, state=progress)
    start = start_of(progress.batch, progress.schedule)
    waves = 2 * sum(map(len, start.groups))
    best = _search(draft, progress, start, min(neighbours, placements // waves), heat)
    if late(draft):
        draft = replace(draft, termination=Termination.TIME_LIMIT)
    return offer_schedule(draft, progress, earlier(progress.batch, best.waves()))


def start_of(batch: Batch, schedule: Schedule) -> Pass:
    """Place the tasks of a schedule in the sequence of their starts."""
    sides = (
        Side("map", batch.map_slots, batch.map_time.tolist()),
        Side("reduce", batch.reduce_slots, batch.reduce_time.tolist()),
    )
    first, second = (
        joined(sorted((w.start, w.job, w.count) for w in schedule.waves if w.phase == side.phase)) for side in sides
    )
    return passed(sides, first, second)


def _search(draft: Draft, progress: Progress, start: Pass, neighbours: int, heat: float) -> Pass:
    rng, jobs = np.random.default_rng([draft.seed, 5]), len(progress.batch)
    state = best = min(start, start.back(), key=_makespan)
    for at in range(neighbours):
        if best.makespan <= progress.goal or (at % CHECKED == 0 and late(draft)):
            break
        near = state.shifted(rng, jobs)
        near = min(near, near.back(), key=_makespan)
        if near.makespan <= state.makespan * (1.0 + heat * float(rng.random()) ** 2):
            state = near
        if near.makespan < best.makespan:
            best = near
    return best


def _makespan(each: Pass) -> float:
    return each.makespan


def joined(groups: Iterable[Group]) -> Entries:
    """Return jobs and counts in the sequence of groups; neighbours of one job are one entry."""
    entries: Entries = []
    for _, job, count in groups:
        if entries and entries[-1][0] == job:
            entries[-1] = job, entries[-1][1] + count
        else:
            entries.append((job, count))
    return entries


def passed(sides: tuple[Side, Side], first: Entries, second: Entries) -> Pass:
    """Place a list of one phase, then the entries of the other by priority once their jobs have ended the first."""
    ended, before = _listed(sides[0], first)
    after = _by_priority(sides[1], second, ended)
    return Pass(sides, (before, after), max(group[0] for group in (*before, *after)))


def _listed(side: Side, entries: Entries) -> tuple[list[float], list[Group]]:
    """Give each entry to the slots that fall free first; return the end of each job, 0 without tasks."""
    free, ended, groups = [(0.0, side.slots)], [0.0] * len(side.times), []
    for job, tasks in entries:
        while tasks:
            at, idle = heappop(free)
            while free and free[0][0] == at:
                idle += heappop(free)[1]
            taken = min(idle, tasks)
            tasks -= taken
            end = at + side.times[job]
            ended[job] = max(ended[job], end)
            groups.append((end, job, taken))
            heappush(free, (end, taken))
            if idle > taken:
                heappush(free, (at, idle - taken))
    return ended, groups


def _by_priority(side: Side, entries: Entries, released: list[float]) -> list[Group]:
    """Give free slots to the first released entry, at any time."""
    coming = sorted(range(len(entries)), key=lambda i: -released[entries[i][0]])
    left = [count for _, count in entries]
    free, groups = [(0.0, side.slots)], []
    ready: list[int] = []
    now = 0.0
    while coming or ready:
        at, idle = heappop(free)
        now = max(now, at)
        if not ready:
            now = max(now, released[entries[coming[-1]][0]])
        while coming and released[entries[coming[-1]][0]] <= now:
            heappush(ready, coming.pop())
        while free and free[0][0] <= now:
            idle += heappop(free)[1]
        while idle and ready:
            job, taken = entries[ready[0]][0], min(idle, left[ready[0]])
            groups.append((now + side.times[job], job, taken))
            heappush(free, (now + side.times[job], taken))
            idle -= taken
            left[ready[0]] -= taken
            if not left[ready[0]]:
                heappop(ready)
        if idle:
            heappush(free, (now, idle))
    return groups
