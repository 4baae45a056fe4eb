"""Verification of a makespan plan from the input data alone, job by job: no simulator, no search."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from operator import itemgetter
from typing import Any

from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.rounding import FEASIBILITY
from mrdsl.families.makespan.facts import MakespanFacts
from mrdsl.families.makespan.plan import MakespanPlan, TaskWave
from mrdsl.spec.spec import Spec


@dataclass(frozen=True)
class Stated:
    """Tasks of one job and seconds of one task, of both phases."""

    name: str
    map_tasks: int
    map_time: float
    reduce_tasks: int
    reduce_time: float


def stated(facts: MakespanFacts) -> Iterator[Stated]:
    """Read every job of the batch: those of a class are NAME-1 to NAME-k, or NAME for one."""
    for node in facts.jobs:
        yield _stated(node.name, node, facts.cluster.slots.reduce)
    for node in facts.classes:
        for number in range(1, node.jobs + 1):
            name = node.name if node.jobs == 1 else f"{node.name}-{number}"
            yield _stated(name, node, facts.cluster.slots.reduce)


def _stated(name: str, node: Any, reduce_slots: int) -> Stated:
    """Paper 003, (3.1) to (3.10): a task takes the middle of its times, a reduce its share of the shuffles."""
    map_time = node.map.time if node.map.time is not None else _middle(node.map)
    reduce, shuffle = node.reduce, node.shuffle
    if reduce is None:
        return Stated(name, node.map.tasks, map_time, 0, 0.0)
    if reduce.time is not None:
        return Stated(name, node.map.tasks, map_time, reduce.tasks, reduce.time)
    time = _middle(reduce)
    if shuffle is not None:
        waves = max(1, ceil(reduce.tasks / reduce_slots))
        first = shuffle.first_max if shuffle.first_avg is None else shuffle.first_avg
        time += (first + (waves - 1) * _middle(shuffle)) / waves
    return Stated(name, node.map.tasks, map_time, reduce.tasks, time)


def _middle(times: Any) -> float:
    average, longest = times.avg or 0.0, times.max or 0.0
    shortest = max(2.0 * average - longest, 0.0) if times.min is None else times.min
    return float(shortest + longest) / 2.0


def measure(spec: Spec, plan: MakespanPlan) -> float:
    """Compute the objective's value: the end of the last task, in seconds."""
    return max((wave.end for wave in plan.waves), default=plan.makespan)


def quantity(spec: Spec, plan: MakespanPlan, name: str, argument: str) -> float:
    """``makespan`` or ``finish(j)``, in seconds."""
    if name == "makespan":
        return measure(spec, plan)
    return max((wave.end for wave in plan.waves if wave.job == argument), default=plan.jobs[argument].finish)


def verify(spec: Spec, plan: MakespanPlan, relax: bool = False) -> Iterable[Diagnostic]:
    """Yield the errors in a plan: missing slots, and tasks that are missing, late, too short or too many."""
    batch = tuple(stated(spec.facts))
    yield from _pools(spec.facts, batch, plan)
    if relax:
        return
    by_phase: dict[tuple[str, str], list[TaskWave]] = defaultdict(list)
    by_machine: dict[tuple[int, str], list[TaskWave]] = defaultdict(list)
    for wave in plan.waves:
        by_phase[wave.job, wave.phase].append(wave)
        by_machine[wave.pool, wave.phase].append(wave)
    slack = FEASIBILITY * max(plan.makespan, 1.0)
    yield from _phases(batch, plan, by_phase, slack)
    for (pool, phase), waves in sorted(by_machine.items()):
        slots = plan.pools[pool].map_slots if phase == "map" else plan.pools[pool].reduce_slots
        if (peak := _peak(waves, slack)) > slots:
            yield _wrong(f"pool {pool} runs {peak} {phase} tasks at once on {slots} slots")


def _pools(facts: MakespanFacts, batch: Sequence[Stated], plan: MakespanPlan) -> Iterator[Diagnostic]:
    for phase, slots in (("map", facts.cluster.slots.map), ("reduce", facts.cluster.slots.reduce)):
        held = sum(getattr(pool, f"{phase}_slots") for pool in plan.pools)
        if held > slots:
            yield _wrong(f"the pools hold {held} {phase} slots of {slots}")
    listed = sorted(name for pool in plan.pools for name in pool.order)
    if listed != sorted(job.name for job in batch):
        yield _wrong("the pools' orders do not name every job once")


def _phases(
    batch: Sequence[Stated], plan: MakespanPlan, by_phase: dict[tuple[str, str], list[TaskWave]], slack: float
) -> Iterator[Diagnostic]:
    for job in batch:
        name, times = job.name, plan.jobs[job.name]
        maps, reduces = by_phase[name, "map"], by_phase[name, "reduce"]
        for phase, waves, tasks, seconds in (
            ("map", maps, job.map_tasks, job.map_time),
            ("reduce", reduces, job.reduce_tasks, job.reduce_time),
        ):
            if sum(wave.count for wave in waves) != tasks:
                yield _wrong(f"{name} runs {sum(wave.count for wave in waves)} {phase} tasks of {tasks}")
            if any(abs(wave.end - wave.start - seconds) > slack for wave in waves):
                yield _wrong(f"a {phase} task of {name} does not take its time")
        if any(wave.pool != times.pool for wave in (*maps, *reduces)):
            yield _wrong(f"{name} runs tasks outside its pool")
        map_end = max((wave.end for wave in maps), default=0.0)
        if any(wave.start < map_end - slack for wave in reduces):
            yield _wrong(f"{name} starts a reduce task before its map phase ends")
        stated = (times.start, times.map_end, times.finish)
        ends = (min((w.start for w in maps), default=0.0), map_end, max((w.end for w in reduces), default=map_end))
        if any(abs(a - b) > slack for a, b in zip(stated, ends, strict=True)):
            yield _wrong(f"the times of {name} are not those of its tasks")


def _peak(waves: Sequence[TaskWave], slack: float) -> int:
    """Return the most concurrent tasks; a task that starts as another ends does not overlap it."""
    events = sorted(
        [(wave.start + slack / 2, wave.count) for wave in waves]
        + [(wave.end - slack / 2, -wave.count) for wave in waves],
        key=itemgetter(0),
    )
    running = peak = 0
    for _, change in events:
        running += change
        peak = max(peak, running)
    return peak


def _wrong(message: str) -> Diagnostic:
    return error("broken-plan", message)
