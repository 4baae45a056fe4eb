"""Where the times of simulated tasks come from: spread between the shortest and the longest, or recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mrdsl.simulation.tasks import Draw

CHUNK = 1024


def spread(least: float, avg: float, longest: float, random: np.random.RandomState) -> Draw:
    """Times between ``least`` and ``longest`` with the mean ``avg``: ``least + (longest - least) U^p``.

    ``p = (longest - avg) / (avg - least)``; the uniform distribution where the average lies midway. All equal to
    ``avg`` where the average is at either end, which leaves no other choice.
    """
    if not least < avg < longest:
        return _draw(_constant(avg))
    power = (longest - avg) / (avg - least)
    width = longest - least
    return _draw(_chunks(lambda: least + width * random.random_sample(CHUNK) ** power))


def exponential(mean: float, random: np.random.RandomState) -> Draw:
    """Exponential times; 0 where the mean is."""
    return _draw(_chunks(lambda: mean * random.standard_exponential(CHUNK)) if mean > 0.0 else _constant(0.0))


def recorded(values: NDArray[np.float64], random: np.random.RandomState) -> Draw:
    """Any of the recorded times, each alike, with putting back."""
    return _draw(_chunks(lambda: values[random.randint(0, len(values), CHUNK)]))


def together(first: Draw, second: Draw) -> Draw:
    """The sum of two independent times, such as shuffle and reduce."""
    return lambda: first() + second()


@lru_cache(maxsize=16)
def read_times(path: Path, unit: float, zero: bool = False) -> NDArray[np.float64]:
    """Recorded times in seconds: one positive number a line, in units of ``unit`` seconds; empty lines are skipped.

    ``zero``: one may be 0, as a moment may. Raises ValueError, naming the line, where one is no positive number, or
    where there is none at all.
    """
    values = []
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if text:
                values.append(0.0 if zero and text in ("0", "0.0") else _positive(text, number) * unit)
    if not values:
        raise ValueError("there is no number in it")
    return np.array(values)


def _positive(text: str, number: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise ValueError(f"line {number} is no positive number: `{text[:40]}`")
    return value


def _chunks(draw: Callable[[], NDArray[np.float64]]) -> Iterator[float]:
    while True:
        yield from draw().tolist()


def _constant(value: float) -> Iterator[float]:
    while True:
        yield value


def _draw(values: Iterator[float]) -> Draw:
    return values.__next__
