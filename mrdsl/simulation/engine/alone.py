"""One class alone on equal slots without faults: the same run as ``Engine``'s, at a fraction of its cost.

Searches for percentile guarantees run it repeatedly. Every task has its own time, so that two hardly ever end at the
same moment: there are no cohorts, no named slots, and no record.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from operator import add
from typing import Any

from mrdsl.simulation.engine.draws import Draws
from mrdsl.simulation.engine.flow import Completed, Submission
from mrdsl.simulation.engine.world import Job, JobKind, Stage

FEW = 256
"""Entries of jobs that wait which are not worth a look whether they still hold."""


class AlonePool:
    """A pool: the number of its ``idle`` slots, and the jobs that wait for one.

    ``step`` is 1 if jobs have equal shares, 0 if the oldest goes first. ``waiting`` has an entry (rank, number, part)
    for every job that waits, and stale ones: of another rank, or of jobs that do not wait. Up to ``most`` entries are
    not searched for stale ones.
    """

    __slots__ = ("idle", "most", "step", "waiting")

    def __init__(self, slots: int, fair: bool) -> None:
        self.idle = slots
        self.most = FEW
        self.step = int(fair)
        self.waiting: list[tuple[int, int, Part]] = []

    def put(self, part: Part) -> None:
        """Note a job that waits; one entry for each of its ranks."""
        if part.rank not in part.noted:
            part.noted.add(part.rank)
            heappush(self.waiting, (part.rank, part.number, part))

    def first(self) -> Part | None:
        """Return the job that gets the next slot."""
        waiting = self.waiting
        while waiting:
            rank, _, part = waiting[0]
            if part.pending and part.rank == rank:
                return part
            part.noted.discard(rank)
            heappop(waiting)
        return None

    def take(self, part: Part, count: int = 1) -> None:
        """Give the first job that number of slots."""
        part.pending -= count
        rank = part.rank
        part.rank = after = rank + self.step * count
        if after != rank or not part.pending:
            part.noted.discard(rank)
            if part.pending and after not in part.noted:
                part.noted.add(after)
                heapreplace(self.waiting, (after, part.number, part))
            else:
                heappop(self.waiting)

    def forget(self) -> None:
        """Drop stale entries if there can be many: those of ended jobs might never reach the top."""
        if len(self.waiting) > self.most:
            kept = []
            for entry in self.waiting:
                rank, _, part = entry
                if part.pending and part.rank == rank:
                    kept.append(entry)
                else:
                    part.noted.discard(rank)
            heapify(kept)
            self.waiting[:] = kept
            self.most = max(FEW, 4 * len(kept))


class Part:
    """A job in one pool with ``pending`` waiting tasks of the stages in ``ready``.

    The lowest ``rank`` goes first, then the oldest job. The rank is the number of running tasks, or 0 if only age
    counts.
    """

    __slots__ = ("noted", "number", "pending", "pool", "rank", "ready")

    def __init__(self, pool: AlonePool, number: int) -> None:
        self.pool, self.number = pool, number
        self.rank = self.pending = 0
        self.noted: set[int] = set()
        self.ready: list[AloneStage] = []


class AloneStage:
    """A stage of a job: ``begun`` tasks have started and ``left`` have not ended; it also waits for a number of other
    stages.

    ``first`` are the times of tasks that start before any of the stage has ended, ``later`` those of the others.
    """

    __slots__ = ("begun", "first", "index", "job", "later", "left", "part", "tasks", "waits")

    def __init__(self, job: AloneJob, index: int, stage: Stage, part: Part) -> None:
        self.job, self.index, self.part = job, index, part
        self.tasks = self.left = stage.tasks
        self.waits = len(stage.after)
        self.begun = 0
        self.first: Sequence[float] = ()
        self.later: Sequence[float] = ()

    def next_time(self) -> float:
        """Return the time of the task that starts now."""
        begun = self.begun
        self.begun = begun + 1
        if self.begun == self.tasks:
            self.part.ready.remove(self)
        return (self.later if self.left < self.tasks else self.first)[begun]


class AloneJob:
    """A job's stages; ``left`` of them have not ended."""

    __slots__ = ("left", "stages", "told")

    def __init__(self, told: Job, pools: Sequence[AlonePool]) -> None:
        self.told = told
        parts: dict[int, Part] = {}
        self.stages = []
        for index, stage in enumerate(told.what.stages):
            part = parts.get(stage.pool)
            if part is None:
                part = parts[stage.pool] = Part(pools[stage.pool], told.number)
            self.stages.append(AloneStage(self, index, stage, part))
        self.left = len(self.stages)


class AloneEngine:
    """A run of one class, with the interface of :class:`~mrdsl.simulation.engine.engine.Engine`.

    ``slots``: the slots of each pool, all of one ``speed``, and True if its jobs have equal shares.
    """

    def __init__(
        self,
        kind: JobKind,
        slots: Sequence[tuple[int, bool]],
        speed: float,
        arrivals: Iterator[Submission],
        draws: Draws,
        completed: Completed,
    ) -> None:
        self.kind, self.speed, self.draws = kind, speed, draws
        self.arrivals, self.completed = arrivals, completed
        self.pools = [AlonePool(count, fair) for count, fair in slots]
        self.now = self.work = 0.0
        self.jobs = self.tasks = self.sequence = 0
        self.events: list[tuple[float, int, Any]] = []
        self.changed = False

    @property
    def busy(self) -> list[float]:
        """Slot seconds at work."""
        return [self.work]

    def run(self) -> None:
        """Run until no event is left."""
        events = self.events
        self._expect(next(self.arrivals, None), awaited=True)
        while events:
            now, _, thing = events[0]
            ends = thing.__class__ is AloneStage
            if ends and self._hand_on(now, thing):
                continue
            heappop(events)
            self.now = now
            if ends:
                self._end(thing)
            else:
                submission, awaited = thing
                if awaited:
                    self._expect(next(self.arrivals, None), awaited=True)
                self._arrive(submission)
            if self.changed and not (events and events[0][0] <= now):
                self._deal()

    def stop(self) -> None:
        """End the run after the present event; running tasks count as work until now."""
        self.work -= sum(time - self.now for time, _, thing in self.events if thing.__class__ is AloneStage)
        self.events.clear()
        self.arrivals = iter(())
        self.completed = lambda job, now: None
        self.changed = False

    def _hand_on(self, now: float, stage: AloneStage) -> bool:
        """Handle the usual case: a task has ended, and its slot goes to the next one of any job, or is idle.

        Return False without a change at the end of a stage, and if another event happens at the same moment.
        """
        events = self.events
        count = len(events)
        if stage.left == 1 or self.changed:
            return False
        if (count > 1 and events[1][0] <= now) or (count > 2 and events[2][0] <= now):
            return False
        part = stage.part
        pool = part.pool
        first = pool.first()
        stage.left -= 1
        self.tasks += 1
        self.now = now
        mine = part.rank - pool.step
        if part.pending and (first is part or first is None or (mine, part.number) < (first.rank, first.number)):
            part.pending -= 1
        else:
            part.rank = mine
            if first is None:
                pool.idle += 1
                heappop(events)
                return True
            pool.take(first)
            if part.pending:
                pool.put(part)
            part = first
        stage = part.ready[0]
        duration = stage.next_time()
        self.work += duration
        self.sequence += 1
        heapreplace(events, (now + duration, self.sequence, stage))
        return True

    def _end(self, stage: AloneStage) -> None:
        """A task ends; its slot is given out when all that happens at this moment has happened."""
        part = stage.part
        part.rank -= part.pool.step
        part.pool.idle += 1
        self.changed = True
        if part.pending:
            part.pool.put(part)
        self.tasks += 1
        stage.left -= 1
        if not stage.left:
            self._stage_done(stage)

    def _stage_done(self, stage: AloneStage) -> None:
        job = stage.job
        for index in self.kind.children[stage.index]:
            child = job.stages[index]
            child.waits -= 1
            if not child.waits:
                self._open(child)
        job.left -= 1
        if not job.left:
            job.stages.clear()  # without this circle the job is freed at once
            job.told.ended = self.now
            self._expect(self.completed(job.told, self.now), awaited=False)

    def _deal(self) -> None:
        """Give idle slots to jobs that wait."""
        self.changed = False
        for pool in self.pools:
            while pool.idle:
                part = pool.first()
                if part is None:
                    break
                count = 1 if len(pool.waiting) > 1 else min(pool.idle, part.pending)
                pool.take(part, count)
                pool.idle -= count
                for _ in range(count):
                    stage = part.ready[0]
                    duration = stage.next_time()
                    self.work += duration
                    self.sequence += 1
                    heappush(self.events, (self.now + duration, self.sequence, stage))

    def _expect(self, what: Submission | None, awaited: bool) -> None:
        """Note a job that is to arrive; ``awaited``: after it the next of ``arrivals`` is."""
        if what is not None:
            self.sequence += 1
            heappush(self.events, (max(what.time, self.now), self.sequence, (what, awaited)))

    def _arrive(self, what: Submission) -> None:
        job = AloneJob(Job(what.kind, self.jobs, self.jobs, self.now, what.user, self.kind), self.pools)
        self.jobs += 1
        for stage in job.stages:
            if not stage.waits:
                self._open(stage)

    def _open(self, stage: AloneStage) -> None:
        """Let the tasks of a stage start."""
        block = self.draws.block(stage.job.told.kind, stage.job.told.nth, stage.index)
        work = block.work if self.speed == 1.0 else [each / self.speed for each in block.work]
        stage.first = work if block.first is None else list(map(add, work, block.first))
        stage.later = work if block.shuffle is None else list(map(add, work, block.shuffle))
        part = stage.part
        insort(part.ready, stage, key=_place)
        part.pending += stage.tasks
        part.pool.forget()
        part.pool.put(part)
        self.changed = True


def _place(stage: AloneStage) -> int:
    return stage.index
