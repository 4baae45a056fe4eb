"""The counted model: tasks per VM in whole waves instead of one 0/1 variable per task and slot.

Nabavinejad et al., (1)-(11), without the symmetry of the printed form (:mod:`mrdsl.families.energy.models.per_task`).
Both have the same optimum:

- All tasks of a kind take the same time and energy on a VM type, and all slots of a VM are alike. Swapping two tasks,
  or two slots of a VM, changes neither the objective nor any constraint: only the number of tasks per VM matters.
- ``n`` tasks on ``s`` slots take at least ``ceil(n / s)`` task times on the fullest slot; even sharing takes no more.
- The map phase lasts ``Max`` over all slots, so it lasts at least ``t_k w_k`` for every type ``k``. ``w_k`` is
  the largest number of waves on a VM of that type; any VM of the type may use ``w_k`` waves without making the
  phase longer. Hence one whole number per type and phase, not per VM. The same holds for the reduce phase.
- VMs of a type are interchangeable: they may be numbered with those taken first and with falling map tasks.
- (9) multiplies ``UT`` by a 0/1. The seconds paid ``z_k`` are exactly that product: ``z_k >= UT - T (1 - on_k)``,
  ``z_k <= UT``, ``z_k <= T on_k``, with a bound ``T`` on ``UT``.
- A VM's port time, map and reduce work fit into its paid seconds. This follows from the rest for whole
  numbers. The model states it because it makes the relaxation far tighter.

The energies of placement and shuffle are constants (:class:`~mrdsl.families.energy.cluster.JobData`). Jobs have
separate VMs, out of the same stock, and start together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from mrdsl.families.energy.assignment import plan_of
from mrdsl.families.energy.cluster import JobData, JobLimits, Machines, jobs_of, limits_of, machines_of, only_alike
from mrdsl.families.energy.models.shared import add_clock, add_goal, bill, hold_quantities, last_end_of, share_of_counts
from mrdsl.families.energy.plan import EnergyPlan
from mrdsl.spec.spec import Spec


def build(spec: Spec, relax: bool = False) -> pyo.ConcreteModel:
    """Return the counted MILP, or its LP relaxation; the objective has its unit and includes constants."""
    machines, jobs = machines_of(spec.facts), jobs_of(spec.facts)
    only_alike(jobs, spec.facts, "formulation counted")
    limits = [limits_of(machines, job) for job in jobs]
    model = pyo.ConcreteModel(name="energy_counted")
    model.types = pyo.Set(initialize=_type_index(machines, limits))
    model.vms = pyo.Set(initialize=_vm_index(machines, jobs, limits))
    whole = pyo.NonNegativeReals if relax else pyo.NonNegativeIntegers
    _add_counts(model, limits, whole)
    add_clock(model, jobs, limits)
    _add_capacity(model, machines, jobs, limits)
    _add_phases(model, machines, jobs)
    _add_order(model)
    bill(model, machines, jobs, limits)
    hold_quantities(model, spec, machines, jobs, limits, lambda v: model.maps[v], lambda v: model.reduces[v], relax)
    _add_goal(model, spec, jobs, machines)
    return model


def _type_index(machines: Machines, limits: list[JobLimits]) -> list[tuple[int, int]]:
    return [(j, k) for j, limit in enumerate(limits) for k in range(len(machines)) if limit.usable[k]]


def _vm_index(machines: Machines, jobs: tuple[JobData, ...], limits: list[JobLimits]) -> list[tuple[int, int, int]]:
    return [
        (j, k, i)
        for j, k in _type_index(machines, limits)
        for i in range(min(int(machines.available[k]), jobs[j].map_tasks + jobs[j].reduce_tasks))
    ]


def _add_counts(model: Any, limits: list[JobLimits], whole: Any) -> None:
    model.maps = pyo.Var(model.vms, within=whole, bounds=lambda _, j, k, i: (0, int(limits[j].maps[k])))
    model.reduces = pyo.Var(model.vms, within=whole, bounds=lambda _, j, k, i: (0, int(limits[j].reduces[k])))
    model.on = pyo.Var(model.vms, within=whole, bounds=(0, 1))
    model.paid = pyo.Var(model.vms, bounds=lambda _, j, k, i: (0.0, float(limits[j].uptime[k])))
    model.map_waves = pyo.Var(model.types, within=whole, bounds=lambda _, j, k: (0, int(limits[j].map_waves[k])))
    model.reduce_waves = pyo.Var(model.types, within=whole, bounds=lambda _, j, k: (0, int(limits[j].reduce_waves[k])))


def _add_capacity(model: Any, machines: Machines, jobs: tuple[JobData, ...], limits: list[JobLimits]) -> None:
    """(2), (3): every task runs once; and only on VMs that are taken."""
    of_job = {j: [(k, i) for jj, k, i in model.vms if jj == j] for j in model.jobs}
    model.all_maps = pyo.Constraint(
        model.jobs, rule=lambda m, j: _equal(sum(m.maps[j, k, i] for k, i in of_job[j]), jobs[j].map_tasks)
    )
    model.all_reduces = pyo.Constraint(
        model.jobs, rule=lambda m, j: _equal(sum(m.reduces[j, k, i] for k, i in of_job[j]), jobs[j].reduce_tasks)
    )
    model.maps_taken = pyo.Constraint(
        model.vms, rule=lambda m, j, k, i: m.maps[j, k, i] <= int(limits[j].maps[k]) * m.on[j, k, i]
    )
    model.reduces_taken = pyo.Constraint(
        model.vms, rule=lambda m, j, k, i: m.reduces[j, k, i] <= int(limits[j].reduces[k]) * m.on[j, k, i]
    )
    model.map_capacity = pyo.Constraint(
        model.vms, rule=lambda m, j, k, i: m.maps[j, k, i] <= int(machines.map_slots[k]) * m.map_waves[j, k]
    )
    model.reduce_capacity = pyo.Constraint(
        model.vms, rule=lambda m, j, k, i: m.reduces[j, k, i] <= int(machines.reduce_slots[k]) * m.reduce_waves[j, k]
    )


def _equal(expression: Any, value: int) -> Any:
    """Return ``expression == value``, also if the expression is a plain number because no VM will do."""
    if isinstance(expression, int | float):
        return pyo.Constraint.Feasible if expression == value else pyo.Constraint.Infeasible
    return expression == value


def _add_phases(model: Any, machines: Machines, jobs: tuple[JobData, ...]) -> None:
    """Add (4)-(6): each phase lasts as long as on its slowest VM."""
    model.placement_end = pyo.Constraint(
        model.vms, rule=lambda m, j, k, i: m.placement[j] >= jobs[j].place * m.maps[j, k, i]
    )
    model.shuffle_end = pyo.Constraint(
        model.vms,
        rule=lambda m, j, k, i: m.shuffle[j] >= jobs[j].send * m.maps[j, k, i] + jobs[j].fetch * m.reduces[j, k, i],
    )
    model.map_end = pyo.Constraint(
        model.types, rule=lambda m, j, k: _phase(m.map_phase[j], float(jobs[j].map_time[k]), m.map_waves[j, k])
    )
    model.reduce_end = pyo.Constraint(
        model.types, rule=lambda m, j, k: _phase(m.reduce_phase[j], float(jobs[j].reduce_time[k]), m.reduce_waves[j, k])
    )
    model.own_work = pyo.Constraint(
        model.vms, rule=lambda m, j, k, i: m.paid[j, k, i] >= _own_work(m, machines, jobs[j], j, k, i)
    )


def _phase(length: Any, time: float, rounds: Any) -> Any:
    return length >= time * rounds if np.isfinite(time) else pyo.Constraint.Skip


def _own_work(model: Any, machines: Machines, job: JobData, j: int, k: int, i: int) -> Any:
    work = 0.0
    if np.isfinite(job.map_time[k]):
        work += (job.place + job.send + float(job.map_time[k]) / int(machines.map_slots[k])) * model.maps[j, k, i]
    if np.isfinite(job.reduce_time[k]):
        work += (job.fetch + float(job.reduce_time[k]) / int(machines.reduce_slots[k])) * model.reduces[j, k, i]
    return work


def _add_order(model: Any) -> None:
    """VMs of a type are numbered with those taken first, and with falling numbers of map tasks."""
    after = [(j, k, i) for j, k, i in model.vms if i > 0]
    model.followers = pyo.Set(initialize=after)
    model.taken_first = pyo.Constraint(model.followers, rule=lambda m, j, k, i: m.on[j, k, i - 1] >= m.on[j, k, i])
    model.fuller_first = pyo.Constraint(model.followers, rule=lambda m, j, k, i: m.maps[j, k, i - 1] >= m.maps[j, k, i])


def _add_goal(model: Any, spec: Spec, jobs: tuple[JobData, ...], machines: Machines) -> None:
    tasks = sum(
        float(job.map_energy[k]) * model.maps[j, k, i]
        for j, k, i in model.vms
        for job in (jobs[j],)
        if np.isfinite(job.map_energy[k])
    ) + sum(
        float(job.reduce_energy[k]) * model.reduces[j, k, i]
        for j, k, i in model.vms
        for job in (jobs[j],)
        if np.isfinite(job.reduce_energy[k])
    )
    add_goal(model, spec, jobs, machines, tasks)


def decode(spec: Spec, model: Any, relax: bool = False) -> EnergyPlan:
    """Return the plan of the values that a solver left in the model."""
    machines = machines_of(spec.facts)
    vms = [[vm for vm in model.vms if vm[0] == j] for j in range(len(jobs_of(spec.facts)))]
    counts = model.maps, model.reduces
    shares = [share_of_counts(model, machines, j, own, counts, relax) for j, own in enumerate(vms)]
    return plan_of(spec, shares, last_end_of(model, spec, relax))
