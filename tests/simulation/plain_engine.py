"""The rules of the engine in their plainest form, on simpy: every task an object, every choice a search through all.

It shares with the engine the words of the world that it is told, and the times of tasks; nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Any

import simpy

from mrdsl.simulation.engine.faults import Claim, fair_shares


@dataclass(eq=False)
class Task:
    stage: Any
    index: int
    state: str = "fresh"  # fresh, again, done
    times: Any = None
    failures: int = 0
    output: int | None = None
    attempts: list[Any] = field(default_factory=list)
    copy: Any = None


@dataclass(eq=False)
class Attempt:
    task: Task
    slot: int
    start: float
    times: Any
    number: int
    since: float | None = None
    fails: bool = False
    process: Any = None


@dataclass(eq=False)
class Stage:
    job: Any
    what: Any
    index: int
    tasks: list[Task] = field(default_factory=list)
    block: Any = None
    open: bool = False
    any_ended: bool = False
    again: list[Task] = field(default_factory=list)
    copies: list[Task] = field(default_factory=list)
    ended_times: list[float] = field(default_factory=list)

    def parents(self):
        return [self.job.stages[i] for i in self.what.after]

    def children(self):
        return [stage for stage in self.job.stages if self.index in stage.what.after]

    def done(self):
        return all(task.state == "done" for task in self.tasks)

    def ready(self):
        return all(parent.done() for parent in self.parents())

    def startable(self):
        return [t for t in self.tasks if t.state == "fresh"] + self.again + self.copies if self.open else []

    def running(self):
        return [attempt for task in self.tasks for attempt in task.attempts]


@dataclass(eq=False)
class Job:
    number: int
    nth: int
    kind: int
    stages: list[Stage] = field(default_factory=list)
    over: bool = False
    limits: dict[int, float] = field(default_factory=dict)
    master: Any = None

    def running(self, pool):
        return sum(len(stage.running()) for stage in self.stages if stage.what.pool == pool)

    def startable(self, pool):
        return [stage for stage in self.stages if stage.what.pool == pool and stage.startable()]


class Plain:
    """``queues``: for every pool a list of (fair or not, weight, minimum, limit)."""

    def __init__(self, kinds, machines, queues, submissions, draws, faults, losses, masters=False, most=inf):
        self.masters, self.most = masters, most
        self.env = simpy.Environment()
        self.kinds, self.machines, self.queues, self.draws, self.faults = kinds, machines, queues, draws, faults
        self.group_of = [g for g, m in enumerate(machines) for _ in range(m.vms * m.slots)]
        self.vm_of, vms = [], 0
        for m in machines:
            vms -= m.vms if m.beside else 0
            self.vm_of += [vms + s // m.slots for s in range(m.vms * m.slots)]
            vms += m.vms
        self.free = [
            sorted((s for s, group in enumerate(self.group_of) if group == g), reverse=True)
            for g in range(len(machines))
        ]
        self.gone: set[int] = set()
        self.jobs: list[Job] = []
        self.record: list[tuple] = []
        self.ended: dict[int, tuple[float, bool]] = {}
        self.started = 0
        self.waking = False
        self.env.process(self.each(submissions, lambda s: s.time, self.arrive))
        self.env.process(self.each(losses, lambda loss: loss.time, self.lose))
        self.env.run()

    def each(self, things, time, act):
        for thing in things:
            yield self.env.timeout(time(thing) - self.env.now)
            act(thing)

    def later(self, delay, act, *arguments):
        def wait():
            yield self.env.timeout(delay)
            act(*arguments)

        self.env.process(wait())

    # Slots are given out after all that happens at one moment: an event of the last priority.
    def wake(self):
        if not self.waking:
            self.waking = True
            event = self.env.event()
            event._ok, event._value = True, None
            event.callbacks.append(self.give_out)
            self.env.schedule(event, priority=2)

    def arrive(self, submission):
        nth = sum(job.kind == submission.kind for job in self.jobs)
        job = Job(len(self.jobs), nth, submission.kind)
        self.jobs.append(job)
        for index, what in enumerate(self.kinds[submission.kind].stages):
            stage = Stage(job, what, index)
            stage.tasks = [Task(stage, task) for task in range(what.tasks)]
            job.stages.append(stage)
        job.admitted = False
        self.admit()

    def admit(self):
        """Let the oldest jobs run, up to the most at once."""
        for job in self.jobs:
            if not job.admitted and sum(j.admitted and not j.over for j in self.jobs) < self.most:
                job.admitted = True
                self.begin(job)

    def begin(self, job):
        for stage in job.stages:
            if not stage.what.after:
                self.open(stage)
        self.look_early(job)

    def open(self, stage):
        if stage.open or stage.job.over:
            return
        stage.open = True
        if stage.block is None:
            stage.block = self.draws.block(stage.job.kind, stage.job.nth, stage.index)
        stage.job.limits[stage.what.pool] = stage.what.limit
        if stage.startable():
            if self.faults.patience is not None and not self.idle(stage.what.pool):
                self.later(self.faults.patience, self.claim, stage.what.pool)
            self.wake()

    def look_early(self, job):
        for stage in job.stages:
            if stage.open or stage.what.slowstart >= 1.0 or not stage.parents():
                continue
            if all(self.far_enough(parent, stage) for parent in stage.parents()):
                self.open(stage)

    def far_enough(self, parent, stage):
        share = sum(task.state == "done" for task in parent.tasks) / len(parent.tasks)
        waits = parent.again or any(task.state == "fresh" for task in parent.tasks)
        return share >= stage.what.slowstart - 1e-9 and (parent.what.pool != stage.what.pool or not waits)

    def idle(self, pool):
        return [g for g, m in enumerate(self.machines) if m.pool == pool and self.free[g]]

    def give_out(self, _):
        self.waking = False
        for pool in range(len(self.queues)):
            while True:
                groups = sorted(self.idle(pool), key=lambda g: -self.machines[g].speed)
                job = self.next_job(pool) if groups else None
                if job is None:
                    break
                if self.masters and job.master is None:
                    job.master = groups[0], self.free[groups[0]].pop()
                else:
                    self.start(job.startable(pool)[0], groups[0])

    def next_job(self, pool):
        queues = self.queues[pool]
        of = (lambda job: job.kind) if len(queues) > 1 else (lambda job: 0)
        used = [sum(job.running(pool) for job in self.jobs if of(job) == q) for q in range(len(queues))]

        def rank(job):
            fair, weight, minimum, _ = queues[of(job)]
            mine = used[of(job)]
            level = (0, mine / minimum) if mine < minimum else (1, mine / weight)
            return (*level, of(job), job.running(pool) if fair else 0, job.number)

        able = [
            job
            for job in self.jobs
            if not job.over
            and job.startable(pool)
            and job.running(pool) < job.limits.get(pool, inf)
            and used[of(job)] < queues[of(job)][3]
        ]
        return min(able, key=rank, default=None)

    def start(self, stage, group):
        slot = self.free[group].pop()
        times = None
        if stage.again:
            task = stage.again.pop()
            times, task.state = task.times, "running"
        else:
            task = next((t for t in stage.tasks if t.state == "fresh"), None)
            if task is not None:
                task.state = "running"
            else:
                task = stage.copies.pop(0)
                times, task.copy = task.copy, None
        self.started += 1
        attempt = Attempt(task, slot, self.env.now, times, self.started)
        task.attempts.append(attempt)
        if stage.ready():
            self.go(attempt)
        self.look_early(stage.job)

    def go(self, attempt):
        stage, speed = attempt.task.stage, self.machines[self.group_of[attempt.slot]].speed
        block, index = stage.block, attempt.task.index
        if attempt.times is None:
            shuffle = block.shuffle if stage.any_ended else block.first
            duration = block.work[index] / speed
            if shuffle is not None:
                duration += shuffle[index]
            luck = block.luck[index]
        else:
            duration, luck = attempt.times[0] / speed + attempt.times[1], attempt.times[2]
        attempt.fails = luck < self.faults.share
        if attempt.fails:
            duration = duration * luck / self.faults.share
        attempt.since = self.env.now

        def work():
            try:
                yield self.env.timeout(duration)
            except simpy.Interrupt:
                return
            attempt.process = None
            self.end(attempt)

        attempt.process = self.env.process(work())
        self.look_slow(stage)

    def off(self, attempt, outcome):
        stage = attempt.task.stage
        if attempt.process is not None:
            attempt.process.interrupt()
            attempt.process = None
        attempt.task.attempts.remove(attempt)
        self.free[self.group_of[attempt.slot]].append(attempt.slot)
        self.record.append(
            (stage.job.number, stage.index, attempt.task.index, attempt.slot, attempt.start, self.env.now, outcome)
        )
        self.wake()

    def drop_copy(self, task):
        if task.copy is not None:
            task.stage.copies.remove(task)
            task.copy = None

    def end(self, attempt):
        task, stage = attempt.task, attempt.task.stage
        self.off(attempt, "failed" if attempt.fails else "done")
        if attempt.fails:
            task.failures += 1
            if task.failures > self.faults.retries:
                self.give_up(stage.job)
                return
            self.drop_copy(task)
            if not task.attempts:
                self.put_back(task, self.draws.again(stage.job.kind, stage.index))
            self.look_slow(stage)
            return
        for other in list(task.attempts):
            self.off(other, "killed")
        self.drop_copy(task)
        task.state, task.output = "done", self.vm_of[attempt.slot]
        stage.any_ended = True
        stage.ended_times.append(self.env.now - attempt.since)
        if stage.done():
            for child in stage.children():
                if child.ready():
                    for early in sorted((a for a in child.running() if a.since is None), key=lambda a: a.number):
                        self.go(early)
                    self.open(child)
            if all(each.done() for each in stage.job.stages):
                self.over(stage.job, failed=False)
        else:
            self.look_slow(stage)
        self.look_early(stage.job)

    def over(self, job, failed):
        job.over = True
        if job.master is not None:
            self.free[job.master[0]].append(job.master[1])
            self.wake()
        self.ended[job.number] = (self.env.now, failed)
        self.admit()

    def put_back(self, task, times):
        stage = task.stage
        task.state, task.times = "again", times
        stage.again.append(task)
        self.wake()
        for child in stage.children():
            if child.open and child.what.slowstart < 1.0 and not child.ready() and child.what.pool == stage.what.pool:
                child.open = False
                for early in sorted((a for a in child.running() if a.since is None), key=lambda a: a.number):
                    self.off(early, "killed")
                    early.task.state, early.task.times = "again", early.times
                    child.again.append(early.task)

    def stop(self, attempt, outcome):
        self.off(attempt, outcome)
        self.drop_copy(attempt.task)
        if not attempt.task.attempts:
            self.put_back(attempt.task, attempt.times)
        self.look_slow(attempt.task.stage)

    def give_up(self, job):
        for stage in job.stages:
            for attempt in sorted(stage.running(), key=lambda a: a.number):
                self.off(attempt, "killed")
        self.over(job, failed=True)

    def look_slow(self, stage):
        rule = self.faults.speculation
        done = sum(task.state == "done" for task in stage.tasks)
        if rule is None or stage.done() or stage.job.over or not stage.open or not stage.ended_times:
            return
        if done < rule.quantile * len(stage.tasks):
            return
        times = sorted(stage.ended_times)
        long = rule.factor * times[len(times) // 2]
        for attempt in sorted(stage.running(), key=lambda a: a.number):
            if len(attempt.task.attempts) > 1 or attempt.task.copy is not None or attempt.since is None:
                continue
            if attempt.since + long <= self.env.now:
                attempt.task.copy = self.draws.again(stage.job.kind, stage.index)
                stage.copies.append(attempt.task)
                self.wake()
            else:
                self.later(attempt.since + long - self.env.now, self.look_slow, stage)

    def lose(self, loss):
        if loss.vm in self.gone:
            return
        self.gone.add(loss.vm)
        mine = [slot for slot, vm in enumerate(self.vm_of) if vm == loss.vm]
        for slot in mine:
            for attempt in [a for job in self.jobs for stage in job.stages for a in stage.running()]:
                if attempt.slot == slot and attempt in attempt.task.attempts:
                    self.stop(attempt, "lost")
        for slots in self.free:
            slots[:] = [slot for slot in slots if self.vm_of[slot] != loss.vm]
        for job in self.jobs:
            if not job.over and not self.faults.shuffle_service:
                self.lose_outputs(job)
        if loss.back < inf:
            self.later(loss.back - self.env.now, self.back, loss.vm)

    def lose_outputs(self, job):
        for stage in reversed(job.stages):
            if not any(not child.done() for child in stage.children()):
                continue
            lost = [t for t in self.in_order_of_ends(stage) if t.output in self.gone or t.output == -1]
            for task in stage.tasks:
                if task.state == "done" and task.output in self.gone:
                    task.output = -1
            if not lost:
                continue
            was_done = stage.done()
            for task in lost:
                task.state = "waits"
            if was_done:
                self.close_children(stage)
            for task in lost:
                self.put_back(task, None)
        for stage in job.stages:
            for task in stage.tasks:
                if task.state == "done" and task.output in self.gone:
                    task.output = -1

    def close_children(self, stage):
        for child in stage.children():
            others = [parent for parent in child.parents() if parent is not stage]
            if all(parent.done() for parent in others):
                child.open = False

    def in_order_of_ends(self, stage):
        return [task for task in stage.tasks if task.state == "done"]

    def back(self, vm):
        self.gone.discard(vm)
        slots = [slot for slot, each in enumerate(self.vm_of) if each == vm]
        for slot in reversed(slots):
            self.free[self.group_of[slot]].append(slot)
        self.wake()

    def claim(self, pool):
        queues = self.queues[pool]
        present = [job for job in self.jobs if not job.over]
        parties: dict[int, list[Job]] = {}
        for job in present:
            parties.setdefault(job.kind if len(queues) > 1 else job.number, []).append(job)

        def running(key):
            return sum(job.running(pool) for job in parties[key])

        def claim_of(key):
            demand = sum(
                job.running(pool) + sum(len(stage.startable()) for stage in job.startable(pool)) for job in parties[key]
            )
            if len(queues) == 1:
                return Claim(1.0, 0.0, demand)
            _, weight, minimum, limit = queues[key]
            return Claim(weight, minimum, min(demand, limit))

        slots = sum(m.vms * m.slots for m in self.machines if m.pool == pool)
        claims = {key: claim_of(key) for key in sorted(parties)}
        shares = fair_shares(claims, slots)
        owed = {key: min(int(shares[key] + 1e-9), claims[key].demand) for key in claims}
        missing = sum(max(0, owed[key] - running(key)) for key in claims)
        while missing >= 1:
            above = [(running(k) - shares[k], k) for k in claims if running(k) >= shares[k] + 1.0 - 1e-9]
            if not above:
                break
            attempts = [
                a
                for job in parties[max(above)[1]]
                for stage in job.stages
                if stage.what.pool == pool
                for a in stage.running()
            ]
            self.stop(max(attempts, key=lambda a: a.number), "killed")
            missing -= 1
        self.wake()
