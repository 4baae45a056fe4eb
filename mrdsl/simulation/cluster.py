"""A discrete-event simulation of MapReduce jobs on the slots of a shared cluster.

A job's map tasks run first; when the last has ended, its reduce tasks queue for reduce slots. What is known of a task
before it starts is that it waits, so memory grows with the tasks that run and the jobs that are there, not with all
tasks. Equal times are settled by order of creation, so that the same jobs give the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace
from math import inf

from mrdsl.simulation.preemption import Preemption
from mrdsl.simulation.queues import Queue, next_queue
from mrdsl.simulation.tasks import MAP, REDUCE, Job, TaskRun

Completed = Callable[[Job, float], Job | None]
ARRIVAL, RETURN, CHECK = -1, -2, -3


@dataclass(frozen=True)
class Pool:
    """Slots that run tasks of one stage, or of both: how many, and a queue for every class, or one for all."""

    slots: int
    queues: Sequence[Queue[Job]]


class Simulation:
    """One run. ``pools`` is one pool for both stages, or one for map and one for reduce tasks.

    ``arrivals`` yields jobs by submission time and is read one job ahead. ``completed(job, now)`` is called when a job
    ends and may give the next one of the same user, to be submitted at or after ``now``. ``record`` is called for every
    run of a task, in the order of their ends. ``patience`` is how long a queue (a job, where there is one queue) waits
    below its share before tasks of others are killed; None: for ever. With ``masters`` every job holds a slot of the
    first pool from its first task to its end, as YARN's application masters do; there must be more slots than jobs.
    """

    def __init__(
        self,
        pools: Sequence[Pool],
        arrivals: Iterator[Job],
        completed: Completed,
        record: Callable[[TaskRun], None] | None = None,
        patience: float | None = None,
        masters: bool = False,
    ) -> None:
        self.pools = tuple(pools)
        self.free = [list(range(pool.slots - 1, -1, -1)) for pool in pools]
        self.arrivals = arrivals
        self.completed = completed
        self.record = record
        self.now = 0.0
        self.tasks = 0
        self.jobs = 0
        self.events: list[tuple[float, int, int, Job | None]] = []
        self.sequence = 0
        self.changed: set[int] = set()
        self.starts = [[0.0] * pool.slots for pool in pools] if record is not None else []
        self.preemption = Preemption(self.pools) if patience is not None else None
        self.patience = patience
        self.masters = masters
        self.only = [pool.queues[0].order for pool in pools] if all(map(_alone, pools)) else []

    def run(self, until: float = inf) -> None:
        """Runs until nothing is left to do or the next event lies beyond ``until``; may be called again."""
        if self.sequence == 0:
            self._expect(next(self.arrivals, None), ARRIVAL)
        events = self.events
        plain = bool(self.only) and self.record is None and self.preemption is None
        while events and events[0][0] <= until:
            if plain and self._continue(*events[0]):  # type: ignore[arg-type]
                continue
            now, sequence, slot, job = heappop(events)
            self.now = now
            if slot >= 0:
                self._end_task(job, slot, sequence)  # type: ignore[arg-type]
            elif slot <= CHECK:
                self._check(CHECK - slot)
            else:
                if slot == ARRIVAL:
                    self._expect(next(self.arrivals, None), ARRIVAL)
                self._arrive(job)  # type: ignore[arg-type]
            if self.changed and not (events and events[0][0] <= now):
                self._dispatch_all()

    def _continue(self, now: float, _: int, slot: int, job: Job) -> bool:
        """The usual case at small cost: the job that has ended a task is the one to start the next on the same slot.

        False, and nothing is changed, where anything is unusual: something else at the same moment, free slots, the end
        of a stage, another job's turn.
        """
        if slot < 0 or not job.pending or self.changed:
            return False
        events = self.events
        count = len(events)
        if (count > 1 and events[1][0] <= now) or (count > 2 and events[2][0] <= now):
            return False
        index = job.stage if len(self.free) > 1 else MAP
        if self.free[index] or not self.only[index].continues(job):
            return False
        if job.stage == REDUCE:
            job.time = job.work.reduce_time
        job.left -= 1
        job.pending -= 1
        self.tasks += 1
        self.now = now
        self.sequence = sequence = self.sequence + 1
        heapreplace(events, (now + job.time(), sequence, slot, job))
        return True

    def stop(self) -> None:
        """Ends the run after the present event."""
        self.events.clear()
        self.arrivals = iter(())
        self.completed = lambda job, now: None

    def _expect(self, job: Job | None, how: int) -> None:
        if job is not None:
            self.sequence += 1
            heappush(self.events, (max(job.submitted, self.now), self.sequence, how, job))

    def _arrive(self, job: Job) -> None:
        job.number = self.jobs
        self.jobs += 1
        if self.masters and job.left:
            job.master = None
        if job.left or job.begin_reduce(self.now):
            self._wait(job)
        else:
            self._complete(job)

    def _wait(self, job: Job) -> None:
        """Queues a job at the beginning of a stage."""
        index = job.stage if len(self.pools) > 1 else MAP
        queues = self.pools[index].queues
        job.queued.clear()
        queues[job.kind if len(queues) > 1 else 0].order.put(job)
        if self.preemption is not None and self.patience is not None:
            self.preemption.enter(index, job)
            if not self.free[index]:
                self.sequence += 1
                heappush(self.events, (self.now + self.patience, self.sequence, CHECK - index, None))
        self.changed.add(index)

    def _dispatch_all(self) -> None:
        """Gives out slots once everything that happens at one moment has happened."""
        for index in sorted(self.changed):
            self._dispatch(index)
        self.changed.clear()

    def _dispatch(self, index: int) -> None:
        """Gives the pool's free slots to waiting tasks."""
        free, queues = self.free[index], self.pools[index].queues
        only = queues[0] if len(queues) == 1 else None
        while free:
            if only is not None:
                job = only.order.best() if only.running < only.limit else None
                queue = only
            else:
                found = next_queue(queues)
                queue, job = found if found is not None else (queues[0], None)
            if job is None:
                return
            if job.master is None:
                job.master = free.pop()
            else:
                self._start(index, queue, job, free.pop())

    def _start(self, index: int, queue: Queue[Job], job: Job, slot: int) -> None:
        job.pending -= 1
        job.running += 1
        queue.running += 1
        if job.started < 0.0:
            job.started = self.now
        duration = job.redo.pop() if job.redo else job.time()
        self.sequence += 1
        heappush(self.events, (self.now + duration, self.sequence, slot, job))
        if self.starts:
            self.starts[index][slot] = self.now
        if self.preemption is not None:
            self.preemption.started(job, self.sequence, slot, self.now, duration)
        if job.pending:
            queue.order.put(job)

    def _end_task(self, job: Job, slot: int, sequence: int) -> None:
        if self.preemption is not None and not self.preemption.ended(job, sequence):
            return
        index = job.stage if len(self.pools) > 1 else MAP
        queues = self.pools[index].queues
        queue = queues[job.kind if len(queues) > 1 else 0]
        self.tasks += 1
        queue.running -= 1
        job.running -= 1
        job.left -= 1
        self.free[index].append(slot)
        if self.starts:
            self._note(index, job, slot, killed=False)
        if job.left == 0:
            self._end_stage(index, job)
        else:
            if job.stage == REDUCE:
                job.time = job.work.reduce_time
            if job.pending:
                queue.order.put(job)
        self.changed.add(index)

    def _end_stage(self, index: int, job: Job) -> None:
        if self.preemption is not None:
            self.preemption.leave(index, job)
        if job.stage == MAP and job.begin_reduce(self.now):
            self._wait(job)
        else:
            self._complete(job)

    def _complete(self, job: Job) -> None:
        job.ended = self.now
        if job.master is not None and job.master >= 0:
            self.free[MAP].append(job.master)
            self.changed.add(MAP)
        self._expect(self.completed(job, self.now), RETURN)

    def _check(self, index: int) -> None:
        """Kills the youngest tasks of queues above their share, for those that wait below theirs."""
        if self.preemption is None:
            return
        queues = self.pools[index].queues
        for job, slot in self.preemption.kill(index, self.pools[index]):
            queue = queues[job.kind if len(queues) > 1 else 0]
            queue.running -= 1
            self.free[index].append(slot)
            if self.starts:
                self._note(index, job, slot, killed=True)
            queue.order.put(job)
        self.changed.add(index)

    def _note(self, index: int, job: Job, slot: int, killed: bool) -> None:
        assert self.record is not None
        self.record(TaskRun(job.number, job.kind, job.stage, index, slot, self.starts[index][slot], self.now, killed))


def _alone(pool: Pool) -> bool:
    """Whether the order of one queue decides all: no other queue, and no limit on it."""
    return len(pool.queues) == 1 and pool.queues[0].limit == inf
