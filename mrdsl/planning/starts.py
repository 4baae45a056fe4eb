"""Starting plans: a solve starts from the previous plan, and keeps it if the new one is no better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from mrdsl.contracts.family import ArrayForm, Family, kind_words
from mrdsl.core.diagnostics import Diagnostic, note
from mrdsl.core.result import Limits, Result, SolutionStatus, relative_gap
from mrdsl.core.rounding import FEASIBILITY
from mrdsl.planning.results import goal_of
from mrdsl.solving.claims import AGREE
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from mrdsl.core.linear_program import Array, LinearProgram


def point_of(spec: Spec, form: ArrayForm, start: Result) -> tuple[Array | None, str]:
    """Return the point of an earlier plan in the current program, or None and the reason."""
    if start.plan is None:
        return None, "it has no plan"
    if start.problem != spec.problem:
        return None, f"it is {kind_words(start.problem)} plan"
    if form.point is None or form.program.kind != "MILP":
        return None, "this model has no integer variables to search"
    point = form.point(start.plan)
    if point is None:
        return None, "none of its classes or VMs are in this spec"
    worst, row = form.program.violation(point)
    if worst > FEASIBILITY:
        return None, f"it violates {'a bound' if row is None else f'`{form.row_name(row)}`'} of this spec"
    return point, ""


def better(program: LinearProgram, first: Array | None, second: Array | None) -> Array | None:
    """Return the better of two points of a program, the first of equal ones."""
    if first is None or second is None:
        return second if first is None else first
    sign = -1.0 if program.maximize else 1.0
    return first if sign * program.objective(first) <= sign * program.objective(second) else second


def unused(reason: str) -> Diagnostic:
    """Return the note that a solve does not begin at the plan that it was given."""
    hint = "the result does not depend on it; remove `--start` to silence this warning"
    return note("start-unused", f"the starting plan was not used: {reason}", None, hint)


def keep_last_plan(
    spec: Spec, family: Family, result: Result, start: Result, limits: Limits, verified: Callable[[Result], Result]
) -> Result | None:
    """Return the result with the plan of ``start`` if that keeps the spec and is as good; None if not.

    ``verified`` checks and values a result's plan by the spec.
    """
    again = getattr(start.plan, "again", None)
    if again is None or result.plan is None or result.value is None or start.problem != spec.problem:
        return None
    plan = again(result.plan)
    value = None if plan is None or family.measure is None else family.measure(spec, plan)
    if plan is None or value is None:
        return None
    worse = (result.value - value) if goal_of(spec, family).sense == "maximize" else (value - result.value)
    gap = relative_gap(value, result.bound, result.fixed)
    within = result.solution is SolutionStatus.OPTIMAL and gap is not None and gap <= (limits.gap or 0.0) + AGREE
    if worse > AGREE * max(abs(value), abs(result.value)) and not within:
        return None
    claims = (result.termination, result.solution, plan, float(value), result.bound)
    held = verified(Result(*claims, size=result.size, fixed=result.fixed))
    if held.plan is None or held.solution is not result.solution:
        return None
    doubts = tuple(each for each in result.diagnostics if each.code == "contradicted-claim")
    return replace(held, diagnostics=(*held.diagnostics, *doubts))
