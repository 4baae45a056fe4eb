"""A timetable for other systems: clusters of its machines, a crontab of its starts, and reservations of YARN."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from mrdsl.core.units import DAY_SECONDS, TICK
from mrdsl.exchange.registry import TARGETS, Target
from mrdsl.exchange.schedulers import (
    CRON_FILE,
    DAG_FILE,
    RESERVATIONS_FILE,
    Event,
    Reservation,
    airflow_dag,
    crontab,
    reservations,
)
from mrdsl.exchange.targets.deployment import FIRM, SPOT, Deployment, Group, Share, TargetError, Workload
from mrdsl.exchange.targets.on_types import executor_of, machine_types, tasks_on
from mrdsl.families.timetable.arrivals import filled
from mrdsl.families.timetable.facts import JobClass, VmType
from mrdsl.families.timetable.night import SPOT as SPOT_NAME
from mrdsl.families.timetable.night import slots_by_kind, tasks_in_executor, tasks_in_slot
from mrdsl.families.timetable.plan import Rental, TimetablePlan, VmUse, types_of_runs
from mrdsl.families.timetable.types import Market, market_of_plan, node_on
from mrdsl.formulas.type_checks import left_of
from mrdsl.spec.blocks import longest_idle, partitions_of
from mrdsl.spec.spec import Spec

IDLE = 60
"""Seconds that a constant cluster waits beyond its longest gap between runs before it ends, EMR's least."""
Lanes = tuple[tuple[str, int, float | None], ...]
"""Machines on demand or on spot: which, how many, and the price of one on spot."""
LEAST_IDLE, LONGEST_IDLE = 300, 7 * DAY_SECONDS
"""Limits of idle time that every service accepts [s]."""


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
    several = len(plan.uses) > 1
    types = types_of_runs(plan, [use.vm for use in plan.uses]) if several else {}
    events = []
    for index, run in enumerate(plan.runs):
        if run.start is not None:
            use = plan.uses[types[index]] if several else None
            events.append(Event(run.start, "START", (run.job, f"{run.run}", *_kind(use))))
    for number, rental in enumerate(plan.rentals, 1):
        name = f"{rental.vm}-{'master-' if rental.master else ''}{number}"
        way = "spot" if rental.spot else "reserved" if rental.reserved else ""
        events.append(Event(rental.begin, "RENT", (name, rental.vm, f"{rental.count}", *filter(None, [way]))))
        events.append(Event(rental.end, "RELEASE", (name,)))
    first = min((event.time for event in events), default=0.0)
    events = [replace(event, time=event.time - min(first // DAY_SECONDS, 0) * DAY_SECONDS) for event in events]
    day = None if plan.day is None else plan.day + min(int(first // DAY_SECONDS), 0)
    return events, day


def _kind(use: VmUse | None) -> tuple[str, ...]:
    return () if use is None else (use.vm.removesuffix(SPOT_NAME), "spot") if use.spot else (use.vm,)


def yarn_reservations(spec: Spec, plan: TimetablePlan) -> Mapping[str, str]:
    """Return a script that reserves the containers of each run, from when to when the plan uses them.

    Raises TargetError without clock times, and if the memory or the cores of a task are unknown.
    """
    _require_clock(plan, "a reservation")
    facts, market = filled(spec.facts), market_of_plan(spec.facts, plan)
    types = types_of_runs(plan, [machine.name for machine in market.machines])
    vms = {vm.name: vm for vm in facts.vms}
    found = []
    for index, parts in _slots_of_runs(plan, market, types):
        run, machine = plan.runs[index], market.machines[types[index]]
        vm = vms[machine.vm]
        begin = parts[0][0]
        steps = tuple((count, end - start) for start, end, count in parts)
        memory, cores = _size(node_on(facts.classes[market.runs[index].job], vm), vm, machine.slots)
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


def _slots_of_runs(
    plan: TimetablePlan, market: Market, types: Mapping[int, int]
) -> Iterator[tuple[int, list[tuple[float, float, int]]]]:
    """Yield the index of each admitted run, and how many slots it uses from when to when, gaps with 0 between."""
    tasks = plan.tasks
    if tasks is None:
        raise TargetError("the plan has no tasks", "solve the spec again")
    changes: dict[int, dict[int, int]] = {}
    for run, stage, start, count in zip(
        *(column.tolist() for column in (tasks.run, tasks.stage, tasks.start, tasks.count)), strict=True
    ):
        mine = changes.setdefault(run, {})
        begin = round(start * TICK)
        end = begin + market.nights[types[run]].jobs[market.runs[run].job].stages[stage].ticks
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
    """Return memory [B] and cores of one slot: those of its container, or its part of a VM."""
    kind, own = "task" if node.stages else "map", node.container
    taken = None if own is None else (own.executor if node.stages else None) or own.of(kind)
    if taken is not None:
        memory, cores = taken.memory, taken.cores
    else:
        memory, cores = (
            None if getattr(vm, resource) is None else left_of(vm, resource) / slots for resource in ("memory", "cores")
        )
    if memory is None or cores is None:
        raise TargetError(
            f"the memory and the cores of a task of {node.name} are not known",
            f"write cores = 4, memory = 16 GiB in vm {vm.name}, or both in its container",
        )
    return memory, cores


def deployments(spec: Spec, plan: TimetablePlan) -> tuple[Deployment, ...]:
    """Return the clusters of a constant plan by VM type, or one for each class and size if each run has its own VMs.

    Raises TargetError if machines come and go one by one.
    """
    if plan.rent == "elastic":
        raise TargetError(
            "its machines come and go one by one, and a cluster starts and ends as a whole",
            "export it as cron, or write rent = constant or rent = per_job",
        )
    market = market_of_plan(spec.facts, plan)
    types = types_of_runs(plan, [machine.name for machine in market.machines])
    ways = {
        vm.name: [at for at, machine in enumerate(market.machines) if machine.vm == vm.name] for vm in spec.facts.vms
    }
    if plan.rent == "constant":
        found = [
            replace(
                _cluster(spec, vm),
                groups=tuple(
                    Group(vm.name, lane, count, price)
                    for lane, count, price in _lanes(vm, [each for each in plan.rentals if each.vm == vm.name])
                ),
                workloads=tuple(
                    _workloads(spec, plan, market, {run: at for run, at in types.items() if at in ways[vm.name]})
                ),
                idle=_longest_gap(plan),
            )
            for vm in spec.facts.vms
        ]
        found = [each for each in found if each.groups]
        several = len(found) > 1
        return tuple(replace(each, part=each.groups[0].vm if several else "") for each in found)
    assert plan.tasks is not None
    machines: dict[int, list[Rental]] = {}
    for run, machine in dict.fromkeys(zip(plan.tasks.run.tolist(), plan.tasks.machine.tolist(), strict=True)):
        machines.setdefault(run, []).append(plan.rentals[machine])
    vms = {vm.name: vm for vm in spec.facts.vms}
    clusters: dict[tuple[str, str, Lanes], dict[int, int]] = {}
    for run, rentals in sorted(machines.items()):
        key = plan.runs[run].job, rentals[0].vm, tuple(_lanes(vms[rentals[0].vm], rentals))
        clusters.setdefault(key, {})[run] = types[run]
    several = len({(vm, lane) for _, vm, lanes in clusters for lane, _, _ in lanes}) > 1
    return tuple(
        replace(
            _cluster(spec, vms[vm]),
            groups=tuple(Group(vm, lane, count, price) for lane, count, price in lanes),
            part=" ".join([job, *([vm, *(lane for lane, _, _ in lanes)] if several else []), f"{lanes[0][1]}"])
            if len(clusters) > 1
            else "",
            steps=(job,),
            workloads=tuple(_workloads(spec, plan, market, dict(list(runs.items())[:1]))),
        )
        for (job, vm, lanes), runs in clusters.items()
    )


def _workloads(spec: Spec, plan: TimetablePlan, market: Market, types: Mapping[int, int]) -> Iterator[Workload]:
    """Yield the classes of some runs, with their runs at once, and their tasks at once by kind.

    The weight of a class is its part of the slot time.
    """
    assert plan.tasks is not None
    work: dict[int, int] = {}
    at_once: dict[tuple[int, int, int], list[tuple[float, int]]] = {}
    rows = zip(
        *(each.tolist() for each in (plan.tasks.run, plan.tasks.stage, plan.tasks.start, plan.tasks.count)), strict=True
    )
    for run, stage, start, count in rows:
        if run in types:
            job = market.runs[run].job
            each = market.nights[types[run]].jobs[job].stages[stage]
            work[job] = work.get(job, 0) + count * each.ticks
            kind = 1 if each.name == "reduce" and not filled(spec.facts).classes[job].stages else 0
            count //= each.parts
            changes = at_once.setdefault((job, types[run], kind), [])
            changes += [(start, count), (start + each.ticks / TICK, -count)]
    every = sum(work.values())
    for job, mine in sorted(work.items()):
        node = filled(spec.facts).classes[job]
        ran = [run for run in types if market.runs[run].job == job]
        shares = []
        for at in dict.fromkeys(types[run] for run in ran):
            machine = market.machines[at]
            vm = next(each for each in spec.facts.vms if each.name == machine.vm)
            inside = tasks_in_executor(node_on(node, vm))
            held = list(tasks_in_slot(vm, node_on(node, vm), machine.slots).values())
            hosted = [each * inside for each in slots_by_kind(vm, node_on(node, vm)).values()]
            slots = [float(_most(at_once.get((job, at, kind), []))) * held[min(kind, len(held) - 1)] for kind in (0, 1)]
            spans = [
                change
                for run in ran
                if types[run] == at
                for change in ((plan.runs[run].start or 0.0, 1), (plan.runs[run].end or 0.0, -1))
            ]
            tasks = tuple(tasks_on(node, machine.vm, (slots[0], slots[1]), (hosted[0], hosted[-1])))
            shares.append(Share(machine.vm, SPOT if machine.spot else FIRM, _most(spans), tasks))
        first = min((rental.begin for rental in plan.rentals), default=0.0)
        yield Workload(
            node.name,
            mine / every,
            tuple(shares),
            partitions_of(node.stages, node.reduce),
            tuple((plan.runs[run].start or 0.0) - first for run in ran),
            executor=executor_of(node),
            idle=longest_idle(node.startup, node.stages),
        )


def _most(changes: Sequence[tuple[float, int]]) -> int:
    """Return the most at once; what ends as another begins is not there at once."""
    there = most = 0
    for _, change in sorted((round(time, 6), change) for time, change in changes):
        there += change
        most = max(most, there)
    return most


def _cluster(spec: Spec, vm: VmType) -> Deployment:
    return Deployment(
        machine_types(spec.facts.vms),
        (),
        (),
        {each.name: each.masters for each in ([vm] if vm.masters else spec.facts.vms) if each.masters},
        spec.currency,
        notes=("when clusters and runs start - export the plan as `cron` too",),
    )


def _lanes(vm: VmType, rentals: Sequence[Rental]) -> Iterator[tuple[str, int, float | None]]:
    """Yield the machines of these rentals, on demand and on spot, with the price of one on spot."""
    for lane in (FIRM, SPOT):
        count = sum(each.count for each in rentals if not each.master and each.spot == (lane == SPOT))
        if count:
            yield lane, count, vm.spot.price if lane == SPOT and vm.spot is not None else None


def _longest_gap(plan: TimetablePlan) -> int:
    """Return the longest time without a run [s], with a margin, as a limit of idle time."""
    last, longest = min((rental.begin for rental in plan.rentals), default=0.0), 0.0
    for run in sorted((run for run in plan.runs if run.start is not None), key=lambda run: run.start or 0.0):
        longest, last = max(longest, (run.start or 0.0) - last), max(last, run.end or 0.0)
    return min(max(int(longest) + IDLE, LEAST_IDLE), LONGEST_IDLE)


def targets() -> tuple[Target, ...]:
    """Return the export targets of plans."""
    return TARGETS
