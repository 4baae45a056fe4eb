"""Cost, uptime and machines held to what the tasks make them, where ``subject to`` asks for more of one.

Deadline, budget and every goal push these quantities down, so the models of (1)-(11) bound them from below alone: a
machine may be ``on`` without a task, a phase may last longer than its tasks. Under ``machines >= 3`` or ``cost >= x``
that would be a way out. Here a machine that is taken runs a task, and each phase ends when its last task does: the one
VM ``ends`` that a phase chooses is one that runs as long as the phase,

    phase <= time of the chosen VM + horizon (1 - chosen),   sum chosen = 1,

with a VM's whole waves ``w`` from ``slots w <= tasks + slots - 1``. So both forms of the model mean what the plan's
check measures: a VM's slots share its tasks evenly, nobody waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo

from mrdsl.contracts.subject_to import pushed_up
from mrdsl.families.energy.cluster import Floats, Ints, JobData, Machines
from mrdsl.families.energy.limits import JobLimits
from mrdsl.spec.spec import Spec

Vm = tuple[int, int, int]
Tasks = Callable[[Vm], Any]


@dataclass(frozen=True)
class _Side:
    """One kind of task: its phase in the model, tasks on a VM, their number per job, slots and time per type."""

    name: str
    phase: Any
    on_vm: Tasks
    tasks: list[int]
    slots: Ints
    time: list[Floats]


def hold_quantities(
    model: Any,
    spec: Spec,
    machines: Machines,
    jobs: tuple[JobData, ...],
    limits: list[JobLimits],
    maps: Tasks,
    reduces: Tasks,
    relax: bool,
) -> None:
    """Adds what the comparisons of ``spec`` need; ``maps(vm)`` and ``reduces(vm)`` are the tasks on a VM."""
    wanted = pushed_up(spec)
    if wanted & {"machines", "cost"}:
        model.taken_runs = pyo.Constraint(model.vms, rule=lambda m, *v: m.on[v] <= maps(v) + reduces(v))
    if not wanted & {"cost", "uptime"}:
        return
    binary, whole = (pyo.UnitInterval, pyo.NonNegativeReals) if relax else (pyo.Binary, pyo.NonNegativeIntegers)
    horizon = [limit.horizon for limit in limits]
    sides = (
        _Side(
            "map",
            model.map_phase,
            maps,
            [job.map_tasks for job in jobs],
            machines.map_slots,
            [job.map_time for job in jobs],
        ),
        _Side(
            "reduce",
            model.reduce_phase,
            reduces,
            [job.reduce_tasks for job in jobs],
            machines.reduce_slots,
            [job.reduce_time for job in jobs],
        ),
    )
    for side in sides:
        _hold_phase(model, side, horizon, binary, whole)
    _hold(model, "placement", model.placement, lambda v: jobs[v[0]].place * maps(v), list(model.vms), horizon, binary)
    _hold(
        model,
        "shuffle",
        model.shuffle,
        lambda v: jobs[v[0]].send * maps(v) + jobs[v[0]].fetch * reduces(v),
        list(model.vms),
        horizon,
        binary,
    )
    if "uptime" in wanted:
        _hold_last(model, horizon, binary)


def _hold_phase(model: Any, side: _Side, horizon: list[float], binary: Any, whole: Any) -> None:
    """The map or the reduce phase: whole waves of the VM that ends last."""
    able = [v for v in model.vms if side.tasks[v[0]] and np.isfinite(side.time[v[0]][v[1]])]
    rounds = pyo.Var(able, within=whole, bounds=lambda _, *v: (0, -(-side.tasks[v[0]] // int(side.slots[v[1]]))))
    model.add_component(f"{side.name}_rounds", rounds)
    model.add_component(
        f"{side.name}_rounds_filled",
        pyo.Constraint(
            able, rule=lambda m, *v: int(side.slots[v[1]]) * rounds[v] <= side.on_vm(v) + int(side.slots[v[1]]) - 1
        ),
    )
    _hold(model, side.name, side.phase, lambda v: float(side.time[v[0]][v[1]]) * rounds[v], able, horizon, binary)


def _hold(model: Any, name: str, phase: Any, length: Tasks, vms: list[Vm], horizon: list[float], binary: Any) -> None:
    """``phase[j]`` is no longer than ``length`` of one of the job's VMs; 0 where none of them has any."""
    ends = pyo.Var(vms, within=binary)
    model.add_component(f"{name}_ends", ends)
    model.add_component(
        f"{name}_ends_once",
        pyo.Constraint(model.jobs, rule=lambda m, j: _once([ends[v] for v in vms if v[0] == j], phase[j])),
    )
    model.add_component(
        f"{name}_no_longer",
        pyo.Constraint(vms, rule=lambda m, *v: phase[v[0]] <= length(v) + horizon[v[0]] * (1 - ends[v])),
    )


def _once(chosen: list[Any], phase: Any) -> Any:
    return sum(chosen) == 1 if chosen else phase <= 0.0


def _hold_last(model: Any, horizon: list[float], binary: Any) -> None:
    """``longest`` is the uptime of some job."""
    latest = max(horizon, default=0.0)
    model.last_job = pyo.Var(model.jobs, within=binary)
    model.one_last_job = pyo.Constraint(rule=lambda m: sum(m.last_job[j] for j in m.jobs) == 1)
    model.last_no_longer = pyo.Constraint(
        model.jobs, rule=lambda m, j: m.longest <= m.uptime[j] + latest * (1 - m.last_job[j])
    )
