"""What simulated times say: mean, percentiles, and how sure the mean is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

BATCHES = 20
_T_95 = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
    2.120,
    2.110,
    2.101,
    2.093,
    2.086,
    2.080,
    2.074,
    2.069,
    2.064,
    2.060,
    2.056,
    2.052,
    2.048,
    2.045,
    2.042,
)
_NORMAL_95 = 1.959964


@dataclass(frozen=True)
class Summary:
    """Count, mean, median, 95th percentile, and half of the 95 % confidence interval of the mean (None: unknown)."""

    count: int
    mean: float
    p50: float
    p95: float
    half_width: float | None


def summarize(runs: Sequence[Sequence[float]]) -> Summary:
    """One summary of what independent runs saw, each in the order of time and after its warm-up.

    With several runs the interval comes from their means, which are independent; with a single one from the means of 20
    batches in a row, since what follows closely is alike. Raises ValueError where nothing was seen.
    """
    seen = [np.asarray(run, dtype=np.float64) for run in runs if len(run)]
    if not seen:
        raise ValueError("nothing was observed")
    values = np.concatenate(seen)
    means = np.array([run.mean() for run in seen]) if len(seen) > 1 else _batch_means(seen[0])
    return Summary(
        len(values),
        float(values.mean()),
        float(np.percentile(values, 50)),
        float(np.percentile(values, 95)),
        half_width(means),
    )


def half_width(means: NDArray[np.float64]) -> float | None:
    """Half of Student's 95 % confidence interval of independent values; None for fewer than two."""
    count = len(means)
    if count < 2:
        return None
    return float(student_95(count - 1) * means.std(ddof=1) / sqrt(count))


def student_95(freedom: int) -> float:
    """The two-sided 95 % quantile of Student's distribution, to 1e-3."""
    if freedom <= len(_T_95):
        return _T_95[freedom - 1]
    z = _NORMAL_95
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def _batch_means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(values) < 2 * BATCHES:
        return np.empty(0)
    return np.array([batch.mean() for batch in np.array_split(values, BATCHES)])
