"""How much ran at once: counts over time, out of starts and ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mrdsl.core.tolerances import SAME_SUM
from mrdsl.profiling.running import Running

HOUR = 3_600_000
Interval = tuple[int, int]
"""Start and end in milliseconds; what ends at the moment when another starts does not overlap it."""


@dataclass(frozen=True)
class Counts:
    """A step function: ``counts[i]`` things ran from ``times[i]`` to ``times[i + 1]``."""

    times: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]

    @property
    def most(self) -> int:
        """The most at once."""
        return int(self.counts.max(initial=0))

    def quantile(self, share: float) -> int:
        """The least count that is not exceeded for ``share`` of the time during which anything ran; 0 for never."""
        lengths = np.diff(self.times)
        counts = self.counts[:-1]
        running = (counts > 0) & (lengths > 0)
        lengths, counts = lengths[running], counts[running]
        if not len(counts):
            return 0
        order = np.argsort(counts, kind="stable")
        reached = np.cumsum(lengths[order]) >= share * lengths.sum() * (1 - SAME_SUM)
        return int(counts[order][np.argmax(reached)])


def counts_of(intervals: Iterable[Interval]) -> Counts:
    """How many of the intervals run at each moment; empty and negative ones count for nothing."""
    starts, ends = np.array([*intervals], dtype=np.int64).reshape(-1, 2).T
    running = Running.of(starts, ends)
    times = np.unique(np.concatenate([running.starts, running.ends]))
    begun, ended = (np.searchsorted(side, times, side="right") for side in (running.starts, running.ends))
    return Counts(times, begun - ended)


def growth(times: Sequence[float], values: Sequence[float]) -> float | None:
    """By what share of its mean ``values`` grows from the first time to the last, along the line of least squares."""
    if len(times) < 3 or max(times) <= min(times) or not any(values):
        return None
    x, y = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    x = (x - x.min()) / (x.max() - x.min())
    slope = float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())
    return slope / float(y.mean()) if y.mean() else None


def most_within(length: int, moments: Sequence[int]) -> int:
    """The most moments in any stretch of time so long, its end not in it; 0 where there is none."""
    ranked = np.sort(np.asarray(moments, dtype=np.int64))
    ends = np.searchsorted(ranked, ranked + length, side="left")
    return int((ends - np.arange(len(ranked))).max(initial=0))
