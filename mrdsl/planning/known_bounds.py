"""A solver's claims against what is known of the spec without it: a family's own plan and bound, by closed forms."""

from __future__ import annotations

from dataclasses import replace

from mrdsl.contracts.family import Formulation
from mrdsl.core.answer import Answer
from mrdsl.core.diagnostics import Diagnostic, Severity, note, warning
from mrdsl.core.result import CUT_SHORT, Limits, Result, SolutionStatus, Termination, relative_gap
from mrdsl.solving.agreement import AGREE, TOLERANCE, contradicts, drawn_back
from mrdsl.solving.claims import graded
from mrdsl.solving.request import DEFAULT_GAP


def compared(answer: Answer, known: Result, limits: Limits, maximize: bool, method: str) -> Answer:
    """The answer without what ``known`` contradicts: a verified plan and a proven bound, found by ``method``.

    A bound beyond the value of a plan that exists is withdrawn for the known one; a point beyond the known bound, and
    "infeasible" of a spec that has a plan, are errors of the solver.
    """
    if answer.termination is Termination.INFEASIBLE and known.plan is not None:
        message = f"it claims that there is no plan, but {method} has one worth {known.value:g}"
        return replace(answer, termination=Termination.ERROR, message=message, bound=None)
    if answer.bound is None or known.plan is None or known.value is None:
        return answer
    size = max(answer.size, abs(answer.value or 0.0))
    if not contradicts(answer.bound, known.value, maximize, size):
        return answer
    side = "above" if maximize else "below"
    doubt = (
        f"it claims that no plan is {side} {answer.bound:g}, but {method} has one worth {known.value:g}: "
        "its proof is withdrawn"
    )
    bound = known.bound
    if bound is not None and answer.value is not None:
        bound = drawn_back(bound, answer.value, maximize)
    changed = replace(answer, bound=bound, doubts=(*answer.doubts, doubt))
    return graded(changed, replace(limits, gap=limits.gap or DEFAULT_GAP))


def better_of(result: Result, known: Result, limits: Limits, maximize: bool, solver: str, method: str) -> Result:
    """The result, or ``known`` where its plan is worth more, or where ``solver`` has none; both are verified.

    ``method`` is who found ``known``. The plan is told to be its; it is optimal as far as the better bound proves that.
    What was told of the plan that is left out is left out with it.
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
    """The result, no longer optimal where ``known``, found by ``method``, is worth more than its gap explains."""
    gap = (limits.gap or DEFAULT_GAP) + TOLERANCE
    if result.solution is not SolutionStatus.OPTIMAL or not _is_worth_more(known, result, gap, maximize):
        return result
    message = (
        f"{solver} claims that its plan, worth {result.value:g}, is the best, but {method} has one worth "
        f"{known.value:g}: its proof is withdrawn"
    )
    told = warning("contradicted-claim", message, None, f"take the better one: --solver auto, or {method}")
    diagnostics = (*result.diagnostics, told)
    stopped = Termination.COMPLETED if result.termination is Termination.OPTIMAL else result.termination
    return replace(result, solution=SolutionStatus.FEASIBLE, termination=stopped, diagnostics=diagnostics)


def method_of(formulation: Formulation) -> str:
    """The name of what knows a plan without a solver."""
    return getattr(formulation.known, "__name__", "a method").replace("_", " ")


def _is_worth_more(known: Result, result: Result, gap: float, maximize: bool) -> bool:
    """Whether the plan that is known is better by more than the relative ``gap``, or the only one."""
    if known.plan is None or known.value is None or result.plan is None or result.value is None:
        return known.plan is not None and result.plan is None
    more = known.value - result.value if maximize else result.value - known.value
    return more > gap * max(abs(known.value), abs(result.value))


def _told(result: Result, value: float, solver: str, method: str) -> Diagnostic:
    """Whose plan it is and what the solver had instead."""
    if result.plan is None:
        failed = [each.message for each in result.diagnostics if each.severity is Severity.ERROR]
        why = f" ({failed[0]})" if failed else ""
        return warning("better-plan", f"{solver} gave no plan{why}: this one, worth {value:g}, is by {method}")
    message = f"{solver} found a plan worth {result.value:g}: this one, worth {value:g}, is by {method}"
    return note("better-plan", message)
