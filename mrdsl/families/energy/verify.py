"""Verification of a finished plan against the spec, from the input data and the plan's task counts alone.

It shares no code with the construction of the plan: every number is recomputed, task by task and slot by slot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose

from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.rounding import FEASIBILITY, ROUNDING
from mrdsl.families.energy.facts import EnergyFacts, Job, TaskProfile
from mrdsl.families.energy.plan import EnergyPlan, JobUse, VmUse
from mrdsl.spec.spec import Spec


@dataclass(frozen=True)
class Measured:
    """One job's figures, recomputed from its VMs; ``cost`` is 0 if the plan is relaxed.

    A relaxed plan's tasks do not determine its cost: (9) as printed lets a fractional VM remain unpaid.
    """

    placement: float
    map: float
    shuffle: float
    reduce: float
    tasks_energy: float
    placement_energy: float
    shuffle_energy: float
    cost: float
    busy: tuple[tuple[float, float], ...] = ()

    @property
    def uptime(self) -> float:
        return self.placement + self.map + self.shuffle + self.reduce

    @property
    def energy(self) -> float:
        return self.tasks_energy + self.placement_energy + self.shuffle_energy


def verify(spec: Spec, plan: EnergyPlan, relax: bool = False) -> tuple[Diagnostic, ...]:
    """Return the plan's errors: deadlines, budgets, stock, counts, or arithmetic; empty if all are correct."""
    facts: EnergyFacts = spec.facts
    broken = [*_stock(facts, plan, relax), *_slots(facts, plan, relax)]
    for job in facts.jobs:
        if job.task_times is not None:
            broken += _differing(facts, job, [use for use in plan.vms if use.job == job.name])
    if broken:
        return tuple(broken)
    for job in facts.jobs:
        broken.extend(_job(facts, job, plan, relax))
    if plan.machines != len(plan.vms) and not relax and _says_times(plan):
        broken.append(error("broken-plan", f"the plan states {plan.machines:g} VMs, and has {len(plan.vms)}"))
    return tuple(broken)


def measure(spec: Spec, plan: EnergyPlan) -> float:
    """Return the objective's value of a plan, from the input data."""
    return quantity(spec, plan, spec.goal.quantity if spec.goal else "energy", "")


def quantity(spec: Spec, plan: EnergyPlan, name: str, argument: str) -> float:
    """Return ``energy``, ``cost``, ``uptime`` or ``machines`` of a plan, from the input data."""
    measured = [measured_job(spec.facts, job, plan, plan.relaxed) for job in spec.facts.jobs]
    match name:
        case "energy":
            return sum(m.energy for m in measured)
        case "cost":
            return plan.cost if plan.relaxed else sum(m.cost for m in measured)
        case "uptime":
            return plan.uptime if plan.relaxed else max(m.uptime for m in measured)
        case "machines":
            return plan.machines if plan.relaxed else float(len(plan.vms))
    raise ValueError(f"no quantity {name!r}")


def measured_job(facts: EnergyFacts, job: Job, plan: EnergyPlan, relax: bool) -> Measured:
    """Return every figure of one job under the plan, from task counts and input data."""
    types = {vm.name: vm for vm in facts.vms}
    profiles = {profile.name: profile for profile in job.on}
    speed, power = facts.network.speed, facts.network.io_power
    own = [use for use in plan.vms if use.job == job.name]
    out = job.map.block * job.intermediate if job.reduce_tasks else 0.0
    read = job.map.tasks * out / job.reduce_tasks if job.reduce_tasks else 0.0
    placed = [use.map_tasks * job.map.block / speed for use in own]
    shuffled = [(use.map_tasks * out + use.reduce_tasks * read) / speed for use in own]
    if job.task_times is None:
        mapped = [_busiest([slot.map_tasks for slot in use.slots], profiles[use.type].map) for use in own]
        reduced = [_busiest([slot.reduce_tasks for slot in use.slots], profiles[use.type].reduce) for use in own]
        tasks = sum(
            use.map_tasks * _energy(profiles[use.type].map) + use.reduce_tasks * _energy(profiles[use.type].reduce)
            for use in own
        )
    else:
        stated = single_tasks(facts, job)
        mapped, map_energy = _single(stated, own, "map")
        reduced, reduce_energy = _single(stated, own, "reduce")
        tasks = map_energy + reduce_energy
    placement, map_, shuffle, reduce_ = (max(t, default=0.0) for t in (placed, mapped, shuffled, reduced))
    uptime = placement + map_ + shuffle + reduce_
    prices = [types[use.type].on_demand.price for use in own]
    cost = 0.0 if relax else sum(prices) * uptime
    return Measured(
        placement,
        map_,
        shuffle,
        reduce_,
        tasks,
        sum(placed) * power,
        sum(shuffled) * power,
        cost,
        tuple(zip(mapped, reduced, strict=True)),
    )


Stated = Mapping[tuple[str, int, str], tuple[float, float]]
"""The time [s] and the energy [J] of a task, by its kind, its number and a VM type."""


def single_tasks(facts: EnergyFacts, job: Job) -> Stated:
    """Read the times and energies of a job whose tasks differ: a row of the table counts before the type's block."""
    from mrdsl.exchange.demand import read_task_times

    counts = {"map": job.map.tasks, "reduce": job.reduce_tasks}
    stated = {
        (kind, number, profile.name): (block.time, block.energy)
        for profile in job.on
        for kind, block in (("map", profile.map), ("reduce", profile.reduce))
        if block is not None
        for number in range(1, counts[kind] + 1)
    }
    rows = read_task_times(job.task_times, counts, [vm.name for vm in facts.vms])[0] if job.task_times else ()
    return stated | {(row.kind, row.task, row.vm): (row.time, row.energy) for row in rows}


def _single(stated: Stated, own: Sequence[VmUse], kind: str) -> tuple[list[float], float]:
    """Return the time of the busiest slot of each VM that runs tasks that differ, and their energy."""
    times, energy = [], 0.0
    for use in own:
        slots = [[stated[kind, task, use.type] for task in numbers] for numbers in _numbers(use, kind)]
        times.append(max((sum(time for time, _ in slot) for slot in slots), default=0.0))
        energy += sum(joules for slot in slots for _, joules in slot)
    return times, energy


def _numbers(use: VmUse, kind: str) -> list[tuple[int, ...]]:
    return [slot.maps if kind == "map" else slot.reduces for slot in use.slots]


def _differing(facts: EnergyFacts, job: Job, own: Sequence[VmUse]) -> Iterator[Diagnostic]:
    """Check that each task of a job whose tasks differ runs once, where it can run, and that slots count theirs."""
    stated = single_tasks(facts, job)
    for kind, wanted in (("map", job.map.tasks), ("reduce", job.reduce_tasks)):
        run = Counter(task for use in own for numbers in _numbers(use, kind) for task in numbers)
        if run != Counter(range(1, wanted + 1)):
            yield error("broken-plan", f"not each of the {wanted} {kind} tasks of {job.name} runs once")
        for use in own:
            counts = [slot.map_tasks if kind == "map" else slot.reduce_tasks for slot in use.slots]
            if counts != [len(numbers) for numbers in _numbers(use, kind)]:
                yield error("broken-plan", f"{use.label} counts other {kind} tasks than it lists")
            for task in (task for numbers in _numbers(use, kind) for task in numbers):
                if (kind, task, use.type) not in stated:
                    yield error(
                        "broken-plan", f"{use.label} runs {kind} task {task} of {use.job}, which cannot run there"
                    )


def _busiest(tasks: list[float], profile: TaskProfile | None) -> float:
    return max(tasks, default=0.0) * profile.time if profile is not None else 0.0


def _energy(profile: TaskProfile | None) -> float:
    return profile.energy if profile is not None else 0.0


def _stock(facts: EnergyFacts, plan: EnergyPlan, relax: bool) -> Iterator[Diagnostic]:
    available = {vm.name: vm.available for vm in facts.vms}
    seen = Counter((use.type, use.index) for use in plan.vms)
    for (kind, index), times in seen.items():
        if times > 1:
            yield error("broken-plan", f"VM {kind} #{index} is taken {times} times")
        if kind not in available:
            yield error("broken-plan", f"VM type {kind} is not in the spec")
        elif not relax and not 1 <= index <= available[kind]:
            yield error("broken-plan", f"VM {kind} #{index} is taken, but only {available[kind]} are available")


def _slots(facts: EnergyFacts, plan: EnergyPlan, relax: bool) -> Iterator[Diagnostic]:
    types = {vm.name: vm for vm in facts.vms}
    profiles = {(job.name, profile.name): profile for job in facts.jobs for profile in job.on}
    single = {job.name for job in facts.jobs if job.task_times is not None}
    for use in plan.vms:
        profile = profiles.get((use.job, use.type))
        slots = types[use.type].slots
        rows = (
            ("map", use.map_tasks, [s.map_tasks for s in use.slots], slots.map, profile and profile.map),
            ("reduce", use.reduce_tasks, [s.reduce_tasks for s in use.slots], slots.reduce, profile and profile.reduce),
        )
        for kind, tasks, per_slot, count, able in rows:
            if tasks and able is None and use.job not in single:
                yield error("broken-plan", f"{use.label} runs {kind} tasks of {use.job}, which cannot run there")
            if sum(1 for n in per_slot if n) > count:
                yield error("broken-plan", f"{use.label} uses more than its {count} {kind} slots")
            if not isclose(sum(per_slot), tasks, rel_tol=FEASIBILITY, abs_tol=FEASIBILITY):
                yield error("broken-plan", f"{use.label}: its slots run {sum(per_slot):g} of {tasks:g} {kind} tasks")
            if min(per_slot, default=0.0) < 0 or (not relax and any(n % 1 for n in per_slot)):
                yield error("broken-plan", f"{use.label} runs a part of a {kind} task on some slot")


def _job(facts: EnergyFacts, job: Job, plan: EnergyPlan, relax: bool) -> Iterator[Diagnostic]:
    own = [use for use in plan.vms if use.job == job.name]
    for kind, run, wanted in (
        ("map", sum(use.map_tasks for use in own), job.map.tasks),
        ("reduce", sum(use.reduce_tasks for use in own), job.reduce_tasks),
    ):
        if not isclose(run, wanted, rel_tol=FEASIBILITY, abs_tol=FEASIBILITY):
            yield error("broken-plan", f"{run:g} of the {wanted} {kind} tasks of {job.name} run")
    measured = measured_job(facts, job, plan, relax)
    said = plan.jobs[job.name]
    uptime, cost = max(measured.uptime, said.uptime), max(measured.cost, said.cost)
    if job.deadline is not None and uptime > job.deadline * (1 + FEASIBILITY):
        yield error(
            "broken-plan",
            f"{job.name} ends after {uptime:.6g} s, its deadline is {job.deadline:.6g} s",
            job.span_of("deadline"),
        )
    if job.budget is not None and cost > job.budget * (1 + FEASIBILITY):
        yield error(
            "broken-plan", f"{job.name} costs {cost:.6g}, its budget is {job.budget:.6g}", job.span_of("budget")
        )
    yield from _arithmetic(job, said, measured, relax)
    for use, busy in zip(own, measured.busy, strict=True):
        for stated, counted in zip((use.map_time, use.reduce_time), busy, strict=True):
            if _says_times(plan) and not isclose(stated, counted, rel_tol=FEASIBILITY, abs_tol=ROUNDING):
                yield error("broken-plan", f"{use.label} is busy for {counted:.6g} s, not for {stated:.6g} s")


def _says_times(plan: EnergyPlan) -> bool:
    """Return True if a plan has the times of its VMs; those of earlier releases have none."""
    return any(use.map_time or use.reduce_time for use in plan.vms)


def _arithmetic(job: Job, said: JobUse, measured: Measured, relax: bool) -> Iterator[Diagnostic]:
    """Check that the plan's figures follow from its tasks; a relaxed plan's phases and cost may be greater."""
    exact = [("energy", said.energy.total, measured.energy), ("task energy", said.energy.tasks, measured.tasks_energy)]
    at_least = [
        ("placement", said.phases.placement, measured.placement),
        ("map phase", said.phases.map, measured.map),
        ("shuffle", said.phases.shuffle, measured.shuffle),
        ("reduce phase", said.phases.reduce, measured.reduce),
        ("uptime", said.uptime, measured.uptime),
        ("cost", said.cost, measured.cost),
    ]
    for name, stated, counted in [*exact, *([] if relax else at_least)]:
        if not isclose(stated, counted, rel_tol=FEASIBILITY, abs_tol=ROUNDING):
            yield error("broken-plan", _stated(job, name, stated, counted))
    for name, stated, counted in at_least if relax else []:
        if stated < counted * (1 - FEASIBILITY) - FEASIBILITY:
            yield error("broken-plan", _stated(job, name, stated, counted))


def _stated(job: Job, name: str, stated: float, counted: float) -> str:
    return f"{job.name}: the plan states {stated:.6g} as {name}, its tasks give {counted:.6g}"
