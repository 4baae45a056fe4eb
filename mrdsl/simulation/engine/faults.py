"""Faults of a run: attempts fail, machines go, slow tasks are run twice, tasks are killed for the shares of others.

A fair share of slots goes by weight: never more than a class can use, at least its minimum. Preemption kills tasks of
classes above their share for those below it.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from math import inf
from typing import Any

from mrdsl.simulation.engine.engine import Engine
from mrdsl.simulation.engine.flow import OTHER, place
from mrdsl.simulation.engine.world import Faults, Job, Loss, Pool, Presence, Redo, Running, StageRun

EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim of one party: its weight, its guaranteed slots, and its demand."""

    weight: float
    minimum: float
    demand: float


def fair_shares(claims: Mapping[int, Claim], slots: float) -> dict[int, float]:
    """Return weighted max-min shares within demands; minima first if they fit."""
    shares = {key: min(claim.minimum, claim.demand) for key, claim in claims.items()}
    if sum(shares.values()) > slots:
        return shares
    open_keys = [key for key, claim in claims.items() if claim.demand > 0.0]
    settled: dict[int, float] = {}
    left = float(slots)
    while open_keys:
        level = left / sum(claims[key].weight for key in open_keys)
        fixed = {}
        for key in open_keys:
            wanted = level * claims[key].weight
            if claims[key].demand <= wanted:
                fixed[key] = float(claims[key].demand)
            elif shares[key] > wanted:
                fixed[key] = shares[key]
        if not fixed:
            settled |= {key: level * claims[key].weight for key in open_keys}
            break
        settled |= fixed
        left -= sum(fixed.values())
        open_keys = [key for key in open_keys if key not in fixed]
        left = max(left, 0.0)
    return {key: settled.get(key, 0.0) for key in claims}


class FaultyEngine(Engine):
    """The engine with single tasks, each of which may fail, be lost, be copied or be killed.

    ``losses`` come by time and are read one ahead; one of a machine that is gone already is passed over.
    """

    def __init__(self, *world: Any, faults: Faults, losses: Iterable[Loss] = (), **more: Any) -> None:
        super().__init__(*world, **more)
        self.plain = False
        self.faults = faults
        self.losses = iter(losses)
        self.held: dict[int, Running] = {}
        self.gone: set[int] = set()
        self.present: dict[int, Job] = {}
        self.starts = 0
        self.first = [0, *accumulate(each.vms * each.slots for each in self.machines)]

    def _begin(self) -> None:
        super()._begin()
        self._expect_loss()

    def stop(self) -> None:
        """End the run after the present event."""
        super().stop()
        self.losses = iter(())

    # Jobs and stages

    def _open(self, run: StageRun) -> None:
        self.present[run.job.number] = run.job
        patience, pool, new = self.faults.patience, run.presence.pool, run.startable > 0
        super()._open(run)
        if patience is not None and new and not pool.idle:
            self.call_at(self.now + patience, OTHER, partial(self._claim_shares, pool))

    def _close(self, run: StageRun) -> None:
        """No more tasks of a stage may start until its parents are done again."""
        if run.open:
            run.open = False
            count = run.startable
            if count:
                run.presence.ready.remove(run)
                run.presence.pending -= count

    def _complete(self, job: Job) -> None:
        del self.present[job.number]
        super()._complete(job)

    # Attempts

    def _start(self, presence: Presence, run: StageRun, group: int) -> None:
        """Start one task: first those that ran before, then new ones, then copies."""
        slot, redo, index = self.free[group].pop(), None, run.begun
        if run.again:
            redo = run.again.pop()
        elif run.fresh:
            run.fresh -= 1
            run.begun += 1
        else:
            redo = run.copies.pop(0)
        task = Running(run, group, [slot], index if redo is None else redo.task, self.now, redo=redo)
        self.starts += 1
        task.number = self.starts
        if redo is not None and redo.twin is not None:
            task.twin, redo.twin.twin, redo.twin.copy = redo.twin, task, None
        self.held[slot] = task
        run.attempts[task] = None
        self._taken(presence, run)
        if run.waiting:
            run.early.append(task)
        else:
            self._goes(task, self._duration(task, run))

    def _goes(self, task: Running, duration: float) -> None:
        super()._goes(task, duration)
        if task.run.ended_times:
            self._look_at_slow(task.run)

    def _duration(self, task: Running, run: StageRun) -> float:
        """With the part of it after which the attempt fails, if it does."""
        times = None if task.redo is None else task.redo.times
        if times is None:
            duration = super()._duration(task, run)
            luck = run.block.luck[task.task] if run.block is not None and run.block.luck is not None else 1.0
        else:
            duration, luck = times[0] / self.speed[task.group] + times[1], times[2]
        if luck < self.faults.share:
            task.fails = True
            return duration * luck / self.faults.share
        return duration

    def _end(self, task: Running) -> None:
        if task.dead:
            return
        run = task.run
        self._off(task, "failed" if task.fails else "done")
        if task.fails:
            self._failed(task)
            return
        self.tasks += 1
        run.left -= 1
        run.ended = True
        self._drop_other(task)
        if not self.faults.shuffle_service and run.job.what.children[run.index]:
            run.outputs.setdefault(self.vm_of[task.slots[0]], []).append(task.task)
        if self.faults.speculation is not None:
            insort(run.ended_times, self.now - task.since)
        if run.left == 0:
            self._stage_done(run)
            return
        if run.watched:
            self._look_at_children(run)
        if self.faults.speculation is not None:
            self._look_at_slow(run)

    def _off(self, task: Running, outcome: str) -> None:
        """Take an attempt off its slot."""
        self._vacate(task)
        del self.held[task.slots[0]]
        del task.run.attempts[task]
        if self.record is not None:
            self._note(task, outcome)

    def _kill(self, task: Running, outcome: str) -> None:
        """Stop an attempt before its end; its work is lost."""
        task.dead = True
        busy, kind = self.busy, task.run.job.kind
        if task.duration < inf:
            busy[kind] -= task.since + task.duration - self.now
        else:
            busy[kind] += self.now - task.start
            task.run.early.remove(task)
        self._off(task, outcome)

    def _stopped(self, task: Running, outcome: str) -> None:
        """Stop an attempt that did not fail: its task waits again, with the same times."""
        self._kill(task, outcome)
        if not self._other_goes_on(task):
            self._put_back(task.run, Redo(task.task, None if task.redo is None else task.redo.times))

    def _failed(self, task: Running) -> None:
        run = task.run
        failures = run.failures[task.task] = run.failures.get(task.task, 0) + 1
        if failures > self.faults.retries:
            self._give_up(run.job)
        elif not self._other_goes_on(task):
            self._put_back(run, Redo(task.task, self.draws.again(run.job.kind, run.index)))

    def _put_back(self, run: StageRun, redo: Redo) -> None:
        run.again.append(redo)
        self._more(run)
        for index in run.job.what.children[run.index]:
            child = run.job.runs[index]
            if child.stage.slowstart < 1.0:
                run.watched = True
                if child.open and child.waiting and child.stage.pool == run.stage.pool:
                    self._withdraw(child)

    def _withdraw(self, run: StageRun) -> None:
        """Give the slots of tasks that started early to the stages that they wait for."""
        self._close(run)
        for task in tuple(run.early):
            self._kill(task, "killed")
            run.again.append(Redo(task.task, None if task.redo is None else task.redo.times))

    def _more(self, run: StageRun) -> None:
        """One more task of a stage may start."""
        if not run.open:
            return
        presence = run.presence
        if run.startable == 1:
            insort(presence.ready, run, key=place)
        presence.pending += 1
        presence.queue.order.put(presence)
        self.changed.add(presence.pool.index)

    def _give_up(self, job: Job) -> None:
        """A task has failed too often: the job ends."""
        job.failed = True
        for run in job.runs:
            self._close(run)
            for task in tuple(run.attempts):
                self._kill(task, "killed")
            if run.block is None:
                self.draws.forget(job.kind, job.nth, run.index)
        self._complete(job)

    # Copies

    def _look_at_slow(self, run: StageRun) -> None:
        """Copy tasks that have run for long, or asks to be called when the first of them will have."""
        rule, times = self.faults.speculation, run.ended_times
        if rule is None or not times or run.left == 0 or run.job.failed or not run.open:
            return
        if run.stage.tasks - run.left < rule.quantile * run.stage.tasks:
            return
        long = rule.factor * times[len(times) // 2]
        for task in run.attempts:  # in the order in which they began to work
            if task.twin is not None or task.copy is not None or task.duration == inf:
                continue
            due = task.since + long
            if due > self.now:
                if due != run.checked:
                    run.checked = due
                    self.call_at(due, OTHER, partial(self._look_at_slow, run))
                break
            task.copy = Redo(task.task, self.draws.again(run.job.kind, run.index), task)
            run.copies.append(task.copy)
            self._more(run)

    def _drop_other(self, task: Running) -> None:
        """A task has ended: its copy, running or waiting, is not needed."""
        if task.twin is not None:
            self._kill(task.twin, "killed")
        self._drop_waiting(task)

    def _drop_waiting(self, task: Running) -> None:
        run = task.run
        if task.copy is not None:
            run.copies.remove(task.copy)
            task.copy = None
            if run.open:
                run.presence.pending -= 1
                if not run.startable:
                    run.presence.ready.remove(run)

    def _other_goes_on(self, task: Running) -> bool:
        """Return True if the other of two copies still runs after one is stopped; a copy that only waits is dropped."""
        self._drop_waiting(task)
        if task.twin is None:
            return False
        task.twin.twin = None
        self._look_at_slow(task.run)
        return True

    # Machines

    def _expect_loss(self) -> None:
        loss = next(self.losses, None)
        if loss is not None:
            self.call_at(max(loss.time, self.now), OTHER, partial(self._lose_next, loss))

    def _lose_next(self, loss: Loss) -> None:
        self._expect_loss()
        self.lose(loss)

    def lose(self, loss: Loss) -> None:
        """Lose a machine now, unless it is lost already."""
        if loss.vm in self.gone:
            return
        self.gone.add(loss.vm)
        slots = [slot for slot, vm in enumerate(self.vm_of) if vm == loss.vm]
        for slot in slots:
            if slot in self.held:
                self._stopped(self.held[slot], "lost")
        for group, mine in self._by_group(slots).items():
            self.free[group] = [slot for slot in self.free[group] if self.vm_of[slot] != loss.vm]
            self.pools[self.machines[group].pool].idle -= len(mine)
        for job in tuple(self.present.values()):
            self._lose_outputs(job, loss.vm)
        if loss.back < inf:
            self.call_at(max(loss.back, self.now), OTHER, partial(self._return, loss.vm, slots))

    def _return(self, vm: int, slots: Sequence[int]) -> None:
        self.gone.discard(vm)
        for group, mine in self._by_group(slots).items():
            pool = self.pools[self.machines[group].pool]
            self.free[group] += reversed(mine)
            pool.idle += len(mine)
            self.changed.add(pool.index)

    def _by_group(self, slots: Sequence[int]) -> dict[int, list[int]]:
        """Return slots by their entry of machines."""
        found: dict[int, list[int]] = {}
        for slot in slots:
            found.setdefault(bisect_right(self.first, slot) - 1, []).append(slot)
        return found

    def _lose_outputs(self, job: Job, vm: int) -> None:
        """Run ended tasks again if their output was lost with a machine and an open stage needs it."""
        for run in reversed(job.runs):
            run.missing += run.outputs.pop(vm, ())
            children = [job.runs[index] for index in job.what.children[run.index]]
            if run.missing and any(child.left for child in children):
                self._reopen(run, children)

    def _reopen(self, run: StageRun, children: Sequence[StageRun]) -> None:
        missing, run.missing = sorted(run.missing), []
        done = run.left == 0
        run.left += len(missing)
        self.tasks -= len(missing)
        if done:
            run.job.left += 1
            for child in children:
                child.waiting += 1
                if child.waiting == 1:
                    self._close(child)
        for task in missing:
            self._put_back(run, Redo(task))

    # Shares

    def _claim_shares(self, pool: Pool) -> None:
        """Stop the youngest tasks of queues (or jobs, if there is one queue) above their share, for those below."""
        parties = self._parties(pool)
        entitled = fair_shares({key: claim for key, (claim, _) in parties.items()}, pool.slots)
        owed = {key: min(int(entitled[key] + EPSILON), claim.demand) for key, (claim, _) in parties.items()}
        missing = sum(max(0.0, owed[key] - _running(present)) for key, (_, present) in parties.items())
        while missing >= 1:
            above = [
                (_running(present) - entitled[key], key)
                for key, (_, present) in parties.items()
                if _running(present) >= entitled[key] + 1.0 - EPSILON
            ]
            if not above:
                break
            present = parties[max(above)[1]][1]
            held = (task for p in present for r in p.job.runs if r.presence is p for task in r.attempts)
            self._stopped(max(held, key=lambda task: task.number), "killed")
            missing -= 1
        self.changed.add(pool.index)

    def _parties(self, pool: Pool) -> dict[int, tuple[Claim, list[Presence]]]:
        present = [p for job in self.present.values() for p in job.presences.values() if p.pool is pool]
        if len(pool.queues) == 1:
            return {p.number: (Claim(1.0, 0.0, p.running + p.pending), [p]) for p in present}
        found: dict[int, tuple[Claim, list[Presence]]] = {}
        for number, queue in enumerate(pool.queues):
            mine = [p for p in present if p.queue is queue]
            if mine:
                demand = min(sum(p.running + p.pending for p in mine), queue.limit)
                found[number] = Claim(queue.weight, queue.minimum, demand), mine
        return found


def _running(present: Sequence[Presence]) -> int:
    return sum(p.running for p in present)
