"""The simple pipelines of the makespan family, and what all its pipelines share."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.result import Termination
from mrdsl.families.makespan.batch import Batch, batch_of
from mrdsl.families.makespan.decode import plan_of
from mrdsl.families.makespan.lower_bounds import johnson_order, lower_bounds
from mrdsl.families.makespan.schedule import PoolOrder, Schedule, simulate, whole_cluster


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
    """The draft's working state; the first step starts it."""
    if draft.state is not None:
        progress: Progress = draft.state
        return progress
    batch = batch_of(draft.spec)
    return Progress(batch, lower_bounds(batch).best, gap=draft.limits.gap or 0.0)


def late(draft: Draft) -> bool:
    """Whether the time limit has passed; a search then stops with what it has, if it has a schedule."""
    limit = draft.limits.time
    return limit is not None and time.monotonic() - draft.started >= limit


def cut_short(draft: Draft, progress: Progress) -> Draft | None:
    """Return the draft as it is if its schedule is good enough or the time limit has passed, else None: go on."""
    if progress.proven:
        return replace(draft, state=progress)
    if progress.schedule is None or not late(draft):
        return None
    return replace(draft, state=progress, termination=Termination.TIME_LIMIT)


def offer(draft: Draft, progress: Progress, pools: Iterable[PoolOrder]) -> Draft:
    """The draft with these pools, where their makespan is less than the best yet."""
    return offer_schedule(draft, progress, simulate(progress.batch, pools))


def offer_schedule(draft: Draft, progress: Progress, schedule: Schedule) -> Draft:
    """The draft with this schedule, where its makespan is less than the best yet."""
    if progress.schedule is not None and progress.schedule.makespan <= schedule.makespan:
        return replace(draft, state=progress)
    return replace(draft, state=replace(progress, schedule=schedule))


def fifo(draft: Draft) -> Draft:
    """The jobs in spec order, on the whole cluster.

    003, 5.3 prints 40 s as the FIFO makespan of (20 s, 2 s) and (2 s, 20 s); it is 42 s.
    """
    progress = work_of(draft)
    return offer(draft, progress, whole_cluster(progress.batch, range(len(progress.batch))))


def johnson(draft: Draft) -> Draft:
    """The jobs by Johnson's rule (003, Algorithm 3) on their phase times, on the whole cluster."""
    progress = work_of(draft)
    batch = progress.batch
    order = johnson_order(*batch.phases(batch.map_slots, batch.reduce_slots))
    return offer(draft, progress, whole_cluster(batch, np.asarray(order).tolist()))


def conclude(draft: Draft) -> Draft:
    """The plan of the best schedule, with its bound; the last step of every makespan pipeline."""
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
