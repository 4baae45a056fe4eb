"""Random values of an instance: the same on every machine, whatever else the spec says.

Every drawn item has a stream of its own, keyed by the spec's seed and the item's place in the spec, so that adding a
class does not change the others. The streams are numpy's legacy Mersenne Twister, whose output is frozen by numpy's
compatibility policy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2s
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_ROUNDS = 1000

#: Function names of the language that give a random value, with the number of their parameters.
DISTRIBUTIONS = {"uniform": 2, "uniform_int": 2, "normal": 2, "exponential": 1, "poisson": 1, "choice": 1, "mixture": 3}


class OutOfRangeError(Exception):
    """A distribution hardly ever falls within the item's limits."""


@dataclass(frozen=True)
class Draws:
    """Draws ``count`` values for one item; ``accept`` says which values the item allows."""

    seed: int
    place: str
    count: int

    def draw(
        self,
        name: str,
        parameters: tuple[Any, ...],
        turn: int,
        accept: Callable[[NDArray[np.float64]], NDArray[np.bool_]],
    ) -> NDArray[np.float64]:
        """The values of one call; normal and mixture are drawn again where the item does not allow them.

        Raises OutOfRangeError where a thousand rounds do not give enough acceptable values.
        """
        import numpy as np

        key = blake2s(f"{self.seed}/{self.place}/{turn}".encode(), digest_size=16).digest()
        stream = np.random.RandomState(np.frombuffer(key, dtype=np.uint32).tolist())
        values = _sample(stream, name, parameters, self.count)
        if name not in ("normal", "mixture"):
            return values
        for _ in range(MAX_ROUNDS):
            wrong = ~accept(values)
            if name == "mixture":
                wrong |= values <= 0.0
            if not wrong.any():
                return values
            values[wrong] = _sample(stream, name, parameters, int(wrong.sum()))
        raise OutOfRangeError


def _sample(stream: Any, name: str, parameters: tuple[Any, ...], count: int) -> NDArray[np.float64]:
    import numpy as np

    match name:
        case "uniform":
            values = stream.uniform(parameters[0], parameters[1], count)
        case "uniform_int":
            values = stream.randint(int(parameters[0]), int(parameters[1]) + 1, count, dtype=np.int64)
        case "normal":
            values = stream.normal(parameters[0], parameters[1], count)
        case "exponential":
            values = stream.exponential(parameters[0], count)
        case "poisson":
            values = stream.poisson(parameters[0], count)
        case "choice":
            values = np.asarray(parameters[0], dtype=np.float64)[stream.randint(0, len(parameters[0]), count)]
        case _:
            weights, means, deviations = (np.asarray(part, dtype=np.float64) for part in parameters)
            edges = np.cumsum(weights / weights.sum())
            component = np.minimum(np.searchsorted(edges, stream.random_sample(count), side="right"), len(means) - 1)
            values = means[component] + deviations[component] * stream.standard_normal(count)
    return np.asarray(values, dtype=np.float64)
