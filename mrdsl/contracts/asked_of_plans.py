"""What is wrong with expressions over a plan that were built in Python: comparisons, ``let``, goals of one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

from mrdsl.contracts.dimensions import MixedDimensionsError, dimension_of
from mrdsl.contracts.family import Family, QuantityKind, kind_words
from mrdsl.core import budgets, units
from mrdsl.spec.declared import Mistake, described, python_number_mistake
from mrdsl.spec.expression import (
    OPERATORS,
    Constant,
    Expression,
    Operation,
    PlanQuantity,
    is_within,
    quantities_in,
    value_of,
)
from mrdsl.spec.linear import terms_of
from mrdsl.spec.schema import Item
from mrdsl.spec.spec import Goal, Let
from mrdsl.spec.validation import name_mistake

_NUMBER = Item("quantity", "a number")
LINEAR = ("minimize", "maximize")
"""The senses that a goal of one's own may have."""


def let_mistake(
    let: Any, quantities: Mapping[str, QuantityKind], family: Family, before: Sequence[str]
) -> Mistake | None:
    """What is wrong with a quantity of one's own; ``before`` are the names of those above it."""
    if not isinstance(let, Let):
        hint = "give Let(name, expression, unit)"
        return Mistake("wrong-value", f"{described(let)} is no quantity of one's own", hint)
    wrong = name_mistake("let", let.name) or expression_mistake(let.expression, quantities, family)
    if wrong is not None:
        return wrong
    if not let.name.isidentifier() or let.name in quantities or let.name in before or let.name in units.UNITS:
        return Mistake("reserved-name", f"`{let.name}` is no free name for a quantity", "give it one of its own")
    if not quantities_in(let.expression):
        return Mistake("wrong-statement", f"`{let.name}` names no quantity of the plan", "leave it out")
    return _unit_mistake(let.expression, let.unit, quantities)


def own_goal_mistake(goal: Goal, family: Family) -> Mistake | None:
    """What is wrong with a goal that is an expression."""
    assert goal.expression is not None
    quantities = {quantity.name: quantity for quantity in family.quantities}
    if goal.sense not in LINEAR:
        message = f"a goal of one's own is not to `{goal.sense}`"
        return Mistake("unknown-goal", message, "give minimize or maximize")
    wrong = expression_mistake(goal.expression, quantities, family)
    if wrong is not None:
        return wrong
    try:
        terms_of(goal.expression)
    except ValueError as reason:
        hint = "a goal adds quantities that are multiplied by numbers"
        return Mistake("wrong-statement", f"the goal is not linear: {reason}", hint)
    return _unit_mistake(goal.expression, goal.unit, quantities)


def _unit_mistake(expression: Expression, unit: Any, quantities: Mapping[str, QuantityKind]) -> Mistake | None:
    said = units.dimension_of(unit) if isinstance(unit, str) else None
    if said is None:
        return _no_unit(unit)
    try:
        found = dimension_of(expression, {name: units.KINDS[kind.kind].dimension for name, kind in quantities.items()})
    except MixedDimensionsError as mixed:
        return Mistake("wrong-unit", str(mixed), "both sides of a sum are of one kind")
    if found is not None and found != said:
        message = f"its unit is `{unit}`, {units.describe(said)}, but it comes to {units.describe(found)}"
        return Mistake("wrong-unit", message, f"give the unit `{units.si_unit(found, units.DEFAULT_CURRENCY)}`")
    return None


def _no_unit(unit: Any) -> Mistake:
    return Mistake("unknown-unit", f"{described(unit)} is no SI unit", 'give one such as "USD", "s", "J" or "USD/kg"')


def expression_mistake(
    expression: Expression | Any, quantities: Mapping[str, QuantityKind], family: Family
) -> Mistake | None:
    """The first thing that is wrong with an expression."""
    if not is_within(expression, budgets.EXPRESSION_PARTS, budgets.EXPRESSION_DEPTH):
        parts, depth = budgets.EXPRESSION_PARTS, budgets.EXPRESSION_DEPTH
        message = f"an expression has more than {parts} parts, or more than {depth} operations inside one another"
        return Mistake("too-large", message, "give + and * all their operands at once")
    return _part_mistake(expression, quantities, family)


def _is_zero(divisor: Expression) -> bool:
    """Whether a divisor names no quantity and is 0."""
    return not quantities_in(divisor) and not value_of(divisor, lambda name, argument: nan)


def _part_mistake(
    expression: Expression | Any, quantities: Mapping[str, QuantityKind], family: Family
) -> Mistake | None:
    match expression:
        case Constant(value, unit):
            known = unit is None or (isinstance(unit, str) and units.dimension_of(unit) is not None)
            return python_number_mistake("a constant", _NUMBER, value) if known else _no_unit(unit)
        case PlanQuantity(name, argument):
            if name not in quantities:
                hint = "quantities: " + (", ".join(quantities) or "none")
                return Mistake("unknown-name", f"{kind_words(family.name)} plan has no quantity `{name}`", hint)
            kind = quantities[name]
            if kind.needs_argument if not argument else not kind.takes_argument:
                wanted = "is meant of one name" if kind.needs_argument else "takes no argument"
                return Mistake("wrong-arguments", f"`{name}` {wanted}", "see the family's page")
            return None
        case Operation(operator, operands):
            if operator not in OPERATORS or not operands or (operator == "neg" and len(operands) > 1):
                message = f"{described(operator)} of {len(operands)} operands is no operation"
                return Mistake("wrong-value", message, "give one of + - * / min max and its operands, or neg and one")
            wrong = next((m for one in operands if (m := _part_mistake(one, quantities, family))), None)
            if wrong is None and operator == "/" and any(map(_is_zero, operands[1:])):
                return Mistake("division-by-zero", "an expression divides by zero", "the divisor must not be 0")
            return wrong
        case _:
            return Mistake(
                "wrong-value", f"{described(expression)} is no expression", "give Constant, PlanQuantity or Operation"
            )
