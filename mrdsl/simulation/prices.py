"""Spot prices over time: a step function that a simulation walks forward, and the bid that is likely to last.

A process gives the price now and the moment of its next move; ``advance`` walks one move on. Prices are in money per
second of one VM. The marginal model is a mixture of Gaussians (Javadi et al. 2011, as Vishal 2015, 4.4, takes it).
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Protocol

import numpy as np

from mrdsl.core.whole_numbers import begun
from mrdsl.formulas.distributions import quantile
from mrdsl.simulation.sampling import series
from mrdsl.spec.schema import Distribution


class PriceProcess(Protocol):
    """A price that moves in steps."""

    current: float
    next_move: float

    def advance(self) -> None:
        """Walks to the next move."""

    def lasting_bid(self, now: float, length: float, reliability: float) -> float:
        """The least bid, never below the price now, that outlasts ``length`` seconds with the given probability."""


class ConstantPrice:
    """A price that never moves."""

    def __init__(self, price: float) -> None:
        self.current = price
        self.next_move = inf

    def advance(self) -> None:
        """There is no next move."""

    def lasting_bid(self, now: float, length: float, reliability: float) -> float:
        """The price itself."""
        return self.current


class DrawnPrice:
    """Prices drawn independently of each other from one distribution, one every so many seconds."""

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
        """The price that holds at a time."""
        return self.prices[max(bisect_right(self.times, time) - 1, 0)]


def path(process: PriceProcess, until: float) -> PricePath:
    """Walks a process up to a time and writes down where it went."""
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
