"""A timetable for other systems: clusters of its machines, a crontab of its starts, and reservations of YARN."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from mrdsl.core.clock import DAY_SECONDS, TICK
from mrdsl.exchange.registry import EMR, Target
from mrdsl.exchange.starts import (
    CRON_FILE,
    DAG_FILE,
    RESERVATIONS_FILE,
    Event,
    Reservation,
    airflow_dag,
    crontab,
    reservations,
)
from mrdsl.exchange.targets.deployment import FIRM, Deployment, Group, MachineType, TargetError
from mrdsl.families.timetable.arrivals import filled
from mrdsl.families.timetable.facts import JobClass, VmType
from mrdsl.families.timetable.plan import TimetablePlan
from mrdsl.families.timetable.types import market_of_plan
from mrdsl.spec.spec import Spec

IDLE = 60
"""Seconds that a constant cluster waits beyond its longest gap between runs before it ends, EMR's least."""
LONGEST_IDLE = 7 * DAY_SECONDS


def cron(spec: Spec, plan: TimetablePlan) -> Mapping[str, str]:
    """Return a crontab that rents and releases machines, and starts runs. Raises TargetError without clock times."""
    _require_clock(plan, "a crontab")
    events, day = _events(plan)
    return {CRON_FILE: crontab(events, day, _head(spec))}


def airflow(spec: Spec, plan: TimetablePlan) -> Mapping[str, str]:
    """Return a DAG of Airflow with the same calls as the crontab. Raises TargetError without clock times."""
    _require_clock(plan, "a DAG")
    events, day = _events(plan)
    name = re.sub("[^A-Za-z0-9_.-]+", "_", spec.title).strip("_") or "timetable"
    return {DAG_FILE: airflow_dag(events, day, name, _head(spec))}


def _events(plan: TimetablePlan) -> tuple[list[Event], int | None]:
    """Return requests, starts and releases after the first midnight, and the ordinal of its day if it is known."""
    events = [Event(run.start, "START", (run.job, f"{run.run}")) for run in plan.runs if run.start is not None]
    for number, rental in enumerate(plan.rentals, 1):
        name = f"{rental.vm}-{'master-' if rental.master else ''}{number}"
        events.append(Event(rental.begin, "RENT", (name, rental.vm, f"{rental.count}")))
        events.append(Event(rental.end, "RELEASE", (name,)))
    first = min((event.time for event in events), default=0.0)
    events = [replace(event, time=event.time - min(first // DAY_SECONDS, 0) * DAY_SECONDS) for event in events]
    day = None if plan.day is None else plan.day + min(int(first // DAY_SECONDS), 0)
    return events, day


def yarn_reservations(spec: Spec, plan: TimetablePlan) -> Mapping[str, str]:
    """Return a script that reserves the containers of each run, from when to when the plan uses them.

    Raises TargetError without clock times, and if the memory or the cores of a task are unknown.
    """
    _require_clock(plan, "a reservation")
    _require_one_type(plan)
    facts = filled(spec.facts)
    sizes = {node.name: _size(node, facts.vms[0], plan.slots) for node in facts.classes}
    found = []
    for index, parts in _slots_of_runs(spec, plan):
        run = plan.runs[index]
        begin = parts[0][0]
        steps = tuple((count, end - start) for start, end, count in parts)
        memory, cores = sizes[run.job]
        found.append(Reservation(f"{run.job} {run.run}", begin, parts[-1][1], steps, memory, cores))
    return {RESERVATIONS_FILE: reservations(found, plan.day, _head(spec))}


def _head(spec: Spec) -> tuple[str, ...]:
    return (f'The timetable "{spec.title}" of {spec.file.rpartition("/")[2] or "mrdsl"}',)


def _require_clock(plan: TimetablePlan, what: str) -> None:
    if not plan.clock:
        raise TargetError(f"{what} has clock times, and the spec has offsets", "write runs { from = 22:00, ... }")
    times = [each for rental in plan.rentals for each in (rental.begin, rental.end)]
    if plan.day is None and times and max(times) - min(times) > DAY_SECONDS:
        raise TargetError(
            "without dates it is repeated every day, and it is longer than a day", "write dates: 2026-11-23T22:00"
        )


def _require_one_type(plan: TimetablePlan) -> None:
    if len(plan.uses) > 1:
        raise TargetError("it has one VM type, and the spec has several", "export it as cron, or keep one vm block")


def _slots_of_runs(spec: Spec, plan: TimetablePlan) -> Iterator[tuple[int, list[tuple[float, float, int]]]]:
    """Yield the index of each admitted run, and how many slots it uses from when to when, gaps with 0 between."""
    night, tasks = market_of_plan(spec.facts, plan).nights[0], plan.tasks
    if tasks is None:
        raise TargetError("the plan has no tasks", "solve the spec again")
    changes: dict[int, dict[int, int]] = {}
    for run, stage, start, count in zip(
        *(column.tolist() for column in (tasks.run, tasks.stage, tasks.start, tasks.count)), strict=True
    ):
        mine = changes.setdefault(run, {})
        begin = round(start * TICK)
        end = begin + night.jobs[night.runs[run].job].stages[stage].ticks
        mine[begin] = mine.get(begin, 0) + count
        mine[end] = mine.get(end, 0) - count
    for run, mine in sorted(changes.items()):
        times, level = sorted(time for time, change in mine.items() if change), 0
        parts = []
        for time, after in pairwise(times):
            level += mine[time]
            parts.append((time / TICK, after / TICK, level))
        yield run, parts


def _size(node: JobClass, vm: VmType, slots: int) -> tuple[float, float]:
    """Return memory [B] and cores of one task: those of its container, or its part of a VM."""
    taken = None if node.container is None else node.container.of("task" if node.stages else "map")
    if taken is not None:
        memory, cores = taken.memory, taken.cores
    else:
        memory, cores = (None if size is None else size / slots for size in (vm.memory, vm.cores))
    if memory is None or cores is None:
        raise TargetError(
            f"the memory and the cores of a task of {node.name} are not known",
            f"write cores = 4, memory = 16 GiB in vm {vm.name}, or both in its container",
        )
    return memory, cores


def deployments(spec: Spec, plan: TimetablePlan) -> tuple[Deployment, ...]:
    """Return the cluster of a constant plan, or one for each class and size if each run has its own machines.

    Raises TargetError if machines come and go one by one.
    """
    _require_one_type(plan)
    vm: VmType = spec.facts.vms[0]
    if plan.rent == "elastic":
        raise TargetError(
            "its machines come and go one by one, and a cluster starts and ends as a whole",
            "export it as cron, or write rent = constant or rent = per_job",
        )
    started = "when clusters and runs start - export the plan as `cron` too"
    one = Deployment(
        (MachineType(vm.name, vm.cores, vm.memory, vm.on_demand.price),),
        (),
        (),
        {vm.name: vm.masters} if vm.masters else {},
        spec.currency,
        notes=(started,),
    )
    if plan.rent == "constant":
        count = sum(rental.count for rental in plan.rentals if not rental.master)
        return (replace(one, groups=(Group(vm.name, FIRM, count),), idle=_longest_gap(plan)),)
    assert plan.tasks is not None
    rented: dict[int, int] = {}
    for run, machine in dict.fromkeys(zip(plan.tasks.run.tolist(), plan.tasks.machine.tolist(), strict=True)):
        rented[run] = rented.get(run, 0) + plan.rentals[machine].count
    sizes = dict.fromkeys((plan.runs[run].job, count) for run, count in rented.items())
    several = len(sizes) > 1
    return tuple(
        replace(
            one,
            groups=(Group(vm.name, FIRM, count),),
            part=f"{job} {count}" if several else "",
            steps=(job,),
        )
        for job, count in sizes
    )


def _longest_gap(plan: TimetablePlan) -> int:
    """Return the longest time without a run [s], with a margin, as a limit of idle time."""
    last, longest = min((rental.begin for rental in plan.rentals), default=0.0), 0.0
    for run in sorted((run for run in plan.runs if run.start is not None), key=lambda run: run.start or 0.0):
        longest, last = max(longest, (run.start or 0.0) - last), max(last, run.end or 0.0)
    return min(int(longest) + IDLE, LONGEST_IDLE)


def targets() -> tuple[Target, ...]:
    """Return the export targets of plans."""
    return (EMR,)
