"""How closely a solver's numbers must agree with each other: a bound with a value, a value with its plan's."""

from __future__ import annotations

TOLERANCE = 1e-5
"""How far a value may lie beyond a true bound, relative to the goal's size: points hold to 1e-6 to 1e-5 only."""
AGREE = 1e-6
"""How far the gap between value and bound may exceed what was asked for: their last digits."""


def contradicts(bound: float, value: float, maximize: bool, size: float = 0.0) -> bool:
    """Whether a value that is attained lies beyond a bound by more than tolerances explain."""
    beyond = value - bound if maximize else bound - value
    return not beyond <= TOLERANCE * max(abs(value), size)


def drawn_back(bound: float | None, value: float, maximize: bool) -> float | None:
    """The bound, no further than the value."""
    if bound is None:
        return None
    return max(bound, value) if maximize else min(bound, value)
