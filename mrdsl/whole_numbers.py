"""Rounding up and down that overlooks the noise of computer arithmetic, and is exact on whole numbers.

0.9 * 30 is 27.000000000000004 on a computer and counts as 27, up and down; 1,000,000,000 is itself, and a billion and a
half a job more. On numbers and on arrays alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NOISE = 1e-9
"""How far, relatively, a number may lie from a whole one and still count as that number."""
MOST_NOISE = 1e-6
"""The same in units, whatever the size, as long as four neighbouring floats lie within it."""


def ceiling(values: Any) -> NDArray[np.float64]:
    """The least whole numbers not below ``values``; infinity stays. A positive number is never rounded to 0."""
    import numpy as np

    array = np.asarray(values, dtype=np.float64)
    whole = np.where(_is_whole(array), np.rint(array), np.ceil(array))
    return np.where((array > 0.0) & (whole < 1.0), 1.0, whole)


def floor(values: Any) -> NDArray[np.float64]:
    """The greatest whole numbers not above ``values``; infinity stays infinity."""
    import numpy as np

    array = np.asarray(values, dtype=np.float64)
    return np.where(_is_whole(array), np.rint(array), np.floor(array))


def _is_whole(array: NDArray[np.float64]) -> NDArray[np.bool_]:
    import numpy as np

    with np.errstate(invalid="ignore"):
        size = np.abs(array)
        noise = np.maximum(np.minimum(NOISE * np.maximum(size, 1.0), MOST_NOISE), 4.0 * np.spacing(size))
        return np.asarray(np.abs(array - np.rint(array)) <= noise)
