"""What a spec asks of its plan as text: ``let``, goals of its own, comparisons.

A Constant that was built in Python may be a bare number in SI. The unit that it has to be written with follows from
what stands beside it: the terms of a sum are of one kind, and of a product's bare constants the first takes what is
left.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mrdsl.contracts.dimensions import MixedDimensionsError, dimension_of, with_plain_constants
from mrdsl.core import units
from mrdsl.core.units import NUMBER, Dimension
from mrdsl.families import family as find_family
from mrdsl.language.written_words import float_text, name_text
from mrdsl.spec.expression import Constant, Expression, Operation, PlanQuantity
from mrdsl.spec.spec import Constraint, Goal, Let, Spec


class AskedText:
    """Writes the expressions of one spec."""

    def __init__(self, spec: Spec) -> None:
        family = find_family(spec.problem)
        self.currency = spec.currency
        self.lets: dict[Expression, Let] = {}
        self.kinds = {q.name: units.KINDS[q.kind].dimension for q in (family.quantities if family else ())}

    def let(self, let: Let) -> str:
        """``let NAME = ...``"""
        text = _bare(self._text(let.expression, units.dimension_of(let.unit)))
        self.lets[let.expression] = let
        return f"let {let.name} = {text}"

    def goal(self, goal: Goal) -> str:
        """``minimize NAME``, or the expression where no ``let`` names it."""
        if goal.expression is None:
            return f"{goal.sense} {goal.quantity}"
        text = _bare(self._text(goal.expression, units.dimension_of(goal.unit)))
        return f"{goal.sense} {'1 * ' if text[0] in '(-' else ''}{text}"

    def constraint(self, constraint: Constraint) -> str:
        """``left <= right``"""
        sides = (constraint.left, constraint.right)
        kinds = [dimension_of(side, self.kinds) for side in sides]
        wanted = next(filter(None, kinds), None) or self._with_plain_constants(sides)
        left, right = (self._text(side, kind or wanted) for side, kind in zip(sides, kinds, strict=True))
        return f"{left} {'==' if constraint.comparison == '=' else constraint.comparison} {right}"

    def _with_plain_constants(self, sides: Sequence[Expression]) -> Dimension:
        """What the sides come to where every bare constant is a plain number; a number where those are of two kinds."""
        try:
            found = [dimension_of(with_plain_constants(side), self.kinds) for side in sides]
        except MixedDimensionsError:
            return NUMBER
        return next((each for each in found if each not in (None, NUMBER)), None) or NUMBER

    def _text(self, expression: Expression, wanted: Dimension | None, factor: bool = False) -> str:
        """The expression, whose constants get units such that it is of the dimension that is wanted, if any is.

        Beside a count, but not as a factor, a constant is written as a plain number.
        """
        let = self.lets.get(expression)
        if let is not None and dimension_of(expression, self.kinds) in (None, units.dimension_of(let.unit)):
            return let.name
        match expression:
            case Constant(value, None):
                plain = wanted in _COUNTED and not factor
                return self._constant(value, NUMBER if wanted is None or plain else wanted)
            case Constant(value):
                return self._constant(value, dimension_of(expression, self.kinds) or NUMBER)
            case PlanQuantity(name, argument):
                return f"{name}({name_text(argument)})" if argument else name
            case Operation("neg", (inner,)):
                return f"-({self._text(inner, wanted, factor)})"
            case Operation("*" | "/" as operator, (first, *others)):
                return self._product(operator, first, others, wanted)
            case Operation(operator, operands):
                found = dimension_of(expression, self.kinds) or wanted
                texts = [self._text(operand, found, factor) for operand in operands]
                if operator in ("min", "max"):
                    return f"{operator}({', '.join(map(_bare, texts))})"
                head = _bare(texts[0]) if _goes_on(operands[0], _OTHER_SIGN[operator] + "*/", texts[0]) else texts[0]
                return "(" + f" {operator} ".join((head, *texts[1:])) + ")"
        raise TypeError(f"no expression: {expression!r}")

    def _product(self, operator: str, first: Expression, others: list[Expression], wanted: Dimension | None) -> str:
        """The one factor whose dimension its constants leave open takes what is wanted; any more are plain numbers."""
        factors = [first, *others]
        found = [dimension_of(factor, self.kinds) for factor in factors]
        open_ones = [place for place, each in enumerate(found) if each is None]
        if open_ones and wanted is not None:
            mine = open_ones[0]
            for place in open_ones[1:]:
                found[place] = NUMBER
            found[mine] = self._left(operator, mine, found, wanted)
        texts = [self._text(each, kind, factor=True) for each, kind in zip(factors, found, strict=True)]
        for place in range(1, len(texts)):
            if operator == "/" and texts[place] in units.UNITS and not isinstance(factors[place - 1], PlanQuantity):
                texts[place] = f"({texts[place]})"  # behind a number it would be the unit
        if isinstance(first, Constant) or _goes_on(first, "*/", texts[0]):
            texts[0] = _bare(texts[0])
        return "(" + f" {operator} ".join(texts) + ")"

    def _left(self, operator: str, mine: int, found: list[Dimension | None], wanted: Dimension) -> Dimension:
        """What the factor at a place has to be for the product to be of the wanted dimension."""
        rest = NUMBER
        for place, each in enumerate(found):
            if place != mine and each is not None:
                divides = operator == "/" and place > 0
                rest = units.divide(rest, each) if divides else units.multiply(rest, each)
        lacking = units.divide(wanted, rest)
        return units.divide(NUMBER, lacking) if operator == "/" and mine > 0 else lacking

    def _constant(self, value: float, dimension: Dimension) -> str:
        text, unit = float_text(value), units.si_unit(dimension, self.currency)
        if not unit:
            return text
        if unit.startswith("1/"):
            return f"({text}{unit[1:]})"
        return f"({text} {unit})" if "/" in unit or "*" in unit else f"{text} {unit}"


def _bare(text: str) -> str:
    """A text without the brackets around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for place, sign in enumerate(_QUOTED.sub(lambda found: "_" * len(found[0]), text)):
        depth += (sign == "(") - (sign == ")")
        if not depth and place < len(text) - 1:
            return text
    return text[1:-1]


def _goes_on(first: Expression, operators: str, text: str) -> bool:
    """Whether what a sum or a product begins with is read as one without brackets: it is built from the left."""
    return isinstance(first, Operation) and first.operator in operators and text.startswith("(")


_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')
_OTHER_SIGN = {"+": "-", "-": "+"}
_COUNTED = frozenset(units.KINDS[kind].dimension for kind in ("vms", "slots", "jobs", "tasks"))
"""Counts that a plain number stands for wherever they are compared."""
