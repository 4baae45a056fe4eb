"""Linear functions of numbered variables: what ``subject to`` compares, where it multiplies by constants alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mrdsl.spec.expression import Expression, evaluate


@dataclass(frozen=True)
class Linear:
    """``sum factors[v] * v + constant``. Arithmetic that would not be linear raises ValueError."""

    factors: Mapping[Any, float]
    constant: float = 0.0

    def __add__(self, other: Any) -> Linear:
        added = linear(other)
        keys = dict.fromkeys((*self.factors, *added.factors))
        factors = {key: self.factors.get(key, 0.0) + added.factors.get(key, 0.0) for key in keys}
        return Linear(factors, self.constant + added.constant)

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


def terms_of(expression: Expression) -> Linear:
    """An expression over a plan as a linear function of its quantities, which are keys (name, argument).

    Raises ValueError with the reason where it is not linear.
    """
    return linear(evaluate(expression, lambda name, argument: Linear({(name, argument): 1.0})))
