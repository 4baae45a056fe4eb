"""Claims of a result: the plan checked against its spec, the solver's bound checked against known bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mrdsl.contracts.family import ArrayForm, Family, Formulation, kind_words
from mrdsl.core.answer import Answer
from mrdsl.core.diagnostics import Diagnostic, Severity, has_errors, note, warning
from mrdsl.core.result import CUT_SHORT, Limits, Plan, Result, SolutionStatus, Termination, finite, relative_gap
from mrdsl.core.rounding import FEASIBILITY
from mrdsl.planning.results import goal_of
from mrdsl.solving.claims import AGREE, TOLERANCE, contradicts, drawn_back, graded
from mrdsl.solving.request import DEFAULT_GAP
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from mrdsl.core.linear_program import Array, LinearProgram


def verified(spec: Spec, family: Family, result: Result, relax: bool) -> Result:
    """Return the result with its plan checked and valued from the facts alone, and without the plan if it breaks a
    constraint.
    """
    result = finite(result)
    if result.plan is None:
        return result
    problems = tuple(violations(spec, family, result.plan, relax))
    if has_errors(problems):
        return Result(Termination.ERROR, diagnostics=result.diagnostics + problems, bound=result.bound)
    result = replace(result, diagnostics=result.diagnostics + problems)
    return result if family.measure is None else finite(_valued(spec, family, family.measure, result), searched=True)


def _valued(spec: Spec, family: Family, measure: Callable[[Spec, Any], float | None], result: Result) -> Result:
    measured = measure(spec, result.plan)
    if measured is None:
        return replace(result, value=None)
    value = float(measured)
    claimed = result.value
    if claimed is not None and not abs(value - claimed) <= TOLERANCE * max(abs(value), abs(claimed), result.size):
        message = (
            f"the solver reported an objective of {claimed:g}, but the plan evaluates to {value:g}; "
            "the solver's bound was discarded"
        )
        diagnostics = (*result.diagnostics, warning("objective-differs", message, spec.span))
        return replace(unproven(result), value=value, bound=None, diagnostics=diagnostics)
    bound = drawn_back(result.bound, value, goal_of(spec, family).sense == "maximize")
    gaps = [relative_gap(*each, result.fixed) or 0.0 for each in ((value, bound), (claimed, result.bound))]
    if gaps[0] > gaps[1] + 2.0 * AGREE:
        result = unproven(result)
    return replace(result, value=value, bound=bound)


def unproven(result: Result) -> Result:
    """Return the result with a plan that is no longer called optimal."""
    stopped = Termination.COMPLETED if result.termination is Termination.OPTIMAL else result.termination
    return replace(result, solution=SolutionStatus.FEASIBLE, termination=stopped)


def violations(spec: Spec, family: Family, plan: Plan, relax: bool) -> Iterable[Diagnostic]:
    """Yield every promise of the spec that the plan breaks, ``subject to`` included, from the facts alone."""
    from mrdsl.checking.comparisons import broken

    if family.verify is not None:
        yield from family.verify(spec, plan, relax)
    if spec.constraints and family.quantity is not None and not plan.compared_by_family:
        yield from broken(spec, partial(family.quantity, spec, plan))


def compared(answer: Answer, known: Result, limits: Limits, maximize: bool, method: str) -> Answer:
    """Return the answer without the claims that ``known`` contradicts: a verified plan and a proven bound of
    ``method``.

    A bound beyond the value of a known plan is replaced by the known bound. A point beyond the known bound, and
    "infeasible" for a spec with a plan, are errors of the solver.
    """
    if answer.termination is Termination.INFEASIBLE and known.plan is not None:
        message = f"it claims that no plan exists, but `{method}` found one with value {known.value:g}"
        return replace(answer, termination=Termination.ERROR, message=message, bound=None)
    if answer.bound is None or known.plan is None or known.value is None:
        return answer
    size = max(answer.size, abs(answer.value or 0.0))
    if not contradicts(answer.bound, known.value, maximize, size):
        return answer
    side = "above" if maximize else "below"
    doubt = (
        f"it claims that no plan is {side} {answer.bound:g}, but `{method}` found one with value {known.value:g}: "
        "its proof is withdrawn"
    )
    bound = known.bound
    if bound is not None and answer.value is not None:
        bound = drawn_back(bound, answer.value, maximize)
    changed = replace(answer, bound=bound, doubts=(*answer.doubts, doubt))
    return graded(changed, replace(limits, gap=limits.gap or DEFAULT_GAP))


def better_of(result: Result, known: Result, limits: Limits, maximize: bool, solver: str, method: str) -> Result:
    """Return the result, or ``known`` if its plan is better or ``solver`` has none; both are verified.

    ``method`` found ``known`` and is named as the source of its plan, which is optimal if the better bound proves it.
    Diagnostics of the other plan are left out.
    """
    if known.plan is None or known.value is None or not _is_worth_more(known, result, DEFAULT_GAP, maximize):
        return result
    bounds = [known.bound, result.bound]
    proven = [each for each in bounds if each is not None and not contradicts(each, known.value, maximize, result.size)]
    bound = (min if maximize else max)(proven, default=None)
    bound = drawn_back(bound, known.value, maximize)
    gap = relative_gap(known.value, bound, known.fixed)
    optimal = gap is not None and gap <= (limits.gap or DEFAULT_GAP) + AGREE
    ended = result.termination if result.termination in CUT_SHORT else Termination.COMPLETED
    return replace(
        known,
        termination=Termination.OPTIMAL if optimal else ended,
        solution=SolutionStatus.OPTIMAL if optimal else SolutionStatus.FEASIBLE,
        bound=bound,
        diagnostics=(*known.diagnostics, _told(result, known.value, solver, method)),
    )


def not_the_best(result: Result, known: Result, limits: Limits, maximize: bool, solver: str, method: str) -> Result:
    """Return the result, not optimal any more if the plan of ``method`` is better by more than the gap."""
    gap = (limits.gap or DEFAULT_GAP) + TOLERANCE
    if result.solution is not SolutionStatus.OPTIMAL or not _is_worth_more(known, result, gap, maximize):
        return result
    message = (
        f"{solver} claims that its plan with value {result.value:g} is optimal, but `{method}` found one with value "
        f"{known.value:g}: its proof is withdrawn"
    )
    told = warning("contradicted-claim", message, None, f"use the better plan: `--solver auto` or `--solver {method}`")
    diagnostics = (*result.diagnostics, told)
    stopped = Termination.COMPLETED if result.termination is Termination.OPTIMAL else result.termination
    return replace(result, solution=SolutionStatus.FEASIBLE, termination=stopped, diagnostics=diagnostics)


def method_of(formulation: Formulation) -> str:
    """Return the name of the method that knows a plan without a solver."""
    return getattr(formulation.known, "__name__", "a method").replace("_", " ")


def _is_worth_more(known: Result, result: Result, gap: float, maximize: bool) -> bool:
    """Return True if the plan that is known is better by more than the relative ``gap``, or the only one."""
    if known.plan is None or known.value is None or result.plan is None or result.value is None:
        return known.plan is not None and result.plan is None
    more = known.value - result.value if maximize else result.value - known.value
    return more > gap * max(abs(known.value), abs(result.value))


def _told(result: Result, value: float, solver: str, method: str) -> Diagnostic:
    """Return the note with the method of the plan, and the solver's own value."""
    if result.plan is None:
        failed = [each.message for each in result.diagnostics if each.severity is Severity.ERROR]
        why = f" ({failed[0]})" if failed else ""
        return warning(
            "better-plan", f"{solver} found no plan{why}: this plan, with value {value:g}, is from `{method}`"
        )
    message = f"{solver} found a plan with value {result.value:g}: this one, with value {value:g}, is from `{method}`"
    return note("better-plan", message)


def point_of(spec: Spec, form: ArrayForm, start: Result) -> tuple[Array | None, str]:
    """Return the point of an earlier plan in the current program, or None and the reason."""
    if start.plan is None:
        return None, "it has no plan"
    if start.problem != spec.problem:
        return None, f"it is {kind_words(start.problem)} plan"
    if form.point is None:
        return None, "this method does not support a starting plan"
    if form.program.kind != "MILP":
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
