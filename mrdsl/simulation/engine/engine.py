"""The event loop: jobs arrive, their stages' tasks take slots and end, and what was idle or freed is given out again.

Equal times are settled by order of creation, and slots are given out once everything that happens at one moment has
happened. Equal tasks of one job that start together are one event; elsewhere a task is one event. Memory grows with the
jobs that are there and the tasks that run.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush, heapreplace
from math import inf
from typing import Any, NamedTuple

from mrdsl.core.tolerances import SAME_SUM
from mrdsl.simulation.engine.draws import Draws
from mrdsl.simulation.engine.state import Job, Pool, Presence, Running, StageRun
from mrdsl.simulation.engine.world import Attempt, JobKind, Machines, Sharing
from mrdsl.simulation.queues import Queue, next_queue

TASK, ARRIVAL, RETURN, OTHER = range(4)


class Submission(NamedTuple):
    """A job that is to arrive: when, of which class, and whose it is (-1: nobody's)."""

    time: float
    kind: int
    user: int = -1


Completed = Callable[[Job, float], Submission | None]
Record = Callable[[Attempt], None]


class Engine:
    """One run in which nothing goes wrong; :class:`~mrdsl.simulation.engine.faults.FaultyEngine` knows the rest.

    ``arrivals`` come by time and are read one ahead. ``completed(job, now)`` is called when a job ends and may give the
    next one of the same user. ``record`` is told of every attempt when it ends. ``busy`` are the slot seconds of every
    class, those of running tasks to their ends included.
    """

    def __init__(
        self,
        kinds: Sequence[JobKind],
        machines: Sequence[Machines],
        sharing: Sequence[Sharing],
        arrivals: Iterator[Submission],
        draws: Draws,
        completed: Completed,
        record: Record | None = None,
    ) -> None:
        self.kinds, self.machines, self.draws = kinds, machines, draws
        self.arrivals, self.completed, self.record = arrivals, completed, record
        self.pools = [Pool(index, each.queues) for index, each in enumerate(sharing)]
        self.free: list[list[int]] = []
        self.vm_of: list[int] = []
        for group, each in enumerate(machines):
            self._install(group, each)
        for pool in self.pools:
            pool.groups.sort(key=lambda group: -machines[group].speed)
        self.speed = [each.speed for each in machines]
        self.now = 0.0
        self.tasks = self.jobs = self.sequence = 0
        self.nth = [0] * len(kinds)
        self.busy = [0.0] * len(kinds)
        self.events: list[tuple[float, int, int, Any]] = []
        self.changed: set[int] = set()
        self.together: dict[tuple[int, int], Running] = {}
        self.plain = record is None and all(len(p.queues) == 1 and p.queues[0].limit == inf for p in self.pools)

    def _install(self, group: int, machines: Machines) -> None:
        first = len(self.vm_of)
        vm = 1 + max(self.vm_of, default=-1)
        count = machines.vms * machines.slots
        self.vm_of += [vm + slot // machines.slots for slot in range(count)]
        self.free.append(list(range(first + count - 1, first - 1, -1)))
        pool = self.pools[machines.pool]
        pool.groups.append(group)
        pool.idle += count
        pool.slots += count

    def run(self, until: float = inf) -> None:
        """Runs until nothing is left to do or the next event lies beyond ``until``; may be called again."""
        if self.sequence == 0:
            self._begin()
        events, changed = self.events, self.changed
        while events and events[0][0] <= until:
            now, _, code, thing = events[0]
            if code == TASK and self.plain and not changed and thing.run.fresh and self._continue(now, thing):
                continue
            heappop(events)
            self.now = now
            if code == TASK:
                self._end(thing)
            elif code == OTHER:
                thing()
            else:
                if code == ARRIVAL:
                    self._expect(next(self.arrivals, None), ARRIVAL)
                self._arrive(thing)
            if changed and not (events and events[0][0] <= now):
                self._dispatch_all()

    def stop(self) -> None:
        """Ends the run after the present event; ``busy`` then counts what was done until now."""
        for time, _, code, thing in self.events:
            if code == TASK and not thing.dead:
                self.busy[thing.run.job.kind] -= thing.count * (time - self.now)
        self.events.clear()
        self.changed.clear()
        self.arrivals = iter(())
        self.completed = lambda job, now: None

    def _begin(self) -> None:
        self._expect(next(self.arrivals, None), ARRIVAL)

    def _continue(self, now: float, task: Running) -> bool:
        """The usual case at small cost: the stage that has ended a task starts its next one on the same slot.

        False, and nothing is changed, where anything is unusual: something else at the same moment, idle slots, another
        job's or another stage's turn.
        """
        run, events = task.run, self.events
        count = len(events)
        if (count > 1 and events[1][0] <= now) or (count > 2 and events[2][0] <= now):
            return False
        presence = run.presence
        if task.count > 1 or run.watched or presence.pool.idle or presence.ready[0] is not run:
            return False
        if not presence.queue.order.continues(presence):
            return False
        run.ended = True
        run.left -= 1
        run.fresh -= 1
        presence.pending -= 1
        index = run.begun
        run.begun = index + 1
        if not run.fresh:
            presence.ready.pop(0)
        self.tasks += 1
        self.now = now
        block = run.block
        duration = block.work[index] / self.speed[task.group]  # type: ignore[union-attr]
        if block.shuffle is not None:  # type: ignore[union-attr]
            duration += block.shuffle[index]  # type: ignore[union-attr]
        self.busy[presence.kind] += duration
        self.sequence = sequence = self.sequence + 1
        heapreplace(events, (now + duration, sequence, TASK, task))
        return True

    def call_at(self, time: float, code: int, thing: Any) -> None:
        """Notes what is to happen at a time: with the code OTHER, a call of ``thing``."""
        self.sequence += 1
        heappush(self.events, (time, self.sequence, code, thing))

    def _expect(self, what: Submission | None, code: int) -> None:
        if what is not None:
            self.call_at(max(what.time, self.now), code, what)

    # Jobs and stages

    def _arrive(self, what: Submission) -> None:
        kind = self.kinds[what.kind]
        job = Job(what.kind, self.nth[what.kind], self.jobs, self.now, what.user, kind)
        self.jobs += 1
        self.nth[what.kind] += 1
        for index, stage in enumerate(kind.stages):
            presence = job.presences.get(stage.pool)
            if presence is None:
                pool = self.pools[stage.pool]
                queue = pool.queues[what.kind if len(pool.queues) > 1 else 0]
                presence = job.presences[stage.pool] = Presence(job, pool, queue, job.number, what.kind)
            run = StageRun(job, index, stage, presence, len(stage.after), stage.tasks, stage.tasks)
            run.watched = any(kind.stages[child].slowstart < 1.0 for child in kind.children[index])
            job.runs.append(run)
        job.left = len(job.runs)
        for run in job.runs:
            if not run.waiting:
                self._open(run)
        for run in job.runs:
            if run.watched:
                self._look_at_children(run)

    def _open(self, run: StageRun) -> None:
        """Lets the tasks of a stage start."""
        job, presence, stage = run.job, run.presence, run.stage
        run.open = True
        if run.block is None:
            run.block = self.draws.block(job.kind, job.nth, run.index)
        if presence.limit != stage.limit:
            presence.limit = stage.limit
            presence.stage += 1
            presence.queued.clear()
        count = run.startable
        if count:
            insort(presence.ready, run, key=place)
            presence.pending += count
            presence.queue.order.put(presence)
            self.changed.add(stage.pool)

    def _look_at_children(self, run: StageRun) -> None:
        """Opens stages that may start before all tasks of their parents have ended, where it is their time."""
        runs, watched = run.job.runs, False
        for index in run.job.what.children[run.index]:
            child = runs[index]
            if child.open or child.stage.slowstart >= 1.0:
                continue
            if all(_far_enough(runs[parent], child) for parent in child.stage.after):
                self._open(child)
            else:
                watched = True
        run.watched = watched

    def _stage_done(self, run: StageRun) -> None:
        job = run.job
        for index in job.what.children[run.index]:
            child = job.runs[index]
            child.waiting -= 1
            if child.waiting == 0:
                if child.open:
                    self._release(child)
                else:
                    self._open(child)
        job.left -= 1
        if job.left == 0:
            self._complete(job)

    def _release(self, run: StageRun) -> None:
        """Tasks that took slots early have all that they wait for."""
        early, run.early = run.early, []
        for task in early:
            duration = self._duration(task, run)
            self.busy[run.job.kind] += task.count * (self.now - task.start)
            self._goes(task, duration)

    def _complete(self, job: Job) -> None:
        job.ended = self.now
        self._expect(self.completed(job, self.now), RETURN)

    # Slots

    def _dispatch_all(self) -> None:
        """Gives out slots once everything that happens at one moment has happened."""
        self.together.clear()
        while self.changed:
            pool = self.pools[min(self.changed)]
            self.changed.discard(pool.index)
            self._dispatch(pool)

    def _dispatch(self, pool: Pool) -> None:
        queues, free = pool.queues, self.free
        only: Queue[Presence] | None = queues[0] if len(queues) == 1 else None
        while pool.idle:
            presence: Presence | None
            if only is not None:
                presence = only.order.best() if only.running < only.limit else None
            else:
                found = next_queue(queues)
                presence = found[1] if found is not None else None
            if presence is None:
                return
            for group in pool.groups:
                if free[group]:
                    self._start(presence, presence.ready[0], group, only is not None)
                    break

    def _start(self, presence: Presence, run: StageRun, group: int, alone: bool) -> None:
        """Starts the next task of a stage; as many at once as are equal and surely next where ``alone`` in a pool."""
        block, free, queue = run.block, self.free[group], presence.queue
        assert block is not None
        count, task = 1, None
        if block.equal:
            task = self.together.get((id(run), group))
            if alone and queue.order.alone(presence):
                count = int(min(run.fresh, len(free), presence.limit - presence.running, queue.limit - queue.running))
        if task is None:
            task = Running(run, group, [], run.begun, self.now, 0)
            if block.equal:
                self.together[id(run), group] = task
        task.count += count
        task.slots += [free.pop() for _ in range(count)]
        run.fresh -= count
        run.begun += count
        self._taken(presence, run, count)
        if task.count > count:
            self.busy[presence.kind] += count * task.duration if run.waiting == 0 else 0.0
        elif run.waiting:
            run.early.append(task)
        else:
            self._goes(task, self._duration(task, run))

    def _taken(self, presence: Presence, run: StageRun, count: int) -> None:
        """So many tasks of a stage have got their slots."""
        presence.pool.idle -= count
        presence.pending -= count
        presence.running += count
        presence.queue.running += count
        if run.job.started < 0.0:
            run.job.started = self.now
        if not run.startable:
            presence.ready.remove(run)
        if run.watched and not (run.fresh or run.again):
            self._look_at_children(run)
        if presence.pending:
            presence.queue.order.put(presence)

    def _duration(self, task: Running, run: StageRun) -> float:
        block = run.block
        assert block is not None
        duration = block.work[task.task] / self.speed[task.group]
        shuffle = block.shuffle if run.ended else block.first
        return duration if shuffle is None else duration + shuffle[task.task]

    def _goes(self, task: Running, duration: float) -> None:
        task.duration = duration
        task.since = self.now
        self.busy[task.run.job.kind] += task.count * duration
        self.call_at(self.now + duration, TASK, task)

    def _end(self, task: Running) -> None:
        run, count = task.run, task.count
        self._vacate(task)
        if self.record is not None:
            self._note(task, "done")
        self.tasks += count
        run.left -= count
        run.ended = True
        if run.left == 0:
            self._stage_done(run)
        elif run.watched:
            self._look_at_children(run)

    def _vacate(self, task: Running) -> None:
        presence = task.run.presence
        presence.running -= task.count
        presence.queue.running -= task.count
        presence.pool.idle += task.count
        self.free[task.group] += task.slots
        self.changed.add(presence.pool.index)
        if presence.pending:
            presence.queue.order.put(presence)

    def _note(self, task: Running, outcome: str) -> None:
        job, run, record = task.run.job, task.run, self.record
        assert record is not None
        for offset, slot in enumerate(task.slots):
            record(
                Attempt(
                    job.number,
                    job.kind,
                    run.index,
                    task.task + offset,
                    slot,
                    self.vm_of[slot],
                    task.start,
                    self.now,
                    outcome,
                )
            )


def place(run: StageRun) -> int:
    """Stages of one job in their order."""
    return run.index


def _far_enough(parent: StageRun, child: StageRun) -> bool:
    """Whether a parent lets a stage start early: enough of it has ended, and it does not itself wait for such slots."""
    tasks = parent.stage.tasks
    if tasks - parent.left < child.stage.slowstart * tasks - SAME_SUM * tasks:
        return False
    return parent.stage.pool != child.stage.pool or not (parent.fresh or parent.again)
