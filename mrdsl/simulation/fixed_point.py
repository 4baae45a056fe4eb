"""Durations that feed back into their own simulation.

Source: Malekimajd et al. 2015, *Optimal Map Reduce Job Capacity Allocation in Cloud Systems*, 5.2 and equation (42): a
trace has to say when each job is submitted, which depends on how long the one before took, which the trace is to show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FixedPoint:
    """The last guesses A and observed means T, both per class in seconds, after how many simulations."""

    guess: Floats
    observed: Floats
    iterations: int
    converged: bool


def iterate(
    observe: Callable[[Floats], Sequence[float]],
    start: Sequence[float],
    weight: float = 0.07,
    tolerance: float = 0.1,
    most: int = 100,
) -> FixedPoint:
    """``A_n = weight T_(n-1) + (1 - weight) A_(n-1)`` until ``max |A_n - T_n| / T_n`` is below ``tolerance``: (42).

    ``observe(A)`` simulates with the durations A and gives the mean durations seen. The defaults are the paper's.
    """
    guess: Floats = np.asarray(start, dtype=np.float64)
    for iteration in range(1, most + 1):
        seen: Floats = np.asarray(observe(guess), dtype=np.float64)
        if float(np.max(np.abs(guess - seen) / seen)) < tolerance:
            return FixedPoint(guess, seen, iteration, True)
        guess = weight * seen + (1.0 - weight) * guess
    return FixedPoint(guess, seen, most, False)
