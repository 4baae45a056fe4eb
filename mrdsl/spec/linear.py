"""Linear functions of numbered variables: what ``subject to`` compares, where it multiplies by constants alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mrdsl.spec.expression import Expression, apply, evaluate


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
    """A number as a linear function; a linear function as it is."""
    return value if isinstance(value, Linear) else Linear({}, float(value))


def total(terms: Iterable[Any], sign: float = 1.0) -> Linear:
    """The sum of linear functions and numbers, all but the first times a sign."""
    factors: dict[Any, float] = {}
    constant = 0.0
    for place, term in enumerate(map(linear, terms)):
        by = sign if place else 1.0
        constant += by * term.constant
        for key, factor in term.factors.items():
            factors[key] = factors.get(key, 0.0) + by * factor
    return Linear(factors, constant)


def linear_form(expression: Expression, quantity: Callable[[str, str], Linear]) -> Linear:
    """An expression over linear functions as one. Raises ValueError with the reason where it is not linear."""

    def applied(operator: str, values: list[Any]) -> Any:
        if operator in ("+", "-"):
            return total(values, 1.0 if operator == "+" else -1.0)
        return apply(operator, values)

    return linear(evaluate(expression, quantity, applied))


def terms_of(expression: Expression) -> Linear:
    """An expression over a plan as a linear function of its quantities, which are keys (name, argument).

    Raises ValueError with the reason where it is not linear.
    """
    return linear_form(expression, lambda name, argument: Linear({(name, argument): 1.0}))
