"""What every class of runs states, of MapReduce or of Spark: how many, how many at once, how much they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mrdsl.exchange.logs.records import MapReduceJob
from mrdsl.profiling.concurrency import HOUR, counts_of, growth, most_within
from mrdsl.profiling.overhead import Overhead, summed
from mrdsl.profiling.phases import Durations
from mrdsl.profiling.times import Times

SPREAD_OF_A_CLASS = 1.0
MAX, P95 = "max", "p95"


@dataclass(frozen=True)
class Taught:
    """How the first part is summed up: what stands as a maximum, what sorting counts as, and what clusters its jobs.

    ``clusters`` gives the class of each of some jobs, and sees those of the first part alone; None where names do.
    """

    longest: str = MAX
    sort_counts_as: str = "reduce"
    clusters: Callable[[Sequence[MapReduceJob]], Sequence[str]] | None = None


BY_NAME = Taught()


@dataclass(frozen=True)
class Measured:
    """A phase of all runs of a class, in seconds."""

    average: float
    longest: float


@dataclass(frozen=True)
class LeftOut:
    """A run that makes no profile, and why; ``slot_time`` are the slot-seconds that all its attempts held."""

    source: str
    job: str
    reason: str
    slot_time: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Summary:
    """How far to trust a class.

    ``jobs_low`` and ``jobs_high`` are the median and the 95th percentile of the runs of the class that went on at once,
    over the time during which any did; ``per_hour`` the most that were submitted within an hour.
    ``spread`` is the standard deviation of the runs' mean task times over their
    mean, ``task_spread`` that of their numbers of tasks. ``grows`` is the growth of its input over the time of the
    logs as a share of its mean, None where unknown. ``completion`` are the seconds from submission to end of its runs,
    ``overhead`` is what went into attempts that came to nothing.
    """

    name: str
    runs: int
    jobs_low: int
    jobs_high: int
    per_hour: int
    spread: float
    task_spread: float
    grows: float | None
    completion: tuple[float, ...]
    overhead: Overhead
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class One:
    """One run as its class sums it up: when it went on, its mean task time, tasks, input, attempts lost."""

    times: Times
    mean: float
    tasks: int
    input_bytes: int | None
    overhead: Overhead


def summed_up(name: str, runs: Sequence[One]) -> dict[str, Any]:
    """The fields of a :class:`Summary`, but its warnings."""
    begins = [one.times.begin for one in runs if one.times.begin is not None]
    times = [(one.times.begin, one.times.end) for one in runs if one.times.begin is not None and one.times.end]
    counts = counts_of(times)
    inputs = [(one.times.begin, one.input_bytes) for one in runs if one.times.begin is not None and one.input_bytes]
    return {
        "name": name,
        "runs": len(runs),
        "jobs_low": max(1, counts.quantile(0.5)),
        "jobs_high": max(1, counts.quantile(0.95)),
        "per_hour": max(1, most_within(HOUR, begins)),
        "spread": spread([one.mean for one in runs]),
        "task_spread": spread([float(one.tasks) for one in runs]),
        "grows": growth([time for time, _ in inputs], [size for _, size in inputs]),
        "completion": tuple((end - begin) / 1000 for begin, end in times),
        "overhead": summed(one.overhead for one in runs),
        "warnings": tuple(_wrong_times(runs)),
    }


def _wrong_times(runs: Sequence[One]) -> Iterator[str]:
    if doubted := sum(one.times.doubted for one in runs):
        yield f"{doubted} of its {len(runs)} runs say that they began or ended when they cannot have: their tasks count"


def doubts(summary: Summary) -> Iterator[str]:
    """What there is to say against any class."""
    if summary.spread > SPREAD_OF_A_CLASS or summary.task_spread > SPREAD_OF_A_CLASS:
        yield "its jobs differ so much that it is hardly a class: group them otherwise"
    if summary.runs == 1:
        yield "it is one job only"


def measured(durations: Durations, longest: str) -> Measured | None:
    """Mean and maximum (or 95th percentile, never below the mean) in seconds; None where nothing was measured."""
    if not durations.count:
        return None
    high = durations.percentile(0.95) if longest == P95 else durations.longest
    average = durations.average or 0.0
    return Measured(average / 1000, max(high or 0, average) / 1000)


def spread(values: Sequence[float]) -> float:
    """The standard deviation over the mean; 0 where that is."""
    mean = float(np.mean(values)) if values else 0.0
    return float(np.std(values)) / mean if mean else 0.0
