"""P2, the reduced problem of Theorem 3.3, as a Pyomo model: exact for whole VMs, and rounded as in the paper."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyomo.environ as pyo

from mrdsl.outcome import Limits, Outcome, SolutionStatus, Termination
from mrdsl.problems.joint.periods import by_period
from mrdsl.problems.joint.plan import JointPlan, assemble
from mrdsl.problems.joint.quantities import offer
from mrdsl.problems.joint.workload import Floats, Workload, ceiling, parts, workload
from mrdsl.problems.subject_to import add_comparisons
from mrdsl.solving.answer import Answer
from mrdsl.spec.spec import Spec


def build_p2(spec: Spec, relax: bool) -> pyo.ConcreteModel:
    """P2 over all periods, as :func:`model_p2` says."""
    return model_p2(spec, workload(spec), relax)


def run_p2(spec: Spec, relax: bool, limits: Limits, solve: Callable[..., Answer]) -> Outcome:
    """P2 through a solver, period by period where nothing couples them."""
    return by_period(spec, relax, limits, solve, model_p2, allocation_p2)


def model_p2(spec: Spec, work: Workload, relax: bool) -> pyo.ConcreteModel:
    """P2 for a workload; the objective is the whole cost, with its constant.

    Relaxed it is the LP as printed: a unit's VMs between those of its least and of all its expected demand. With
    whole VMs a unit's ``served`` work, in VMs and fractional, is at most its VMs, so that the last VM is worth only
    what is left for it to serve. ``subject to`` may ask for idle VMs: then ``served`` and VMs are two in any case.
    """
    model = _skeleton(work)
    if relax and not spec.constraints:
        model.vms = pyo.Var(model.cells, bounds=_between(work, work.need_low, work.need_high))
        model.served = pyo.Expression(model.cells, rule=lambda m, t, u: m.vms[t, u])
    else:
        least = work.need_low if relax else ceiling(work.need_low)
        most = np.full_like(least, work.size) if spec.constraints else ceiling(work.need_high)
        within = pyo.NonNegativeReals if relax else pyo.NonNegativeIntegers
        model.vms = pyo.Var(model.cells, bounds=_between(work, least, np.maximum(least, most)), within=within)
        model.served = pyo.Var(model.cells, bounds=_between(work, work.need_low, work.need_high))
        model.fits = pyo.Constraint(model.cells, rule=lambda m, t, u: m.served[t, u] <= m.vms[t, u])
    return _close(spec, model, work, relax)


def build_rounded(spec: Spec, relax: bool) -> pyo.ConcreteModel:
    """P2 with the bounds on VMs rounded up and every VM at p-bar, as the paper solves it for whole VMs.

    It values the last VM of a unit too high: its optimum is a lower bound on the cost, and its VMs need not be best.
    """
    work = workload(spec)
    model = _skeleton(work)
    model.vms = pyo.Var(
        model.cells,
        bounds=_between(work, ceiling(work.need_low), ceiling(work.need_high)),
        within=pyo.NonNegativeReals if relax else pyo.NonNegativeIntegers,
    )
    model.served = pyo.Expression(model.cells, rule=lambda m, t, u: m.vms[t, u])
    return _close(spec, model, work, False)


def run_rounded(spec: Spec, relax: bool, limits: Limits, solve: Callable[..., Answer]) -> Outcome:
    """The rounded P2's VMs at their true cost: served work is capped at the expected demand."""
    model = build_rounded(spec, relax)
    add_comparisons(spec, model)
    answer = solve(model)
    if answer.solution is SolutionStatus.NONE:
        return Outcome(answer.termination)
    plan = decode_p2(spec, model, relax)
    bound = answer.bound
    if bound is not None and plan.total - bound <= 1e-9 * max(1.0, abs(plan.total)):
        return Outcome(Termination.OPTIMAL, SolutionStatus.OPTIMAL, plan, plan.total, bound)
    ended = Termination.COMPLETED if answer.termination is Termination.OPTIMAL else answer.termination
    return Outcome(ended, SolutionStatus.FEASIBLE, plan, plan.total, bound)


def decode_p2(spec: Spec, model: pyo.ConcreteModel, relax: bool) -> JointPlan:
    """The plan of the VMs and the served work that a solver left in the model."""
    work = workload(spec)
    return assemble(work, *allocation_p2(spec, work, model, relax))


def allocation_p2(spec: Spec, work: Workload, model: pyo.ConcreteModel, relax: bool) -> tuple[Floats, Floats]:
    """VMs, and how many of them are filled by what is admitted; both (periods, units)."""
    vms, served = (
        np.array([[pyo.value(component[t, u]) for u in work.names] for t in range(work.periods)])
        for component in (model.vms, model.served)
    )
    vms = np.maximum(vms, 0.0) if relax else np.round(vms)
    if not spec.constraints:
        served = vms
    return vms, np.minimum(np.minimum(vms, served), work.need_high)


def _skeleton(work: Workload) -> pyo.ConcreteModel:
    model = pyo.ConcreteModel("joint_P2")
    model.units = pyo.Set(initialize=work.names, ordered=True)
    model.periods = pyo.RangeSet(0, work.periods - 1)
    model.cells = pyo.Set(initialize=[(t, u) for t in range(work.periods) for u in work.names], dimen=2, ordered=True)
    return model


def _close(spec: Spec, model: pyo.ConcreteModel, work: Workload, relax: bool) -> pyo.ConcreteModel:
    """Adds what all forms of P2 share: the cluster's size (55) and the cost."""
    names = work.names
    shares = parts(work, relax)
    model.parts = pyo.RangeSet(0, len(shares) - 1)
    model.size = pyo.Constraint(
        model.periods, model.parts,
        rule=lambda m, t, p: pyo.quicksum(m.vms[t, u] for u in names[shares[p][0]]) <= shares[p][1],
    )
    worth = dict(zip(names, work.worth.tolist(), strict=True))
    operation = pyo.quicksum(work.vm_cost * model.vms[key] for key in model.cells)
    avoided = pyo.quicksum(worth[u] * model.served[t, u] for t, u in model.cells)
    model.cost = pyo.Objective(expr=operation - avoided + float((work.high @ work.penalty).sum()), sense=pyo.minimize)

    per_vm = (1.0 / work.vms_per_demand).tolist()
    offer(spec, model, work, lambda t, u: model.vms[t, names[u]], lambda t, u: per_vm[u] * model.served[t, names[u]])
    return model


def _between(work: Workload, low: Floats, high: Floats) -> dict[tuple[int, str], tuple[float, float]]:
    return {
        (t, name): (float(low[t, u]), float(high[t, u]))
        for t in range(work.periods) for u, name in enumerate(work.names)
    }
