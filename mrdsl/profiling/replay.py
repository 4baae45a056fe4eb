"""Runs of Spark applications in the engine, compared with their logs.

A run is repeated with its own task times in the order of their starts, its own delays, and its executors as they came
and went. What is left is how the engine gives slots to tasks. Spark releases idle executors, so one that is busy in the
engine leaves after its tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from operator import itemgetter

from mrdsl.core.result import Table
from mrdsl.exchange.logs.records import SparkApplication
from mrdsl.profiling.cluster import counts_of
from mrdsl.profiling.losses import attempts_of, damage, usable
from mrdsl.profiling.ran import Ran, ran_stages
from mrdsl.profiling.stage_classes import times_of
from mrdsl.simulation.engine.draws import Block
from mrdsl.simulation.engine.faults import FaultyEngine
from mrdsl.simulation.engine.flow import OTHER, Submission
from mrdsl.simulation.engine.world import Faults, Job, JobKind, Loss, Machines, Sharing, Stage
from mrdsl.simulation.queues import OldestFirst, Queue


@dataclass(frozen=True)
class Replayed:
    """A run: the seconds from submission to end in its log, in the engine, and those of tasks alone in the engine.

    ``outside`` are the seconds without tasks: before the first one, between stages, after the last one.
    """

    name: str
    application: str
    tasks: int
    slots: int
    took: float
    simulated: float
    tasks_only: float
    outside: tuple[float, float, float]


@dataclass(frozen=True)
class _Recorded:
    """Task times of one job, by stage, in the order of their starts [s]."""

    times: Sequence[Sequence[float]]

    def block(self, kind: int, number: int, stage: int) -> Block:
        return Block(self.times[stage])

    def again(self, kind: int, stage: int) -> tuple[float, float, float]:
        return sum(self.times[stage]) / len(self.times[stage]), 0.0, 1.0

    def forget(self, kind: int, number: int, stage: int) -> None:
        """Nothing is held."""


def replayed(application: SparkApplication, slots: int | None = None) -> Replayed | None:
    """Return the run in the engine, or None if the log is damaged or has no tasks or times.

    With ``slots`` the run has that many slots from its start, instead of its executors.
    """
    run = usable(application)
    times = times_of(run)
    if damage(run) or times.begin is None or times.end is None or not any(stage.launches for stage in run.stages):
        return None
    ran = ran_stages(run)
    before, after = times.before / 1000, times.after / 1000
    work = [in_order(run, stage.number) for stage in ran]
    executors = [] if slots is not None else _executors(run, times.begin)
    if not executors:
        executors = [(slots or _most(run), 0.0, inf)]
    simulated = _simulated(_stages(ran, work, before), work, executors) + after
    tasks_only = _simulated(_stages(ran, work, None), work, [(count, 0.0, inf) for count, _, _ in executors])
    return Replayed(
        run.name,
        run.application,
        sum(map(len, work)),
        sum(count for count, _, _ in executors),
        (times.end - times.begin) / 1000,
        simulated,
        tasks_only,
        (before, sum(stage.delay for stage in ran) / 1000, after),
    )


def _stages(ran: Sequence[Ran], work: Sequence[Sequence[float]], before: float | None) -> tuple[Stage, ...]:
    """Return the stages for the engine; without ``before`` there are no times outside tasks."""
    return tuple(
        Stage(
            f"s{place}",
            len(times),
            stage.after,
            delay=0.0 if before is None else stage.delay / 1000 + (0.0 if stage.after else before),
        )
        for place, (stage, times) in enumerate(zip(ran, work, strict=True))
    )


def in_order(run: SparkApplication, number: int) -> list[float]:
    """Return the times [s] of the tasks of a stage, once for each of their slots, by their starts and then by index."""
    spans = sorted(
        (
            (launch, finish)
            for stage in attempts_of(run)[number]
            for launch, finish in zip(stage.launches, stage.finishes, strict=True)
            for _ in range(stage.slots)
        ),
        key=itemgetter(0),
    )
    return [max(0, finish - launch) / 1000 for launch, finish in spans]


def _executors(run: SparkApplication, begin: int) -> list[tuple[int, float, float]]:
    """Return slots, arrival and departure [s] of each executor."""
    found = []
    for each in run.lives:
        slots = each.cores // run.task_cpus
        added = 0.0 if each.added is None else max(0, each.added - begin) / 1000
        removed = inf if each.removed is None else max(0, each.removed - begin) / 1000
        if slots and removed > added:
            found.append((slots, added, removed))
    return found


def _most(run: SparkApplication) -> int:
    return counts_of(span for each in run.stages for span in zip(each.launches, each.finishes, strict=True)).most or 1


def _simulated(
    stages: tuple[Stage, ...], work: Sequence[Sequence[float]], executors: Sequence[tuple[int, float, float]]
) -> float:
    ended: list[float] = []

    def completed(job: Job, now: float) -> None:
        ended.append(now)
        engine.stop()

    machines = [Machines(1, slots) for slots, _, _ in executors]
    late = [Loss(0.0, vm, added) for vm, (_, added, _) in enumerate(executors) if added > 0.0]
    engine = FaultyEngine(
        [JobKind("run", stages)],
        machines,
        [Sharing([Queue(OldestFirst())])],
        iter([Submission(0.0, 0)]),
        _Recorded(work),
        completed,
        faults=Faults(shuffle_service=True),
        losses=late,
    )
    for vm, (_, _, removed) in enumerate(executors):
        if removed < inf:
            engine.call_at(removed, OTHER, partial(_leave, engine, vm))
    engine.run()
    return ended[0] if ended else inf


def _leave(engine: FaultyEngine, vm: int) -> None:
    """Let an executor leave, or if it is busy, look again when its tasks have ended."""
    busy = [task.since + task.duration for slot, task in engine.held.items() if engine.vm_of[slot] == vm]
    if busy:
        engine.call_at(max(busy), OTHER, partial(_leave, engine, vm))
    else:
        engine.lose(Loss(engine.now, vm, inf))


def replay_table(runs: Sequence[Replayed]) -> Table:
    """Return the runs in the engine and in their logs."""
    columns = (
        *("application", "id", "tasks", "slots", "before [s]", "between [s]", "after [s]", "took [s]"),
        *("simulated [s]", "off [%]", "tasks alone [s]", "off [%]"),
    )
    rows = [
        (
            each.name,
            each.application,
            each.tasks,
            each.slots,
            *each.outside,
            each.took,
            each.simulated,
            100.0 * (each.simulated / each.took - 1.0),
            each.tasks_only,
            100.0 * (each.tasks_only / each.took - 1.0),
        )
        for each in runs
        if each.took > 0.0
    ]
    return Table("Runs repeated in the engine", columns, rows)
