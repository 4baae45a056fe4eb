"""Where a solve begins: at the plan of an earlier one, as far as the spec still has room for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mrdsl.contracts.family import ArrayForm, kind_words
from mrdsl.core.diagnostics import Diagnostic, note
from mrdsl.core.result import Result
from mrdsl.core.tolerances import FEASIBILITY
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from mrdsl.core.linear_program import Array, LinearProgram


def point_of(spec: Spec, form: ArrayForm, start: Result) -> tuple[Array | None, str]:
    """The point of an earlier plan in the program of today; None where it has none, and why."""
    if start.plan is None:
        return None, "it has no plan"
    if start.problem != spec.problem:
        return None, f"it is {kind_words(start.problem)} plan"
    if form.point is None or form.program.kind != "MILP":
        return None, "this model has nothing to search"
    point = form.point(start.plan)
    if point is None:
        return None, "nothing of it is in this spec"
    worst, row = form.program.violation(point)
    if worst > FEASIBILITY:
        return None, f"it breaks {'a bound' if row is None else f'`{form.row_name(row)}`'} of this spec"
    return point, ""


def better(program: LinearProgram, first: Array | None, second: Array | None) -> Array | None:
    """The better of two points of a program, the first of equal ones."""
    if first is None or second is None:
        return second if first is None else first
    sign = -1.0 if program.maximize else 1.0
    return first if sign * program.objective(first) <= sign * program.objective(second) else second


def unused(reason: str) -> Diagnostic:
    """The note that a solve does not begin at the plan that it was given."""
    hint = "the plan that was found is as good without it; leave the start out"
    return note("start-unused", f"the plan to start from is not used: {reason}", None, hint)
