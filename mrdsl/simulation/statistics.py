"""What simulated times say: mean, percentiles, and how sure the mean is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

BATCHES = 20
CONFIDENCE = 0.95


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
    """The two-sided 95 % quantile of Student's distribution."""
    from scipy.special import stdtrit  # what scipy.stats.t.ppf calls, at a third of the time to import

    return float(stdtrit(freedom, (1.0 + CONFIDENCE) / 2.0))


def _batch_means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(values) < 2 * BATCHES:
        return np.empty(0)
    return np.array([batch.mean() for batch in np.array_split(values, BATCHES)])
