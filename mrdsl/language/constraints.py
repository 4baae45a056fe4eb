"""``subject to { ... }``: comparisons of the plan's quantities, with their dimensions checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mrdsl.contracts.family import Family, QuantityKind, kind_words
from mrdsl.core import units
from mrdsl.core.suggestions import did_you_mean
from mrdsl.core.units import Dimension
from mrdsl.language import tree
from mrdsl.language.evaluate import evaluate
from mrdsl.language.formatting import inline_text
from mrdsl.language.items import word_param
from mrdsl.language.scope import MistakeError, Scope
from mrdsl.spec.columns import names_of
from mrdsl.spec.expression import Constant, Expression, Operation, PlanQuantity
from mrdsl.spec.spec import Constraint


def resolve_constraints(block: tree.Block, family: Family, facts: Any, scope: Scope) -> tuple[Constraint, ...]:
    """The constraints of one ``subject to`` block; wrong ones are reported and left out."""
    known = {quantity.name: quantity for quantity in family.quantities}
    constraints = []
    for statement in block.statements or ():
        try:
            constraints.append(_constraint(statement, family, known, facts, scope))
        except MistakeError as mistake:
            scope.report.add(mistake.diagnostic)
    return tuple(constraints)


def _constraint(statement: Any, family: Family, known: dict[str, QuantityKind], facts: Any, scope: Scope) -> Constraint:
    left_node, comparison, right_node = _sides(statement, scope)
    builder = _Builder(family, known, facts, scope)
    left, left_dimension = builder.build(left_node)
    right, right_dimension = builder.build(right_node)
    if not (units.fits(left_dimension, right_dimension) or units.fits(right_dimension, left_dimension)):
        raise scope.mistake(
            "wrong-unit",
            f"cannot compare {units.describe(left_dimension)} with {units.describe(right_dimension)}",
            statement,
            "both sides are of one kind",
        )
    if isinstance(left, Constant) and isinstance(right, Constant):
        raise scope.mistake(
            "wrong-statement",
            "this comparison names no quantity of the plan",
            statement,
            did_you_mean("", known, "quantities: "),
        )
    return Constraint(left, comparison, right, inline_text(statement), scope.span(statement))


def _sides(statement: Any, scope: Scope) -> tuple[Any, str, Any]:
    match statement:
        case tree.Comparison(left, operator, right):
            return left, "=" if operator == "==" else operator, right
        case tree.Assignment((word,), value) if not isinstance(value, tree.Interval):
            return tree.Name(word), "=", value
        case _:
            raise scope.mistake(
                "wrong-statement",
                "`subject to` holds comparisons",
                tree.first_token(statement),
                f"write `cost <= 100 {scope.report.currency or units.DEFAULT_CURRENCY}`",
            )


class _Builder:
    """Turns the two sides of a comparison into expressions over the plan."""

    def __init__(self, family: Family, known: dict[str, QuantityKind], facts: Any, scope: Scope) -> None:
        self.family, self.known, self.facts, self.scope = family, known, facts, scope

    def build(self, node: Any) -> tuple[Expression, Dimension]:
        if not self._mentions_plan(node):
            if isinstance(node, tree.Name) and node.token not in self.scope.parameter_names:
                raise self._unknown(str(node.token), node)
            value = evaluate(node, self.scope)
            return Constant(float(value.number)), value.dimension
        match node:
            case tree.Name(token):
                return self._quantity(str(token), (), node)
            case tree.Call(function, arguments, _) if str(function) in self.known:
                return self._quantity(str(function), arguments, node)
            case tree.Group(_, inner, _):
                return self.build(inner)
            case tree.Signed(sign, operand):
                inner, dimension = self.build(operand)
                return (inner if sign == "+" else Operation("neg", (inner,))), dimension
            case tree.Sum(parts):
                return self._sum(parts)
            case tree.Product(parts):
                return self._product(parts)
            case tree.Call(function, arguments, _) if str(function) in ("min", "max"):
                built = [self.build(argument) for argument in arguments]
                return Operation(str(function), tuple(part for part, _ in built)), built[0][1]
        raise self.scope.mistake("wrong-value", "a quantity of the plan cannot stand here", node, "use + - * / min max")

    def _mentions_plan(self, node: Any) -> bool:
        match node:
            case tree.Name(token):
                return str(token) in self.known and token not in self.scope.parameter_names
            case tree.Call(function, arguments, _):
                return str(function) in self.known or any(map(self._mentions_plan, arguments))
            case tree.Group(_, inner, _) | tree.Signed(_, inner):
                return self._mentions_plan(inner)
            case tree.Sum(parts) | tree.Product(parts):
                return any(self._mentions_plan(part) for part in parts[::2])
            case tree.List(_, items, _):
                return any(map(self._mentions_plan, items))
        return False

    def _unknown(self, name: str, node: Any) -> MistakeError:
        names = (*self.known, *self.scope.parameter_names)
        return self.scope.mistake(
            "unknown-name",
            f"{kind_words(self.family.name)} plan has no quantity `{name}`",
            node,
            did_you_mean(name, names, "quantities and params: "),
        )

    def _quantity(self, name: str, arguments: Sequence[Any], node: Any) -> tuple[Expression, Dimension]:
        kind = self.known[name]
        dimension = units.KINDS[kind.kind].dimension
        if not arguments and not kind.needs_argument:
            return PlanQuantity(name), dimension
        if not kind.takes_argument:
            raise self.scope.mistake("wrong-arguments", f"`{name}` takes no argument", node, f"write `{name}`")
        members = [*kind.words, *(str(member) for member in names_of(getattr(self.facts, kind.over, ())))]
        if len(arguments) != 1 or not isinstance(arguments[0], tree.Name | tree.Text):
            example = members[0] if members else "x"
            raise self.scope.mistake(
                "wrong-arguments", f"`{name}` is meant of one name", node, f"write `{name}({example})`"
            )
        param = word_param(arguments[0], self.scope)
        argument = tree.word_text(arguments[0].token) if param is None else param.text
        if argument in self.scope.report.dropped:
            raise MistakeError(None)
        if argument not in members:
            raise self.scope.mistake(
                "unknown-name",
                f"there is no `{argument}` among the {kind.over or 'arguments of `' + name + '`'}",
                arguments[0],
                did_you_mean(argument, members, f"{kind.over or 'arguments'}: "),
            )
        return PlanQuantity(name, argument), dimension

    def _sum(self, parts: tuple[Any, ...]) -> tuple[Expression, Dimension]:
        total, dimension = self.build(parts[0])
        for sign, node in zip(parts[1::2], parts[2::2], strict=True):
            term, other = self.build(node)
            if other != dimension:
                raise self.scope.mistake(
                    "wrong-unit",
                    f"cannot add {units.describe(other)} to {units.describe(dimension)}",
                    node,
                    "both sides of a sum are of one kind",
                )
            total = Operation(str(sign), (total, term))
        return total, dimension

    def _product(self, parts: tuple[Any, ...]) -> tuple[Expression, Dimension]:
        total, dimension = self.build(parts[0])
        for sign, node in zip(parts[1::2], parts[2::2], strict=True):
            unit = units.UNITS.get(node.token) if isinstance(node, tree.Name) else None
            if unit is not None and node.token not in self.scope.parameter_names:
                factor: Expression = Constant(unit.factor)
                other = unit.dimension
            else:
                factor, other = self.build(node)
            total = Operation(str(sign), (total, factor))
            dimension = units.multiply(dimension, other) if sign == "*" else units.divide(dimension, other)
        return total, dimension
