"""Runs of a timetable: slots are reserved for jobs from when to when, and late tasks take the slots that are left.

Times of the engine are whole ticks here, so that a run with the planned times of tasks is the plan to the last digit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import chain
from math import ceil, inf

import numpy as np

from mrdsl.core.units import ticks_of
from mrdsl.simulation.engine.draws import Block, StreamDraws
from mrdsl.simulation.engine.faults import FaultyEngine
from mrdsl.simulation.engine.flow import OTHER, Record, Submission
from mrdsl.simulation.engine.scenario import LossRule, Scenario, machine_losses
from mrdsl.simulation.engine.world import Job, Loss, Pool, Presence, Running, Sharing, StageRun
from mrdsl.simulation.queues import OldestFirst, Queue
from mrdsl.simulation.sampling import stream


@dataclass(frozen=True, slots=True)
class Wave:
    """Tasks of a stage that are planned from ``start`` to ``end`` on ``count`` slots of a group of machines [ticks]."""

    stage: int
    group: int
    start: int
    end: int
    count: int


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """The ``number``-th job of a class, with the waves of its tasks."""

    kind: int
    number: int
    waves: tuple[Wave, ...]

    @property
    def start(self) -> int:
        """Planned start of the first task [ticks]."""
        return min(wave.start for wave in self.waves)


@dataclass(frozen=True)
class Timetable:
    """Planned jobs of the classes of a scenario with one pool; ``there`` is from and until when each group is rented.

    A group is rented longer if jobs with waves on it have not ended. If jobs ``stop_at_losses``, a job ends when one of
    its machines is lost: one with its running tasks, or with output that it still needs. ``alone`` has the job that is
    alone on a group and on no other one, or -1: any loss from ``boot`` ticks before ends it, and the group is released.
    """

    scenario: Scenario
    jobs: tuple[PlannedJob, ...]
    there: tuple[tuple[int, int], ...]
    stop_at_losses: bool = False
    alone: tuple[int, ...] = ()
    boot: int = 0


@dataclass(frozen=True)
class Executed:
    """One run: the end of each job [ticks], infinite for those that were given up; and busy slot ticks of each class.

    ``ends`` are in the order of ``Timetable.jobs``. ``until`` is when each group of machines is released [ticks].
    ``stopped`` is when jobs were stopped by the loss of a machine [ticks], by their index.
    """

    ends: tuple[float, ...]
    busy: tuple[float, ...]
    until: tuple[int, ...]
    stopped: Mapping[int, int] = field(default_factory=dict)


def execute(timetable: Timetable, seed: int, run: int, record: Record | None = None) -> Executed:
    """Return one run, with the times of tasks that depend only on the seed, the run and the job."""
    order = sorted(range(len(timetable.jobs)), key=lambda index: (timetable.jobs[index].start, index))
    engine = TimetableEngine(timetable, [timetable.jobs[index] for index in order], seed, run, record)
    engine.run()
    ends = [inf] * len(order)
    for place, end in engine.ends.items():
        ends[order[place]] = end
    stopped = {order[place]: time for place, time in sorted(engine.stopped.items())}
    return Executed(tuple(ends), tuple(engine.busy), tuple(engine.until), stopped)


class _Told(OldestFirst[Presence]):
    """Notes every job that may have become able to take a slot."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: dict[int, Presence] = {}

    def put(self, job: Presence) -> None:
        self.jobs[job.number] = job


class _Numbered(StreamDraws):
    """Times by the number of a job within its class, which is not the order in which jobs start."""

    numbers: Sequence[Sequence[int]]

    def block(self, kind: int, number: int, stage: int) -> Block:
        return super().block(kind, self.numbers[kind][number], stage)

    def forget(self, kind: int, number: int, stage: int) -> None:
        super().forget(kind, self.numbers[kind][number], stage)


@dataclass(slots=True)
class _Claims:
    """What a job may take: of each group its reserved and running slots, and planned starts that no task has used.

    ``left`` has, for each stage and group, starts with the number of tasks.
    """

    left: list[dict[int, deque[list[int]]]]
    reserved: dict[int, int] = field(default_factory=dict)
    running: dict[int, int] = field(default_factory=dict)

    def open_on(self, group: int) -> bool:
        """Return True if the job runs fewer tasks there than it has slots."""
        return self.running.get(group, 0) < self.reserved.get(group, 0)

    def next_start(self, stage: int) -> float:
        """Return the earliest planned start of a stage that no task has used."""
        left = self.left[stage]
        if len(left) == 1:  # the usual case, and fast
            (waves,) = left.values()
            return waves[0][0]
        return min((waves[0][0] for waves in left.values()), default=inf)

    def use(self, stage: int, group: int) -> None:
        """Use the earliest planned start in a group, or elsewhere if there is none."""
        left = self.left[stage]
        where = group if group in left else min(left, key=lambda each: (left[each][0][0], each))
        waves = left[where]
        waves[0][1] -= 1
        if not waves[0][1]:
            waves.popleft()
            if not waves:
                del left[where]


class TimetableEngine(FaultyEngine):
    """A run of planned jobs, in the order of their starts.

    A job has the slots that its waves take, from when to when they take them. On these slots its tasks start as soon as
    the stages before have ended, in the order of their planned starts. A task that has not started at its planned
    start takes any slot that is idle then; of several the one with the earliest planned start.
    """

    def __init__(
        self, timetable: Timetable, jobs: Sequence[PlannedJob], seed: int, run: int, record: Record | None = None
    ) -> None:
        scenario = timetable.scenario
        kinds = [each.kind for each in scenario.classes]
        streams = partial(stream, seed, run)
        draws = _Numbered(
            [each.times for each in scenario.classes],
            [[stage.tasks for stage in kind.stages] for kind in kinds],
            lambda what, kind, stage: streams(what, kinds[kind].name, kinds[kind].stages[stage].name),
            scenario.faults.share > 0.0,
        )
        draws.numbers = [[job.number for job in jobs if job.kind == kind] for kind in range(len(kinds))]
        self.told = _Told()
        super().__init__(
            kinds,
            scenario.machines,
            [Sharing([Queue(self.told)])],
            (Submission(job.start, job.kind) for job in jobs),
            draws,
            self._ended,
            record,
            max_running=scenario.max_running,
            faults=scenario.faults,
            losses=_in_ticks(scenario, min(begin for begin, _ in timetable.there) - timetable.boot, streams("losses")),
        )
        self.there = list(timetable.there)
        self.boot, places = timetable.boot, {id(job): place for place, job in enumerate(jobs)}
        self.alone = [-1 if job < 0 else places[id(timetable.jobs[job])] for job in timetable.alone]
        self.stop_at_losses = timetable.stop_at_losses
        self.stopped: dict[int, int] = {}
        self.users = [0] * len(self.machines)
        self.claims = [_claims(job, len(kinds[job.kind].stages)) for job in jobs]
        for claims in self.claims:
            for group in _groups(claims):
                self.users[group] += 1
        self.of_job = [tuple(_groups(claims)) for claims in self.claims]
        self.group_of = [group for group, each in enumerate(self.machines) for _ in range(each.vms)]
        self.changes = _changes(jobs)
        self.reserving: list[tuple[float, int]] = []
        self.late: list[tuple[float, int]] = []
        self.queued: tuple[dict[int, float], dict[int, float]] = {}, {}
        self.rented: dict[int, None] = {}
        self.until = [end for _, end in timetable.there]
        self.ends: dict[int, float] = {}
        permanent = (scenario.losses or LossRule()).machines
        vms = np.arange(scenario.vms)
        streams("lost").shuffle(vms)
        self.never = vms[:permanent].tolist()

    def _begin(self) -> None:
        for vm in self.never:
            super().lose(Loss(0.0, vm, inf))
        for group, (begin, _) in enumerate(self.there):
            self.call_at(begin, OTHER, partial(self._rent, group))
        self._expect_change()
        super()._begin()

    def _ended(self, job: Job, now: float) -> None:
        if not job.failed:
            self.ends[job.number] = now
        for group in self.of_job[job.number]:
            self.users[group] -= 1
        if not any(self.users):
            self.stop()

    def _rent(self, group: int) -> None:
        self.rented[group] = None
        self.changed.add(0)

    def _expect_change(self) -> None:
        if self.changes:
            self.call_at(self.changes[-1][0], OTHER, self._change)

    def _change(self) -> None:
        """Slots are reserved, or no longer reserved, from now on."""
        while self.changes and self.changes[-1][0] <= self.now:
            _, number, group, count = self.changes.pop()
            reserved = self.claims[number].reserved
            reserved[group] = reserved.get(group, 0) + count
            job = self.present.get(number)
            if job is not None:
                self.told.put(job.presences[0])
        self.changed.add(0)
        self._expect_change()

    def _goes(self, task: Running, duration: float) -> None:
        super()._goes(task, ticks_of(duration))

    def _vacate(self, task: Running) -> None:
        self.claims[task.run.job.number].running[task.group] -= 1
        self.until[task.group] = max(self.until[task.group], ceil(self.now))
        super()._vacate(task)

    def lose(self, loss: Loss) -> None:
        """Lose a machine now, if it is rented."""
        group = self.group_of[loss.vm]
        if self.alone and self.alone[group] >= 0 and self.now >= self.there[group][0] - self.boot:
            self._stop_alone(group, self.alone[group])
        if not self._is_there(group):
            return
        for job in self._jobs_on(loss.vm) if self.stop_at_losses and loss.vm not in self.gone else ():
            self.stopped[job.number] = ceil(self.now)
            self._give_up(job)
        super().lose(loss)

    def _stop_alone(self, group: int, number: int) -> None:
        """End a job that is alone on a group, unless it has ended, and release the group."""
        if number in self.ends or number in self.stopped:
            return
        self.stopped[number] = ceil(self.now)
        if number in self.present:
            self._give_up(self.present[number])
        self.there[group] = self.there[group][0], 0
        self.until[group] = ceil(self.now)

    def _arrive(self, what: Submission) -> None:
        super()._arrive(what)
        number = self.jobs - 1
        if number in self.stopped and number in self.present:
            self._give_up(self.present[number])

    def _jobs_on(self, vm: int) -> list[Job]:
        """Return the jobs with running tasks on a machine, or with output there that a stage still needs."""
        running = {task.run.job.number for slot, task in self.held.items() if self.vm_of[slot] == vm}
        return [
            job
            for number, job in sorted(self.present.items())
            if number in running
            or any(
                vm in run.outputs and any(job.runs[child].left for child in job.what.children[run.index])
                for run in job.runs
            )
        ]

    def _is_there(self, group: int) -> bool:
        begin, end = self.there[group]
        return begin <= self.now and (self.now < end or self.users[group] > 0)

    # Slots

    def _dispatch(self, pool: Pool) -> None:
        jobs, self.told.jobs = self.told.jobs, {}
        for group in [group for group in self.rented if not self._is_there(group)]:
            del self.rented[group]
        idle = [group for group in self.rented if self.free[group]]
        for number in sorted(jobs):
            self._line_up(jobs[number])
        idle = self._serve(self.reserving, 0, idle)
        self._serve(self.late, 1, idle)

    def _line_up(self, presence: Presence) -> None:
        """Note a job in the lines that it belongs to now."""
        number = presence.number
        if number not in self.present or not presence.pending:
            return
        claims, key = self.claims[number], self._key(presence)
        if any(claims.open_on(group) for group in claims.reserved):
            self._note_in(0, self.reserving, key, number)
        if key <= self.now:
            self._note_in(1, self.late, key, number)

    def _note_in(self, late: int, line: list[tuple[float, int]], key: float, number: int) -> None:
        if key < self.queued[late].get(number, inf):
            self.queued[late][number] = key
            heappush(line, (key, number))

    def _key(self, presence: Presence) -> float:
        """Return the planned start of the job's next task, or now if only copies wait."""
        ready = presence.ready
        key = self._start_of(ready[0]) if len(ready) == 1 else min(map(self._start_of, ready))
        return self.now if key == inf else key

    def _start_of(self, run: StageRun) -> float:
        if run.again:
            return -inf
        return self.claims[run.job.number].next_start(run.index) if run.fresh else inf

    def _serve(self, line: list[tuple[float, int]], late: int, idle: list[int]) -> list[int]:
        """Give idle slots to a line, the earliest planned start first; return the groups that still have some."""
        waiting: list[int] = []
        while idle and line:
            key, number = heappop(line)
            if self.queued[late].get(number) != key:
                continue
            del self.queued[late][number]
            job = self.present.get(number)
            if job is None or not job.presences[0].pending:
                continue
            presence = job.presences[0]
            if self._key(presence) > key:
                self._line_up(presence)
                continue
            group = self._late_group(number, idle) if late else self._reserved_group(number, idle)
            if group is None:
                waiting.append(number)
                continue
            self._start_next(presence, group)
            if not self.free[group]:
                idle = [each for each in idle if each != group]
            self._line_up(presence)
        for number in waiting:
            self._line_up(self.present[number].presences[0])
        return idle

    def _reserved_group(self, number: int, idle: Sequence[int]) -> int | None:
        claims = self.claims[number]
        return next((group for group in idle if claims.open_on(group)), None)

    def _late_group(self, number: int, idle: Sequence[int]) -> int | None:
        """Return an idle group: one that is rented, or is kept for the job."""
        rented = (group for group in idle if self.now < self.there[group][1])
        own = self.of_job[number]
        return next(chain(rented, (group for group in idle if group in own)), None)

    def _start_next(self, presence: Presence, group: int) -> None:
        """Start the task of a job that is planned first, preferably one that is planned in the group."""
        claims = self.claims[presence.number]
        run = min(
            presence.ready,
            key=lambda each: (
                each.fresh > 0 and group not in claims.left[each.index],
                self._start_of(each),
                each.index,
            ),
        )
        if run.fresh and not run.again:
            claims.use(run.index, group)
        claims.running[group] = claims.running.get(group, 0) + 1
        self._start(presence, run, group)


def _claims(job: PlannedJob, stages: int) -> _Claims:
    left: list[dict[int, deque[list[int]]]] = [{} for _ in range(stages)]
    for wave in sorted(job.waves, key=lambda each: each.start):
        left[wave.stage].setdefault(wave.group, deque()).append([wave.start, wave.count])
    return _Claims(left)


def _groups(claims: _Claims) -> list[int]:
    return sorted({group for waves in claims.left for group in waves})


def _changes(jobs: Sequence[PlannedJob]) -> list[tuple[int, int, int, int]]:
    """Return changes of reserved slots as (time, job, group, slots), the first one last."""
    found: dict[tuple[int, int, int], int] = {}
    for number, job in enumerate(jobs):
        for wave in job.waves:
            for time, count in ((wave.start, wave.count), (wave.end, -wave.count)):
                key = time, number, wave.group
                found[key] = found.get(key, 0) + count
    return [(*key, count) for key, count in sorted(found.items(), reverse=True)]


def _in_ticks(scenario: Scenario, begin: int, random: np.random.RandomState) -> Iterator[Loss]:
    for loss in machine_losses(scenario.machines, scenario.losses or LossRule(), random):
        back = loss.back if loss.back == inf else begin + ticks_of(loss.back)
        yield Loss(begin + ticks_of(loss.time), loss.vm, back)
