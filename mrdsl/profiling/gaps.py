"""Time of a Spark application in which none of its tasks runs: before a stage, for the driver, commits, broadcasts.

The time of jobs that were dropped does not count: they are no part of the profile.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mrdsl.exchange.logs.records import SparkApplication

Moments = NDArray[np.int64]


def delays_of(application: SparkApplication, numbers: Sequence[int], after: Sequence[Sequence[int]]) -> list[int]:
    """Return the delay of each stage [ms]: from the end of those before it to its first task, while no task runs.

    ``numbers`` are ids of stages, ``after`` the places of those that each comes after. A stage that comes after none is
    delayed from the first task of the application.
    """
    bounds = {number: (first, last) for number, first, last in _bounds(application)}
    begins, ends = _busy(application)
    delays = []
    for number, parents in zip(numbers, after, strict=True):
        begin = max((bounds[numbers[parent]][1] for parent in parents), default=int(begins[0]))
        delays.append(_idle(begin, bounds[number][0], begins, ends))
    return delays


def idle_between(application: SparkApplication, begin: int, end: int) -> int:
    """Return the time [ms] between two moments in which no task runs."""
    return _idle(begin, end, *_busy(application))


def _bounds(application: SparkApplication) -> list[tuple[int, int, int]]:
    found: dict[int, tuple[int, int]] = {}
    for stage in application.stages:
        if stage.launches:
            first, last = found.get(stage.stage, (min(stage.launches), max(stage.finishes)))
            found[stage.stage] = min(first, min(stage.launches)), max(last, max(stage.finishes))
    return [(number, first, last) for number, (first, last) in found.items()]


def _busy(application: SparkApplication) -> tuple[Moments, Moments]:
    """Return the begins and ends of the intervals in which some task ran, in order."""
    dropped = [
        (job.submitted, job.ended)
        for job in application.dropped_jobs
        if job.submitted is not None and job.ended is not None and job.submitted <= job.ended
    ]
    starts, ends = (
        np.concatenate(
            [
                np.array([span[place] for span in dropped], np.int64),
                *(np.frombuffer(getattr(stage, side), np.int64) for stage in application.stages),
            ]
        )
        for place, side in enumerate(("launches", "finishes"))
    )
    order = np.argsort(starts, kind="stable")
    starts, latest = starts[order], np.maximum.accumulate(ends[order])
    new = np.flatnonzero(starts[1:] > latest[:-1])
    return np.concatenate([starts[:1], starts[new + 1]]), np.concatenate([latest[new], latest[-1:]])


def _idle(begin: int, end: int, begins: Moments, ends: Moments) -> int:
    """Return the time from ``begin`` to ``end`` in no busy interval."""
    if end <= begin:
        return 0
    busy = np.minimum(ends, end) - np.maximum(begins, begin)
    return end - begin - int(np.maximum(busy, 0).sum())
