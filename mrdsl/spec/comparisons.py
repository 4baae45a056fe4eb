"""What a comparison of ``subject to`` says of single quantities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mrdsl.core.source import Span
from mrdsl.spec.expression import Constant, Expression, Operation, PlanQuantity
from mrdsl.spec.spec import Constraint, Spec

_MIRRORED = {"<=": ">=", ">=": "<=", "=": "="}


@dataclass(frozen=True)
class Bound:
    """``quantity(name) comparison value``, in SI; ``name`` is "" where the quantity has no argument."""

    quantity: str
    name: str
    comparison: str
    value: float
    span: Span | None = field(default=None, compare=False, repr=False)


def pieces(constraint: Constraint) -> Iterator[tuple[Expression, Expression, str]]:
    """``max(a, b) <= c`` as ``a <= c`` and ``b <= c``, ``min(a, b) >= c`` alike, and the same with sides swapped."""
    left, right, comparison = constraint.left, constraint.right, constraint.comparison
    lefts = _operands(left, {"<=": "max", ">=": "min"}.get(comparison, ""))
    rights = _operands(right, {"<=": "min", ">=": "max"}.get(comparison, ""))
    yield from ((a, b, comparison) for a in lefts for b in rights)


def bounds_in(constraint: Constraint) -> list[Bound | None]:
    """Each of the :func:`pieces` as a bound of one quantity by a number; None where it compares anything else."""
    return [_bound(*piece, constraint.span) for piece in pieces(constraint)]


def tightest(spec: Spec) -> dict[tuple[str, str], Bound]:
    """What holds each quantity furthest below a number, by its name and argument: the first of those that are alike."""
    found: dict[tuple[str, str], Bound] = {}
    for bound in (each for constraint in spec.constraints for each in bounds_in(constraint)):
        if bound is not None and bound.comparison == "<=":
            known = found.setdefault((bound.quantity, bound.name), bound)
            if bound.value < known.value:
                found[bound.quantity, bound.name] = bound
    return found


def _bound(left: Expression, right: Expression, comparison: str, span: Span | None) -> Bound | None:
    if isinstance(left, Constant):
        left, right, comparison = right, left, _MIRRORED[comparison]
    if isinstance(left, PlanQuantity) and isinstance(right, Constant):
        return Bound(left.name, left.argument, comparison, right.value, span)
    return None


def _operands(expression: Expression, operator: str) -> tuple[Expression, ...]:
    if isinstance(expression, Operation) and expression.operator == operator:
        return expression.operands
    return (expression,)
