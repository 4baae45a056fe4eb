"""Distributions of the language, and of work lost to interruptions."""

from __future__ import annotations

from math import erf, exp, floor, pi, sqrt
from typing import Any

from mrdsl.spec.schema import Distribution

BISECTED = 1e-10
"""The relative width at which a bisection for a quantile ends."""


def mean(value: Distribution | float) -> float:
    """Return the expected value; of a mixture, the mean of its positive part."""
    if not isinstance(value, Distribution):
        return float(value)
    p = value.parameters
    match value.name:
        case "uniform" | "uniform_int":
            return float((p[0] + p[1]) / 2)
        case "choice":
            return float(sum(p[0]) / len(p[0]))
        case "mixture":
            return _positive_mixture_mean(*p)
        case _:
            return float(p[0])


def cumulative(value: Distribution | float, x: float) -> float:
    """Return the probability of a value of at most ``x``; of a mixture, given that it is positive."""
    if not isinstance(value, Distribution):
        return 1.0 if x >= value else 0.0
    p = value.parameters
    match value.name:
        case "uniform":
            return float(min(max((x - p[0]) / (p[1] - p[0]), 0.0), 1.0)) if p[1] > p[0] else float(x >= p[0])
        case "uniform_int":
            return float(min(max((floor(x) - p[0] + 1) / (p[1] - p[0] + 1), 0.0), 1.0))
        case "normal":
            return _normal(x, p[0], p[1])
        case "exponential":
            return float(1.0 - exp(-x / p[0])) if x > 0.0 else 0.0
        case "poisson":
            return _poisson(x, p[0])
        case "choice":
            return float(sum(each <= x for each in p[0]) / len(p[0]))
        case _:
            return _positive_mixture(x, *p)


def quantile(value: Distribution | float, share: float) -> float:
    """Return the least x with ``cumulative(x) >= share``, to within 1e-9 of its size (found by bisection)."""
    if not isinstance(value, Distribution):
        return float(value)
    low, high = _support(value)
    while cumulative(value, high) < share and high < 1e300:
        high *= 2.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high) or high - low <= BISECTED * abs(high):
            break
        if cumulative(value, middle) >= share:
            high = middle
        else:
            low = middle
    return high


def _normal(x: float, centre: float, deviation: float) -> float:
    return 0.5 * (1.0 + erf((x - centre) / (deviation * sqrt(2.0)))) if deviation > 0.0 else float(x >= centre)


def _poisson(x: float, rate: float) -> float:
    from scipy.special import pdtr

    return float(pdtr(floor(x), rate)) if x >= 0.0 else 0.0


def _positive_mixture(x: float, weights: Any, means: Any, deviations: Any) -> float:
    if x <= 0.0:
        return 0.0
    parts = list(zip(weights, means, deviations, strict=True))
    below = sum(w * (_normal(x, m, d) - _normal(0.0, m, d)) for w, m, d in parts)
    return float(below / sum(w * (1.0 - _normal(0.0, m, d)) for w, m, d in parts))


def _positive_mixture_mean(weights: Any, means: Any, deviations: Any) -> float:
    total = mass = 0.0
    for w, m, d in zip(weights, means, deviations, strict=True):
        above = 1.0 - _normal(0.0, m, d)
        density = exp(-0.5 * (m / d) ** 2) / sqrt(2.0 * pi) if d > 0.0 else 0.0
        total += w * (m * above + d * density)
        mass += w * above
    return float(total / mass)


def _support(value: Distribution) -> tuple[float, float]:
    p = value.parameters
    match value.name:
        case "uniform" | "uniform_int":
            return float(p[0]), float(p[1])
        case "normal":
            return p[0] - 40.0 * p[1], p[0] + 40.0 * p[1]
        case "choice":
            return min(p[0]), max(p[0])
        case "mixture":
            return 0.0, max(m + 40.0 * d for m, d in zip(p[1], p[2], strict=True))
        case _:
            return 0.0, max(2.0 * p[0], 1.0)
