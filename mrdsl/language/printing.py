"""Printing of a Spec as text that reads back to the same Spec."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from mrdsl.contracts.plan_expressions import SECOND, MixedDimensionsError, dimension_of, with_plain_constants
from mrdsl.core import units
from mrdsl.core.units import KINDS, NUMBER, Dimension
from mrdsl.families import family as find_family
from mrdsl.language.parameters import options_of
from mrdsl.language.vocabulary import float_text, name_text, quoted, vocabulary
from mrdsl.spec.expression import Constant, Expression, Operation, PlanQuantity
from mrdsl.spec.schema import Block, Distribution, Item, Node, Range, Source
from mrdsl.spec.spec import Constraint, Goal, Let, Spec


class AskedText:
    """Writes the expressions of one spec."""

    def __init__(self, spec: Spec) -> None:
        family = find_family(spec.problem)
        self.currency = spec.currency
        self.lets: dict[Expression, Let] = {}
        self.kinds = {q.name: units.KINDS[q.kind].dimension for q in (family.quantities if family else ())}
        self.with_two = {q.name for q in (family.quantities if family else ()) if q.per}

    def let(self, let: Let) -> str:
        """``let NAME = ...``"""
        text = _bare(self._text(let.expression, units.dimension_of(let.unit)))
        self.lets[let.expression] = let
        return f"let {let.name} = {text}"

    def goal(self, goal: Goal) -> str:
        """Return ``minimize NAME``, or the expression if no ``let`` names it."""
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
        """Return the dimension of the sides if every bare constant is a plain number; a number if they differ."""
        try:
            found = [dimension_of(with_plain_constants(side), self.kinds) for side in sides]
        except MixedDimensionsError:
            return NUMBER
        return next((each for each in found if each not in (None, NUMBER)), None) or NUMBER

    def _text(self, expression: Expression, wanted: Dimension | None, factor: bool = False) -> str:
        """Return the expression, with units of constants that give it the wanted dimension, if one is wanted.

        A constant that is added to a count is written as a plain number.
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
                words = argument.split(SECOND, 1) if name in self.with_two else [argument]
                return f"{name}({SECOND.join(map(name_text, words))})" if argument else name
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
        """Return a product in which the first factor of unknown dimension gets the wanted one; others are plain
        numbers.
        """
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
        """Return the dimension that the factor at a place must have for the product to have the wanted one."""
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
    """Return a text without the brackets around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for place, sign in enumerate(_QUOTED.sub(lambda found: "_" * len(found[0]), text)):
        depth += (sign == "(") - (sign == ")")
        if not depth and place < len(text) - 1:
            return text
    return text[1:-1]


def _goes_on(first: Expression, operators: str, text: str) -> bool:
    """Return True if the start of a sum or product is read without brackets, because it is built from the left."""
    return isinstance(first, Operation) and first.operator in operators and text.startswith("(")


_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')
_OTHER_SIGN = {"+": "-", "-": "+"}
_COUNTED = frozenset(units.KINDS[kind].dimension for kind in ("vms", "slots", "jobs", "tasks"))
"""Counts for which comparisons accept a plain number."""


INDENT = "  "


def print_spec(spec: Spec) -> str:
    """Return the text of a spec, in SI; what ``let`` names is written out wherever it is used."""
    return "\n".join(_statements(spec)) + "\n"


def _statements(spec: Spec) -> Iterator[str]:
    yield f"problem {spec.problem}" + (f" {quoted(spec.title)}" if spec.title else "")
    if spec.seed is not None:
        yield f"seed = {spec.seed}"
    yield from _body(spec.facts, spec.currency, 0)
    asked = AskedText(spec)
    yield from map(asked.let, spec.lets)
    if spec.goal is not None:
        yield asked.goal(spec.goal)
    if spec.constraints:
        yield "subject to {"
        for constraint in spec.constraints:
            yield INDENT + asked.constraint(constraint)
        yield "}"
    if spec.method is not None:
        known = options_of(spec.method.name, spec.problem)
        options = (f"{key} = {_value(known[key], value, spec.currency)}" for key, value in spec.method.options.items())
        yield f"solve with {name_text(spec.method.name)} {{ {', '.join(options)} }}"


def _body(node: Node, currency: str, depth: int) -> Iterator[str]:
    words = vocabulary(type(node))
    indent = INDENT * depth
    for word, (field, item) in words.items.items():
        value = getattr(node, field)
        if value is not None and (value != item.default or item.required):
            yield f"{indent}{word} = {_value(item, value, currency)}"
    for word, (field, _) in words.singles.items():
        inner = getattr(node, field)
        if inner is not None:
            yield from _block(word, inner, currency, depth)
    for word, (field, block) in words.repeated.items():
        yield from _repeated(word, block, getattr(node, field), currency, depth)


def _repeated(word: str, _: Block, nodes: Sequence[Node], currency: str, depth: int) -> Iterator[str]:
    for node in nodes:
        yield from _block(f"{word} {name_text(node.name)}", node, currency, depth)


def _block(header: str, node: Node, currency: str, depth: int) -> Iterator[str]:
    indent = INDENT * depth
    source: Source | None = getattr(node, "source", None)
    if source is not None:
        written = quoted(source.written)
        header += f" from {written if source.reader == 'table' else f'{source.reader}({written})'}"
    yield f"{indent}{header} {{"
    yield from _body(node, currency, depth + 1)
    yield f"{indent}}}"


def _value(item: Item, value: Any, currency: str) -> str:
    match item.form:
        case "text":
            return quoted(value)
        case "path":
            return quoted(value.written)
        case "choice" | "name":
            return name_text(value)
        case "names":
            return f"[{', '.join(map(name_text, value))}]"
        case "list":
            return f"[{', '.join(_number(part, item.kind, currency) for part in value)}]"
        case "moments":
            return f"[{', '.join(_moment(part) for part in value)}]"
        case "moment":
            return _moment(value)
    if isinstance(value, Range):
        return f"{_number(value.low, item.kind, currency)} .. {_number(value.high, item.kind, currency)}"
    if isinstance(value, Distribution):
        return distribution_text(value, item.kind, currency)
    return _number(value, item.kind, currency)


def _moment(value: float | str) -> str:
    return value if isinstance(value, str) else f"{float_text(float(value))} s"


def distribution_text(value: Distribution, kind: str, currency: str) -> str:
    """Return a distribution as the language writes it, its parameters in the kind's SI unit."""
    parts = []
    for position, parameter in enumerate(value.parameters):
        own = "number" if value.name == "mixture" and position == 0 else kind
        parts.append(
            f"[{', '.join(_number(part, own, currency) for part in parameter)}]"
            if isinstance(parameter, tuple)
            else _number(parameter, own, currency)
        )
    return f"{value.name}({', '.join(parts)})"


def _number(value: float, kind: str, currency: str) -> str:
    """Return the shortest text that reads back as the same float, with the kind's SI unit."""
    text = repr(value) if isinstance(value, int) else float_text(float(value))
    unit = KINDS[kind].si.format(currency=currency)
    if not unit or kind in ("vms", "slots", "jobs", "tasks"):
        return text
    return f"{text}/s" if unit == "1/s" else f"{text} {unit}"
