"""The event loop: tasks take slots and end, and what was idle or freed is given out again.

Equal times are settled by order of creation, and slots are given out once everything that happens at one moment has
happened. Equal tasks of one job that start together are one event; elsewhere a task is one event. Memory grows with the
jobs that are there and the tasks that run.
"""

from __future__ import annotations

from heapq import heappop, heapreplace
from math import inf

from mrdsl.simulation.engine.flow import ARRIVAL, OTHER, TASK, Flow
from mrdsl.simulation.engine.state import Pool, Presence, Running, StageRun
from mrdsl.simulation.engine.world import Attempt
from mrdsl.simulation.queues import Queue, next_queue

MANY = 4
"""So many idle slots are dealt out together."""


class Engine(Flow):
    """One run in which nothing goes wrong; :class:`~mrdsl.simulation.engine.faults.FaultyEngine` knows the rest.

    ``arrivals`` come by time and are read one ahead. ``completed(job, now)`` is called when a job ends and may give the
    next one of the same user. ``record`` is told of every attempt when it ends. ``busy`` are the slot seconds of every
    class, those of running tasks to their ends included. With ``masters`` every job holds one more slot from its first
    task to its end, as YARN's application masters do; there must be more slots than jobs.
    """

    def run(self, until: float = inf) -> None:
        """Runs until nothing is left to do or the next event lies beyond ``until``; may be called again."""
        if not self.begun:
            self.begun = True
            self._begin()
        events, changed = self.events, self.changed
        while events and events[0][0] <= until:
            now, _, code, thing = events[0]
            if code == TASK and self.plain and not changed and self._hand_on(now, thing):
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

    def _hand_on(self, now: float, task: Running) -> bool:
        """The usual case at small cost: a task has ended, and its slot goes to the next one, of whatever job.

        False, and nothing is changed, where anything is unusual: something else at the same moment, idle slots beside,
        the end of a stage, or nobody who waits.
        """
        run, events = task.run, self.events
        presence = run.presence
        if task.count > 1 or run.left == 1 or run.watched or presence.pool.idle:
            return False
        count = len(events)
        if (count > 1 and events[1][0] <= now) or (count > 2 and events[2][0] <= now):
            return False
        order = presence.queue.order
        if presence.pending and order.continues(presence):
            taker = presence
            presence.pending -= 1
        else:
            presence.running -= 1
            found = order.swap(presence)
            if found is None:
                presence.running += 1
                return False
            taker = found
        run.left -= 1
        run.ended = True
        if taker is not presence or taker.ready[0] is not run:
            task.run = run = taker.ready[0]
            if run.waiting:
                return self._hand_to_early(now, task)
        self.tasks += 1
        self.now = now
        run.fresh -= 1
        index = run.begun
        run.begun = index + 1
        block = run.block
        duration = block.work[index] / self.speed[task.group]  # type: ignore[union-attr]
        shuffle = block.shuffle if run.ended else block.first  # type: ignore[union-attr]
        if shuffle is not None:
            duration += shuffle[index]
        self.busy[taker.kind] += duration
        self.sequence = sequence = self.sequence + 1
        heapreplace(events, (now + duration, sequence, TASK, task))
        if not run.fresh:
            taker.ready.pop(0)
            if run.watched:
                self._look_at_children(run)
                self._dispatch_all()
        if taker.job.started < 0.0:
            taker.job.started = now
        return True

    def _hand_to_early(self, now: float, task: Running) -> bool:
        """The next task holds the slot until the stages before its own have ended."""
        run = task.run
        heappop(self.events)
        self.tasks += 1
        self.now = now
        run.early.append(Running(run, task.group, task.slots, run.begun, now))
        run.begun += 1
        run.fresh -= 1
        if not run.fresh:
            run.presence.ready.pop(0)
        if run.job.started < 0.0:
            run.job.started = now
        return True

    # Slots

    def _dispatch_all(self) -> None:
        """Gives out slots once everything that happens at one moment has happened."""
        self.together.clear()
        while self.changed:
            pool = self.pools[min(self.changed)]
            self.changed.discard(pool.index)
            self._dispatch(pool)

    def _dispatch_plain(self, pool: Pool) -> None:
        """The same where one queue without a limit has the pool, and nobody asks for single tasks."""
        queue, free = pool.queues[0], self.free
        order = queue.order
        for group in pool.groups:
            while free[group]:
                many = len(free[group])
                if many >= MANY and self.deals:
                    shares = order.deal(many, _alike)
                else:
                    presence = order.take()
                    if presence is None:
                        return
                    more = min(_alike(presence), many) - 1
                    shares = [(presence, 1 + order.more(presence, more) if more else 1)]
                if not shares:
                    return
                for presence, count in shares:
                    queue.running += count
                    pool.idle -= count
                    self._hand_out(presence, group, count)

    def _hand_out(self, presence: Presence, group: int, count: int) -> None:
        """Starts so many tasks of a job's first stage that has some: they are one event where they are equal."""
        run, free = presence.ready[0], self.free[group]
        block = run.block
        assert block is not None
        slots = free[-count:]
        del free[-count:]
        task = self.together.get((id(run), group)) if block.equal else None
        if task is not None:
            task.count += count
            task.slots += slots
            self.busy[presence.kind] += count * task.duration if not run.waiting else 0.0
        else:
            task = Running(run, group, slots, run.begun, self.now, count)
            if block.equal:
                self.together[id(run), group] = task
            if run.waiting:
                run.early.append(task)
            else:
                self._goes(task, self._duration(task, run))
        run.begun += count
        run.fresh -= count
        if run.job.started < 0.0:
            run.job.started = self.now
        if not run.fresh:
            presence.ready.pop(0)
            if run.watched:
                self._look_at_children(run)

    def _dispatch(self, pool: Pool) -> None:
        queues, free = pool.queues, self.free
        if self.plain:
            self._dispatch_plain(pool)
            return
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
                    if self.masters and presence.job.master is None:
                        presence.job.master = group, free[group].pop()
                        pool.idle -= 1
                    else:
                        self._start(presence, presence.ready[0], group)
                    break

    def _start(self, presence: Presence, run: StageRun, group: int) -> None:
        """Starts the next task of a stage; it joins what has started at this moment where they are equal."""
        block = run.block
        assert block is not None
        task = self.together.get((id(run), group)) if block.equal else None
        if task is None:
            task = Running(run, group, [], run.begun, self.now, 0)
            if block.equal:
                self.together[id(run), group] = task
        task.count += 1
        task.slots.append(self.free[group].pop())
        run.fresh -= 1
        run.begun += 1
        self._taken(presence, run)
        if task.count > 1:
            self.busy[presence.kind] += task.duration if not run.waiting else 0.0
        elif run.waiting:
            run.early.append(task)
        else:
            self._goes(task, self._duration(task, run))

    def _taken(self, presence: Presence, run: StageRun) -> None:
        """A task of a stage has got its slot."""
        presence.pool.idle -= 1
        presence.pending -= 1
        presence.running += 1
        presence.queue.running += 1
        if run.job.started < 0.0:
            run.job.started = self.now
        if not run.startable:
            presence.ready.remove(run)
        if run.watched and not (run.fresh or run.again):
            self._look_at_children(run)
        if presence.pending:
            presence.queue.order.put(presence)

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


def _alike(presence: Presence) -> int:
    """How many tasks of a job may be handed out as one."""
    run = presence.ready[0]
    return run.fresh if run.block is not None and run.block.equal else 1
