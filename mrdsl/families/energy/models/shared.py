"""Parts that both forms of the model share: phases, cost, objectives, and quantities for ``subject to``.

If ``subject to`` requires more of a cost, uptime or number of machines, these equal the values that the tasks imply.

Deadline, budget and every objective push these quantities down, so the models of (1)-(11) bound them from below alone.
A machine may be ``on`` without a task, and a phase may last longer than its tasks. Under ``machines >= 3`` or ``cost >=
x`` that would be a way out. Here a machine that is taken runs a task, and each phase ends when its last task does. The
one VM ``ends`` that a phase chooses runs as long as the phase,

    phase <= time of the chosen VM + horizon (1 - chosen),   sum chosen = 1,

with a VM's whole waves ``w`` from ``slots w <= tasks + slots - 1``. So both forms of the model agree with the measure
of the plan's check: a VM's slots share its tasks evenly, and no slot waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo

from mrdsl.contracts.subject_to import pushed_up
from mrdsl.families.energy.assignment import Part, Share
from mrdsl.families.energy.cluster import Floats, Ints, JobData, JobLimits, Machines
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
    """Add (9), exact: a VM that is taken (``on``) costs the job's uptime, any other costs 0.

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
    """Return the relaxed model's values of job ``j`` after a solve."""
    own = [v for v in model.vms if v[0] == j]
    clock = Phases(
        *(
            max(0.0, pyo.value(phase[j]))
            for phase in (model.placement, model.map_phase, model.shuffle, model.reduce_phase)
        )
    )
    cost = sum(float(machines.price[v[1]]) * max(0.0, pyo.value(model.paid[v])) for v in own)
    return Part(clock, cost, sum(max(0.0, pyo.value(model.on[v])) for v in own))


def share_of_counts(
    model: Any, machines: Machines, j: int, vms: list[tuple[int, int, int]], counts: tuple[Any, Any], relax: bool
) -> Share:
    """Return the share of job ``j`` from the numbers of map and reduce tasks on its VMs."""
    types = np.array([k for _, k, _ in vms], dtype=np.int64)
    maps, reduces = (np.array([pyo.value(count[vm]) for vm in vms], dtype=np.float64) for count in counts)
    if relax:
        return Share(types, maps.clip(0.0), reduces.clip(0.0), part_of(model, machines, j))
    return Share(types, np.rint(maps).astype(np.int64), np.rint(reduces).astype(np.int64))


def last_end_of(model: Any, spec: Spec, relax: bool) -> float | None:
    """Return the relaxed model's end of the last job if a comparison requires a late one, otherwise None."""
    return float(pyo.value(model.longest)) if relax and "uptime" in pushed_up(spec) else None


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
    """Add the quantities that the comparisons of ``spec`` need; ``maps(vm)`` and ``reduces(vm)`` count a VM's tasks."""
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
    """Limit ``phase[j]`` to ``length`` of one of the job's VMs; 0 if none of them has any."""
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
