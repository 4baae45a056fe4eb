"""The event loop: tasks take slots and end, and idle or freed slots are given out again.

The order of creation settles equal times, and slots are given out after everything that happens at one moment. Equal
tasks of one job that start together are one event; otherwise a task is one event. Memory grows with the present jobs
and the running tasks.
"""

from __future__ import annotations

from functools import reduce
from heapq import heappop, heappush, heapreplace
from math import inf
from operator import add

from mrdsl.simulation.engine.flow import ARRIVAL, OTHER, TASK, Flow
from mrdsl.simulation.engine.world import Attempt, Pool, Presence, Running, StageRun
from mrdsl.simulation.queues import Queue, next_queue

MANY = 4
"""Fewest idle slots that are assigned together."""


class Engine(Flow):
    """One run without faults; :class:`~mrdsl.simulation.engine.faults.FaultyEngine` adds them.

    ``arrivals`` are in order of time and read one ahead. ``completed(job, now)`` is called when a job ends and can
    return the next job of the same user. ``record`` gets every attempt when it ends. ``busy`` are the slot seconds of
    every class, including running tasks to their ends. With ``masters`` every job holds one more slot from its first
    task to its end, as YARN's application masters do; there must be more slots than jobs.
    """

    def run(self, until: float = inf) -> None:
        """Run until no event is left or the next one is after ``until``; it can be called again."""
        if not self.begun:
            self.begun = True
            self._begin()
        events, changed, plain, hand_on = self.events, self.changed, self.plain, self._hand_on
        while events:
            now, _, code, thing = events[0]
            if now > until:
                break
            if code == TASK:
                if plain and not changed and hand_on(now, thing):
                    continue
                task = self._apart(thing) if thing.later else heappop(events)[3]
                self.now = now
                self._end(task)
            else:
                heappop(events)
                self.now = now
                if code == OTHER:
                    thing()
                else:
                    if code == ARRIVAL:
                        self._expect(next(self.arrivals, None), ARRIVAL)
                    self._arrive(thing)
            if changed and not (events and events[0][0] <= now):
                self._dispatch_all()

    def stop(self) -> None:
        """End the run after the present event; ``busy`` then counts the work until now."""
        for time, _, code, thing in self.events:
            if code == TASK and not thing.dead:
                self.busy[thing.run.job.kind] -= thing.count * (time - self.now)
                for later, *_ in thing.later or ():
                    self.busy[thing.run.job.kind] -= later - self.now
        self.events.clear()
        self.changed.clear()
        self.arrivals = iter(())
        self.held_back.clear()
        self.completed = lambda job, now: None

    def _begin(self) -> None:
        self._expect(next(self.arrivals, None), ARRIVAL)

    def _hand_on(self, now: float, task: Running) -> bool:
        """Handle the usual case at small cost: a task has ended, and its slot goes to the next one of any job.

        The slot stays idle if slots are idle or no job waits. Return False without a change in unusual cases: another
        event at the same moment, the end of a stage, or a job that waits at its own limit.
        """
        run, events = task.run, self.events
        presence = run.presence
        if run.left <= task.count or run.watched:
            return False
        if presence.pool.idle:
            return not presence.pending and self._leave(now, task)
        if task.count > 1 or len(events) < 3 or events[1][0] <= now or events[2][0] <= now:
            return False
        if task.later and task.later[-1][0] <= now:
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
                return not presence.pending and self._leave(now, task)
            taker = found
        if task.later:
            task = self._apart(task)
            heappush(events, (now, 0, TASK, task))
        run.left -= 1
        run.ended = True
        self.tasks += 1
        self.now = now
        if taker.ready[0] is not run:
            task.run = run = taker.ready[0]
            if taker.job.started < 0.0:
                taker.job.started = now
            if run.waiting:
                return self._hand_to_early(now, task)
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
        return True

    def _leave(self, now: float, task: Running) -> bool:
        """End tasks whose slots no job waits for."""
        run, count, free = task.run, task.count, self.free[task.group]
        presence = run.presence
        if task.later:
            heapreplace(self.events, task.later.pop())
            free.append(task.slots.pop())
        else:
            heappop(self.events)
            free += task.slots
        self.now = now
        self.tasks += count
        run.left -= count
        run.ended = True
        presence.running -= count
        presence.queue.running -= count
        presence.pool.idle += count
        return True

    def _apart(self, task: Running) -> Running:
        """Of tasks that have started together, the one that ends now; the next to end is an event in its place."""
        assert task.later
        heapreplace(self.events, task.later.pop())
        return Running(task.run, task.group, [task.slots.pop()], task.task, task.start)

    def _hand_to_early(self, now: float, task: Running) -> bool:
        """Return the next task holds the slot until the stages before its own have ended."""
        run = task.run
        heappop(self.events)
        run.early.append(Running(run, task.group, task.slots, run.begun, now))
        run.begun += 1
        run.fresh -= 1
        if not run.fresh:
            run.presence.ready.pop(0)
        return True

    # Slots

    def _dispatch_all(self) -> None:
        """Give out slots once everything that happens at one moment has happened."""
        self.together.clear()
        while self.changed:
            pool = self.pools[min(self.changed)]
            self.changed.discard(pool.index)
            self._dispatch(pool)

    def _dispatch_plain(self, pool: Pool) -> None:
        """Dispatch slots if one queue without a limit has the pool, and single tasks are not needed."""
        queue, free = pool.queues[0], self.free
        order = queue.order
        for group in pool.groups:
            while free[group]:
                many = len(free[group])
                presence = order.best()
                if presence is None:
                    return
                run = presence.ready[0]
                if many >= MANY and self.deals and _alike(presence) > 1:
                    shares = order.deal(many, _alike)
                else:
                    order.take()
                    more = min(run.fresh, many) - 1
                    shares = [(presence, 1 + order.more(presence, more) if more else 1)]
                for taker, count in shares:
                    queue.running += count
                    pool.idle -= count
                    self._hand_out(taker, group, count)

    def _hand_out(self, presence: Presence, group: int, count: int) -> None:
        """Start that number of tasks of a job's first stage that has some."""
        run = presence.ready[0]
        assert run.block is not None
        if run.block.equal:
            self._start_alike(run, group, count)
        else:
            self._start_each(run, group, count)
        run.begun += count
        run.fresh -= count
        if run.job.started < 0.0:
            run.job.started = self.now
        if not run.fresh:
            presence.ready.pop(0)
            if run.watched:
                self._look_at_children(run)

    def _start_each(self, run: StageRun, group: int, count: int) -> None:
        """Start tasks that end at different times; of those that start together only the first end is an event."""
        free, first = self.free[group], run.begun
        if count == 1 or run.waiting:
            for index in range(first, first + count):
                task = Running(run, group, [free.pop()], index, self.now)
                if run.waiting:
                    run.early.append(task)
                else:
                    self._goes(task, self._duration(task, run))
            return
        slots = free[-count:]
        del free[-count:]
        task = Running(run, group, slots, first, self.now)
        durations = self._durations(run, group, count)
        kind, now, sequence = run.job.kind, self.now, self.sequence
        self.busy[kind] = reduce(add, durations, self.busy[kind])
        later = [(now + duration, number, TASK, task) for number, duration in enumerate(durations, sequence + 1)]
        later.sort(reverse=True)
        self.sequence = sequence + count
        heappush(self.events, later.pop())
        task.later = later

    def _durations(self, run: StageRun, group: int, count: int) -> list[float]:
        """Return those of the next tasks of a stage."""
        block, speed, tasks = run.block, self.speed[group], slice(run.begun, run.begun + count)
        assert block is not None
        shuffle = block.shuffle if run.ended else block.first
        if shuffle is None:
            return [work / speed for work in block.work[tasks]]
        return [work / speed + more for work, more in zip(block.work[tasks], shuffle[tasks], strict=True)]

    def _start_alike(self, run: StageRun, group: int, count: int) -> None:
        """Equal tasks that start at one moment are one event."""
        free = self.free[group]
        slots = free[-count:]
        del free[-count:]
        task = self.together.get((id(run), group))
        if task is not None:
            task.count += count
            task.slots += slots
            self.busy[run.job.kind] += count * task.duration if not run.waiting else 0.0
            return
        task = self.together[id(run), group] = Running(run, group, slots, run.begun, self.now, count)
        if run.waiting:
            run.early.append(task)
        else:
            self._goes(task, self._duration(task, run))

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
        """Start the next task of a stage; it joins an equal one that started at this moment."""
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
    """Return the number of tasks of a job that can be handed out as one."""
    run = presence.ready[0]
    return run.fresh if run.block is not None and run.block.equal else 1
