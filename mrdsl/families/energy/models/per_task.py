"""The printed model, (1)-(11) of Nabavinejad et al.: one 0/1 variable per task and slot.

It checks :mod:`mrdsl.families.energy.models.counted`, and uses none of that form's arguments: no bounds on waves, no
order of VMs, no tightening. Two details differ from the paper. (9) multiplies ``UT`` by ``Min(1, ...)``. It is exact as
``paid_k >= UT - T (1 - on_k)`` with a 0/1 ``on_k`` that is 1 if VM ``k`` runs a task (``T``: a bound on ``UT``). A job
without reduce tasks shuffles no data, although (6) counts the sending.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from mrdsl.contracts.subject_to import pushed_up
from mrdsl.families.energy.assignment import Placed, plan_of, share_of
from mrdsl.families.energy.cluster import (
    Floats,
    Ints,
    JobData,
    Single,
    jobs_of,
    loose_limits_of,
    machines_of,
    only_alike,
)
from mrdsl.families.energy.models.shared import add_clock, add_goal, bill, hold_quantities, last_end_of, share_of_counts
from mrdsl.families.energy.plan import EnergyPlan
from mrdsl.spec.spec import Spec

Slot = tuple[int, int, int, int]
"""Job, VM type, VM, slot; every job sees the whole stock, and the stock bounds what all of them take."""


def build(spec: Spec, relax: bool = False) -> pyo.ConcreteModel:
    """Return the printed ILP, or its LP relaxation; the objective has its unit and includes constants."""
    machines, jobs = machines_of(spec.facts), jobs_of(spec.facts)
    if relax or pushed_up(spec) & {"cost", "uptime"}:
        only_alike(jobs, spec.facts, "a relaxation, or a cost or an uptime compared from below,")
    limits = [loose_limits_of(machines, job) for job in jobs]
    each = [job.each() for job in jobs]
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
        [job.map_time for job in each],
        model.map_phase,
        binary,
    )
    _add_tasks(
        model,
        "reduce",
        [job.reduce_tasks for job in jobs],
        machines.reduce_slots,
        [job.reduce_time for job in each],
        model.reduce_phase,
        binary,
    )
    _add_transfers(model, jobs)
    bill(model, machines, jobs, limits)
    hold_quantities(
        model, spec, machines, jobs, limits, lambda v: model.map_count[v], lambda v: model.reduce_count[v], relax
    )
    add_goal(model, spec, jobs, machines, _task_energy(model, each))
    return model


def _add_tasks(
    model: Any, kind: str, tasks: list[int], slots: Ints, times: list[Floats], phase: Any, binary: Any
) -> None:
    """(2), (3), the ``Max`` over slots in (4), and (10), (11), for one kind of task."""
    able = {(j, k): np.flatnonzero(np.isfinite(times[j][:, k])).tolist() for j in model.jobs for k in range(len(slots))}
    places = [(j, k, v, s) for j, k, v in model.vms if able[j, k] for s in range(int(slots[k]))]
    on_slot = pyo.Var([(*place, i) for place in places for i in able[place[:2]]], within=binary)
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
            rule=lambda m, j, i: _one(sum(on_slot[(*place, i)] for place in of_job[j] if (*place, i) in on_slot)),
        ),
    )
    count = {vm: sum(on_slot[(*place, i)] for place in own for i in able[vm[:2]]) for vm, own in of_vm.items()}
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
                >= sum(float(times[place[0]][i, place[1]]) * on_slot[(*place, i)] for i in able[place[:2]])
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


def _task_energy(model: Any, each: list[Single]) -> Any:
    return sum(float(each[j].map_energy[i, k]) * model.map[j, k, v, s, i] for j, k, v, s, i in model.map) + sum(
        float(each[j].reduce_energy[i, k]) * model.reduce[j, k, v, s, i] for j, k, v, s, i in model.reduce
    )


def decode(spec: Spec, model: Any, relax: bool = False) -> EnergyPlan:
    """Return the plan of the values that a solver left in the model.

    The slots of a VM share its tasks evenly. Tasks that differ remain on the slots that the model assigns.
    """
    machines, jobs, shares = machines_of(spec.facts), jobs_of(spec.facts), []
    for j in model.jobs:
        own = [vm for vm in model.vms if vm[0] == j]
        if jobs[j].single is not None:
            placed = tuple(
                Placed(_on_slots(model.map, vm, machines.map_slots), _on_slots(model.reduce, vm, machines.reduce_slots))
                for vm in own
            )
            shares.append(share_of(np.array([k for _, k, _ in own], dtype=np.int64), placed))
            continue
        counts = model.map_count, model.reduce_count
        shares.append(share_of_counts(model, machines, j, own, counts, relax))
    return plan_of(spec, shares, last_end_of(model, spec, relax))


def _on_slots(on_slot: Any, vm: tuple[int, int, int], slots: Ints) -> tuple[tuple[int, ...], ...]:
    """The numbers of the tasks on each slot of a VM."""
    found: list[list[int]] = [[] for _ in range(int(slots[vm[1]]))]
    for *place, slot, task in on_slot:
        if tuple(place) == vm and pyo.value(on_slot[(*place, slot, task)]) > 0.5:
            found[slot].append(task)
    return tuple(map(tuple, found))
