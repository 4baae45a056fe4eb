"""P0 and P1 as printed, over all periods: nonlinear models for a global solver, which P2 is checked against.

P0 (3)-(11) is not convex in its functions, though its feasible set is; P1 (14)-(22) has convex constraints and a
concave objective. A local solver's answer is feasible, not optimal. Both get bounds on the slots from the data, which
cut off no optimum: no unit needs more VMs than those of all its expected demand.

Corrections to the paper: (15) prints r_M for v_M. (6) and (17) are strict, which no solver knows, and at equality (5)
divides by 0. Any plan that keeps (5) leaves a VM at least 1 / G unused; here (6) and (17) ask for half of that, so that
they cut off nothing and keep away from the division.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo

from mrdsl.diagnostics import MrdslError, error
from mrdsl.outcome import Limits, Outcome
from mrdsl.problems.joint.periods import by_period
from mrdsl.problems.joint.plan import JointPlan, assemble
from mrdsl.problems.joint.quantities import offer
from mrdsl.problems.joint.workload import Floats, Workload, ceiling, parts, workload
from mrdsl.solving.answer import Answer
from mrdsl.spec.spec import Spec


def build_p0(spec: Spec, relax: bool) -> pyo.ConcreteModel:
    """P0 over all periods."""
    return model_p0(spec, workload(spec), relax)


def run_p0(spec: Spec, relax: bool, limits: Limits, solve: Callable[..., Answer]) -> Outcome:
    """P0 through a solver, period by period where nothing couples them."""
    return by_period(spec, relax, limits, solve, model_p0, allocation_p0)


def model_p0(spec: Spec, work: Workload, relax: bool) -> pyo.ConcreteModel:
    """P0: jobs, slots, rates and VMs; whole VMs unless relaxed."""
    model = _common(spec, work, "P0", relax)
    model.jobs = pyo.Var(model.class_cells, bounds=lambda m, t, i: (work.low[t, i], work.high[t, i]))
    run = work.execution

    def deadline(m: Any, t: int, i: int) -> Any:
        """(3)."""
        time = run.A[i] * m.jobs[t, i] / m.map_slots[t, i]
        if run.B[i] > 0:
            time += run.B[i] * m.jobs[t, i] / m.reduce_slots[t, i]
        return time + float(run.C[i] - run.deadline[i]) <= 0

    def response(m: Any, t: int, k: int) -> Any:
        """(5)."""
        queue = work.queues
        taken = m.rate[t, k] / m.vms[t, work.classes + k]
        return 1 / (float(queue.service_rate[k]) - taken) + float(queue.delay[k] - queue.response[k]) <= 0

    model.deadline = pyo.Constraint(model.class_cells, rule=deadline)
    model.response = pyo.Constraint(model.service_cells, rule=response)
    return _price(spec, model, work, {cell: model.jobs[cell] for cell in model.class_cells})


def build_p1(spec: Spec, relax: bool) -> pyo.ConcreteModel:
    """P1 over all periods."""
    return model_p1(spec, workload(spec), relax)


def run_p1(spec: Spec, relax: bool, limits: Limits, solve: Callable[..., Answer]) -> Outcome:
    """P1 through a solver, period by period where nothing couples them."""
    return by_period(spec, relax, limits, solve, model_p1, allocation_p1)


def model_p1(spec: Spec, work: Workload, relax: bool) -> pyo.ConcreteModel:
    """P1: P0 in the reciprocals of the jobs, with the response bound made linear."""
    model = _common(spec, work, "P1", relax)
    model.reciprocal = pyo.Var(model.class_cells, bounds=lambda m, t, i: (1 / work.high[t, i], 1 / work.low[t, i]))
    run = work.execution

    def deadline(m: Any, t: int, i: int) -> Any:
        """(14)."""
        time = run.A[i] / (m.map_slots[t, i] * m.reciprocal[t, i])
        if run.B[i] > 0:
            time += run.B[i] / (m.reduce_slots[t, i] * m.reciprocal[t, i])
        return time + float(run.C[i] - run.deadline[i]) <= 0

    def response(m: Any, t: int, k: int) -> Any:
        """(16), with G = R - L and F = 1 - G mu."""
        queue = work.queues
        sojourn = float(queue.response[k] - queue.delay[k])
        vms = m.vms[t, work.classes + k]
        return (1 - sojourn * float(queue.service_rate[k])) * vms + sojourn * m.rate[t, k] <= 0

    model.deadline = pyo.Constraint(model.class_cells, rule=deadline)
    model.response = pyo.Constraint(model.service_cells, rule=response)
    return _price(spec, model, work, {cell: 1 / model.reciprocal[cell] for cell in model.class_cells})


def decode_p0(spec: Spec, model: pyo.ConcreteModel, relax: bool) -> JointPlan:
    """The plan of the jobs, rates and VMs in a solved P0."""
    work = workload(spec)
    return assemble(work, *allocation_p0(spec, work, model, relax))


def decode_p1(spec: Spec, model: pyo.ConcreteModel, relax: bool) -> JointPlan:
    """The plan of the jobs, rates and VMs in a solved P1."""
    work = workload(spec)
    return assemble(work, *allocation_p1(spec, work, model, relax))


def allocation_p0(spec: Spec, work: Workload, model: pyo.ConcreteModel, relax: bool) -> tuple[Floats, Floats]:
    """VMs, and how many of them the jobs and rates fill; both (periods, units)."""
    return _allocation(work, model, relax, {cell: pyo.value(model.jobs[cell]) for cell in model.class_cells})


def allocation_p1(spec: Spec, work: Workload, model: pyo.ConcreteModel, relax: bool) -> tuple[Floats, Floats]:
    """VMs, and how many of them the jobs and rates fill; both (periods, units)."""
    return _allocation(work, model, relax, {cell: 1 / pyo.value(model.reciprocal[cell]) for cell in model.class_cells})


def _common(spec: Spec, work: Workload, name: str, relax: bool) -> pyo.ConcreteModel:
    """Variables and constraints that P0 and P1 share: (4), (6), (7), (9)-(11)."""
    _refuse_zero(spec, work, name)
    model = pyo.ConcreteModel(f"joint_{name}")
    used = np.argwhere(work.high > 0).tolist()
    model.class_cells = pyo.Set(initialize=[(t, u) for t, u in used if u < work.classes], dimen=2)
    model.service_cells = pyo.Set(initialize=[(t, u - work.classes) for t, u in used if u >= work.classes], dimen=2)
    model.cells = pyo.Set(initialize=[(t, u) for t, u in used], dimen=2)
    run = work.execution
    most = np.full_like(work.high, work.size) if spec.constraints else ceiling(work.need_high)
    least = work.need_low
    model.vms = pyo.Var(
        model.cells,
        bounds=lambda m, t, u: (float(least[t, u]) * (1 - 1e-9), float(most[t, u])),
        within=pyo.NonNegativeReals if relax else pyo.NonNegativeIntegers,
    )
    slack = run.deadline - run.C

    def slots(work_per_job: Any, per_vm: Any) -> Any:
        return lambda m, t, i: (float(work_per_job[i] * work.low[t, i] / slack[i]),
                                float(per_vm[i] * run.reuse[i] * most[t, i]))

    model.map_slots = pyo.Var(model.class_cells, bounds=slots(run.A, run.map_slots))
    model.reduce_slots = pyo.Var(model.class_cells, bounds=slots(run.B, run.reduce_slots))
    model.rate = pyo.Var(
        model.service_cells,
        bounds=lambda m, t, k: (work.low[t, work.classes + k], work.high[t, work.classes + k]),
    )
    model.hosted = pyo.Constraint(model.class_cells, rule=lambda m, t, i: (
        m.map_slots[t, i] / run.map_slots[i] + m.reduce_slots[t, i] / run.reduce_slots[i]
        <= run.reuse[i] * m.vms[t, i]))
    queues = work.queues
    most_taken = queues.service_rate - 0.5 / (queues.response - queues.delay)
    model.unsaturated = pyo.Constraint(model.service_cells, rule=lambda m, t, k: (
        m.rate[t, k] <= float(most_taken[k]) * m.vms[t, work.classes + k]))
    _limit_size(model, work, relax)
    return model


def _limit_size(model: pyo.ConcreteModel, work: Workload, relax: bool) -> None:
    """(7), for every period and part of the cluster."""
    model.size = pyo.ConstraintList()
    for t in range(work.periods):
        for part, size in parts(work, relax):
            inside = [model.vms[t, u] for u in range(part.start, part.stop) if (t, u) in model.vms]
            if inside:
                model.size.add(pyo.quicksum(inside) <= size)


def _price(spec: Spec, model: pyo.ConcreteModel, work: Workload, jobs: dict[Any, Any]) -> pyo.ConcreteModel:
    penalties = work.penalty.tolist()
    admitted = pyo.quicksum(penalties[i] * jobs[t, i] for t, i in model.class_cells)
    served = pyo.quicksum(penalties[work.classes + k] * model.rate[t, k] for t, k in model.service_cells)
    operation = work.vm_cost * pyo.quicksum(model.vms.values())
    constant = float((work.high @ work.penalty).sum())
    model.cost = pyo.Objective(expr=operation - admitted - served + constant, sense=pyo.minimize)

    def demand(t: int, u: int) -> Any:
        if u < work.classes:
            return jobs.get((t, u), 0.0)
        return model.rate[t, u - work.classes] if (t, u - work.classes) in model.service_cells else 0.0

    offer(spec, model, work, lambda t, u: model.vms[t, u] if (t, u) in model.cells else 0.0, demand)
    return model


def _allocation(work: Workload, model: pyo.ConcreteModel, relax: bool, jobs: dict[Any, float]) -> tuple[Floats, Floats]:
    vms, demand = np.zeros_like(work.low), np.zeros_like(work.low)
    for cell in model.cells:
        vms[cell] = max(0.0, pyo.value(model.vms[cell]))
    for cell, number in jobs.items():
        demand[cell] = number
    for t, k in model.service_cells:
        demand[t, work.classes + k] = pyo.value(model.rate[t, k])
    vms = vms if relax else np.round(vms)
    return vms, np.minimum(vms, demand * work.vms_per_demand)


def _refuse_zero(spec: Spec, work: Workload, name: str) -> None:
    facts = spec.facts
    nodes = [*facts.classes, *facts.services]
    zero = np.any((work.low <= 0) & (work.high > 0), axis=0).tolist()
    if any(zero):
        raise MrdslError([
            error("needs-minimum", f"{name} divides by the least demand, and that of {node.name} is 0",
                  node.span_of("jobs" if u < work.classes else "rate"),
                  "start its range above 0, or solve with --formulation P2")
            for u, node in enumerate(nodes) if zero[u]
        ])
