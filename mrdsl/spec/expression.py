"""Expressions over a plan's quantities, as ``subject to`` compares them.

The same small tree is read twice: over a Pyomo model's expressions to build constraints, and over a finished plan's
numbers to check them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from math import isnan, nan
from typing import Any


@dataclass(frozen=True)
class Constant:
    """A number in SI; ``unit`` is its SI unit where that is known (``"USD/kg"``), else what its place asks for."""

    value: float
    unit: str | None = field(default=None, compare=False)


@dataclass(frozen=True)
class PlanQuantity:
    """A quantity that the plan offers, such as ``cost`` or ``admitted(sort)``; ``argument`` is "" where it has none."""

    name: str
    argument: str = ""


@dataclass(frozen=True)
class Operation:
    """``+``, ``-``, ``*``, ``/``, ``neg``, ``min``, ``max`` of its operands."""

    operator: str
    operands: tuple[Expression, ...]


OPERATORS = ("+", "-", "*", "/", "neg", "min", "max")
Expression = Constant | PlanQuantity | Operation


def evaluate(
    expression: Expression,
    quantity: Callable[[str, str], Any],
    applied: Callable[[str, list[Any]], Any] | None = None,
) -> Any:
    """The expression's value, where ``quantity(name, argument)`` gives a number or a Pyomo expression.

    ``applied`` calculates an operation from its operator and its operands' values, by default as :func:`apply` does.
    """
    match expression:
        case Constant(value):
            return value
        case PlanQuantity(name, argument):
            return quantity(name, argument)
        case Operation(operator, operands):
            return (applied or apply)(operator, [evaluate(operand, quantity, applied) for operand in operands])


def value_of(expression: Expression, quantity: Callable[[str, str], float]) -> float:
    """The expression's value over a plan's numbers: NaN where it means nothing, as a quotient by 0 does.

    ``quantity`` gives NaN of what is not there; ``min`` and ``max`` are of those operands that mean something.
    """
    return float(evaluate(expression, lambda name, argument: float(quantity(name, argument)), _apply_to_numbers))


def quantities_in(expression: Expression) -> tuple[PlanQuantity, ...]:
    """Every quantity of the plan that the expression mentions, in order."""
    match expression:
        case PlanQuantity():
            return (expression,)
        case Operation(_, operands):
            return tuple(quantity for operand in operands for quantity in quantities_in(operand))
        case _:
            return ()


def is_within(expression: Expression, parts: int, depth: int) -> bool:
    """Whether an expression has at most so many parts, and at most so many operations inside one another."""
    waiting, seen = [(expression, 1)], 0
    while waiting:
        current, level = waiting.pop()
        seen += 1
        if seen > parts or level > depth:
            return False
        if isinstance(current, Operation):
            waiting += [(operand, level + 1) for operand in current.operands]
    return True


def _apply_to_numbers(operator: str, values: list[float]) -> float:
    if operator in ("min", "max"):
        values = [value for value in values if not isnan(value)] or [nan]
    try:
        return float(apply(operator, values))
    except ZeroDivisionError:
        return nan


def apply(operator: str, values: list[Any]) -> Any:
    """What an operation comes to, of anything that Python calculates with."""
    match operator:
        case "neg":
            return -values[0]
        case "+":
            return reduce(lambda a, b: a + b, values)
        case "-":
            return reduce(lambda a, b: a - b, values)
        case "*":
            return reduce(lambda a, b: a * b, values)
        case "/":
            return reduce(lambda a, b: a / b, values)
        case "min":
            return min(values)
        case "max":
            return max(values)
    raise ValueError(f"no operator {operator!r}")
