"""The runs of a timetable for the engine: as they are planned, and second attempts of those that lost spot VMs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf, lcm

from mrdsl.core.units import TICK
from mrdsl.families.timetable.facts import TimetableFacts
from mrdsl.families.timetable.night import Machine, Night, tasks_in_slot
from mrdsl.families.timetable.plan import TimetablePlan, types_of_runs
from mrdsl.families.timetable.types import Market, node_on
from mrdsl.simulation.described import class_of, faults_of
from mrdsl.simulation.engine.draws import TaskTimes, repeated
from mrdsl.simulation.engine.reserved import PlannedJob, Timetable, Wave
from mrdsl.simulation.engine.scenario import JobClass as SimulatedClass
from mrdsl.simulation.engine.scenario import LossRule, QueueRule, Recorded, Scenario
from mrdsl.simulation.engine.world import Machines
from mrdsl.spec.blocks import Simulation


def timetable_of(
    facts: TimetableFacts, plan: TimetablePlan, market: Market, vm: int, rules: Simulation
) -> tuple[Timetable, list[int], list[int]]:
    """Return the runs on a VM type for the engine, their indices among the plan's runs, and the rental of each group.

    A group with the rental -1 has all machines.
    """
    tasks, night = plan.tasks, market.nights[vm]
    assert tasks is not None
    types = types_of_runs(plan, [machine.name for machine in market.machines])
    ran = [run for run in sorted(set(tasks.run.tolist())) if types[run] == vm]
    held = tasks_in_slots(facts, night, [night.runs[run].job for run in ran])
    classes, order = _classes(facts, night, rules, held)
    rows = [
        row
        for row in zip(
            *(column.tolist() for column in (tasks.run, tasks.stage, tasks.machine, tasks.start, tasks.count)),
            strict=True,
        )
        if types[row[0]] == vm
    ]
    if held > 1:
        left = {
            (run, stage): classes[night.runs[run].job].kind.stages[order[night.runs[run].job][stage]].tasks
            for run, stage, *_ in rows
        }
        for place in sorted(range(len(rows)), key=lambda place: rows[place][3]):
            run, stage, machine, start, count = rows[place]
            rows[place] = run, stage, machine, start, min(count * held, left[run, stage])
            left[run, stage] -= rows[place][4]
    used = sorted({machine for _, _, machine, _, _ in rows})
    places = {machine: group for group, machine in enumerate(used)}
    waves: dict[int, list[Wave]] = {run: [] for run in ran}
    for run, stage, machine, start, count in rows:
        job = night.runs[run].job
        begin = round(start * TICK)
        end = begin + night.jobs[job].stages[stage].ticks
        waves[run].append(Wave(order[job][stage], places[machine], begin, end, count))
    jobs = [PlannedJob(night.runs[run].job, night.runs[run].number, tuple(waves[run])) for run in ran]
    machines, there = [], []
    for machine in used:
        rental = plan.rentals[max(machine, 0)]
        vms = rental.count if machine >= 0 else len(plan.rentals) - sum(each.count for each in night.machine.masters)
        slots = night.machine.slots * held
        machines.append(Machines(vms, slots, interruptions=interrupted_at(facts, night.machine)))
        there.append((round(rental.begin * TICK) + night.machine.boot, round(rental.end * TICK)))
    scenario = _scenario(classes, jobs, machines, rules, night.machine.boot / TICK)
    alone: list[int] = []
    if night.machine.spot:
        groups = [{wave.group for wave in job.waves} for job in jobs]
        for group in range(len(used)):
            mine = [job for job, each in enumerate(groups) if group in each]
            alone.append(mine[0] if len(mine) == 1 and len(groups[mine[0]]) == 1 else -1)
    timetable = Timetable(
        scenario, tuple(jobs), tuple(there), night.machine.spot, tuple(alone), night.machine.boot if alone else 0
    )
    return timetable, ran, used


def second_attempts(
    facts: TimetableFacts,
    timetable: Timetable,
    stopped: Mapping[int, int],
    night: Night,
    rules: Simulation,
    sizes: Sequence[int],
) -> Timetable:
    """Return the second attempts of jobs that were stopped on spot VMs, by the index of the job.

    Each has VMs on demand of its own, by ``sizes``. They boot when the first attempt is stopped. Stages are one after
    the other unless each task has a slot.
    """
    held = tasks_in_slots(facts, night, [each.kind for each in timetable.jobs])
    classes, order = _classes(facts, night, rules, held)
    jobs, machines, there = [], [], []
    slots = night.machine.slots * held
    for group, (index, time) in enumerate(sorted(stopped.items())):
        planned = timetable.jobs[index]
        job, ready = night.jobs[planned.kind], time + night.machine.boot
        begin = ready + night.startups[planned.kind]
        ends, each = job.ends(max(each.tasks for each in job.stages)), classes[planned.kind].kind.stages
        waves = [
            Wave(place, group, begin + end - stage.ticks, begin + end, each[place].tasks)
            for end, stage, place in zip(ends, job.stages, order[planned.kind], strict=True)
        ]
        if sizes[index] * slots < _most_at_once(waves):
            waves = []
            for number in job.order:
                place, left = order[planned.kind][number], each[order[planned.kind][number]].tasks
                while left > 0:
                    count, end = min(left, sizes[index] * slots), begin + job.stages[number].ticks
                    waves.append(Wave(place, group, begin, end, count))
                    begin, left = end, left - count
        jobs.append(PlannedJob(planned.kind, planned.number, tuple(waves)))
        machines.append(Machines(sizes[index], slots))
        there.append((ready, max(wave.end for wave in waves)))
    kept = rules.machine_failures
    rules = replace(rules, machine_failures=None if kept is None else replace(kept, permanent=0), max_running=None)
    return Timetable(_scenario(classes, jobs, machines, rules, 0.0), tuple(jobs), tuple(there))


def tasks_in_slots(facts: TimetableFacts, night: Night, jobs: Iterable[int]) -> int:
    """Return the parts of a slot of which each task on it takes whole ones: the tasks in it if all are alike."""
    vm = next(each for each in facts.vms if each.name == night.machine.vm)
    nodes = [node_on(facts.classes[job], vm) for job in sorted(set(jobs))]
    return lcm(*(count for node in nodes for count in tasks_in_slot(vm, node, night.machine.slots).values()))


def interrupted_at(facts: TimetableFacts, machine: Machine) -> float:
    """Return the rate at which the provider takes back each machine [1/s]."""
    vm = next(each for each in facts.vms if each.name == machine.vm)
    return vm.spot.interruptions if machine.spot and vm.spot is not None else 0.0


def _most_at_once(waves: Sequence[Wave]) -> int:
    return max(sum(other.count for other in waves if other.start <= each.start < other.end) for each in waves)


def _classes(
    facts: TimetableFacts, night: Night, rules: Simulation, held: int
) -> tuple[list[SimulatedClass], list[list[int]]]:
    """Return the classes as they run on the VM type of a night, and the place of each of their planned stages.

    A task counts as the parts of slots that it takes, with ``held`` in each.
    """
    vm = next(each for each in facts.vms if each.name == night.machine.vm)
    classes, order = [], []
    for each, job in zip(facts.classes, night.jobs, strict=True):
        node = node_on(each, vm)
        found = class_of(replace(node, startup=0.0), Recorded(()), rules, 0, (0, 0))
        inside = tasks_in_slot(vm, node, night.machine.slots)
        names = [stage.name for stage in found.kind.stages]
        order.append([names.index(stage.name) for stage in job.stages])
        parts = [1] * len(names)
        for stage, place in zip(job.stages, order[-1], strict=True):
            parts[place] = stage.parts * max(held // inside["task" if node.stages else stage.name], 1)
        classes.append(_in_parts(found, parts))
    return classes, order


def _in_parts(found: SimulatedClass, parts: Sequence[int]) -> SimulatedClass:
    """Return a class of which each task is several, which begin and end together as planned."""
    if max(parts) == 1:
        return found
    stages = tuple(replace(each, tasks=each.tasks * n) for each, n in zip(found.kind.stages, parts, strict=True))
    times = []
    for each, n in zip(found.times, parts, strict=True):
        first, shuffle, slow = (draws and repeated(draws, n) for draws in (each.first, each.shuffle, each.slow))
        times.append(TaskTimes(repeated(each.work, n), first, shuffle, slow, each.shared))
    return replace(found, kind=replace(found.kind, stages=stages), times=tuple(times))


def _scenario(
    classes: Sequence[SimulatedClass],
    jobs: Sequence[PlannedJob],
    machines: Sequence[Machines],
    rules: Simulation,
    back: float,
) -> Scenario:
    first = min(job.start for job in jobs)
    starts: list[list[float]] = [[] for _ in classes]
    for job in jobs:
        starts[job.kind].append((job.start - first) / TICK)
    losses = rules.machine_failures
    lost = LossRule(back=back) if losses is None else LossRule(losses.rate, losses.repair_time, losses.permanent)
    return Scenario(
        tuple(
            replace(each, who=Recorded(tuple(times)), jobs=len(times))
            for each, times in zip(classes, starts, strict=True)
        ),
        tuple(machines),
        ((QueueRule(fair=False),),),
        0.0,
        faults_of(rules, rules.shuffle_service == "yes"),
        None if losses is None and not any(each.interruptions for each in machines) else lost,
        max_running=rules.max_running or inf,
    )
