"""P0 and P1 as printed, over all periods: nonlinear models for a global solver, as a check of P2.

A job has at least one slot of each kind that it uses, and at most one for each task: the estimates hold there. Whole
concurrent jobs replace h in (3) and (14) and have separate slots; then (4) and (15) have no Xi.

P0 (3)-(11) is not convex in its functions, though its feasible set is. P1 (14)-(22) has convex constraints and a
concave objective. A local solver's answer is feasible, not optimal. Both get bounds on the slots from the data, which
cut off no optimum: no unit needs more VMs than those of all its expected demand.

Corrections to the paper: (15) prints r_M for v_M. (6) and (17) are strict, which no solver supports, and at equality
(5) divides by 0. Any plan that meets (5) leaves a VM at least 1 / G unused. Here (6) and (17) require half of that, so
that they cut off no plan and avoid the division.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyomo.environ as pyo

from mrdsl.core.answer import Answer
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.result import Limits, Result
from mrdsl.core.rounding import ROUNDING
from mrdsl.families.joint.facts import in_fractions
from mrdsl.families.joint.fleet import refuse_types
from mrdsl.families.joint.models.formulations import Form, by_period
from mrdsl.families.joint.plan import JointPlan, assemble
from mrdsl.families.joint.quantities import offer
from mrdsl.families.joint.workload import Floats, Workload, parts, refuse_rounds, vm_bounds, workload
from mrdsl.spec.spec import Spec

MARGIN = 1e-6
"""By how much bounds from the data are wider than the data, relatively: what they leave may be a single point."""

OWN_SLOTS = "{} has slots of its own, as fractions: solve with formulation P2"


def _plain(spec: Spec, name: str) -> Spec:
    refuse_types(spec, f"formulation {name}")
    fractional = in_fractions(spec, OWN_SLOTS.format(name))
    refuse_rounds(spec, f"formulation {name}")
    return fractional


def build_p0(spec: Spec, relax: bool) -> pyo.ConcreteModel:
    """P0 over all periods."""
    spec = _plain(spec, "P0")
    return model_p0(spec, workload(spec), relax)


def run_p0(spec: Spec, relax: bool, limits: Limits, solve: Callable[..., Answer]) -> Result:
    """Solve P0, period by period if no constraint couples them."""
    spec = _plain(spec, "P0")
    return by_period(spec, workload(spec), relax, limits, solve, Form(model_p0, allocation_p0))


def model_p0(spec: Spec, work: Workload, relax: bool) -> pyo.ConcreteModel:
    """Build P0: jobs, slots, rates and VMs; whole VMs and whole concurrent jobs unless relaxed."""
    model = _common(spec, work, "P0", relax)
    run = work.execution
    if not _whole(work, relax):
        model.jobs = pyo.Var(model.class_cells, bounds=_bounds(work.low, work.high))
    busy = model.at_once if _whole(work, relax) else model.jobs

    def deadline(m: Any, t: int, i: int) -> Any:
        """(3), relative to the time that slots can shorten."""
        time = run.A[i] * busy[t, i] / m.map_slots[t, i]
        if run.B[i] > 0:
            time += run.B[i] * busy[t, i] / m.reduce_slots[t, i]
        return time / float(run.deadline[i] - run.C[i]) <= 1

    def response(m: Any, t: int, k: int) -> Any:
        """(5), relative to the time that a request may stay on its VM."""
        queue = work.queues
        taken = m.rate[t, k] / m.vms[t, work.classes + k]
        sojourn = float(queue.response[k] - queue.delay[k])
        return 1 / (sojourn * (float(queue.service_rate[k]) - taken)) <= 1

    model.deadline = pyo.Constraint(model.class_cells, rule=deadline)
    model.response = pyo.Constraint(model.service_cells, rule=response)
    model.range = pyo.ConstraintList()
    for (t, i), slots, least, most in _ranges(model, work):
        model.range.add(slots >= least * busy[t, i])
        if np.isfinite(most):
            model.range.add(slots <= most * busy[t, i])
    return _price(spec, model, work, {cell: model.jobs[cell] for cell in model.class_cells})


def build_p1(spec: Spec, relax: bool) -> pyo.ConcreteModel:
    """P1 over all periods."""
    spec = _plain(spec, "P1")
    return model_p1(spec, workload(spec), relax)


def run_p1(spec: Spec, relax: bool, limits: Limits, solve: Callable[..., Answer]) -> Result:
    """Solve P1, period by period if no constraint couples them."""
    spec = _plain(spec, "P1")
    return by_period(spec, workload(spec), relax, limits, solve, Form(model_p1, allocation_p1))


def model_p1(spec: Spec, work: Workload, relax: bool) -> pyo.ConcreteModel:
    """Build P1: P0 in the reciprocals of the jobs, with the response bound made linear.

    With whole concurrent jobs, the model inverts these; their product with the reciprocals is 1.
    """
    model = _common(spec, work, "P1", relax)
    run = work.execution
    least, most = _busy(work, relax)
    model.reciprocal = pyo.Var(
        model.class_cells, bounds=lambda m, t, i: (1 / float(most[t, i]), 1 / float(least[t, i]))
    )
    inverse = model.reciprocal

    def deadline(m: Any, t: int, i: int) -> Any:
        """(14), relative to the time that slots can shorten."""
        time = run.A[i] / (m.map_slots[t, i] * inverse[t, i])
        if run.B[i] > 0:
            time += run.B[i] / (m.reduce_slots[t, i] * inverse[t, i])
        return time / float(run.deadline[i] - run.C[i]) <= 1

    def response(m: Any, t: int, k: int) -> Any:
        """(16), with G = R - L and F = 1 - G mu."""
        queue = work.queues
        sojourn = float(queue.response[k] - queue.delay[k])
        vms = m.vms[t, work.classes + k]
        return (1 - sojourn * float(queue.service_rate[k])) * vms + sojourn * m.rate[t, k] <= 0

    model.deadline = pyo.Constraint(model.class_cells, rule=deadline)
    model.response = pyo.Constraint(model.service_cells, rule=response)
    model.range = pyo.ConstraintList()
    for cell, slots, fewest, all_tasks in _ranges(model, work):
        model.range.add(slots * inverse[cell] >= fewest)
        if np.isfinite(all_tasks):
            model.range.add(slots * inverse[cell] <= all_tasks)
    if _whole(work, relax):
        model.inverted = pyo.Constraint(model.class_cells, rule=lambda m, t, i: m.at_once[t, i] * inverse[t, i] == 1)
        return _price(spec, model, work, {cell: model.jobs[cell] for cell in model.class_cells})
    return _price(spec, model, work, {cell: 1 / inverse[cell] for cell in model.class_cells})


def decode_p0(spec: Spec, model: pyo.ConcreteModel, relax: bool) -> JointPlan:
    """Return the plan of the jobs, rates and VMs in a solved P0."""
    spec = _plain(spec, "P0")
    work = workload(spec)
    return assemble(work, *allocation_p0(spec, work, model, relax), relax)


def decode_p1(spec: Spec, model: pyo.ConcreteModel, relax: bool) -> JointPlan:
    """Return the plan of the jobs, rates and VMs in a solved P1."""
    spec = _plain(spec, "P1")
    work = workload(spec)
    return assemble(work, *allocation_p1(spec, work, model, relax), relax)


def allocation_p0(spec: Spec, work: Workload, model: pyo.ConcreteModel, relax: bool) -> tuple[Floats, Floats]:
    """VMs, and the jobs and rates that are admitted on them; both (periods, units)."""
    return _allocation(work, model, relax, {cell: pyo.value(model.jobs[cell]) for cell in model.class_cells})


def allocation_p1(spec: Spec, work: Workload, model: pyo.ConcreteModel, relax: bool) -> tuple[Floats, Floats]:
    """VMs, and the jobs and rates that are admitted on them; both (periods, units)."""
    if _whole(work, relax):
        return allocation_p0(spec, work, model, relax)
    return _allocation(work, model, relax, {cell: 1 / pyo.value(model.reciprocal[cell]) for cell in model.class_cells})


def _whole(work: Workload, relax: bool) -> bool:
    return work.whole and not relax


def _busy(work: Workload, relax: bool) -> tuple[Floats, Floats]:
    """Return the least and most jobs that share the slots, (periods, classes).

    They are whole concurrent jobs, or all jobs of a period.
    """
    least, most = work.low[:, : work.classes], work.high[:, : work.classes]
    if _whole(work, relax):
        return work.jobs_at_once(least, False), work.jobs_at_once(most, False)
    return least, most


def _bounds(least: Floats, most: Floats) -> Callable[..., tuple[float, float]]:
    return lambda model, t, i: (float(least[t, i]), float(most[t, i]))


def _common(spec: Spec, work: Workload, name: str, relax: bool) -> pyo.ConcreteModel:
    """Return variables and constraints that P0 and P1 share: (4), (6), (7), (9)-(11), and whole concurrent jobs."""
    _refuse_zero(spec, work, name)
    model = pyo.ConcreteModel(f"joint_{name}")
    used = np.argwhere(work.high > 0).tolist()
    model.class_cells = pyo.Set(initialize=[(t, u) for t, u in used if u < work.classes], dimen=2)
    model.service_cells = pyo.Set(initialize=[(t, u - work.classes) for t, u in used if u >= work.classes], dimen=2)
    model.cells = pyo.Set(initialize=[(t, u) for t, u in used], dimen=2)
    least, most = vm_bounds(spec, work, relax)
    if relax:
        least, most = least * (1 - MARGIN), most * (1 + MARGIN)
    within = pyo.NonNegativeReals if relax else pyo.NonNegativeIntegers
    model.vms = pyo.Var(model.cells, bounds=_bounds(least, most), within=within)
    _add_slots(model, work, relax, most[:, : work.classes])
    model.rate = pyo.Var(model.service_cells, bounds=_bounds(work.low[:, work.classes :], work.high[:, work.classes :]))
    queues = work.queues
    most_taken = queues.service_rate - 0.5 / queues.sojourn
    model.unsaturated = pyo.Constraint(
        model.service_cells, rule=lambda m, t, k: m.rate[t, k] <= float(most_taken[k]) * m.vms[t, work.classes + k]
    )
    _limit_size(model, work)
    return model


def _add_slots(model: pyo.ConcreteModel, work: Workload, relax: bool, most_vms: Floats) -> None:
    """Add slots and (4), with bounds from the data; whole concurrent jobs also add the jobs of their rounds."""
    run, whole = work.execution, _whole(work, relax)
    fewest, most = _busy(work, relax)
    reuse = np.ones_like(run.reuse) if whole else run.reuse
    limits, slack = run.limits, run.slack

    def slots(per_job: Floats, per_vm: Floats, least_each: Floats, most_each: Floats) -> Callable[..., Any]:
        each = np.maximum(per_job / slack, least_each)
        widest = np.minimum(per_vm * reuse * most_vms, np.where(most > 0.0, most_each, 0.0) * most)
        return _bounds(each * fewest * (1 - MARGIN), widest * (1 + MARGIN))

    model.map_slots = pyo.Var(model.class_cells, bounds=slots(run.A, run.map_slots, limits.map_least, limits.map_most))
    model.reduce_slots = pyo.Var(
        model.class_cells, bounds=slots(run.B, run.reduce_slots, limits.reduce_least, limits.reduce_most)
    )
    model.hosted = pyo.Constraint(
        model.class_cells,
        rule=lambda m, t, i: (
            m.map_slots[t, i] / run.map_slots[i] + m.reduce_slots[t, i] / run.reduce_slots[i]
            <= float(reuse[i]) * (1 + ROUNDING) * m.vms[t, i]
        ),
    )
    if whole:
        model.jobs = pyo.Var(model.class_cells, bounds=_bounds(work.low, work.high))
        model.at_once = pyo.Var(model.class_cells, bounds=_bounds(fewest, most), within=pyo.NonNegativeIntegers)
        model.rounds = pyo.Constraint(
            model.class_cells, rule=lambda m, t, i: m.jobs[t, i] <= float(run.reuse[i]) * m.at_once[t, i]
        )


def _ranges(model: pyo.ConcreteModel, work: Workload) -> Iterator[tuple[Any, Any, float, float]]:
    """Yield the valid range of the estimates: every cell's least and most slots per job of each kind it uses."""
    limits = work.execution.limits
    for slots, least, most in (
        (model.map_slots, limits.map_least, limits.map_most),
        (model.reduce_slots, limits.reduce_least, limits.reduce_most),
    ):
        for t, i in model.class_cells:
            if most[i] > 0:
                yield (t, i), slots[t, i], float(least[i]), float(most[i])


def _limit_size(model: pyo.ConcreteModel, work: Workload) -> None:
    """(7), for every period and part of the cluster."""
    model.size = pyo.ConstraintList()
    for t in range(work.periods):
        for part, size in parts(work):
            inside = [model.vms[t, u] for u in range(part.start, part.stop) if (t, u) in model.vms]
            if inside:
                model.size.add(pyo.quicksum(inside) <= size)


def _price(spec: Spec, model: pyo.ConcreteModel, work: Workload, jobs: dict[Any, Any]) -> pyo.ConcreteModel:
    penalties = work.penalty.tolist()
    admitted = pyo.quicksum(penalties[i] * jobs[t, i] for t, i in model.class_cells)
    served = pyo.quicksum(penalties[work.classes + k] * model.rate[t, k] for t, k in model.service_cells)
    operation = work.vm_cost * pyo.quicksum(model.vms.values())
    constant = float((work.expected @ work.penalty).sum())
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
    demand = np.where(demand >= work.high * (1 - ROUNDING), work.high, demand)
    return vms, np.clip(np.minimum(demand, work.served_by(vms, relax)), work.low, work.high)


def _refuse_zero(spec: Spec, work: Workload, name: str) -> None:
    facts = spec.facts
    nodes = [*facts.classes, *facts.services]
    zero = np.any((work.low <= 0) & (work.high > 0), axis=0).tolist()
    if any(zero):
        raise MrdslError(
            [
                error(
                    "needs-minimum",
                    f"{name} divides by the least demand, and that of {node.name} is 0",
                    node.span_of("jobs" if u < work.classes else "rate"),
                    "start its range above 0, or solve with --formulation P2",
                )
                for u, node in enumerate(nodes)
                if zero[u]
            ]
        )
