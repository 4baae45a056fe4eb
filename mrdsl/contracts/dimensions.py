"""What kind of quantity an expression over a plan is: its dimension, where its quantities say it."""

from __future__ import annotations

from collections.abc import Mapping

from mrdsl.core import units
from mrdsl.core.units import Dimension
from mrdsl.spec.expression import Constant, Expression, Operation, PlanQuantity


class MixedDimensionsError(ValueError):
    """Quantities of two kinds were added; ``first`` and ``second`` are their dimensions."""

    def __init__(self, first: Dimension, second: Dimension) -> None:
        self.first, self.second = first, second
        super().__init__(f"cannot add {units.describe(second)} to {units.describe(first)}")


def dimension_of(expression: Expression, kinds: Mapping[str, Dimension]) -> Dimension | None:
    """The dimension, None where a constant in it may have any: a Constant is in the SI unit that its place asks for.

    ``kinds`` has the dimension of each quantity. Raises MixedDimensionsError for a sum of two kinds.
    """
    match expression:
        case PlanQuantity(name):
            return kinds.get(name)
        case Operation("neg", (inner,)):
            return dimension_of(inner, kinds)
        case Operation("*" | "/" as operator, (first, *others)):
            total = dimension_of(first, kinds)
            for operand in others:
                other = dimension_of(operand, kinds)
                if total is None or other is None:
                    total = None
                else:
                    total = units.multiply(total, other) if operator == "*" else units.divide(total, other)
            return total
        case Operation(_, operands):
            return _common([dimension_of(operand, kinds) for operand in operands])
        case Constant(_, unit):
            return None if unit is None else units.dimension_of(unit)
    return None


def with_plain_constants(expression: Expression) -> Expression:
    """The expression with every bare constant as a plain number."""
    match expression:
        case Constant(value, None):
            return Constant(value, "")
        case Operation(operator, operands):
            return Operation(operator, tuple(map(with_plain_constants, operands)))
    return expression


def _common(found: list[Dimension | None]) -> Dimension | None:
    """The one dimension of those that are known: a plain number is a count where it stands beside one."""
    known = [each for each in found if each is not None]
    largest = next((each for each in known if each != units.NUMBER), units.NUMBER)
    for each in known:
        if not units.fits(each, largest):
            raise MixedDimensionsError(largest, each)
    return largest if known else None
