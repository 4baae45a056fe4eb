"""What ``mrdsl why`` says: what each promise costs in energy, and how far the promises can be moved."""

from __future__ import annotations

from typing import Any

from mrdsl.core.result import Limits, Result, Table
from mrdsl.families.energy.exclusions import alone, extreme
from mrdsl.families.energy.facts import EnergyFacts, Job, TaskProfile
from mrdsl.families.energy.plan import EnergyPlan
from mrdsl.spec.spec import Spec


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """For every job the range of its promises; with a plan also what they cost, and how the machines compare."""
    facts: EnergyFacts = spec.facts
    out: list[Table | str] = [_range(spec)]
    if isinstance(result.plan, EnergyPlan):
        out.append(_price_of_promises(spec, result.plan))
        out.extend(_machines(facts, job, result.plan) for job in facts.jobs)
        out.extend(_sentence(job, result.plan) for job in facts.jobs)
    return tuple(out)


def _solve(model: Any, limits: Limits) -> Any:
    from mrdsl.solving.checked_answer import solve_model

    return solve_model(model, "highs", limits)


def _best(spec: Spec, job: Job, goal: str, deadline: bool, budget: bool) -> float | None:
    plan = extreme(alone(spec, job, deadline=deadline, budget=budget, goal=goal), _solve)
    return None if plan is None else plan.value


def _range(spec: Spec) -> Table:
    rows = [
        (
            job.name,
            job.deadline,
            _best(spec, job, "uptime", False, False),
            _best(spec, job, "uptime", False, True),
            job.budget,
            _best(spec, job, "cost", False, False),
            _best(spec, job, "cost", True, False),
        )
        for job in spec.facts.jobs
    ]
    unit = spec.currency
    return Table(
        "How far each promise can be moved, with the whole stock for the job (none: no such plan)",
        (
            "job",
            "deadline [s]",
            "fastest [s]",
            "fastest in budget [s]",
            f"budget [{unit}]",
            f"cheapest [{unit}]",
            f"cheapest in time [{unit}]",
        ),
        rows,
    )


def _price_of_promises(spec: Spec, plan: EnergyPlan) -> Table:
    rows = []
    for job in spec.facts.jobs:
        energy = plan.jobs[job.name].energy.total
        without = [
            _best(spec, job, "energy", deadline, budget)
            for deadline, budget in ((False, True), (True, False), (False, False))
        ]
        rows.append((job.name, energy, *(None if value is None else energy - value for value in without)))
    return Table(
        "What the promises cost in energy (and, with several jobs, the other jobs)",
        ("job", "energy [J]", "deadline costs [J]", "budget costs [J]", "both cost [J]"),
        rows,
    )


def _machines(facts: EnergyFacts, job: Job, plan: EnergyPlan) -> Table:
    """VM types by the energy of a map task, with what a task's slot time costs."""
    profiles = {profile.name: profile for profile in job.on}
    taken: dict[str, int] = {}
    for use in plan.vms:
        if use.job == job.name:
            taken[use.type] = taken.get(use.type, 0) + 1
    rows = []
    for vm in facts.vms:
        profile = profiles.get(vm.name)
        map_task, reduce_task = (profile.map, profile.reduce) if profile is not None else (None, None)
        price = vm.on_demand.price
        rows.append(
            (
                vm.name,
                f"{taken.get(vm.name, 0)} of {vm.available}",
                *_task(map_task, price / vm.slots.map),
                *_task(reduce_task, price / vm.slots.reduce),
            )
        )
    rows.sort(key=lambda row: (row[2] is None, row[2] if row[2] is not None else 0.0))
    return Table(
        f"Machines for {job.name}, those that need least energy first",
        (
            "VM type",
            "taken",
            "map task [J]",
            "map task, price of its slot",
            "reduce task [J]",
            "reduce task, price of its slot",
        ),
        rows,
    )


def _task(task: TaskProfile | None, slot_price: float) -> tuple[float | None, float | None]:
    return (None, None) if task is None else (task.energy, task.time * slot_price)


def _sentence(job: Job, plan: EnergyPlan) -> str:
    use = plan.jobs[job.name]
    parts = []
    if job.deadline is not None:
        parts.append(f"{use.uptime / job.deadline:.1%} of the deadline")
    if job.budget is not None:
        parts.append(f"{use.cost / job.budget:.1%} of the budget")
    return f"{job.name} uses " + (" and ".join(parts) if parts else "what it likes: it has no deadline and no budget")
