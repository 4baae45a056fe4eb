"""Tolerances, and rounding that overlooks the noise of computer arithmetic and is exact on whole numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


NOISE = 1e-9
"""Largest relative distance of a number from a whole one that it counts as."""
MOST_NOISE = 1e-6
"""The same in units for any size, if four neighboring floats lie within it."""
COARSE = 2.0**30
"""Below this size they do: their distance is at most 2^-23."""


@overload
def ceiling(values: float) -> float: ...
@overload
def ceiling(values: NDArray[np.float64]) -> NDArray[np.float64]: ...
def ceiling(values: Any) -> Any:
    """Return the least whole numbers not below ``values``; infinity stays. A positive number is never rounded to 0."""
    rounded = begun(values)
    if isinstance(values, int | float):
        return 1.0 if values > 0.0 and rounded < 1.0 else rounded
    import numpy as np

    small = rounded < 1.0
    return np.where(small & (np.asarray(values) > 0.0), 1.0, rounded) if small.any() else rounded


@overload
def begun(values: float) -> float: ...
@overload
def begun(values: NDArray[np.float64]) -> NDArray[np.float64]: ...
def begun(values: Any) -> Any:
    """Return :func:`ceiling` of differences; the difference of two equal numbers is noise and counts as 0."""
    if isinstance(values, int | float):
        return _near(values, math.ceil)
    import numpy as np

    return _all_near(np.asarray(values, dtype=np.float64), np.ceil)


@overload
def floor(values: float) -> float: ...
@overload
def floor(values: NDArray[np.float64]) -> NDArray[np.float64]: ...
def floor(values: Any) -> Any:
    """Return the greatest whole numbers not above ``values``; infinity stays infinity."""
    if isinstance(values, int | float):
        return _near(values, math.floor)
    import numpy as np

    return _all_near(np.asarray(values, dtype=np.float64), np.floor)


def _near(value: float, otherwise: Callable[[float], int]) -> float:
    """Return the whole number next to ``value`` if the difference is noise, or ``otherwise`` of it; without numpy."""
    if not math.isfinite(value):
        return value
    whole = round(value)
    away = abs(value - whole)
    if not away:
        return float(whole)
    size = abs(value)
    noise = max(min(NOISE * max(size, 1.0), MOST_NOISE), 4.0 * math.ulp(size))
    return float(whole) if away <= noise else float(otherwise(value))


def _all_near(array: NDArray[np.float64], otherwise: np.ufunc) -> NDArray[np.float64]:
    """:func:`_near` of every element.

    Noise below ``COARSE`` is at most ``MOST_NOISE``, so that it changes only what ``otherwise`` takes almost one away.
    """
    import numpy as np

    with np.errstate(invalid="ignore"):
        rounded = otherwise(array)
        if array.ndim == 0 or not array.size or not max(array.max(), -array.min()) < COARSE:
            return _where_near(array, np.asarray(rounded))
        away = np.subtract(rounded, array)
        far = np.abs(away, out=away) > 1.0 - 2.0 * MOST_NOISE
        if far.any():
            rounded[far] = _where_near(array[far], rounded[far])
        return np.asarray(rounded)


def _where_near(array: NDArray[np.float64], rounded: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the whole number next to each element if the difference is noise, or its rounded value."""
    import numpy as np

    whole, size = np.rint(array), np.abs(array)
    noise = np.maximum(np.clip(NOISE * size, NOISE, MOST_NOISE), 4.0 * np.spacing(size))
    return np.where(np.abs(array - whole) <= noise, whole, rounded)


FEASIBILITY = 1e-6
"""Largest relative violation of a limit that counts as feasible: solvers meet rows to 1e-6 to 1e-7."""
ROUNDING = 1e-9
"""The relative difference of one number that is computed in two ways, each of many steps."""
LAST_DIGITS = 2e-15
"""The relative difference that one multiplication or division leaves."""
SAME_SUM = 1e-12
"""The relative difference of two sums that are equal but for the order of their terms."""
PROVEN = 1e-6
"""The relative gap at which a plan counts as optimal where no other was asked for."""
