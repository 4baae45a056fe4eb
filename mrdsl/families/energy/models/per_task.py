"""The printed model, (1)-(11) of Nabavinejad et al.: one 0/1 variable per task and slot.

Kept to check :mod:`mrdsl.families.energy.models.counted` against: it takes nothing from that form's argument, no bounds
on waves, no order of VMs, no tightening. Two things are not as printed. (9) multiplies ``UT`` by ``Min(1, ...)``; it is
exact as ``paid_k >= UT - T (1 - on_k)`` with a 0/1 ``on_k`` that is 1 where VM ``k`` runs a task (``T``: a bound on
``UT``). And a job without reduce tasks shuffles nothing, although (6) counts the sending.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from mrdsl.families.energy.assignment import Share, plan_of
from mrdsl.families.energy.cluster import Floats, Ints, JobData, jobs_of, loose_limits_of, machines_of
from mrdsl.families.energy.models.shared import add_clock, add_goal, bill, hold_quantities, last_end_of, part_of
from mrdsl.families.energy.plan import EnergyPlan
from mrdsl.spec.spec import Spec

Slot = tuple[int, int, int, int]
"""Job, VM type, VM, slot; every job sees the whole stock, and the stock bounds what all of them take."""


def build(spec: Spec, relax: bool = False) -> pyo.ConcreteModel:
    """Return the printed ILP, or its LP relaxation; objective in the goal's unit, constants included."""
    machines, jobs = machines_of(spec.facts), jobs_of(spec.facts)
    limits = [loose_limits_of(machines, job) for job in jobs]
    model = pyo.ConcreteModel(name="energy_per_task")
    binary = pyo.UnitInterval if relax else pyo.Binary
    model.vms = pyo.Set(
        initialize=[
            (j, k, v) for j in range(len(jobs)) for k in range(len(machines)) for v in range(int(machines.available[k]))
        ]
    )
    model.on = pyo.Var(model.vms, within=binary)
    model.paid = pyo.Var(model.vms, within=pyo.NonNegativeReals)
    add_clock(model, jobs, limits)
    _add_tasks(
        model,
        "map",
        [job.map_tasks for job in jobs],
        machines.map_slots,
        [job.map_time for job in jobs],
        model.map_phase,
        binary,
    )
    _add_tasks(
        model,
        "reduce",
        [job.reduce_tasks for job in jobs],
        machines.reduce_slots,
        [job.reduce_time for job in jobs],
        model.reduce_phase,
        binary,
    )
    _add_transfers(model, jobs)
    bill(model, machines, jobs, limits)
    hold_quantities(
        model, spec, machines, jobs, limits, lambda v: model.map_count[v], lambda v: model.reduce_count[v], relax
    )
    add_goal(model, spec, jobs, machines, _task_energy(model, jobs))
    return model


def _add_tasks(
    model: Any, kind: str, tasks: list[int], slots: Ints, times: list[Floats], phase: Any, binary: Any
) -> None:
    """(2), (3), the ``Max`` over slots in (4), and (10), (11), for one kind of task."""
    places = [
        (j, k, v, s) for j, k, v in model.vms if tasks[j] and np.isfinite(times[j][k]) for s in range(int(slots[k]))
    ]
    on_slot = pyo.Var([(*place, i) for place in places for i in range(tasks[place[0]])], within=binary)
    model.add_component(kind, on_slot)
    of_job: dict[int, list[Slot]] = {j: [] for j in model.jobs}
    of_vm: dict[tuple[int, int, int], list[Slot]] = {vm: [] for vm in model.vms}
    for place in places:
        of_job[place[0]].append(place)
        of_vm[place[:3]].append(place)
    model.add_component(
        f"{kind}_once",
        pyo.Constraint(
            [(j, i) for j in model.jobs for i in range(tasks[j])],
            rule=lambda m, j, i: _one(sum(on_slot[(*place, i)] for place in of_job[j])),
        ),
    )
    count = {vm: sum(on_slot[(*place, i)] for place in own for i in range(tasks[vm[0]])) for vm, own in of_vm.items()}
    model.add_component(f"{kind}_count", pyo.Expression(model.vms, rule=lambda m, *vm: count[vm]))
    counted = model.component(f"{kind}_count")
    model.add_component(
        f"{kind}_taken",
        pyo.Constraint(
            [vm for vm, own in of_vm.items() if own],
            rule=lambda m, *vm: counted[vm] <= tasks[vm[0]] * m.on[vm],
        ),
    )
    model.add_component(
        f"{kind}_end",
        pyo.Constraint(
            places,
            rule=lambda m, *place: (
                phase[place[0]]
                >= float(times[place[0]][place[1]]) * sum(on_slot[(*place, i)] for i in range(tasks[place[0]]))
            ),
        ),
    )


def _one(total: Any) -> Any:
    return pyo.Constraint.Infeasible if isinstance(total, int) else total == 1


def _add_transfers(model: Any, jobs: tuple[JobData, ...]) -> None:
    """(5), (6) and their ``Max`` over VMs in (4)."""
    model.placement_end = pyo.Constraint(
        model.vms, rule=lambda m, *vm: m.placement[vm[0]] >= jobs[vm[0]].place * m.map_count[vm]
    )
    model.shuffle_end = pyo.Constraint(
        model.vms,
        rule=lambda m, *vm: (
            m.shuffle[vm[0]] >= jobs[vm[0]].send * m.map_count[vm] + jobs[vm[0]].fetch * m.reduce_count[vm]
        ),
    )


def _task_energy(model: Any, jobs: tuple[JobData, ...]) -> Any:
    return sum(float(jobs[j].map_energy[k]) * model.map[j, k, v, s, i] for j, k, v, s, i in model.map) + sum(
        float(jobs[j].reduce_energy[k]) * model.reduce[j, k, v, s, i] for j, k, v, s, i in model.reduce
    )


def decode(spec: Spec, model: Any, relax: bool = False) -> EnergyPlan:
    """Return the plan behind the values that a solver left in the model; the tasks of a VM are shared evenly by its
    slots.
    """
    machines, shares = machines_of(spec.facts), []
    for j in model.jobs:
        own = [vm for vm in model.vms if vm[0] == j]
        types = np.array([k for _, k, _ in own], dtype=np.int64)
        maps = np.array([pyo.value(model.map_count[vm]) for vm in own], dtype=np.float64)
        reduces = np.array([pyo.value(model.reduce_count[vm]) for vm in own], dtype=np.float64)
        if relax:
            shares.append(Share(types, maps.clip(0.0), reduces.clip(0.0), part_of(model, machines, j)))
        else:
            shares.append(Share(types, np.rint(maps).astype(np.int64), np.rint(reduces).astype(np.int64)))
    return plan_of(spec, shares, last_end_of(model, spec, relax))
