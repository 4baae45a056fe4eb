"""The allocation of free slots: the order of jobs within a queue, and the choice of a queue.

Every structure finds its next job in logarithmic time and holds no more entries than there are running tasks and
waiting jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from math import inf
from typing import Generic, Protocol, TypeVar


class Claimant(Protocol):
    """A job in an order: its running and waiting tasks, and its limit.

    ``number`` is its place in the order of submission. ``stage`` changes when earlier entries become stale; ``queued``
    is for notes of the order.
    """

    number: int
    stage: int
    running: int
    pending: int
    limit: float
    queued: set[int]


C = TypeVar("C", bound=Claimant)
FEW = 256
"""Entries of an order that are not worth a look."""


class Order(Protocol[C]):
    """The order in which the jobs of one queue get slots."""

    def put(self, job: C) -> None:
        """Tells that the job may take a slot in its present state; harmless where it is known already."""

    def best(self) -> C | None:
        """Return the job that is to get the next slot; it stays until its state changes."""

    def continues(self, job: C) -> bool:
        """Return True if a job that ends a task now and has more surely gets the slot; False in doubt."""

    def swap(self, job: C) -> C | None:
        """Return the job that gets the slot on which ``job`` has just ended a task, or None if no job waits.

        ``job.running`` does not count the ended task any more. The counts of the new job are updated: one more task
        runs, one fewer waits.
        """

    def take(self) -> C | None:
        """Return the best job after giving it a slot, with updated counts, or None if no job waits."""

    def more(self, job: C, most: int) -> int:
        """Return the number of further slots, at most ``most``, that the job gets before another's turn.

        Its counts are updated.
        """

    def deal(self, slots: int, room: Callable[[C], int]) -> list[tuple[C, int]]:
        """Return the jobs that get that number of slots, with their numbers, in the order of their first slot.

        At least one slot is dealt if any job waits, but not all if a job has used its ``room`` (at least 1): it can
        then be called again. Counts are updated.
        """


class FewestRunning(Generic[C]):
    """Fair sharing: the job with the fewest running tasks, and of equal ones the oldest."""

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, int, C]] = []
        self.most = FEW

    def put(self, job: C) -> None:
        """One entry per job and number of running tasks, so that entries do not pile up."""
        running = job.running
        if running not in job.queued and running < job.limit:
            job.queued.add(running)
            heappush(self.heap, (running, job.number, job.stage, job))
            if len(self.heap) > self.most:
                self._forget()

    def _forget(self) -> None:
        """Drop stale entries, such as those of ended jobs, which would never reach the top."""
        kept = []
        for entry in self.heap:
            running, _, stage, job = entry
            if stage == job.stage and job.running == running and job.pending:
                kept.append(entry)
            elif stage == job.stage:
                job.queued.discard(running)
        heapify(kept)
        self.heap[:] = kept
        self.most = max(FEW, 4 * len(kept))

    def best(self) -> C | None:
        """Drop entries of a state or a stage that has passed on its way."""
        heap = self.heap
        while heap:
            running, _, stage, job = heap[0]
            if stage == job.stage:
                if job.running == running and job.pending:
                    return job
                job.queued.discard(running)
            heappop(heap)
        return None

    def continues(self, job: C) -> bool:
        """No other may have as few running tasks as this one then has; entries of the past count, to be quick."""
        if not self.heap:
            return True
        running, number, _, _ = self.heap[0]
        mine = job.running - 1
        return running > mine or (running == mine and number >= job.number)

    def swap(self, job: C) -> C | None:
        """Return the job that gets the slot, with one look at the top if it is the same job's turn again."""
        heap, mine = self.heap, job.running
        waits = job.pending > 0 and mine < job.limit
        while heap:
            running, number, stage, other = heap[0]
            if waits and other is job and mine <= running:
                break
            if stage != other.stage or other.running != running or not other.pending:
                if stage == other.stage:
                    other.queued.discard(running)
                heappop(heap)
            elif waits and (mine < running or (mine == running and job.number < number)):
                break
            else:
                return self._take(other, running, job if waits else None)
        if not waits:
            return None
        job.running = mine + 1
        job.pending -= 1
        if job.pending:
            self.put(job)
        return job

    def _take(self, other: C, running: int, job: C | None) -> C:
        """Give the top a slot, replace its entry by the next one, and note the job that waits after it."""
        heap, queued = self.heap, other.queued
        other.running = running + 1
        other.pending -= 1
        queued.discard(running)
        if other.pending and running + 1 < other.limit and running + 1 not in queued:
            queued.add(running + 1)
            heapreplace(heap, (running + 1, other.number, other.stage, other))
        else:
            heappop(heap)
        if job is not None:
            self.put(job)
        return other

    def take(self) -> C | None:
        """Return the top, and its next entry in its place."""
        job = self.best()
        return None if job is None else self._take(job, job.running, None)

    def more(self, job: C, most: int) -> int:
        """Give slots while its own entry is at the top; all of them if no other job has an entry."""
        heap, count = self.heap, 0
        most = min(most, job.pending)
        if len(heap) == len(job.queued):
            count = int(min(most, max(job.limit - job.running, 0)))
            job.running += count
            job.pending -= count
            if count:
                heap.clear()
                job.queued.clear()
            if job.pending:
                self.put(job)
            return count
        while count < most and heap and heap[0][3] is job and heap[0][0] == job.running:
            self._take(job, job.running, None)
            count += 1
        return count

    def deal(self, slots: int, room: Callable[[C], int]) -> list[tuple[C, int]]:
        """Return all jobs at the lowest level rise to the next one together, until slots or a job's room run out."""
        dealt: dict[C, list[int]] = {}
        group: list[C] = []
        while slots:
            above = self._join(group, dealt, slots, room)
            if not group:
                break
            least = min(dealt[job][1] for job in group)
            step = int(min(slots // len(group), least, above - group[0].running))
            rising = group if step else sorted(group, key=_number)[:slots]
            for job in rising:
                dealt[job][0] += step or 1
                dealt[job][1] -= step or 1
                job.running += step or 1
                job.pending -= step or 1
            slots -= (step or 1) * len(rising)
            if not step or any(not dealt[job][1] for job in rising):
                break
        for job in dealt:
            if job.pending:
                self.put(job)
        return [(job, count) for job, (count, _) in dealt.items() if count]

    def _join(self, group: list[C], dealt: dict[C, list[int]], slots: int, room: Callable[[C], int]) -> float:
        """Take jobs into the group that have as few running tasks as those in it; the level of the next others."""
        heap, joined = self.heap, 0
        job = self.best()
        while job is not None and joined < slots and (not group or job.running == group[0].running):
            heappop(heap)
            job.queued.discard(job.running)
            if job not in dealt:
                dealt[job] = [0, int(min(room(job), job.pending, job.limit - job.running))]
                group.append(job)
                joined += 1
            job = self.best()
        return inf if job is None else job.running


class OldestFirst(Generic[C]):
    """First come, first served: the job submitted first."""

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, C]] = []

    def put(self, job: C) -> None:
        """One entry per job."""
        if not job.queued:
            job.queued.add(0)
            heappush(self.heap, (job.number, job.stage, job))

    def best(self) -> C | None:
        """Return the oldest job, and drop jobs without a task to start, or at their limit, until they are put again."""
        heap = self.heap
        while heap:
            _, stage, job = heap[0]
            if stage == job.stage:
                if job.pending and job.running < job.limit:
                    return job
                job.queued.clear()
            heappop(heap)
        return None

    def continues(self, job: C) -> bool:
        """No older job is known to wait."""
        return not self.heap or self.heap[0][0] >= job.number

    def swap(self, job: C) -> C | None:
        """Return the oldest that waits."""
        if job.pending and job.running < job.limit:
            self.put(job)
        return self.take()

    def take(self) -> C | None:
        """Return the oldest that waits."""
        best = self.best()
        if best is not None:
            best.running += 1
            best.pending -= 1
        return best

    def deal(self, slots: int, room: Callable[[C], int]) -> list[tuple[C, int]]:
        """Give the oldest job the slots that it can use."""
        job = self.take()
        return [] if job is None else [(job, 1 + self.more(job, min(slots, room(job)) - 1))]

    def more(self, job: C, most: int) -> int:
        """Give the oldest job the slots that it can use."""
        count = int(min(most, job.pending, max(job.limit - job.running, 0)))
        job.running += count
        job.pending -= count
        return count


def _number(job: Claimant) -> int:
    return job.number


class Queue(Generic[C]):
    """Jobs that share a part of the slots: ``weight`` against other queues, ``minimum`` slots first, at most ``limit``.

    With ``limit`` a queue leaves slots idle that it could use; it is infinite in a work-conserving cluster.
    """

    __slots__ = ("limit", "minimum", "order", "running", "weight")

    def __init__(self, order: Order[C], weight: float = 1.0, minimum: float = 0.0, limit: float = inf) -> None:
        self.order = order
        self.weight = weight
        self.minimum = minimum
        self.limit = limit
        self.running = 0


def next_queue(queues: Sequence[Queue[C]]) -> tuple[Queue[C], C] | None:
    """Return the queue furthest below its minimum, or the one with the fewest running tasks per weight, and its job."""
    chosen: tuple[Queue[C], C] | None = None
    least = (2, 0.0)
    for queue in queues:
        running = queue.running
        if running >= queue.limit:
            continue
        below = running < queue.minimum
        key = (0, running / queue.minimum) if below else (1, running / queue.weight)
        if key < least:
            job = queue.order.best()
            if job is not None:
                chosen, least = (queue, job), key
    return chosen
