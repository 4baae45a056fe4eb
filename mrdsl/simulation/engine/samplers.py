"""How the times of a stage's tasks spread, drawn many at once; each sampler knows its mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from mrdsl.simulation.engine.draws import Sampler, TaskTimes

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """Between ``least`` and ``longest``: ``least + (longest - least) U^p`` with the mean ``avg``.

    ``p = (longest - avg) / (avg - least)``; the uniform distribution where the average lies midway. All equal to
    ``avg`` where the average is at either end, which leaves no other choice.
    """

    least: float
    avg: float
    longest: float

    @property
    def mean(self) -> float:
        return self.avg

    def __call__(self, random: np.random.RandomState, count: int) -> Floats:
        if not self.least < self.avg < self.longest:
            return np.full(count, self.avg)
        power = (self.longest - self.avg) / (self.avg - self.least)
        return self.least + (self.longest - self.least) * random.random_sample(count) ** power


@dataclass(frozen=True)
class Exponential:
    """Exponential with the mean ``avg``; no longest time bounds it."""

    avg: float

    @property
    def mean(self) -> float:
        return self.avg

    def __call__(self, random: np.random.RandomState, count: int) -> Floats:
        return self.avg * random.standard_exponential(count)


@dataclass(frozen=True)
class Lognormal:
    """Lognormal with the mean ``avg``; ``longest`` is what the longest of ``tasks`` tasks is expected to rank at.

    With the standard normal's quantile z at ``tasks / (tasks + 1)``, the deviation s of the logarithm solves
    ``ln(longest / avg) = z s - s^2 / 2``; where the ratio is beyond what a lognormal reaches there, s = z.
    """

    avg: float
    longest: float
    tasks: int

    @property
    def mean(self) -> float:
        return self.avg

    @cached_property
    def deviation(self) -> float:
        """s."""
        from scipy.special import ndtri

        z = float(ndtri(self.tasks / (self.tasks + 1.0)))
        under = z * z - 2.0 * log(self.longest / self.avg)
        return z - sqrt(under) if under > 0.0 else z

    def __call__(self, random: np.random.RandomState, count: int) -> Floats:
        s = self.deviation
        return self.avg * np.exp(s * random.standard_normal(count) - s * s / 2.0)


@dataclass(frozen=True)
class Samples:
    """Any of the recorded times, each alike, with putting back."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    def __call__(self, random: np.random.RandomState, count: int) -> Floats:
        return np.asarray(self.values)[random.randint(0, len(self.values), count)]


@dataclass(frozen=True)
class Straggling:
    """The share of ``times`` that takes ``factor`` times as long."""

    times: Callable[[np.random.RandomState, int], Floats]
    share: float
    factor: float

    @property
    def mean(self) -> float:
        return mean_of(self.times) * (1.0 + self.share * (self.factor - 1.0))

    def __call__(self, random: np.random.RandomState, count: int) -> Floats:
        slow = random.random_sample(count) < self.share
        return self.times(random, count) * np.where(slow, self.factor, 1.0)


def sampler(distribution: str, least: float, avg: float, longest: float, tasks: int) -> Sampler:
    """The sampler of a word of the language, from a profile's shortest, average and longest time."""
    if avg <= 0.0 or distribution == "fixed":
        return Spread(avg, avg, avg)
    if distribution == "exponential":
        return Exponential(avg)
    if distribution == "lognormal":
        return Lognormal(avg, max(longest, avg), tasks)
    return Spread(least, avg, longest)


def mean_of(times: Sampler) -> float:
    """The mean of what a sampler of this module draws."""
    return float(getattr(times, "mean"))  # noqa: B009


def mean_work(times: TaskTimes) -> float:
    """Compute the mean work of one attempt [s], slow ones included."""
    return mean_of(times.work) * _mean_slowdown(times)


def mean_attempt(times: TaskTimes) -> float:
    """Compute the mean time of one attempt [s], its shuffle and slow ones included."""
    shuffle = 0.0 if times.shuffle is None else mean_of(times.shuffle)
    return (mean_of(times.work) + shuffle) * _mean_slowdown(times)


def _mean_slowdown(times: TaskTimes) -> float:
    return 1.0 if times.slow is None else mean_of(times.slow)


def slowdown(share: float, factor: float) -> Sampler:
    """Return factors of attempts: ``factor`` for a ``share`` of them, else 1."""
    return Straggling(Spread(1.0, 1.0, 1.0), share, factor)


def spreads(times: Sampler) -> bool:
    """Whether two tasks hardly ever take the same time; not so of recorded times, nor of those without a spread."""
    inner = getattr(times, "times", times)
    return not isinstance(inner, Samples) and not (
        isinstance(inner, Spread) and not inner.least < inner.avg < inner.longest
    )
