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

        from mrdsl.simulation.sampling import sample

        key = blake2s(f"{self.seed}/{self.place}/{turn}".encode(), digest_size=16).digest()
        stream = np.random.RandomState(np.frombuffer(key, dtype="<u4").tolist())
        values = sample(stream, name, parameters, self.count)
        if name not in ("normal", "mixture"):
            return values
        for _ in range(MAX_ROUNDS):
            wrong = ~accept(values)
            if name == "mixture":
                wrong |= values <= 0.0
            if not wrong.any():
                return values
            values[wrong] = sample(stream, name, parameters, int(wrong.sum()))
        raise OutOfRangeError
