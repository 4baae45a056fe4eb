"""P2, the reduced problem of Theorem 3.3, as a Pyomo model: exact for whole VMs, and rounded as in the paper.

Only ``subject to`` couples the periods; without it, each period is a separate model. A solver takes many small models
faster than one of all periods, and ``--threads`` lets it take several at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo

from mrdsl.contracts.plan_expressions import worth
from mrdsl.contracts.subject_to import add_comparisons
from mrdsl.core.answer import Answer
from mrdsl.core.result import Limits, Result, SolutionStatus, Termination, relative_gap
from mrdsl.core.rounding import ROUNDING, ceiling
from mrdsl.families.joint.facts import as_solved
from mrdsl.families.joint.fleet import Fleet, fleet_of, refuse_types
from mrdsl.families.joint.models.fleets import allocation_of_types, assemble_types, model_types
from mrdsl.families.joint.plan import JointPlan, assemble, cost_of
from mrdsl.families.joint.quantities import offer
from mrdsl.families.joint.verify import quantity
from mrdsl.families.joint.workload import Floats, Workload, parts, refuse_rounds, vm_bounds, workload
from mrdsl.solving.claims import failure
from mrdsl.solving.worker import GRACE
from mrdsl.spec.spec import Spec

EXPLAINED = 2e-6
"""Relative gap of the whole, beyond the one that was asked for, up to which solvers' tolerances explain it."""


@dataclass(frozen=True)
class Form:
    """A form of the problem: the model of a workload, the arrays of a solution, and the plan of these."""

    build: Callable[[Spec, Any, bool], Any]
    allocation: Callable[[Spec, Any, Any, bool], tuple[Floats, ...]]
    assemble: Callable[..., JointPlan] = assemble


@dataclass(frozen=True)
class _Part:
    """One solved model: the answer, and its allocation if there is one."""

    answer: Answer
    allocation: tuple[Floats, ...] | None


def by_period(
    spec: Spec, work: Workload | Fleet, relax: bool, limits: Limits, solve: Callable[..., Answer], form: Form
) -> Result:
    """Solve every period's model, or one model of all periods if ``subject to`` or commitments couple them.

    All periods share one time limit: each gets the remaining time at its turn. A solver that counts whole seconds may
    exceed it. One second after the limit no further period starts, and the result has no plan. Values and bounds add
    up. The plan is proven if all periods ended and the gap of the sums is within the requested one.
    """
    joined = bool(spec.constraints) or (isinstance(work, Fleet) and work.joins_periods)
    pieces = [work] if joined else [work.period(t) for t in range(work.periods)]
    end = None if limits.time is None else time.monotonic() + limits.time
    allowed = limits.gap if limits.gap is not None else 0.0
    at_once = min(limits.threads or 1, len(pieces))

    def one(piece: Workload | Fleet) -> _Part:
        left = None if end is None else end - time.monotonic()
        if left is not None and left < -GRACE:
            return _Part(Answer(Termination.TIME_LIMIT, SolutionStatus.NONE), None)
        left = None if left is None else max(0.01, left)
        model = form.build(spec, piece, relax)
        add_comparisons(spec, model)
        answer = solve(model, replace(limits, time=left, threads=None if at_once > 1 else limits.threads))
        held = None if answer.solution is SolutionStatus.NONE else form.allocation(spec, piece, model, relax)
        return _Part(answer, held)

    if at_once == 1:
        return _together(spec, work, form, _until_failure(one, pieces), allowed, relax)
    with ThreadPoolExecutor(at_once) as pool:
        return _together(spec, work, form, list(pool.map(one, pieces)), allowed, relax)


def _until_failure(one: Callable[[Any], _Part], pieces: Sequence[Any]) -> list[_Part]:
    """Return the solved pieces up to the first without a plan: then there is none of the whole."""
    parts = []
    for piece in pieces:
        parts.append(one(piece))
        if parts[-1].allocation is None:
            break
    return parts


def _together(
    spec: Spec, work: Workload | Fleet, form: Form, parts: Sequence[_Part], allowed: float, relax: bool
) -> Result:
    """Return the plan of all pieces at its true cost, which a solver's tolerances may have made look lower."""
    failed = next((part.answer for part in parts if part.allocation is None), None)
    if failed is not None:
        told = (failure(failed.solver, failed.message),) if failed.message else ()
        return Result(failed.termination, diagnostics=told)
    held = [part.allocation for part in parts if part.allocation is not None]
    plan = form.assemble(work, *(np.concatenate(rows) for rows in zip(*held, strict=True)), relax)
    stopped = next(
        (p.answer.termination for p in parts if p.answer.termination is not Termination.OPTIMAL), Termination.OPTIMAL
    )
    cost = plan.total if isinstance(work, Fleet) else cost_of(work, plan)
    value = worth(spec, partial(quantity, spec, plan), cost)
    bound = _sum([part.answer.bound for part in parts])
    gap = relative_gap(value, bound)
    proven = stopped is Termination.OPTIMAL and gap is not None and gap <= allowed + EXPLAINED
    if stopped is Termination.OPTIMAL and not proven:
        stopped = Termination.COMPLETED
    return Result(stopped, SolutionStatus.OPTIMAL if proven else SolutionStatus.FEASIBLE, plan, value, bound)


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(sum(known)) if len(known) == len(values) else None


def build_p2(spec: Spec, relax: bool) -> pyo.ConcreteModel:
    """Build P2 over all periods with :func:`model_p2`, or with VM types."""
    spec = as_solved(spec, relax)
    if len(spec.facts.vms):
        return model_types(spec, fleet_of(spec), relax)
    return model_p2(spec, workload(spec), relax)


def run_p2(spec: Spec, relax: bool, limits: Limits, solve: Callable[..., Answer]) -> Result:
    """Solve P2, period by period if no constraint couples them."""
    spec = as_solved(spec, relax)
    if len(spec.facts.vms):
        form = Form(model_types, allocation_of_types, assemble_types)
        return by_period(spec, fleet_of(spec), relax, limits, solve, form)
    return by_period(spec, workload(spec), relax, limits, solve, Form(model_p2, allocation_p2))


def model_p2(spec: Spec, work: Workload, relax: bool) -> pyo.ConcreteModel:
    """Build P2 for a workload; the objective is the whole cost, with its constant.

    Relaxed it is the LP as printed: a unit's VMs between those of its least and of all its expected demand. With whole
    VMs a unit's fractional ``served`` work, in VMs, is at most its VMs. So the last VM is worth only the rest that it
    serves. ``subject to`` may require idle VMs: then ``served`` and VMs are always two variables. Whole concurrent jobs
    are a variable of each class: the VMs hold them all, and they bound the served jobs.
    """
    model = _skeleton(work)
    if relax and not spec.constraints:
        model.vms = pyo.Var(model.cells, bounds=_between(work, work.need_low, work.need_high))
        model.served = pyo.Expression(model.cells, rule=lambda m, t, u: m.vms[t, u])
    else:
        least, most = vm_bounds(spec, work, relax)
        within = pyo.NonNegativeReals if relax else pyo.NonNegativeIntegers
        model.vms = pyo.Var(model.cells, bounds=_between(work, least, most), within=within)
        model.served = pyo.Var(model.cells, bounds=_between(work, work.need_low, work.need_high))
        by_vms = model.cells
        if work.whole and not relax:
            _add_jobs_at_once(model, work)
            by_vms = [(t, u) for t, u in model.cells if u in work.service_names]
        model.fits = pyo.Constraint(by_vms, rule=lambda m, t, u: m.served[t, u] <= m.vms[t, u])
    return _close(spec, model, work)


def _add_jobs_at_once(model: pyo.ConcreteModel, work: Workload) -> None:
    """Add whole concurrent jobs n of each class: gamma n <= VMs.

    Served demand, in VMs, is at most gamma n / Xi, which is Xi n jobs. Of several numbers of rounds, a class has one.
    """
    names, (reuse, gamma) = list(work.class_names), work.execution.rounds
    units = [(number, u) for u, number in np.argwhere(np.isfinite(gamma.T)).tolist()]
    several = len(gamma) > 1
    cells = [(t, *unit) for t in range(work.periods) for unit in units]

    def key(t: int, number: int, u: int) -> tuple[Any, ...]:
        return (t, names[u], number) if several else (t, names[u])

    least, most = (ceiling(demand[:, None, : work.classes] / reuse) for demand in (work.low, work.high))
    bounds = {key(*at): (0.0 if several else float(least[at]), float(most[at])) for at in cells}
    model.at_once = pyo.Var(list(bounds), bounds=bounds, within=pyo.NonNegativeIntegers)
    held: dict[tuple[int, str], list[tuple[Any, ...]]] = {}
    for at in cells:
        held.setdefault((at[0], names[at[2]]), []).append((key(*at), float(gamma[at[1:]]), float(reuse[at[1:]])))
    per_job = dict(zip(names, work.vms_per_demand.tolist(), strict=False))
    model.hosted = pyo.Constraint(
        list(held),
        rule=lambda m, t, i: pyo.quicksum(vms * m.at_once[at] for at, vms, _ in held[t, i]) <= m.vms[t, i],
    )
    model.rounds = pyo.Constraint(
        list(held),
        rule=lambda m, t, i: (
            m.served[t, i] <= pyo.quicksum(per_job[i] * turns * m.at_once[at] for at, _, turns in held[t, i])
        ),
    )
    if several:
        model.of_rounds = pyo.Var(list(bounds), within=pyo.Binary)
        model.only_of_rounds = pyo.Constraint(
            list(bounds), rule=lambda m, *at: m.at_once[at] <= bounds[at][1] * m.of_rounds[at]
        )
        model.one_of_rounds = pyo.Constraint(
            list(held), rule=lambda m, t, i: pyo.quicksum(m.of_rounds[at] for at, *_ in held[t, i]) <= 1
        )


def build_rounded(spec: Spec, relax: bool) -> pyo.ConcreteModel:
    """Build P2 with the bounds on VMs rounded up and every VM at p-bar, as the paper solves it for whole VMs.

    It values the last VM of a unit too high: its optimum is a lower bound on the cost, and its VMs need not be best.
    Relaxed, it rounds no bound, and comparisons of ``subject to`` apply to the demand truly served: both are P2.
    """
    refuse_types(spec, "formulation P2-rounded")
    refuse_rounds(spec, "formulation P2-rounded")
    if relax or spec.constraints:
        return build_p2(spec, relax)
    work = workload(spec)
    model = _skeleton(work)
    model.vms = pyo.Var(
        model.cells,
        bounds=_between(work, work.whole_vms(work.low), work.whole_vms(work.high)),
        within=pyo.NonNegativeIntegers,
    )
    model.served = pyo.Expression(model.cells, rule=lambda m, t, u: m.vms[t, u])
    return _close(spec, model, work)


def run_rounded(spec: Spec, relax: bool, limits: Limits, solve: Callable[..., Answer]) -> Result:
    """Return the rounded P2's VMs at their true cost: served work is capped at the expected demand."""
    model = build_rounded(spec, relax)
    add_comparisons(spec, model)
    answer = solve(model)
    if answer.solution is SolutionStatus.NONE:
        return Result(answer.termination)
    plan = decode_p2(spec, model, relax)
    gap = relative_gap(plan.total, answer.bound)
    if gap is not None and gap <= EXPLAINED:
        return Result(answer.termination, SolutionStatus.OPTIMAL, plan, plan.total, answer.bound)
    ended = Termination.COMPLETED if answer.termination is Termination.OPTIMAL else answer.termination
    return Result(ended, SolutionStatus.FEASIBLE, plan, plan.total, answer.bound)


def decode_p2(spec: Spec, model: pyo.ConcreteModel, relax: bool) -> JointPlan:
    """Return the plan of the VMs and the served work that a solver left in the model."""
    spec = as_solved(spec, relax)
    if len(spec.facts.vms):
        return assemble_types(fleet_of(spec), *allocation_of_types(spec, fleet_of(spec), model, relax), relax)
    work = workload(spec)
    return assemble(work, *allocation_p2(spec, work, model, relax), relax)


def allocation_p2(spec: Spec, work: Workload, model: pyo.ConcreteModel, relax: bool) -> tuple[Floats, Floats]:
    """VMs, and the demand that is admitted on them; both (periods, units)."""
    vms: Floats = np.maximum(_values(work, model.vms), 0.0)
    vms = vms if relax else np.rint(vms)
    able = work.served_by(vms, relax)
    if not spec.constraints and not getattr(model, "of_caller", False):
        return vms, np.maximum(able, work.low)
    served = _values(work, model.served)
    demand = np.where(served >= work.need_high * (1 - ROUNDING), work.high, served / work.vms_per_demand)
    return vms, np.clip(np.minimum(demand, able), work.low, work.high)


def _values(work: Workload, component: pyo.Component) -> Floats:
    return np.array([[float(pyo.value(component[t, u])) for u in work.names] for t in range(work.periods)])


def _skeleton(work: Workload) -> pyo.ConcreteModel:
    model = pyo.ConcreteModel("joint_P2")
    model.units = pyo.Set(initialize=work.names, ordered=True)
    model.periods = pyo.RangeSet(0, work.periods - 1)
    model.cells = pyo.Set(initialize=[(t, u) for t in range(work.periods) for u in work.names], dimen=2, ordered=True)
    return model


def _close(spec: Spec, model: pyo.ConcreteModel, work: Workload) -> pyo.ConcreteModel:
    """Add what all forms of P2 share: the cluster's size (55) and the cost."""
    names = work.names
    shares = parts(work)
    model.parts = pyo.RangeSet(0, len(shares) - 1)
    model.size = pyo.Constraint(
        model.periods,
        model.parts,
        rule=lambda m, t, p: pyo.quicksum(m.vms[t, u] for u in names[shares[p][0]]) <= shares[p][1],
    )
    worth = dict(zip(names, work.worth.tolist(), strict=True))
    operation = pyo.quicksum(work.vm_cost * model.vms[key] for key in model.cells)
    avoided = pyo.quicksum(worth[u] * model.served[t, u] for t, u in model.cells)
    model.cost = pyo.Objective(
        expr=operation - avoided + float((work.expected @ work.penalty).sum()), sense=pyo.minimize
    )

    per_vm = (1.0 / work.vms_per_demand).tolist()
    offer(spec, model, work, lambda t, u: model.vms[t, names[u]], lambda t, u: per_vm[u] * model.served[t, names[u]])
    return model


def _between(
    work: Workload, low: Floats, high: Floats, names: Sequence[str] | None = None
) -> dict[tuple[int, str], tuple[float, float]]:
    return {
        (t, name): (float(low[t, u]), float(high[t, u]))
        for t in range(work.periods)
        for u, name in enumerate(work.names if names is None else names)
    }
