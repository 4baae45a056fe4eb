"""How tasks and times depend on the input: growth by non-negative least squares, and classes of one name by input.

Tasks and mean task times of a stage have the terms 1 and n, with n the input of a run. The time of whole runs has the
terms of Ernest (Venkataraman et al., NSDI 2016, section 3): 1, n/m, log m and m, with m slots; or 1, n/m and its
square, unless Ernest's describe the runs clearly better. The square stands for work that grows faster than the input of
a slot, for example because memory is short.

Runs of one name that read very different inputs are several classes, since their mean is typical of none of them. The
inputs, in order, are divided where the next is :data:`DIVIDED` times as large, if the work of the runs on both sides
differs too. The part with most runs keeps the name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, count
from statistics import mean
from typing import TypeVar

import numpy as np

MIB = float(2**20)
SIZES, APART = 3, 1.5
"""The least number of different inputs, and the least ratio of the largest to the smallest."""
EXPLAINED = 0.5
"""The least part of the variance that growth explains."""
NAMES = ("1", "n/m", "(n/m)²", "log m", "m")
ERNEST, SQUARE = (0, 1, 3, 4), (0, 1, 2)
NOTABLE = 0.25
"""The part of the time on the fewest slots from which the square is worth a warning."""
CLEARLY = 1.2
"""Squares of errors with the square of n/m, in those of Ernest's terms, from which Ernest's are used."""
LEAST_TIME = 0.001
"""A millisecond in seconds: shorter runs count as long in relative errors."""


@dataclass(frozen=True)
class Growth:
    """``constant + slope * input / MiB``, and the half width of the interval of 95 % for a run of usual size."""

    constant: float
    slope: float
    interval: float

    def at(self, size: float) -> float:
        """Return the value for an input in MiB."""
        return self.constant + self.slope * size


@dataclass(frozen=True)
class RunGrowth:
    """The time of runs [s]: a coefficient for each term of :data:`NAMES`, and the half width of the interval of 95 %.

    ``runs`` is their number, ``least`` and ``most`` are the smallest and the largest input in MiB, ``fewest``
    the least slots. ``held_out`` is the
    mean of the relative errors for the runs on each number of slots from those on the others, None for fewer than
    :data:`SIZES` numbers.
    """

    coefficients: tuple[float, ...]
    interval: float
    runs: int
    least: float
    most: float
    fewest: int
    held_out: float | None = None

    def at(self, size: float, slots: int) -> float:
        """Return the time for an input in MiB on a number of slots [s]."""
        return float(_terms(np.array([size]), np.array([float(slots)]))[0] @ np.array(self.coefficients))

    @property
    def warning(self) -> str:
        """What to say if the square of n/m is a part of the time that matters, otherwise ""."""
        worst = _terms(np.array([self.most]), np.array([float(self.fewest)]))[0] * np.array(self.coefficients)
        short = worst[2] > NOTABLE * worst.sum()
        return f"memory may be short on {self.fewest} slots or fewer" if short else ""


def sizes_of(inputs: Sequence[int | None]) -> tuple[float, ...]:
    """Return inputs [B] in MiB if all are known and differ enough, otherwise ()."""
    known = [size / MIB for size in inputs if size]
    if len(known) < len(inputs) or len(set(known)) < SIZES or max(known) < APART * min(known):
        return ()
    return tuple(known)


def growth_of(inputs: Sequence[float], values: Sequence[float]) -> Growth | None:
    """Return the growth of values with inputs in MiB; None if they do not grow with it."""
    terms = np.column_stack([np.ones(len(inputs)), inputs])
    found, interval, explained = _fitted(terms, values)
    return Growth(found[0], found[1], interval) if found[1] > 0.0 and explained >= EXPLAINED else None


def run_growth(inputs: Sequence[float], slots: Sequence[int], times: Sequence[float]) -> RunGrowth:
    """Return the time of runs by the terms that describe it; Ernest's of slots are left out if all runs had as many.

    Squares of relative errors are least, since runs on few slots take many times as long as those on many.
    """
    n, m, t = (np.asarray(each, dtype=float) for each in (inputs, slots, times))
    found, interval = _run_fit(n, m, t)
    counts, errors = sorted(set(slots)), []
    for each in counts if len(counts) >= SIZES else ():
        out = m == each
        without, _ = _run_fit(n[~out], m[~out], t[~out])
        errors += np.abs(_terms(n[out], m[out]) @ np.array(without) / t[out] - 1.0).tolist()
    held_out = sum(errors) / len(errors) if errors else None
    return RunGrowth(found, interval, len(times), float(n.min()), float(n.max()), min(slots), held_out)


def _terms(n: np.ndarray, m: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(n)), n / m, (n / m) ** 2, np.log(m), m])


def _run_fit(n: np.ndarray, m: np.ndarray, times: np.ndarray) -> tuple[tuple[float, ...], float]:
    """Return the coefficients of :data:`NAMES`, and the half width of the interval of 95 %."""
    weights, fits = 1.0 / np.maximum(times, LEAST_TIME), []
    for kept in (SQUARE, ERNEST) if len(set(m)) > 1 else (ERNEST[:2],):
        found, interval, _ = _fitted(_terms(n, m)[:, kept], times, weights)
        every = np.zeros(len(NAMES))
        every[list(kept)] = found
        off = float((((_terms(n, m) @ every - times) * weights) ** 2).sum())
        fits.append((off, tuple(every.tolist()), interval))
    best = fits[-1] if fits[0][0] > CLEARLY * fits[-1][0] else fits[0]
    return best[1], best[2]


def _fitted(
    terms: np.ndarray, values: Sequence[float] | np.ndarray, weights: np.ndarray | float = 1.0
) -> tuple[tuple[float, ...], float, float]:
    """Return the coefficients, the half width of the interval of 95 % for a new run, and the explained variance.

    The sum of squares of errors times their ``weights`` is least.
    """
    from scipy.optimize import nnls
    from scipy.special import stdtrit

    wanted = np.asarray(values, dtype=float)
    each = np.broadcast_to(weights, wanted.shape)
    scale = np.abs(terms * each[:, None]).max(axis=0)
    scale[scale == 0.0] = 1.0
    found, _ = nnls(terms * each[:, None] / scale, wanted * each)
    left = wanted - (terms / scale) @ found
    free = len(wanted) - int((found > 0.0).sum())
    spread = float(np.sqrt((left**2).sum() / free)) if free > 0 else 0.0
    half = float(stdtrit(free, 0.975)) * spread * float(np.sqrt(1.0 + 1.0 / len(wanted))) if free > 0 else 0.0
    total = float(((wanted - wanted.mean()) ** 2).sum())
    explained = 1.0 - float((left**2).sum()) / total if total > 0.0 else 0.0
    return tuple((found / scale).tolist()), half, explained


DIVIDED, MORE_WORK = 4.0, 2.0
"""The ratio of an input to the next smaller one, and of the mean work of runs, that divide a class."""
MOST_PARTS = 4
"""Classes of one name by input, at most."""
_NUMBER = re.compile(r"_[0-9]+$")
Each = TypeVar("Each")


def divided(
    named: Sequence[tuple[Each, str]], size: Callable[[Each], int | None], work: Callable[[Each], float]
) -> list[tuple[Each, str]]:
    """Return runs with the names of their classes, those with far larger inputs in classes of their own.

    Args:
        named: Runs with the names of their classes.
        size: The input of a run [B], None or 0 if unknown. Names with such runs are not divided.
        work: The slot time of a run.
    """
    places: dict[str, list[int]] = {}
    for place, (_, name) in enumerate(named):
        places.setdefault(name, []).append(place)
    names = [name for _, name in named]
    for name, own in places.items():
        sizes = {place: size(named[place][0]) or 0 for place in own}
        if min(sizes.values()) > 0:
            parts = _parts(sorted(own, key=sizes.__getitem__), sizes, lambda place: work(named[place][0]))
            parts.sort(key=len, reverse=True)
            numbered = (each for each in (f"{name}_{n}" for n in count(2)) if each not in places)
            for part, new in zip(parts, chain([name], numbered), strict=False):
                for place in part:
                    names[place] = new
    return [(run, name) for (run, _), name in zip(named, names, strict=True)]


def _parts(ranked: list[int], sizes: dict[int, int], work: Callable[[int], float]) -> list[list[int]]:
    """Return the runs in parts, from the smallest input to the largest."""
    ratios = {cut: sizes[ranked[cut]] / sizes[ranked[cut - 1]] for cut in range(1, len(ranked))}
    cuts = sorted(ratios, key=ratios.__getitem__, reverse=True)[: MOST_PARTS - 1]
    parts: list[list[int]] = [[]]
    for place, run in enumerate(ranked):
        if place in cuts and ratios[place] >= DIVIDED:
            parts.append([])
        parts[-1].append(run)
    kept = parts[:1]
    for part in parts[1:]:
        if mean(map(work, part)) >= MORE_WORK * mean(map(work, kept[-1])):
            kept.append(part)
        else:
            kept[-1] += part
    return kept


def stem(name: str) -> str:
    """Return the name of a class without the number that divides classes of one name."""
    return _NUMBER.sub("", name)


def alike(some: tuple[float, float] | None, others: tuple[float, float] | None) -> bool:
    """Return True if two ranges of inputs are so close that they divide no class, or one is unknown."""
    if some is None or others is None:
        return True
    return max(some[0], others[0]) < DIVIDED * min(some[1], others[1])
