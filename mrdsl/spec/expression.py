"""Expressions over quantities of a plan, and their linear form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from math import isnan, nan
from typing import Any


@dataclass(frozen=True)
class Constant:
    """A number in SI; ``unit`` is its SI unit if known (``"USD/kg"``), otherwise its place determines it."""

    value: float
    unit: str | None = field(default=None, compare=False)


@dataclass(frozen=True)
class PlanQuantity:
    """A quantity of the plan, such as ``cost`` or ``admitted(sort)``; ``argument`` is "" if it has none."""

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
    """Return the value of the expression, with ``quantity(name, argument)`` as a number or a Pyomo expression.

    ``applied`` computes an operation from its operator and the values of its operands, by default like :func:`apply`.
    """
    match expression:
        case Constant(value):
            return value
        case PlanQuantity(name, argument):
            return quantity(name, argument)
        case Operation(operator, operands):
            return (applied or apply)(operator, [evaluate(operand, quantity, applied) for operand in operands])


def value_of(expression: Expression, quantity: Callable[[str, str], float]) -> float:
    """Return the value of the expression for the numbers of a plan; NaN if it has none, as for a quotient by 0.

    ``quantity`` gives NaN for missing quantities; ``min`` and ``max`` use only operands with a value.
    """
    return float(evaluate(expression, lambda name, argument: float(quantity(name, argument)), _apply_to_numbers))


def quantities_in(expression: Expression) -> tuple[PlanQuantity, ...]:
    """Return every quantity of the plan that the expression mentions, in order."""
    match expression:
        case PlanQuantity():
            return (expression,)
        case Operation(_, operands):
            return tuple(quantity for operand in operands for quantity in quantities_in(operand))
        case _:
            return ()


def is_within(expression: Expression, parts: int, depth: int) -> bool:
    """Return True if an expression has at most ``parts`` parts and ``depth`` nested operations."""
    waiting, seen = [(expression, 1)], 0
    while waiting:
        current, level = waiting.pop()
        seen += 1
        if seen > parts or level > depth:
            return False
        if isinstance(current, Operation) and isinstance(current.operands, tuple | list):
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
    """Return the result of an operation on any values that Python can compute with."""
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


@dataclass(frozen=True)
class Linear:
    """``sum factors[v] * v + constant``. Arithmetic that would not be linear raises ValueError."""

    factors: Mapping[Any, float]
    constant: float = 0.0

    def __add__(self, other: Any) -> Linear:
        return total((self, other))

    __radd__ = __add__

    def __neg__(self) -> Linear:
        return self * -1.0

    def __sub__(self, other: Any) -> Linear:
        return self + -linear(other)

    def __rsub__(self, other: Any) -> Linear:
        return linear(other) - self

    def __mul__(self, other: Any) -> Linear:
        first, second = (linear(other), self) if any(self.factors.values()) else (self, linear(other))
        if any(first.factors.values()):
            raise ValueError("a product of two quantities is not linear")
        by = first.constant
        return Linear({key: by * factor for key, factor in second.factors.items()}, by * second.constant)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Linear:
        divisor = linear(other)
        if any(divisor.factors.values()) or not divisor.constant:
            raise ValueError("a division by a quantity, or by 0, is not linear")
        return self * (1.0 / divisor.constant)

    def __rtruediv__(self, other: Any) -> Linear:
        return linear(other) / self

    def __lt__(self, other: Any) -> bool:
        raise ValueError("the least or the greatest of several quantities is not linear")

    __gt__ = __lt__


def linear(value: Any) -> Linear:
    """Return a number as a linear function; a linear function as it is."""
    return value if isinstance(value, Linear) else Linear({}, float(value))


def total(terms: Iterable[Any], sign: float = 1.0) -> Linear:
    """Return the sum of linear functions and numbers, all but the first times a sign."""
    factors: dict[Any, float] = {}
    constant = 0.0
    for place, term in enumerate(map(linear, terms)):
        by = sign if place else 1.0
        constant += by * term.constant
        for key, factor in term.factors.items():
            factors[key] = factors.get(key, 0.0) + by * factor
    return Linear(factors, constant)


def linear_form(expression: Expression, quantity: Callable[[str, str], Linear]) -> Linear:
    """Return an expression over linear functions as one. Raises ValueError with the reason where it is not linear."""

    def applied(operator: str, values: list[Any]) -> Any:
        if operator in ("+", "-"):
            return total(values, 1.0 if operator == "+" else -1.0)
        return apply(operator, values)

    return linear(evaluate(expression, quantity, applied))


def terms_of(expression: Expression) -> Linear:
    """Return an expression over a plan as a linear function of its quantities, which are keys (name, argument).

    Raises ValueError with the reason where it is not linear.
    """
    return linear_form(expression, lambda name, argument: Linear({(name, argument): 1.0}))
