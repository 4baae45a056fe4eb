"""`subject to`: comparisons as constraints of a Pyomo model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrdsl.contracts.plan_expressions import aim_of, offered_by, put_in_place
from mrdsl.core.diagnostics import one_error
from mrdsl.core.rounding import FEASIBILITY
from mrdsl.spec.expression import Constant, Expression, Operation, PlanQuantity, evaluate
from mrdsl.spec.spec import Aim, Spec, pieces

BLOCK = "subject_to"


def add_to_model(spec: Spec, model: Any) -> None:
    """Add the comparisons of a spec to a model as `subject_to[1]`, `subject_to[2]`, …

    A user-defined objective replaces the model's objective, as `own_goal`. `min` and `max` become several constraints
    if that is exact, as in `max(a, b) <= c`.

    Args:
        spec: The spec.
        model: Pyomo model with `plan_quantities`; or with `has_comparisons` if it has them already.

    Raises:
        ValueError: If the model cannot express a comparison.
    """
    import pyomo.core as pyo

    if not spec.constraints or getattr(model, "has_comparisons", False):
        return
    offered = getattr(model, "plan_quantities", {})
    aim = aim_of(spec)
    if aim is not None:
        put_in_place(model, aim)
    model.subject_to = pyo.ConstraintList()
    spans = dict(getattr(model, "spans", None) or {})
    for constraint in spec.constraints:
        for left, right, comparison in () if isinstance(constraint, Aim) else pieces(constraint):
            body = evaluate(left, offered_by(offered)) - evaluate(right, offered_by(offered))
            if _holds_anyhow(body, comparison):
                continue
            added = model.subject_to.add(_relation(body, comparison))
            spans[(BLOCK, added.index())] = constraint.span
    model.spans = spans


def add_comparisons(spec: Spec, model: Any) -> None:
    """Add the comparisons of a spec to a model that is solved in parts.

    Args:
        spec: The spec.
        model: Pyomo model with `plan_quantities`.

    Raises:
        MrdslError: If the model cannot express a comparison.
    """
    try:
        add_to_model(spec, model)
    except ValueError as cause:
        raise one_error("unable-solver", str(cause), spec.constraints[0].span) from None


def _relation(body: Any, comparison: str) -> Any:
    body = getattr(body, "with_sign", body)  # of a quotient whose divisor is not negative
    return (None if comparison == "<=" else 0.0, body, None if comparison == ">=" else 0.0)


def _holds_anyhow(body: Any, comparison: str) -> bool:
    """Return True if the comparison is between constants and true, such as the 200 <= 200 of ``max(vms, 200) <= 200``.

    Raises ValueError where it is between constants and false.
    """
    if not isinstance(body, int | float):
        return False
    holds = {"<=": body <= FEASIBILITY, ">=": body >= -FEASIBILITY}.get(comparison, abs(body) <= FEASIBILITY)
    if not holds:
        raise ValueError("a comparison under `subject to` has only constants, and is false")
    return True


def pushed_up(spec: Spec) -> frozenset[str]:
    """Return the quantities that some comparison increases, such as `cost` in `cost >= 2 * uptime`.

    A model that bounds such a quantity from below must bound it from above too.

    Args:
        spec: The spec.

    Returns:
        Names of the quantities. Products and quotients of quantities count in both directions.
    """
    quantities: set[str] = set()
    for constraint in spec.constraints:
        if constraint.comparison != ">=":
            quantities.update(name for name, sign in _signs(constraint.right, 1) if sign > 0)
            quantities.update(name for name, sign in _signs(constraint.left, 1) if sign < 0)
        if constraint.comparison != "<=":
            quantities.update(name for name, sign in _signs(constraint.left, 1) if sign > 0)
            quantities.update(name for name, sign in _signs(constraint.right, 1) if sign < 0)
    return frozenset(quantities)


def _signs(expression: Expression, sign: int) -> Iterator[tuple[str, int]]:
    """Yield the quantities in an expression, each with the direction in which the expression moves with it, or with
    both.
    """
    match expression:
        case PlanQuantity(name):
            yield name, sign
        case Operation("neg", (operand,)):
            yield from _signs(operand, -sign)
        case Operation("-", (first, *others)):
            yield from _signs(first, sign)
            for operand in others:
                yield from _signs(operand, -sign)
        case Operation("*" | "/", operands):
            known = [operand.value for operand in operands if isinstance(operand, Constant)]
            turned = sign * (-1) ** sum(value < 0 for value in known)
            directions = (turned,) if len(known) == len(operands) - 1 and _multiplies(expression) else (1, -1)
            yield from (signed for each in directions for operand in operands for signed in _signs(operand, each))
        case Operation(_, operands):
            yield from (signed for operand in operands for signed in _signs(operand, sign))


def _multiplies(expression: Operation) -> bool:
    """Return True if no quantity is in a denominator."""
    return expression.operator == "*" or not isinstance(expression.operands[0], Constant)
