"""A run of the engine as plain data: classes and submitters, machines, queues, faults, and the length.

A scenario can be sent to another process. Its runs are independent and depend only on the seed, the number of the run,
and the scenario.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from heapq import merge
from itertools import count
from math import floor, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.charts import LineChart, Series
from mrdsl.core.watching import setting
from mrdsl.simulation.engine.draws import StreamDraws, TaskTimes, mean_attempt
from mrdsl.simulation.engine.engine import Engine
from mrdsl.simulation.engine.faults import FaultyEngine
from mrdsl.simulation.engine.flow import OTHER, Record, Submission
from mrdsl.simulation.engine.world import Attempt, Faults, Job, JobKind, Loss, Machines, Sharing, count_vms
from mrdsl.simulation.own_draws import OwnStage
from mrdsl.simulation.own_slots import job_times
from mrdsl.simulation.queues import FewestRunning, OldestFirst, Queue
from mrdsl.simulation.sampling import stream


@dataclass(frozen=True)
class Users:
    """So many users each submit a job, wait for its end, think for an exponential time of that mean, and go on."""

    count: int
    think: float = 0.0


@dataclass(frozen=True)
class Arrivals:
    """``burst`` jobs at once, at random moments: ``rate`` such arrivals a second."""

    rate: float
    burst: int = 1


@dataclass(frozen=True)
class Recorded:
    """Jobs at recorded times in seconds, ``burst`` at each."""

    times: tuple[float, ...]
    burst: int = 1


Submitters = Users | Arrivals | Recorded
MOST_TASKS = 5_000_000
"""Tasks of jobs that have the slots to themselves, one after the other, whose times are drawn at once."""
STRETCH = 60.0
"""Simulated time of attempts that is in memory at once when a run is replayed [s]."""


@dataclass(frozen=True)
class JobClass:
    """Jobs of one kind, the times of their stages, and their submitters; a run sees at least ``jobs`` of them end."""

    kind: JobKind
    times: tuple[TaskTimes, ...]
    who: Submitters
    jobs: int


@dataclass(frozen=True)
class QueueRule:
    """A queue of a pool: ``fair`` or the oldest job first; see :class:`~mrdsl.simulation.queues.Queue`."""

    fair: bool = True
    weight: float = 1.0
    minimum: float = 0.0
    limit: float = inf


@dataclass(frozen=True)
class LossRule:
    """Machines are lost at random at ``rate`` per second each, and replaced ``back`` seconds later.

    ``machines`` of them are lost for good after the warm-up of every class.
    """

    rate: float = 0.0
    back: float = 120.0
    machines: int = 0


@dataclass(frozen=True)
class Scenario:
    """One cluster with its classes; ``queues`` has one row per pool, ``warm_up`` is a share of every class's jobs.

    ``masters``: every job holds one more slot while it runs. At most ``max_running`` jobs run at once; the others wait
    in the order of their submission.
    """

    classes: tuple[JobClass, ...]
    machines: tuple[Machines, ...]
    queues: tuple[tuple[QueueRule, ...], ...]
    warm_up: float = 0.1
    faults: Faults = Faults()
    losses: LossRule | None = None
    masters: bool = False
    max_running: float = inf

    def __post_init__(self) -> None:
        """Raise ValueError if machines with masters of jobs can be lost: that is not modeled."""
        if self.masters and self.machines_go:
            raise ValueError("machines with masters on them do not go")

    @property
    def machines_go(self) -> bool:
        """Return True if any machine may go."""
        return self.losses is not None or any(each.interruptions > 0.0 for each in self.machines)

    @property
    def plain(self) -> bool:
        """Return True if one class has alike slots to itself, without faults."""
        return (
            len(self.classes) == 1
            and not self.masters
            and self.max_running == inf
            and all(len(rules) == 1 and rules[0].limit == inf for rules in self.queues)
            and len({each.speed for each in self.machines}) == 1
            and all(stage.slowstart >= 1.0 and stage.limit == inf for stage in self.classes[0].kind.stages)
            and self.faults == Faults()
            and not self.machines_go
        )

    @property
    def one_by_one(self) -> bool:
        """Return True if each job has the slots to itself: one user submits it after the one before it."""
        one = self.classes[0]
        tasks = one.jobs * sum(stage.tasks for stage in one.kind.stages)
        return self.plain and isinstance(one.who, Users) and one.who.count == 1 and 0 < tasks <= MOST_TASKS

    def slots_of(self, pool: int) -> int:
        """Return the slots of a pool."""
        return sum(each.vms * each.slots for each in self.machines if each.pool == pool)

    @property
    def vms(self) -> int:
        """Machines of all groups."""
        return count_vms(self.machines)


@dataclass(frozen=True)
class Seen:
    """The observations of one run.

    They are the completion times [s] per class in the order of ends, without the warm-up, and infinite for jobs that
    were given up; busy slot seconds; and the run's length in seconds, tasks and jobs.
    """

    times: tuple[tuple[float, ...], ...]
    busy: tuple[float, ...]
    span: float
    tasks: int


def run_once(scenario: Scenario, seed: int, run: int, record: Record | None = None) -> Seen:
    """Return one run: until every class has seen its jobs end (those of recorded arrivals, all there are)."""
    if record is None and scenario.one_by_one:
        return _one_by_one(scenario, partial(stream, seed, run))
    return _Run(scenario, seed, run, record).seen()


def _one_by_one(scenario: Scenario, random: Callable[..., np.random.RandomState]) -> Seen:
    """Return a run of jobs that each have the slots to themselves: what the engine returns, job by job."""
    one, speed = scenario.classes[0], scenario.machines[0].speed
    jobs, stages, work = enough_of(one), [], 0.0
    drawn = _draws(scenario, random)
    for place, stage in enumerate(one.kind.stages):
        rows, first, later = drawn.rows(0, place, jobs)
        rows = rows / speed
        times = rows if later is None else rows + later
        own = OwnStage(stage.after, stage.delay, times, None if first is None else rows + first, stage.pool)
        work += float(times.sum()) if first is None else float(own.on(scenario.slots_of(stage.pool)).sum())
        stages.append(own)
    ended = job_times(stages, tuple(map(scenario.slots_of, range(len(scenario.queues)))))
    assert isinstance(one.who, Users)
    gaps = random("gap", one.kind.name)
    think = one.who.think * float(gaps.standard_exponential(jobs).sum()) if one.who.think > 0.0 else 0.0
    tasks = jobs * sum(stage.tasks for stage in one.kind.stages)
    warm = floor(scenario.warm_up * jobs)
    return Seen((tuple(ended[warm:].tolist()),), (work,), float(ended.sum()) + think, tasks)


def _draws(scenario: Scenario, random: Callable[..., np.random.RandomState]) -> StreamDraws:
    """Return the draws of a run, whose streams ``random`` gives."""
    kinds = [each.kind for each in scenario.classes]
    return StreamDraws(
        [each.times for each in scenario.classes],
        [[stage.tasks for stage in kind.stages] for kind in kinds],
        lambda what, kind, stage: random(what, kinds[kind].name, kinds[kind].stages[stage].name),
        scenario.faults.share > 0.0,
    )


def load_of(scenario: Scenario) -> list[float]:
    """Return the load per pool: the work of random arrivals over the capacity; at 1 and above queues grow forever.

    Failed attempts cost half of their time on average. Slots held while a task waits are not counted: a load below 1
    does not prove that a cluster is fast enough.
    """
    work = [0.0] * len(scenario.queues)
    for each in scenario.classes:
        if isinstance(each.who, Arrivals):
            for stage, times in zip(each.kind.stages, each.times, strict=True):
                work[stage.pool] += each.who.rate * each.who.burst * stage.tasks * mean_attempt(times)
    share = scenario.faults.share
    again = 1.0 + share / (2.0 * (1.0 - share))
    power = power_of(scenario)
    return [again * each / there if there else (inf if each else 0.0) for each, there in zip(work, power, strict=True)]


def power_of(scenario: Scenario) -> list[float]:
    """Return the slots of each pool, weighted by their speed."""
    power = [0.0] * len(scenario.queues)
    for machines in scenario.machines:
        power[machines.pool] += machines.vms * machines.slots * machines.speed
    return power


def running_load_of(scenario: Scenario) -> float:
    """Return the least mean number of running jobs of random arrivals, as a part of ``max_running``.

    A job takes at least its longest path of stages with one task of mean time each, and its work on all slots. At 1 and
    above the jobs that wait grow in number forever.
    """
    power, fastest = power_of(scenario), max(each.speed for each in scenario.machines)
    running = 0.0
    for each in scenario.classes if scenario.max_running < inf else ():
        if isinstance(each.who, Arrivals):
            means = [mean_attempt(times) for times in each.times]
            ends: list[float] = []
            work = [0.0] * len(power)
            for stage, mean in zip(each.kind.stages, means, strict=True):
                begin = max((ends[before] for before in stage.after), default=0.0)
                ends.append(begin + stage.delay + mean / fastest)
                work[stage.pool] += stage.tasks * mean
            on_all_slots = max((done / there for done, there in zip(work, power, strict=True) if there), default=0.0)
            running += each.who.rate * each.who.burst * max(*ends, on_all_slots)
    return running / scenario.max_running


def attempts_of(scenario: Scenario, seed: int, run: int) -> Iterator[Attempt]:
    """Yield every attempt of one run in the order of ends, as the run goes: only those of one stretch of time
    are held.
    """
    held: list[Attempt] = []
    engine = _Run(scenario, seed, run, held.append).engine
    assert isinstance(engine, Engine)
    engine.run(0.0)
    while engine.events:
        engine.run(engine.events[0][0] + STRETCH)
        yield from held
        held.clear()


class _Run:
    def __init__(self, scenario: Scenario, seed: int, run: int, record: Record | None) -> None:
        self.scenario = scenario
        self.stream = partial(stream, seed, run)
        self.ended: list[list[float]] = [[] for _ in scenario.classes]
        self.enough = [enough_of(each) for each in scenario.classes]
        self.warm = [floor(scenario.warm_up * jobs) for jobs in self.enough]
        self.missing = sum(jobs > 0 for jobs in self.enough)
        self.to_warm = sum(jobs > 0 for jobs in self.warm)
        self.gaps = [self.stream("gap", each.kind.name) for each in scenario.classes]
        self.engine = self._engine(record)
        if not self.to_warm:
            self._lose_some()

    def _engine(self, record: Record | None) -> Engine:
        s = self.scenario
        world = (
            [each.kind for each in s.classes],
            s.machines,
            [Sharing([queue_of(rule) for rule in rules]) for rules in s.queues],
            merge(*(self._arrivals(kind) for kind in range(len(s.classes)))),
            _draws(s, self.stream),
            self._completed,
            record,
            s.masters,
            s.max_running,
        )
        if s.faults == Faults() and not s.machines_go:
            return Engine(*world)
        return FaultyEngine(
            *world, faults=s.faults, losses=machine_losses(s.machines, s.losses or LossRule(), self.stream("losses"))
        )

    def seen(self) -> Seen:
        """Run the scenario and return the observations."""
        engine = self.engine
        engine.run()
        times = tuple(tuple(ended[warm:]) for ended, warm in zip(self.ended, self.warm, strict=True))
        return Seen(times, tuple(engine.busy), engine.now, engine.tasks)

    def _arrivals(self, kind: int) -> Iterator[Submission]:
        who, random = self.scenario.classes[kind].who, self.gaps[kind]
        if isinstance(who, Users):
            first = sorted(self._think(kind, who) for _ in range(who.count))
            yield from (Submission(time, kind, user) for user, time in enumerate(first))
        elif isinstance(who, Recorded):
            yield from (Submission(time, kind) for time in who.times for _ in range(who.burst))
        else:
            now = 0.0
            for _ in count():
                now += float(random.standard_exponential()) / who.rate
                yield from (Submission(now, kind) for _ in range(who.burst))

    def _think(self, kind: int, who: Users) -> float:
        return who.think * float(self.gaps[kind].standard_exponential()) if who.think > 0.0 else 0.0

    def _completed(self, job: Job, now: float) -> Submission | None:
        kind = job.kind
        mine = self.ended[kind]
        mine.append(inf if job.failed else now - job.submitted)
        if len(mine) == self.warm[kind]:
            self.to_warm -= 1
            if not self.to_warm:
                self._lose_some()
        if len(mine) == self.enough[kind]:
            self.missing -= 1
            if not self.missing:
                self.engine.stop()
                return None
        who = self.scenario.classes[kind].who
        return Submission(now + self._think(kind, who), kind, job.user) if isinstance(who, Users) else None

    def _lose_some(self) -> None:
        rule, engine = self.scenario.losses, self.engine
        if rule is None or not rule.machines or not isinstance(engine, FaultyEngine):
            return
        vms = np.arange(self.scenario.vms)
        self.stream("lost").shuffle(vms)
        for vm in vms[: rule.machines].tolist():
            engine.call_at(engine.now, OTHER, partial(engine.lose, Loss(engine.now, vm, inf)))


def machine_losses(machines: Sequence[Machines], rule: LossRule, random: np.random.RandomState) -> Iterator[Loss]:
    """Yield the random losses of machines [s], each at its own rate: one after another at the sum of the rates."""
    rates = [(each.vms, rule.rate + each.interruptions) for each in machines if not each.beside]
    total = np.cumsum([vms * rate for vms, rate in rates])
    if total[-1] <= 0.0:
        return
    first, now = np.cumsum([0, *(vms for vms, _ in rates)]), 0.0
    while True:
        now += float(random.standard_exponential()) / float(total[-1])
        group = int(np.searchsorted(total, random.random_sample() * total[-1], side="right"))
        yield Loss(now, int(first[group] + random.randint(rates[group][0])), now + rule.back)


def enough_of(each: JobClass) -> int:
    """Return the number of jobs of a class that a run sees end."""
    return min(each.jobs, len(each.who.times) * each.who.burst) if isinstance(each.who, Recorded) else each.jobs


def queue_of(rule: QueueRule) -> Queue[Any]:
    """Return a queue that keeps a rule, empty."""
    return Queue(FewestRunning() if rule.fair else OldestFirst(), rule.weight, rule.minimum, rule.limit)


STRETCHES = 120
"""Stretches of time of a chart; each shows its mean."""
LINES = 6
"""Most lines of a chart."""
TASKS = 300_000
"""Most tasks of all runs that are repeated for a chart."""
KINDS = ("map slots", "reduce slots")
Simulated = tuple[Scenario, int, int]
"""A scenario, the seed, and the number of its first run."""
_SIMULATED: ContextVar[list[Simulated] | None] = ContextVar("_SIMULATED", default=None)


def simulated_scenarios() -> AbstractContextManager[list[Simulated]]:
    """Yield a list of the scenarios that are simulated during the ``with`` block."""
    found: list[Simulated] = []
    return setting(_SIMULATED, found)


def note_simulated(scenario: Scenario, seed: int, run: int) -> None:
    """Add a scenario to the list of the innermost :func:`simulated_scenarios`."""
    found = _SIMULATED.get()
    if found is not None:
        found.append((scenario, seed, run))


def usage_chart(simulated: Sequence[Simulated]) -> LineChart | None:
    """Return the slots at work over time, in % of all, of the first run of some scenarios; None if there is none."""
    lines: list[Series] = []
    tasks = 0
    for scenario, seed, run in simulated:
        tasks += sum(each.jobs * stage.tasks for each in scenario.classes for stage in each.kind.stages)
        if tasks > TASKS or len(lines) >= LINES:
            break
        lines += _lines(scenario, seed, run)
    if not lines:
        return None
    title = "Slots at work over time, in the first simulated run"
    return LineChart(title, "time [s]", "slots at work [%]", tuple(lines[:LINES]), y_zero=True, steps=True)


def _lines(scenario: Scenario, seed: int, run: int) -> Iterator[Series]:
    held: dict[int, list[tuple[float, float]]] = {}
    for each in attempts_of(scenario, seed, run):
        pool = scenario.classes[each.kind].kind.stages[each.stage].pool
        held.setdefault(pool, []).append((each.start, each.end))
    names = ", ".join(each.kind.name for each in scenario.classes)
    for pool, times in sorted(held.items()):
        slots = sum(each.vms * each.slots for each in scenario.machines if each.pool == pool)
        shown = names if len(held) == 1 else f"{names}: {KINDS[pool]}"
        begins, shares = busy_shares(np.array(times), slots)
        yield Series(shown, begins.tolist(), (100.0 * shares).tolist())


def busy_shares(
    times: NDArray[np.float64], slots: float, stretches: int = STRETCHES
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean share of busy slots in equal stretches of time.

    Args:
        times: Start and end of each task [s], shape (tasks, 2).
        slots: Number of slots.
        stretches: Number of stretches between the first start and the last end.

    Returns:
        Begin of each stretch [s], and its share; the last share is repeated at the end.
    """
    edges = np.linspace(times[:, 0].min(), times[:, 1].max(), stretches + 1)
    worked = _passed(edges, times[:, 0]) - _passed(edges, times[:, 1])
    shares = np.diff(worked) / (np.diff(edges) * slots)
    return edges, np.append(shares, shares[-1])


def _passed(edges: NDArray[np.float64], moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each edge, the time that has passed since all earlier moments together."""
    moments = np.sort(moments)
    before = np.searchsorted(moments, edges)
    return np.asarray(before * edges - np.concatenate(([0.0], np.cumsum(moments)))[before])
