"""The flow of jobs through a run: they arrive, their stages open after earlier ones have ended, and they end.

:mod:`mrdsl.simulation.engine.engine` has the events on slots.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from heapq import heappush
from math import inf
from typing import Any, NamedTuple

from mrdsl.core.rounding import SAME_SUM
from mrdsl.simulation.engine.draws import Draws
from mrdsl.simulation.engine.world import (
    Attempt,
    Job,
    JobKind,
    Machines,
    Pool,
    Presence,
    Running,
    Sharing,
    StageRun,
    count_vms,
)

TASK, ARRIVAL, RETURN, OTHER = range(4)


class Submission(NamedTuple):
    """A future arrival: its time, its class, and its user (-1 for none)."""

    time: float
    kind: int
    user: int = -1


Completed = Callable[[Job, float], Submission | None]
Record = Callable[[Attempt], None]


class Flow:
    """The jobs, stages and events of a run; :class:`~mrdsl.simulation.engine.engine.Engine` gives them slots.

    At most ``max_running`` jobs run at once; others wait, and the oldest starts first.
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
        masters: bool = False,
        max_running: float = inf,
    ) -> None:
        self.max_running, self.jobs_running = max_running, 0
        self.held_back: deque[Job] = deque()
        self.kinds, self.machines, self.draws = kinds, machines, draws
        self.arrivals, self.completed, self.record, self.masters = arrivals, completed, record, masters
        self.pools = [Pool(index, each.queues) for index, each in enumerate(sharing)]
        self.free: list[list[int]] = []
        self.vm_of: list[int] = []
        for group, each in enumerate(machines):
            self._install(group, each)
        for pool in self.pools:
            pool.groups.sort(key=lambda group: -machines[group].speed)
        self.speed = [each.speed for each in machines]
        self.now = 0.0
        self.begun = False
        self.tasks = self.jobs = self.sequence = 0
        self.nth = [0] * len(kinds)
        self.busy = [0.0] * len(kinds)
        self.events: list[tuple[float, int, int, Any]] = []
        self.changed: set[int] = set()
        self.together: dict[tuple[int, int], Running] = {}
        alone = all(len(p.queues) == 1 and p.queues[0].limit == inf for p in self.pools)
        self.plain = record is None and alone and not masters
        self.deals = all(stage.slowstart >= 1.0 for kind in kinds for stage in kind.stages)

    def _install(self, group: int, machines: Machines) -> None:
        first = len(self.vm_of)
        vm = count_vms(self.machines[: group - 1 if machines.beside else group])
        count = machines.vms * machines.slots
        self.vm_of += [vm + slot // machines.slots for slot in range(count)]
        self.free.append(list(range(first + count - 1, first - 1, -1)))
        pool = self.pools[machines.pool]
        pool.groups.append(group)
        pool.idle += count
        pool.slots += count

    def call_at(self, time: float, code: int, thing: Any) -> None:
        """Note an event at a time: with the code OTHER, a call of ``thing``."""
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
        if self.jobs_running < self.max_running:
            self._admit(job)
        else:
            self.held_back.append(job)

    def _admit(self, job: Job) -> None:
        """Let a job run."""
        kind = job.what
        self.jobs_running += 1
        for index, stage in enumerate(kind.stages):
            presence = job.presences.get(stage.pool)
            if presence is None:
                pool = self.pools[stage.pool]
                own = job.kind if kind.queue is None else kind.queue
                queue = pool.queues[own if len(pool.queues) > 1 else 0]
                presence = job.presences[stage.pool] = Presence(job, pool, queue, job.number, job.kind)
            run = StageRun(job, index, stage, presence, len(stage.after), stage.tasks, stage.tasks)
            run.watched = kind.watched[index]
            job.runs.append(run)
        job.left = len(job.runs)
        for run in job.runs:
            if not run.waiting:
                self._ready(run)
        for run in job.runs:
            if run.watched:
                self._look_at_children(run)

    def _ready(self, run: StageRun) -> None:
        """Open a stage after its delay."""
        if run.stage.delay > 0.0:
            self.call_at(self.now + run.stage.delay, OTHER, partial(self._open_late, run))
        else:
            self._open(run)

    def _open_late(self, run: StageRun) -> None:
        """Open a stage whose delay is over, unless stages before it run again or its job was given up."""
        if not (run.open or run.waiting or run.job.failed):
            self._open(run)

    def _open(self, run: StageRun) -> None:
        """Let the tasks of a stage start."""
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
        """Open stages that may start before all tasks of their parents have ended, where it is their time."""
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
                    self._ready(child)
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
        for run in job.runs:
            run.block = None  # jobs and their stages know each other, and wait for the collector of such circles
        if job.master is not None:
            self._give_back(*job.master)
        self._expect(self.completed(job, self.now), RETURN)
        self.jobs_running -= 1
        if self.held_back:
            self._admit(self.held_back.popleft())

    def _give_back(self, group: int, slot: int) -> None:
        """A slot of a group of machines is idle again."""
        pool = self.pools[self.machines[group].pool]
        self.free[group].append(slot)
        pool.idle += 1
        self.changed.add(pool.index)

    def _goes(self, task: Running, duration: float) -> None:
        task.duration = duration
        task.since = self.now
        self.busy[task.run.job.kind] += task.count * duration
        self.call_at(self.now + duration, TASK, task)

    def _duration(self, task: Running, run: StageRun) -> float:
        block = run.block
        assert block is not None
        duration = block.work[task.task] / self.speed[task.group]
        shuffle = block.shuffle if run.ended else block.first
        return duration if shuffle is None else duration + shuffle[task.task]


def place(run: StageRun) -> int:
    """Return stages of one job in their order."""
    return run.index


def _far_enough(parent: StageRun, child: StageRun) -> bool:
    """Return True if a parent lets a stage start early: enough of it has ended, and it does not itself wait for such
    slots.
    """
    tasks = parent.stage.tasks
    if tasks - parent.left < child.stage.slowstart * tasks - SAME_SUM * tasks:
        return False
    return parent.stage.pool != child.stage.pool or not (parent.fresh or parent.again)
