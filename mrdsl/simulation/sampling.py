"""Random draws of the language's distributions and of spot prices: explicit streams, the same on every machine.

A stream is numpy's legacy ``RandomState`` (its output is frozen by numpy's compatibility policy), with a key of the
run's seed and the drawn item, so that draws of two items are independent.

Spot prices are a step function of time that a simulation follows. A process gives the current price and the time of its
next change; ``advance`` makes one step. Prices are in money per second of one VM. The marginal model is a mixture of
Gaussians (Javadi et al. 2011, as in Vishal 2015, 4.4).
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2s
from math import inf
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import begun
from mrdsl.formulas.distributions import quantile
from mrdsl.spec.schema import Distribution

CHUNK = 256
MAX_ROUNDS = 1000


class _Unseeded(np.random.bit_generator.ISeedSequence):
    """The state of a stream before it gets its key: numpy would take it from the entropy of the machine, slowly."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        """Return zeros."""
        return np.zeros(n_words, dtype)


_UNSEEDED = _Unseeded()


def stream(seed: int, *place: object) -> np.random.RandomState:
    """Return the random stream of one thing (``place``) in one run (``seed``)."""
    return stream_again(np.random.RandomState(np.random.MT19937(cast("Any", _UNSEEDED))), seed, *place)


def stream_again(random: np.random.RandomState, seed: int, *place: object) -> np.random.RandomState:
    """Return the same stream as :func:`stream`, in place of one that is not used any more, in a fifth of the time."""
    random.seed(_key(seed, place))
    return random


def _key(seed: int, place: tuple[object, ...]) -> list[int]:
    key = blake2s(repr((int(seed), *map(str, place))).encode(), digest_size=16).digest()
    words: list[int] = np.frombuffer(key, dtype="<u4").tolist()
    return words


def draws(
    value: Distribution | float, random: np.random.RandomState, count: int, low: float = -inf, high: float = inf
) -> NDArray[np.float64]:
    """Return ``count`` values; a plain number is itself, and values outside [low, high] are drawn again.

    Values of a mixture are positive. Raises ValueError if the interval is hardly ever hit.
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
    """Yield an endless series of values, drawn a chunk at a time."""
    if not isinstance(value, Distribution):
        while True:
            yield float(value)
    while True:
        yield from draws(value, random, chunk, low, high).tolist()


def sample(random: np.random.RandomState, name: str, parameters: tuple[Any, ...], count: int) -> NDArray[np.float64]:
    """Return ``count`` values of one of the language's distributions, without drawing any again.

    ``name`` and ``parameters`` are as in :class:`Distribution`. Raises ValueError for an unknown name.
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


class PriceProcess(Protocol):
    """A price that moves in steps."""

    current: float
    next_move: float

    def advance(self) -> None:
        """Walks to the next move."""

    def lasting_bid(self, now: float, length: float, reliability: float) -> float:
        """Return the least bid, never below the price now, that outlasts ``length`` seconds with the given
        probability.
        """


class ConstantPrice:
    """A price that never moves."""

    def __init__(self, price: float) -> None:
        self.current = price
        self.next_move = inf

    def advance(self) -> None:
        """There is no next move."""

    def lasting_bid(self, now: float, length: float, reliability: float) -> float:
        """Return the price itself."""
        return self.current


class DrawnPrice:
    """Independent prices from one distribution, one per interval."""

    def __init__(self, distribution: Distribution, every: float, random: np.random.RandomState) -> None:
        self._distribution = distribution
        self._every = every
        self._series = series(distribution, random)
        self._moves = 0
        self._quantiles: dict[tuple[int, float], float] = {}
        self.current = next(self._series)
        self.next_move = every

    def advance(self) -> None:
        """The next price of the series."""
        self._moves += 1
        self.current = next(self._series)
        self.next_move = (self._moves + 1) * self._every

    def lasting_bid(self, now: float, length: float, reliability: float) -> float:
        """With n moves ahead, the quantile of reliability^(1/n): the draws are independent."""
        ahead = int(begun((now + length - self.next_move) / self._every))
        if ahead <= 0:
            return self.current
        key = (ahead, reliability)
        if key not in self._quantiles:
            self._quantiles[key] = quantile(self._distribution, float(reliability ** (1.0 / ahead)))
        return float(max(self.current, self._quantiles[key]))


class RecordedPrice:
    """A recorded history: from ``times[i]`` on the price is ``prices[i]``; the last one stays.

    Before the first record its price holds.
    """

    def __init__(self, times: Sequence[float], prices: Sequence[float]) -> None:
        self._times, self._prices = times, prices
        self._index = max(bisect_right(times, 0.0) - 1, 0)
        self._seen = sorted(prices[: self._index + 1])
        self.current = prices[self._index]
        self.next_move = self._time(self._index + 1)

    def advance(self) -> None:
        """The next recorded price."""
        self._index += 1
        self.current = self._prices[self._index]
        insort(self._seen, self.current)
        self.next_move = self._time(self._index + 1)

    def lasting_bid(self, now: float, length: float, reliability: float) -> float:
        """From the prices seen so far alone: a new price at the rate of moves so far, drawn from among them."""
        elapsed = now - self._times[0]
        ahead = length * self._index / elapsed if elapsed > 0.0 else 0.0
        if ahead <= 0.0:
            return self.current
        share = reliability ** (1.0 / ahead)
        position = min(max(int(begun(share * len(self._seen))) - 1, 0), len(self._seen) - 1)
        return float(max(self.current, self._seen[position]))

    def _time(self, index: int) -> float:
        return self._times[index] if index < len(self._times) else inf


@dataclass(frozen=True)
class PricePath:
    """One price path from time 0 on: ``prices[i]`` holds on [times[i], times[i + 1])."""

    times: tuple[float, ...]
    prices: tuple[float, ...]

    def at(self, time: float) -> float:
        """Return the price that holds at a time."""
        return self.prices[max(bisect_right(self.times, time) - 1, 0)]


def path(process: PriceProcess, until: float) -> PricePath:
    """Follow a process up to a time and return its path."""
    times, prices = [0.0], [process.current]
    for time in _moves(process, until):
        times.append(time)
        prices.append(process.current)
    return PricePath(tuple(times), tuple(prices))


def _moves(process: PriceProcess, until: float) -> Iterator[float]:
    while process.next_move <= until:
        time = process.next_move
        process.advance()
        yield time
