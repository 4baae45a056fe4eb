"""What both forms of the model share: the phases' clock, the bill, goals, and the quantities for ``subject to``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from mrdsl.contracts.subject_to import pushed_up
from mrdsl.families.energy.assignment import Part
from mrdsl.families.energy.cluster import JobData, Machines
from mrdsl.families.energy.limits import JobLimits
from mrdsl.families.energy.plan import Phases
from mrdsl.spec.spec import Spec


def add_clock(model: Any, jobs: tuple[JobData, ...], limits: list[JobLimits]) -> None:
    """(4): four phases, one after another, end before the deadline."""
    model.jobs = pyo.Set(initialize=range(len(jobs)))
    shortest = [[value if np.isfinite(value) else 0.0 for value in limit.shortest] for limit in limits]
    for position, name in enumerate(("placement", "map_phase", "shuffle", "reduce_phase")):
        model.add_component(
            name,
            pyo.Var(model.jobs, bounds=lambda _, j, p=position: (min(shortest[j][p], limits[j].horizon), None)),
        )
    model.uptime = pyo.Var(model.jobs, bounds=lambda _, j: (0.0, limits[j].horizon))
    model.uptime_sum = pyo.Constraint(
        model.jobs,
        rule=lambda m, j: m.uptime[j] == m.placement[j] + m.map_phase[j] + m.shuffle[j] + m.reduce_phase[j],
    )
    model.longest = pyo.Var(bounds=(0.0, max((limit.horizon for limit in limits), default=0.0)))
    model.last_end = pyo.Constraint(model.jobs, rule=lambda m, j: m.longest >= m.uptime[j])


def bill(model: Any, machines: Machines, jobs: tuple[JobData, ...], limits: list[JobLimits]) -> None:
    """(9), exact: a VM is paid for the job's uptime where it is taken (``on``), and for nothing else.

    Prices are divided by the job's budget, so that a solver's absolute tolerance is a relative one.
    """
    model.paid_up = pyo.Constraint(
        model.vms,
        rule=lambda m, *v: m.paid[v] >= m.uptime[v[0]] - limits[v[0]].horizon * (1 - m.on[v]),
    )
    model.paid_at_most = pyo.Constraint(model.vms, rule=lambda m, *v: m.paid[v] <= m.uptime[v[0]])
    model.paid_if_taken = pyo.Constraint(
        model.vms, rule=lambda m, *v: m.paid[v] <= float(limits[v[0]].uptime[v[1]]) * m.on[v]
    )
    model.within_budget = pyo.Constraint(model.jobs, rule=lambda m, j: _budget(m, machines, jobs[j], j))
    if len(jobs) > 1:
        model.stock = pyo.Constraint(
            range(len(machines)), rule=lambda m, k: _stock([m.on[v] for v in m.vms if v[1] == k], machines, k)
        )


def _budget(model: Any, machines: Machines, job: JobData, j: int) -> Any:
    own = [v for v in model.vms if v[0] == j]
    if not np.isfinite(job.budget) or not own:
        return pyo.Constraint.Skip
    return sum(float(machines.price[v[1]]) / job.budget * model.paid[v] for v in own) <= 1.0


def _stock(taken: list[Any], machines: Machines, k: int) -> Any:
    return sum(taken) <= int(machines.available[k]) if taken else pyo.Constraint.Skip


def add_goal(model: Any, spec: Spec, jobs: tuple[JobData, ...], machines: Machines, task_energy: Any) -> None:
    """The objective, and the plan's quantities as expressions for ``subject to``."""
    constant = sum(job.placement_energy + job.shuffle_energy for job in jobs)
    quantities = {
        "energy": task_energy + constant,
        "cost": sum(float(machines.price[v[1]]) * model.paid[v] for v in model.vms),
        "uptime": model.longest,
        "machines": sum(model.on[v] for v in model.vms),
    }
    model.quantities = pyo.Expression(list(quantities), rule=lambda m, name: quantities[name])
    model.plan_quantities = {(name, ""): model.quantities[name] for name in quantities}
    model.goal = pyo.Objective(expr=quantities[spec.goal.quantity if spec.goal else "energy"], sense=pyo.minimize)


def part_of(model: Any, machines: Machines, j: int) -> Part:
    """What a relaxed model says of job ``j`` as the solver left it."""
    own = [v for v in model.vms if v[0] == j]
    clock = Phases(
        *(
            max(0.0, pyo.value(phase[j]))
            for phase in (model.placement, model.map_phase, model.shuffle, model.reduce_phase)
        )
    )
    cost = sum(float(machines.price[v[1]]) * max(0.0, pyo.value(model.paid[v])) for v in own)
    return Part(clock, cost, sum(max(0.0, pyo.value(model.on[v])) for v in own))


def last_end_of(model: Any, spec: Spec, relax: bool) -> float | None:
    """The relaxed model's own end of the last job where a comparison asks for a late one, else None."""
    return float(pyo.value(model.longest)) if relax and "uptime" in pushed_up(spec) else None
