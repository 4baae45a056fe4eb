"""Growth of tasks and times with the input, by non-negative least squares.

Tasks and mean task times of a stage have the terms 1 and n, with n the input of a run. The time of whole runs has the
terms of Ernest (Venkataraman et al., NSDI 2016, section 3): 1, n/m, log m and m, with m slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MIB = float(2**20)
SIZES, APART = 3, 1.5
"""The least number of different inputs, and the least ratio of the largest to the smallest."""
EXPLAINED = 0.5
"""The least part of the variance that growth explains."""
NAMES = ("1", "n/m", "log m", "m")


@dataclass(frozen=True)
class Growth:
    """``constant + slope * input / MiB``, and the half width of the interval of 95 % for a run of usual size."""

    constant: float
    slope: float
    interval: float

    def at(self, size: float) -> float:
        """Return the value for an input in MiB."""
        return self.constant + self.slope * size


@dataclass(frozen=True)
class RunGrowth:
    """The time of runs [s]: a coefficient for each term of :data:`NAMES`, and the half width of the interval of 95 %.

    ``runs`` is their number, ``least`` and ``most`` are the smallest and the largest input in MiB.
    """

    coefficients: tuple[float, ...]
    interval: float
    runs: int
    least: float
    most: float


def sizes_of(inputs: Sequence[int | None]) -> tuple[float, ...]:
    """Return inputs [B] in MiB if all are known and differ enough, otherwise ()."""
    known = [size / MIB for size in inputs if size]
    if len(known) < len(inputs) or len(set(known)) < SIZES or max(known) < APART * min(known):
        return ()
    return tuple(known)


def growth_of(inputs: Sequence[float], values: Sequence[float]) -> Growth | None:
    """Return the growth of values with inputs in MiB; None if they do not grow with it."""
    terms = np.column_stack([np.ones(len(inputs)), inputs])
    found, interval, explained = _fitted(terms, values)
    return Growth(found[0], found[1], interval) if found[1] > 0.0 and explained >= EXPLAINED else None


def run_growth(inputs: Sequence[float], slots: Sequence[int], times: Sequence[float]) -> RunGrowth:
    """Return the time of runs by Ernest's terms; those of slots alone are left out if all runs had as many."""
    n, m = np.asarray(inputs, dtype=float), np.asarray(slots, dtype=float)
    terms = np.column_stack([np.ones(len(n)), n / m, np.log(m), m])
    used = 4 if len(set(slots)) > 1 else 2
    found, interval, _ = _fitted(terms[:, :used], times)
    coefficients = (*found, 0.0, 0.0)[:4]
    return RunGrowth(coefficients, interval, len(times), float(n.min()), float(n.max()))


def _fitted(terms: np.ndarray, values: Sequence[float]) -> tuple[tuple[float, ...], float, float]:
    """Return the coefficients, the half width of the interval of 95 % for a new run, and the explained variance."""
    from scipy.optimize import nnls
    from scipy.special import stdtrit

    wanted = np.asarray(values, dtype=float)
    scale = np.abs(terms).max(axis=0)
    scale[scale == 0.0] = 1.0
    found, _ = nnls(terms / scale, wanted)
    left = wanted - (terms / scale) @ found
    free = len(wanted) - int((found > 0.0).sum())
    spread = float(np.sqrt((left**2).sum() / free)) if free > 0 else 0.0
    half = float(stdtrit(free, 0.975)) * spread * float(np.sqrt(1.0 + 1.0 / len(wanted))) if free > 0 else 0.0
    total = float(((wanted - wanted.mean()) ** 2).sum())
    explained = 1.0 - float((left**2).sum()) / total if total > 0.0 else 0.0
    return tuple((found / scale).tolist()), half, explained
