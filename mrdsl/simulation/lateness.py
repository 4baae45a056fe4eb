"""A distribution kept in little room: exact count, sum and largest; quantiles to within one percent."""

from __future__ import annotations

from math import exp, floor, log

STEP = log(1.02)
LEAST_SECONDS = 1e-12


class Lateness:
    """Seconds late, of late jobs only; values fall into bins two percent wide."""

    __slots__ = ("_bins", "count", "largest", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.largest = 0.0
        self._bins: dict[int, int] = {}

    def add(self, seconds: float) -> None:
        """One job that was late."""
        self.count += 1
        self.total += seconds
        self.largest = max(self.largest, seconds)
        bin_ = floor(log(max(seconds, LEAST_SECONDS)) / STEP)
        self._bins[bin_] = self._bins.get(bin_, 0) + 1

    @property
    def mean(self) -> float:
        """Mean over the late jobs; 0 without any."""
        return self.total / self.count if self.count else 0.0

    def quantile(self, share: float) -> float:
        """The value below which that share of the late jobs lies; 0 without any."""
        wanted, below = share * self.count, 0
        for bin_ in sorted(self._bins):
            below += self._bins[bin_]
            if below >= wanted:
                return min(exp((bin_ + 0.5) * STEP), self.largest)
        return 0.0
