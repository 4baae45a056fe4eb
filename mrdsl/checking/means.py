"""Mean times of phases, computed a second time for verification: the definition in the reference of the time model.

A shape is a word and two numbers, in units of the mean time. Its times are those of a grid of 1/32.
"""

from __future__ import annotations

from functools import lru_cache
from math import expm1, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shape = tuple[str, float, float]
H, UNIT = 1.0 / 32.0, 32.0
FIXED: Shape = ("fixed", 0.0, 0.0)


def shape(word: str, least: float, avg: float, longest: float, tasks: float) -> Shape:
    """Describe times by their distribution and their extremes, rounded to 1/32 of the average."""
    if not avg > 0.0 or word == "fixed":
        return FIXED
    if word == "exponential":
        return word, 1.0, 0.0
    if word == "lognormal":
        from scipy.special import ndtri

        z = float(ndtri(tasks / (tasks + 1.0)))
        root = z * z - 2.0 * log(max(longest / avg, 1.0))
        deviation = _near(z - sqrt(root) if root > 0.0 else z)
        return (word, deviation, 1.0) if deviation > 0.0 else FIXED
    low, high = _near(least / avg), _near(longest / avg)
    return ("spread", low, high) if low < 1.0 < high else FIXED


def shapes(words: NDArray[np.str_], times: tuple[Floats, Floats, Floats], tasks: Floats) -> tuple[list[Shape], Ints]:
    """Describe the shortest, average and longest times of rows; return the different shapes, and that of each row."""
    least, avg, longest = times
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = (np.floor(each / avg * UNIT + 0.5 + 1e-9) for each in (least, longest))
    kinds = np.unique(words, return_inverse=True)[1].reshape(-1)
    parts = [
        np.where(avg > 0.0, np.clip(np.nan_to_num(each), 0.0, 2.0**20), 0.0).astype(np.int64) for each in (low, high)
    ]
    keys = (kinds << 42) + (parts[0] << 21) + parts[1]
    keys = np.where((words == "lognormal") & (avg > 0.0), (1 << 50) + np.arange(len(avg)), keys)
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    found = [
        shape(str(words[row]), *(float(each[row]) for each in (least, avg, longest, tasks))) for row in first.tolist()
    ]
    return found, places.reshape(-1)


def sums(first: tuple[list[Shape], Ints], second: tuple[list[Shape], Ints], part: Floats) -> tuple[list[Shape], Ints]:
    """Describe the sums of two times of each row, of which the first is a part of the mean."""
    parts = np.floor(part * UNIT + 0.5 + 1e-9).astype(np.int64)
    _, rows, places = np.unique(_joined(_joined(first[1], second[1]), parts), return_index=True, return_inverse=True)
    found = [added(first[0][first[1][row]], second[0][second[1][row]], parts[row] / UNIT) for row in rows.tolist()]
    different = {each: number for number, each in enumerate(dict.fromkeys(found))}
    return list(different), np.array([different[each] for each in found], dtype=np.int64)[places.reshape(-1)]


def _joined(one: Ints, other: Ints) -> Ints:
    """Return numbers that differ between different pairs of numbers of at least 0."""
    return one * (int(other.max(initial=0)) + 1) + other


def spread(of: Shape) -> float:
    """Compute the standard deviation of times with the mean 1."""
    word, a, b = of
    if word == "spread":
        p = (b - 1.0) / (1.0 - a)
        return (b - a) * sqrt(1.0 / (2.0 * p + 1.0) - 1.0 / (p + 1.0) ** 2)
    if word == "two":
        return sqrt((a * a + b * b) / 3.0)
    return {"exponential": a, "lognormal": b * sqrt(expm1(min(a * a, 700.0)))}.get(word, 0.0)


def added(first: Shape, second: Shape, part: float) -> Shape:
    """Describe the sum of two times, of which the first is this part, rounded to 1/32, of the mean."""
    part = _near(part)
    if part in (0.0, 1.0):
        return first if part else second
    deviations = part * spread(first), (1.0 - part) * spread(second)
    total = sqrt(deviations[0] ** 2 + deviations[1] ** 2)
    if total == 0.0:
        return FIXED
    larger = first if deviations[0] >= deviations[1] else second
    word, a, b = larger
    wider = total / spread(larger)
    if word == "exponential":
        return word, _near(a * wider), 0.0
    if word == "lognormal":
        return word, a, _near(b * wider)
    if word == "spread" and not 0.8 < (b - 1.0) / (1.0 - a) < 1.25:
        ends = [_near(max(1.0 + wider * (end - 1.0), 0.0)) for end in (a, b)]
        return word, ends[0], max(ends[1], 1.0 + 1.0 / UNIT)
    small, large = (_near(sqrt(3.0) * each) for each in sorted(deviations))
    small = round(8.0 * small) / 8.0
    if small + large > 1.0:
        return "spread", 0.0, 1.0 + _near(sqrt(3.0) * total)
    return ("two", large, small) if large else FIXED


def _near(value: float) -> float:
    return float(np.floor(value * UNIT + 0.5 + 1e-9)) / UNIT


def mean(of: Shape, tasks: Floats, slots: Floats) -> Floats:
    """Compute mean times of phases on whole slots, in units of the mean time of a task."""
    waves = tasks / slots
    if of[0] == "fixed":
        return np.asarray(np.maximum(np.ceil(waves * (1.0 - 1e-12)), 1.0))
    numbers = _Numbers.of(of)
    stationary = waves >= stationary_from(of) * (1.0 - 1e-9)
    found = np.where(slots == 1.0, tasks, np.nan)
    cases = (slots >= tasks, numbers.of_longest), (stationary & np.isnan(found), numbers.exceeds), (None, numbers.last)
    for mine, time in cases:
        some = np.isnan(found) if mine is None else mine
        if some.any():
            keys = _joined(tasks[some].astype(np.int64), slots[some].astype(np.int64))
            _, first, places = np.unique(keys, return_index=True, return_inverse=True)
            found[some] = time(tasks[some][first], slots[some][first])[places.reshape(-1)]
    longest = {"spread": of[2], "two": 1.0 + of[1] + of[2]}.get(of[0], np.inf)
    with np.errstate(invalid="ignore"):
        graham = np.where(slots > 1.0, waves + longest * (1.0 - 1.0 / slots), waves)
    most = np.where((slots >= tasks) & (tasks > 1.0), longest, graham)
    return np.clip(found, np.maximum(waves, 1.0), most)


def stationary_from(of: Shape) -> float:
    """Compute the waves from which running tasks have stationary residual times."""
    variance = spread(of) ** 2
    return 8.0 if variance > 1.0 else min(50.0, max(0.15 / variance, 2.5))


class _Numbers:
    """The renewals of times of a shape on the grid."""

    @staticmethod
    @lru_cache(maxsize=512)
    def of(of: Shape) -> _Numbers:
        """Return those of a shape."""
        return _Numbers(of)

    def __init__(self, of: Shape) -> None:
        self.shape = of
        most = 1.0
        while ended(of, np.array([most]))[0] < 1.0 - 1e-5:
            most += 0.25
        self.width = int(most / H) + 1
        edges: Any = np.arange(0.5, self.width) * H
        shares = np.append(ended(of, edges), 1.0)
        masses = np.diff(shares, prepend=0.0)
        cells = int((stationary_from(of) + 2.0) / H) + 1
        self.starts = np.array([1.0 / (1.0 - masses[0])])
        while len(self.starts) < cells:  # Newton's iteration for 1 / (1 - masses) as a power series
            size = 2 * len(self.starts)
            rest = np.convolve(np.append(1.0 - masses[0], -masses[1:size]), self.starts)[:size]
            rest = np.pad(-rest, (0, size - len(rest)))
            rest[0] += 2.0
            self.starts = np.convolve(self.starts, rest)[:size]
        self.starts = self.starts[:cells]
        self.begun = np.cumsum(self.starts)
        self.longer = np.concatenate([1.0 - shares, np.zeros(2 * self.width + 4)])
        self.grid = np.arange(0, self.width + 2, 2)
        beyond: Any = self.grid * H
        self.still = 1.0 - ended(of, beyond)
        self.residual = 1.0 - (np.cumsum(self.longer) - self.longer)[self.grid] / self.longer.sum()

    def of_longest(self, n: Floats, _: Floats) -> Floats:
        """Compute the mean of the longest of n times."""
        word, a, b = self.shape
        if word == "spread":
            return a + (b - a) * n / (n + (b - 1.0) / (1.0 - a))
        return self._area(1.0 - (1.0 - self.still) ** n[:, None])

    def exceeds(self, n: Floats, k: Floats) -> Floats:
        """Compute the mean time of n tasks on k slots after many waves."""
        running = np.clip(1.0 - self.residual, 0.0, 1.0) ** (k[:, None] - 1.0)
        longest = self._area(1.0 - running * (1.0 - self.still))
        return n / k + longest - ((k - 1.0) * self._area(self.residual[None, :]) + 1.0) / k

    def last(self, n: Floats, k: Floats) -> Floats:
        """Compute the mean time of n tasks on k slots after few waves."""
        rounds = np.floor((n - k - 1.0) / k)
        target = 1.0 + rounds + (n - k - rounds * k) / (k + 1.0)
        cell = np.clip(np.searchsorted(self.begun, target), 1, len(self.begun) - 1)
        within = (target - self.begun[cell - 1]) / np.maximum(self.begun[cell] - self.begun[cell - 1], 1e-12)
        within = np.clip(within, 0.0, 1.0)
        cells, places = np.unique(np.concatenate([cell - 1, cell]), return_inverse=True)
        known = np.stack([self._running(each) for each in cells.tolist()])
        before, after = np.split(known[places], 2)
        running = (1.0 - within[:, None]) * before + within[:, None] * after
        rest = self._area(1.0 - np.clip(1.0 - running, 0.0, 1.0) ** (k[:, None] - 1.0) * (1.0 - self.still))
        return np.asarray((cell - 0.5 + within) * H + rest)

    @lru_cache(maxsize=4096)  # noqa: B019
    def _running(self, cell: int) -> Floats:
        """Compute the probability that the task of a slot at the end of a cell runs for each time longer."""
        first = max(0, cell - self.width)
        past = self.starts[first : cell + 1][::-1]
        return np.asarray(self.longer[self.grid[:, None] + np.arange(len(past))] @ past)

    def _area(self, values: Floats) -> Floats:
        return np.asarray(H * (values[:, :-1] + values[:, 1:]).sum(axis=1))


def ended(of: Shape, time: Floats) -> Floats:
    """Compute the share of tasks that end within each time."""
    word, a, b = of
    if word == "exponential":
        return 1.0 - np.exp(-np.maximum(time - 1.0 + a, 0.0) / a)
    if word == "lognormal":
        from scipy.special import erf

        shifted = np.maximum((time - 1.0 + b) / b, 1e-300)
        return np.asarray(0.5 * (1.0 + erf((np.log(shifted) / a + a / 2.0) / sqrt(2.0))))
    if word == "spread":
        return np.asarray(np.clip((time - a) / (b - a), 0.0, 1.0) ** ((1.0 - a) / (b - 1.0)))
    if b == 0.0:
        return np.clip((time - 1.0 + a) / (2.0 * a), 0.0, 1.0)
    corners: list[Any] = [np.maximum(time - 1.0 + end, 0.0) ** 2 for end in (a + b, a - b, b - a, -a - b)]
    return np.asarray(np.clip((corners[0] - corners[1] - corners[2] + corners[3]) / (8.0 * a * b), 0.0, 1.0))
