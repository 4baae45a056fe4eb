"""Drawing from the language's distributions while a plan is simulated: explicit streams, the same on every machine.

A stream is numpy's legacy ``RandomState`` (its output is frozen by numpy's compatibility policy), keyed by the run's
seed and by what is drawn, so that two things drawn side by side never share or disturb each other's stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2s
from math import erf, exp, floor, inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.spec.schema import Distribution

CHUNK = 256
MAX_ROUNDS = 1000
BISECTED = 1e-10
"""The relative width at which a bisection for a quantile ends."""


def stream(seed: int, *place: object) -> np.random.RandomState:
    """The random stream of one thing (``place``) in one run (``seed``)."""
    key = blake2s(repr((int(seed), *map(str, place))).encode(), digest_size=16).digest()
    return np.random.RandomState(np.frombuffer(key, dtype="<u4").tolist())


def draws(
    value: Distribution | float, random: np.random.RandomState, count: int, low: float = -inf, high: float = inf
) -> NDArray[np.float64]:
    """``count`` values; a plain number is itself, and values outside [low, high] are drawn again.

    A mixture's values are positive, as the language says. Raises ValueError where the interval is hardly ever hit.
    """
    if not isinstance(value, Distribution):
        return np.full(count, float(value))
    values = sample(random, value.name, value.parameters, count)
    for _ in range(MAX_ROUNDS):
        wrong = (values < low) | (values > high)
        if value.name == "mixture":
            wrong |= values <= 0.0
        if not wrong.any():
            return values
        values[wrong] = sample(random, value.name, value.parameters, int(wrong.sum()))
    raise ValueError(f"{value.name}{value.parameters} hardly ever gives a value between {low} and {high}")


def series(
    value: Distribution | float, random: np.random.RandomState, low: float = -inf, high: float = inf, chunk: int = CHUNK
) -> Iterator[float]:
    """An endless series of values, drawn a chunk at a time."""
    if not isinstance(value, Distribution):
        while True:
            yield float(value)
    while True:
        yield from draws(value, random, chunk, low, high).tolist()


def mean(value: Distribution | float) -> float:
    """The expected value; of a mixture, the mean of its positive part."""
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
    """The probability of a value of at most ``x``; of a mixture, given that it is positive."""
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
    """The least x with ``cumulative(x) >= share``, to within 1e-9 of its size (found by bisection)."""
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


def sample(random: np.random.RandomState, name: str, parameters: tuple[Any, ...], count: int) -> NDArray[np.float64]:
    """``count`` values of one of the language's distributions, as they come: nothing is drawn again.

    ``name`` and ``parameters`` are as in :class:`Distribution`. Raises ValueError for a name that there is not.
    """
    p = parameters
    match name:
        case "uniform":
            drawn: Any = random.uniform(p[0], p[1], count)
        case "uniform_int":
            drawn = random.randint(int(p[0]), int(p[1]) + 1, count, dtype=np.int64)
        case "normal":
            drawn = random.normal(p[0], p[1], count)
        case "exponential":
            drawn = random.exponential(p[0], count)
        case "poisson":
            drawn = random.poisson(p[0], count)
        case "choice":
            drawn = np.asarray(p[0], dtype=np.float64)[random.randint(0, len(p[0]), count)]
        case "mixture":
            weights, means, deviations = (np.asarray(part, dtype=np.float64) for part in p)
            edges = np.cumsum(weights / weights.sum())
            component = np.minimum(np.searchsorted(edges, random.random_sample(count), side="right"), len(means) - 1)
            drawn = means[component] + deviations[component] * random.standard_normal(count)
        case _:
            raise ValueError(f"no distribution {name!r}")
    return np.asarray(drawn, dtype=np.float64)


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
        density = exp(-0.5 * (m / d) ** 2) / sqrt(2.0 * np.pi) if d > 0.0 else 0.0
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
