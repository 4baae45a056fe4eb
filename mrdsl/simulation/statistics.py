"""What simulated times say: mean, percentiles, the share within a limit, and how sure mean and share are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.tolerances import ROUNDING
from mrdsl.simulation.kept import Kept

BATCHES = 20
CONFIDENCE = 0.95
TAIL = (1.0 + CONFIDENCE) / 2.0
ENOUGH_RUNS = 10
"""So many independent runs are taken as the units whose means vary; fewer are cut into batches."""


@dataclass(frozen=True)
class Summary:
    """Count, mean, percentiles, and half of the 95 % confidence interval of the mean (None: unknown)."""

    count: int
    mean: float
    p50: float
    p95: float
    p99: float
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
        float(np.percentile(values, 99)),
        half_width(means),
    )


def kept_within(runs: Sequence[Sequence[float]], limit: float) -> Kept:
    """The share of times that are at most ``limit`` (with a slack of 1e-9 of it), and how sure it is.

    The interval is :func:`share_bounds` for so many jobs as :func:`alike_in` leaves; it has a width where all jobs are
    in time. Raises ValueError where nothing was seen.
    """
    share, independent = within(runs, limit, TAIL)
    return Kept(share, *share_bounds(share, independent, TAIL))


def within(runs: Sequence[Sequence[float]], limit: float, tail: float) -> tuple[float, float]:
    """The share of times within a limit, and as how many independent jobs those seen count; see :func:`alike_in`.

    The larger is taken of how much jobs hang together in their times and in being in time: where hardly a job is late,
    the times tell more. Raises ValueError where nothing was seen.
    """
    seen = [np.asarray(run, dtype=np.float64) for run in runs if len(run)]
    if not seen:
        raise ValueError("nothing was observed")
    good = [(run <= limit * (1.0 + ROUNDING)).astype(np.float64) for run in seen]
    count = sum(len(run) for run in seen)
    ended = [run[np.isfinite(run)] for run in seen]
    alike = max(alike_in([run for run in ended if len(run)], tail), alike_in(good, tail))
    return float(np.concatenate(good).mean()), count / alike


def alike_in(runs: Sequence[NDArray[np.float64]], tail: float) -> float:
    """As how many jobs that hang together one independent job counts; at least 1.

    That is by what factor the variance of the mean exceeds that of as many independent values, as the means of
    :func:`units_of` show it, times (t/z)^2 with the quantiles at ``tail`` of Student's distribution for so few units
    and of the normal one (Korn and Graubard 1998, for samples in clusters).
    """
    if not runs:
        return 1.0
    units = units_of(runs)
    values = np.concatenate(units)
    variance = float(values.var())
    if len(units) < 2 or variance <= 0.0:
        return 1.0
    sizes = np.array([len(unit) for unit in units], dtype=np.float64)
    off = np.array([unit.sum() for unit in units]) - sizes * values.mean()
    between = float((off**2).sum()) / (len(units) - 1) * len(units) / len(values)
    return max(1.0, few(len(units), tail) * between / variance)


def units_of(runs: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """What is independent: runs where there are 10 or more, else 20 parts of them, each of jobs in a row."""
    if len(runs) >= ENOUGH_RUNS:
        return list(runs)
    each = max(1, ceil(BATCHES / len(runs)))
    return [batch for run in runs for batch in np.array_split(run, min(each, len(run)))]


def few(units: int, tail: float) -> float:
    """By what factor a variance known from so few units counts more: the square of Student's quantile over the normal
    one's, at ``tail``."""
    from scipy.special import ndtri, stdtrit

    return float(stdtrit(units - 1, tail) / ndtri(tail)) ** 2


def share_bounds(share: float, count: float, tail: float) -> tuple[float, float]:
    """Clopper's and Pearson's bounds of a share of ``count`` independent cases, which need not be whole.

    Each one for itself holds with the probability ``tail``.
    """
    from scipy.special import betaincinv

    hits, misses = share * count, (1.0 - share) * count
    low = float(betaincinv(hits, misses + 1.0, 1.0 - tail)) if hits > 0.0 else 0.0
    high = float(betaincinv(hits + 1.0, misses, tail)) if misses > 0.0 else 1.0
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

    return float(stdtrit(freedom, TAIL))


def _batch_means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(values) < 2 * BATCHES:
        return np.empty(0)
    return np.array([batch.mean() for batch in np.array_split(values, BATCHES)])
