"""What simulated times say: mean, percentiles, the share within a limit, and how sure mean and share are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.tolerances import ROUNDING

BATCHES = 20
CONFIDENCE = 0.95
NORMAL_95 = 1.959963984540054


@dataclass(frozen=True)
class Summary:
    """Count, mean, percentiles, and half of the 95 % confidence interval of the mean (None: unknown)."""

    count: int
    mean: float
    p50: float
    p95: float
    p99: float
    half_width: float | None


@dataclass(frozen=True)
class Kept:
    """The share of jobs within a limit, and its 95 % confidence interval."""

    share: float
    low: float
    high: float


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
        float(np.percentile(values, 99)),
        half_width(means),
    )


def kept_within(runs: Sequence[Sequence[float]], limit: float) -> Kept:
    """The share of times that are at most ``limit`` (with a slack of 1e-9 of it), and how sure it is.

    Jobs of one run hang together. So the jobs count as fewer independent ones, by how much more the means of batches
    vary than those of independent jobs would (the larger of what the times and what being in time say, never below
    1), as the mean's interval of Student takes it for so few batches; the interval is Clopper's and Pearson's for that
    many. It has a width where all jobs are in time. Raises ValueError where nothing was seen.
    """
    seen = [np.asarray(run, dtype=np.float64) for run in runs if len(run)]
    if not seen:
        raise ValueError("nothing was observed")
    good = [(run <= limit * (1.0 + ROUNDING)).astype(np.float64) for run in seen]
    count = sum(len(run) for run in seen)
    share = float(np.concatenate(good).mean())
    ended = [run[np.isfinite(run)] for run in seen]
    alike = max(_inflation([run for run in ended if len(run)]), _inflation(good))
    return Kept(share, *_binomial_interval(share, count / alike))


def _inflation(runs: Sequence[NDArray[np.float64]]) -> float:
    """By what factor the mean's variance exceeds that of as many independent values; at least 1."""
    if not runs:
        return 1.0
    values = np.concatenate(runs)
    each = max(1, ceil(BATCHES / len(runs)))
    batches = [batch for run in runs for batch in np.array_split(run, min(each, len(run)))]
    variance = float(values.var())
    if len(batches) < 2 or variance <= 0.0:
        return 1.0
    size = len(values) / len(batches)
    between = float(np.array([batch.mean() for batch in batches]).var(ddof=1)) * size
    few = (student_95(len(batches) - 1) / NORMAL_95) ** 2
    return max(1.0, few * between / variance)


def _binomial_interval(share: float, count: float) -> tuple[float, float]:
    """Clopper's and Pearson's 95 % interval of a share of ``count`` independent cases, which need not be whole."""
    from scipy.special import betaincinv

    outside = (1.0 - CONFIDENCE) / 2.0
    hits, misses = share * count, (1.0 - share) * count
    low = float(betaincinv(hits, misses + 1.0, outside)) if hits > 0.0 else 0.0
    high = float(betaincinv(hits + 1.0, misses, 1.0 - outside)) if misses > 0.0 else 1.0
    return min(low, share), max(high, share)


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
