"""Simple heuristics of the makespan family, and their shared parts: makespans of many pools together.

A row is a set of jobs on separate slots. ``members`` and ``orders`` have shape (rows, jobs): indices into the batch, -1
if a row has no more jobs. ``map_slots`` and ``reduce_slots`` have shape (rows,).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.result import Termination
from mrdsl.core.rounding import LAST_DIGITS
from mrdsl.families.makespan.lower_bounds import johnson_order, lower_bounds
from mrdsl.families.makespan.schedule import (
    Batch,
    Floats,
    PoolOrder,
    Schedule,
    batch_of,
    plan_of,
    simulate,
    whole_cluster,
)
from mrdsl.simulation.slots import Integers, makespans


@dataclass(frozen=True)
class Progress:
    """The batch, the best schedule yet, and the best proven lower bound, in ticks; ``gap`` is the relative gap at which
    a search may end."""

    batch: Batch
    bound: float
    schedule: Schedule | None = None
    gap: float = 0.0

    @property
    def goal(self) -> float:
        """The greatest makespan within the gap of the bound."""
        return self.bound / (1.0 - self.gap) if self.gap < 1.0 else float("inf")

    @property
    def proven(self) -> bool:
        """Return True if no schedule is better than this one by more than the gap."""
        return self.schedule is not None and self.schedule.makespan <= self.goal


def work_of(draft: Draft) -> Progress:
    """Return the draft's working state; the first step starts it."""
    if draft.state is not None:
        progress: Progress = draft.state
        return progress
    batch = batch_of(draft.spec)
    return Progress(batch, lower_bounds(batch).best, gap=draft.limits.gap or 0.0)


def late(draft: Draft) -> bool:
    """Return True if the time limit has passed; a search that has a schedule then stops."""
    limit = draft.limits.time
    return limit is not None and time.monotonic() - draft.started >= limit


def cut_short(draft: Draft, progress: Progress) -> Draft | None:
    """Return the draft if its schedule is good enough or the time limit has passed, otherwise None: go on."""
    if progress.proven:
        return replace(draft, state=progress)
    if progress.schedule is None or not late(draft):
        return None
    return replace(draft, state=progress, termination=Termination.TIME_LIMIT)


def offer(draft: Draft, progress: Progress, pools: Iterable[PoolOrder]) -> Draft:
    """Return the draft with these pools if their makespan is less than the best so far."""
    return offer_schedule(draft, progress, simulate(progress.batch, pools))


def offer_schedule(draft: Draft, progress: Progress, schedule: Schedule) -> Draft:
    """Return the draft with this schedule if its makespan is less than the best so far."""
    if progress.schedule is not None and progress.schedule.makespan <= schedule.makespan:
        return replace(draft, state=progress)
    return replace(draft, state=replace(progress, schedule=schedule))


def fifo(draft: Draft) -> Draft:
    """Return the jobs in spec order, on the whole cluster.

    003, 5.3 prints 40 s as the FIFO makespan of (20 s, 2 s) and (2 s, 20 s); it is 42 s.
    """
    progress = work_of(draft)
    return offer(draft, progress, whole_cluster(progress.batch, range(len(progress.batch))))


def johnson(draft: Draft) -> Draft:
    """Return the jobs by Johnson's rule (003, Algorithm 3) on their phase times, on the whole cluster."""
    progress = work_of(draft)
    batch = progress.batch
    order = johnson_order(*batch.phases(batch.map_slots, batch.reduce_slots))
    return offer(draft, progress, whole_cluster(batch, np.asarray(order).tolist()))


def conclude(draft: Draft) -> Draft:
    """Return the plan of the best schedule, with its bound; the last step of every makespan heuristic."""
    progress = work_of(draft)
    if progress.schedule is None:
        return draft
    batch, schedule = progress.batch, progress.schedule
    return replace(
        draft,
        plan=plan_of(batch, schedule, progress.bound),
        value=batch.seconds(schedule.makespan),
        bound=batch.seconds(progress.bound),
        termination=Termination.OPTIMAL if progress.proven else draft.termination,
    )


__all__ = ["Judge", "johnson_rows", "makespans", "phase_makespans", "row_bounds"]

Judge = Callable[[Batch, Integers, Integers, Integers], Floats]


def johnson_rows(batch: Batch, members: Integers, map_slots: Integers, reduce_slots: Integers) -> Integers:
    """Return each row's jobs by Johnson's rule on the phase times that the row's own slots give; ties by batch
    index.
    """
    maps, reduces = _phases(batch, members, map_slots, reduce_slots)
    far = 2.0 * max(float(maps.max(initial=1.0)), float(reduces.max(initial=1.0)))
    key = np.where(maps < reduces, maps, 2 * far - reduces)
    key[members < 0] = 4 * far
    by_index = np.where(members < 0, len(batch), members).argsort(axis=1, kind="stable")
    turn = np.take_along_axis(key, by_index, axis=1).argsort(axis=1, kind="stable")
    return np.take_along_axis(members, np.take_along_axis(by_index, turn, axis=1), axis=1)


def row_bounds(batch: Batch, members: Integers, map_slots: Integers, reduce_slots: Integers) -> Floats:
    """Return a lower bound on any schedule of each row's jobs on its slots: work and critical job, in ticks."""
    there = members >= 0
    maps, reduces = _phases(batch, members, map_slots, reduce_slots)
    map_work = np.where(there, batch.map_work[members], 0.0).sum(axis=1)
    reduce_work = np.where(there, batch.reduce_work[members], 0.0).sum(axis=1)
    tail = np.where(there, reduces, np.inf).min(axis=1)
    head = np.where(there, maps, np.inf).min(axis=1)
    bound: Floats = np.maximum.reduce(
        [
            (maps + reduces).max(axis=1),
            np.ceil(map_work / map_slots * (1 - LAST_DIGITS)) + tail,
            head + np.ceil(reduce_work / reduce_slots * (1 - LAST_DIGITS)),
        ]
    )
    return bound


def phase_makespans(batch: Batch, orders: Integers, map_slots: Integers, reduce_slots: Integers) -> Floats:
    """Return makespans in the abstraction of 003, 5.3: a pool's map slots, and its reduce slots, serve one job at a
    time.

    Each phase holds them for its whole waves (5.4: M_j and R_j), and the next job's begins when it ends.
    """
    maps, reduces = _phases(batch, orders, map_slots, reduce_slots)
    done = np.cumsum(maps, axis=1)
    to_come = np.cumsum(reduces[:, ::-1], axis=1)[:, ::-1]
    last: Floats = (done + to_come).max(axis=1)
    return last


def _phases(
    batch: Batch, members: Integers, map_slots: NDArray[np.intp], reduce_slots: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    there = members >= 0
    maps = np.ceil(batch.map_tasks[members] / map_slots[:, None]) * batch.map_time[members]
    reduces = np.ceil(batch.reduce_tasks[members] / reduce_slots[:, None]) * batch.reduce_time[members]
    return np.where(there, maps, 0.0), np.where(there, reduces, 0.0)
