"""Drawing from the language's distributions while a plan is simulated: explicit streams, the same on every machine.

A stream is numpy's legacy ``RandomState`` (its output is frozen by numpy's compatibility policy), keyed by the run's
seed and by what is drawn, so that two things drawn side by side never share or disturb each other's stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2s
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.spec.schema import Distribution

CHUNK = 256
MAX_ROUNDS = 1000


def stream(seed: int, *place: object) -> np.random.RandomState:
    """The random stream of one thing (``place``) in one run (``seed``)."""
    return np.random.RandomState(_key(seed, place))


def stream_again(random: np.random.RandomState, seed: int, *place: object) -> np.random.RandomState:
    """The same as :func:`stream`, in the place of one that nobody draws from any more.

    A new one takes numpy ten times as long: before it is keyed it is seeded from the machine's own entropy.
    """
    random.seed(_key(seed, place))
    return random


def _key(seed: int, place: tuple[object, ...]) -> list[int]:
    key = blake2s(repr((int(seed), *map(str, place))).encode(), digest_size=16).digest()
    words: list[int] = np.frombuffer(key, dtype="<u4").tolist()
    return words


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
