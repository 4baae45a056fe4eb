"""From values to places on the paper: linear scales with round ticks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite, log10

from mrdsl.core.tolerances import ROUNDING, SAME_SUM
from mrdsl.core.units import UNITS
from mrdsl.core.whole_numbers import begun, floor

SMALLEST_WRITTEN = 1e-5
"""The step below which ticks are written with a power of ten."""
_TIME_UNITS = tuple((UNITS[name].factor, name) for name in ("s", "min", "h", "d"))


@dataclass(frozen=True)
class Scale:
    """Maps ``low .. high`` to the pixels ``start .. end``; ``step`` is the distance between ticks."""

    low: float
    high: float
    step: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Every multiple of the step within the scale."""
        first, last = int(begun(self.low / self.step)), int(floor(self.high / self.step))
        return [i * self.step for i in range(first, last + 1)]

    def tick_label(self, value: float) -> str:
        """The tick's number, with as many decimals as the step needs.

        >>> Scale(0, 1, 0.25, 0, 100).tick_label(0.5)
        '0.50'
        """
        if abs(value) < self.step / 1e6:
            value = 0.0
        if max(abs(self.low), abs(self.high)) >= 1e7 or self.step < SMALLEST_WRITTEN:
            return f"{value:.6g}"
        return f"{value:,.{_decimals(self.step)}f}"


def linear(
    values: Iterable[float], start: float, end: float, *, zero: bool = False, count: int = 6, tight: bool = False
) -> Scale:
    """A scale over the finite values, widened to whole steps unless ``tight``; ``zero`` includes the origin."""
    finite = [float(value) for value in values if isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if zero or (low > 0 and low < 0.3 * high):
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= SAME_SUM * max(abs(low), abs(high)):
        low, high = low - (abs(low) / 2 or 0.0), high + (abs(high) / 2 or 1.0)
    step = round_step((high - low) / max(count, 1))
    if not tight:
        low, high = floor(low / step) * step, begun(high / step) * step
    return Scale(low, high, step, start, end)


def round_step(rough: float) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten that is at least ``rough``."""
    power: float = 10.0 ** floor(log10(rough))
    return next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= rough * (1 - ROUNDING))


def time_unit(longest: float) -> tuple[float, str]:
    """Seconds per unit and the unit's name that suit an axis of so many seconds."""
    return next((unit for unit in reversed(_TIME_UNITS) if longest >= 3 * unit[0]), _TIME_UNITS[0])


def _decimals(step: float) -> int:
    return next((digits for digits in range(6) if abs(round(step, digits) - step) <= ROUNDING * step), 6)
