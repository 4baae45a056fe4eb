"""The end of a solve over periods: whole slots packed on VMs, and the cost without commitments beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mrdsl.core.diagnostics import MrdslError, warning
from mrdsl.core.result import Limits, Result, SolutionStatus, Termination, relative_gap
from mrdsl.core.rounding import PROVEN
from mrdsl.core.watching import is_late
from mrdsl.families.capacity.constraints import serves
from mrdsl.families.capacity.forms import as_solved
from mrdsl.families.capacity.methods.direct import direct
from mrdsl.families.capacity.packed_plans import knows_all_slots, with_packing
from mrdsl.families.capacity.periods.comparisons import of_sums
from mrdsl.families.capacity.periods.demand import commitments_of, periods_of, rented, spec_of_period
from mrdsl.families.capacity.periods.plan import PeriodsPlan, plan_of_periods
from mrdsl.families.capacity.periods.program import arrays_of_periods, is_large
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.solving.programs import UnsolvedError, optimum
from mrdsl.spec.spec import Spec

CLOSED, NODES = PROVEN / 4.0, 2_000
"""The relative gap of a program that bounds the cost, and its nodes at most."""


def finished(spec: Spec, relax: bool, limits: Limits, result: Result) -> Result:
    """Return the result with packed slots and the cost without commitments.

    The bound stays if P2 has all slots of jobs. Otherwise another program bounds plans of any slots.
    """
    plan = result.plan
    if not isinstance(plan, PeriodsPlan):
        return result
    solved = as_solved(spec, relax)
    bound = result.bound if relax or knows_all_slots(rented(solved)) else _bound_of_any_slots(spec, limits)
    if not relax:
        packed = packed_periods(spec, plan, limits)
        if packed is None:
            told = warning(
                "no-plan-found",
                "whole slots take more VMs than they add up to, and there is no room for those",
                spec.facts.vms[0].span,
                "raise the limits on VMs, or write whole = no",
            )
            ended = Termination.COMPLETED if result.termination is Termination.OPTIMAL else result.termination
            return Result(ended, bound=bound, diagnostics=(*result.diagnostics, told))
        plan = packed
    if not plan.at_least:
        without, at_least = without_commitments(spec, relax, plan, limits)
        if at_least and bound is not None:  # of all plans, also of those without commitments
            without = float(np.maximum(without, bound))
        plan = replace(plan, without=without, at_least=at_least)
    found = replace(result, plan=plan, value=plan.total, bound=bound)
    away = relative_gap(found.value, found.bound, found.fixed)
    if away is not None and away <= (limits.gap or PROVEN):
        return found
    ended = Termination.COMPLETED if found.termination is Termination.OPTIMAL else found.termination
    return replace(found, termination=ended, solution=SolutionStatus.FEASIBLE)


def packed_periods(spec: Spec, plan: PeriodsPlan, limits: Limits) -> PeriodsPlan | None:
    """Return the plan with the slots of each period packed; None if there are too few VMs in one."""
    committed = {(each.vm, each.term): each.vms for each in plan.committed}
    found = []
    for number, each in enumerate(plan.plans):
        period = spec_of_period(spec, number, committed)
        packed = with_packing(period, Result(Termination.COMPLETED, plan=each, value=each.total), limits)
        if not isinstance(packed.plan, CapacityPlan):
            return None
        found.append(packed.plan)
    counts = {**committed, **{("", each.name): each.cost * plan.period for each in plan.savings}}
    again = plan_of_periods(spec, counts, tuple(found))
    return replace(again, without=plan.without, at_least=plan.at_least)


def without_commitments(spec: Spec, relax: bool, plan: PeriodsPlan, limits: Limits) -> tuple[float, bool]:
    """Return the cost of all periods without commitments, NaN if it is not known; and True if that is a bound.

    ``direct`` plans each period. With comparisons that it does not know, the embedded solver bounds all periods.
    """
    if not any(each.vms for each in plan.committed) and not any(each.cost for each in plan.savings):
        return plan.total, False
    none = dict.fromkeys(commitments_of(spec.facts), 0.0)
    if of_sums(spec) or not serves(spec_of_period(spec, 0, none)):
        return _bound_without(spec, limits), True
    costs = []
    for number in range(len(plan.plans)):
        found = None if is_late() else direct(spec_of_period(spec, number, none), relax)
        if found is None or found.value is None:
            return float("nan"), False
        costs.append(found.value)
    return float(np.array(costs) @ periods_of(spec).weights), False


def _bound_of_any_slots(spec: Spec, limits: Limits) -> float | None:
    """Return a bound on plans whose jobs hold any slots, of whole VMs and jobs if time allows; None without any."""
    program = arrays_of_periods(spec, False, bound=True).program
    limits = replace(limits, gap=CLOSED, nodes=limits.nodes or NODES, time=limits.time and limits.time / 2.0)
    for integer in (program.integer, np.zeros_like(program.integer))[is_large(spec) :]:
        try:
            found = optimum(replace(program, integer=integer), limits)
        except (UnsolvedError, MrdslError):
            continue
        return None if found is None else found.value - CLOSED * abs(found.value)
    return None


def _bound_without(spec: Spec, limits: Limits) -> float:
    """Return the cost without commitments, in fractions of jobs and VMs; NaN without a solution or time for it."""
    program = arrays_of_periods(spec, False).program
    upper = program.upper.copy()
    upper[: len(commitments_of(spec.facts))] = 0.0
    relaxed = replace(program, upper=upper, integer=np.zeros_like(program.integer))
    try:
        found = optimum(relaxed, replace(limits, gap=None, nodes=None))
    except (UnsolvedError, MrdslError):
        return float("nan")
    return float("nan") if found is None else found.value
