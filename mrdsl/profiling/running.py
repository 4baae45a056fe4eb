"""How much ran of very many tasks, out of their starts and ends in order: sixteen bytes a task, and as many to sort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Moments = NDArray[np.int64]
_AT_A_TIME = 2**16


@dataclass(frozen=True)
class Running:
    """All starts and all ends of what ran, each sorted by itself, in milliseconds.

    Which end belongs to which start does not matter to how many ran: the starts before a moment less the ends up to it.
    """

    starts: Moments
    ends: Moments

    @classmethod
    def of(cls, starts: Moments, ends: Moments) -> Running:
        """Out of starts and ends task by task; what took no time, or less, counts for nothing."""
        took = ends > starts
        sides = starts[took], ends[took]
        for side in sides:
            side.sort()
        return cls(*sides)

    @classmethod
    def together(cls, parts: Sequence[Running]) -> Running:
        """Those of all parts."""
        sides = [np.concatenate([getattr(part, side) for part in parts]) for side in ("starts", "ends")]
        for side in sides:
            side.sort()
        return cls(*sides)

    @property
    def most(self) -> int:
        """The most at once; what ends at the moment when another starts does not overlap it."""
        most = 0
        for first in range(0, len(self.starts), _AT_A_TIME):
            block = self.starts[first : first + _AT_A_TIME]
            begun = np.arange(first + 1, first + len(block) + 1)
            most = max(most, int((begun - np.searchsorted(self.ends, block, side="right")).max()))
        return most

    @property
    def busy(self) -> float:
        """Sum of all running times."""
        return float((self.ends - self.starts).sum())

    @property
    def length(self) -> float:
        """From the first start to the last end; 0 where nothing ran."""
        return float(self.ends[-1] - self.starts[0]) if len(self.starts) else 0.0

    @property
    def covered(self) -> float:
        """For how long anything ran: nothing does from the k-th end to the start after it, where that comes later."""
        return self.length - float(np.maximum(self.starts[1:] - self.ends[:-1], 0).sum())
