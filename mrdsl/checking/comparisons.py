"""Comparisons of `subject to` as checks of a finished plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isnan

from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.rounding import FEASIBILITY
from mrdsl.spec.expression import Expression, Operation, quantities_in, value_of
from mrdsl.spec.spec import Aim, Spec, pieces


def broken(spec: Spec, quantity: Callable[[str, str], float]) -> Iterator[Diagnostic]:
    """Check the comparisons of a spec on a finished plan.

    Args:
        spec: The spec.
        quantity: Function that returns a quantity of the plan by name and argument.

    Yields:
        One error for each comparison that the plan does not meet. A comparison with NaN, of a class that is not
            admitted,
        is met. One with a division by 0 is not.
    """
    for constraint in spec.constraints:
        if isinstance(constraint, Aim):
            continue
        left, right = (value_of(side, quantity) for side in (constraint.left, constraint.right))
        slack = FEASIBILITY * max(1.0, abs(left), abs(right))
        over, under = left > right + slack, left < right - slack
        wrong = {"<=": over, ">=": under}.get(constraint.comparison, over or under)
        said = f"the plan violates `{constraint.text or f'… {constraint.comparison} …'}`"
        if wrong:
            yield error("broken-plan", f"{said}: {left:g} against {right:g}", constraint.span)
        elif any(_is_by_zero(side, quantity) for *sides, _ in pieces(constraint) for side in sides):
            hint = "multiply by the divisor: write `a <= 3 * b` for `a / b <= 3`"
            yield error("broken-plan", f"{said}: it divides by 0", constraint.span, hint)


def _is_by_zero(side: Expression, quantity: Callable[[str, str], float]) -> bool:
    """Return True if a side has no value although all of its quantities have one."""
    if not _has_quotient(side) or not isnan(value_of(side, quantity)):
        return False
    return not any(isnan(quantity(each.name, each.argument)) for each in quantities_in(side))


def _has_quotient(expression: Expression) -> bool:
    """Return True if a quantity is in a denominator."""
    if not isinstance(expression, Operation):
        return False
    below = expression.operands[1:] if expression.operator == "/" else ()
    return any(map(quantities_in, below)) or any(map(_has_quotient, expression.operands))
