"""What was seen of a class while a plan ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mrdsl.core.result import Table
from mrdsl.simulation.statistics import Kept, kept_within, summarize


@dataclass(frozen=True)
class Observed:
    """Completed jobs of one class after the warm-up, and their completion times in seconds.

    ``half_width`` is half the 95 % confidence interval of the mean, None where there is too little to tell. ``kept``
    is the share within the deadline.
    """

    jobs: int
    mean: float
    p50: float
    p95: float
    p99: float
    half_width: float | None
    kept: Kept

    def document(self) -> dict[str, Any]:
        """The object under ``plan.classes.NAME.observed``, but for ``kept``, which stands beside it."""
        return {
            "jobs": self.jobs,
            "mean": self.mean,
            "p50": self.p50,
            "p95": self.p95,
            "p99": self.p99,
            "half_width": self.half_width,
        }


def observed_of(runs: Sequence[Sequence[float]], deadline: float) -> Observed | None:
    """What independent runs saw of a class, each after its warm-up; None where no job ran."""
    if not any(len(run) for run in runs):
        return None
    summary = summarize(runs)
    kept = kept_within(runs, deadline)
    return Observed(summary.count, summary.mean, summary.p50, summary.p95, summary.p99, summary.half_width, kept)


def table_of(observed: Sequence[tuple[str, Observed]]) -> Table:
    """The classes that ran, one a row."""
    head = ("class", "jobs seen", "mean [s]", "+- [s]", "p50 [s]", "p95 [s]", "p99 [s]", "in time", "from", "to")
    rows = [
        (name, o.jobs, o.mean, o.half_width, o.p50, o.p95, o.p99, o.kept.share, o.kept.low, o.kept.high)
        for name, o in observed
    ]
    return Table("Simulated", head, rows)
