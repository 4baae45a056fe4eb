"""Durations of a MapReduce job and of its phases, from its attempts; and the time of lost attempts.

With M the end of the job's last successful map attempt: a reduce that started before M has a *first* shuffle, which
lasts from M until its data was complete; any other has a *typical* one, from its own start. Sorting lasts from there
until the merge was done, reducing from there to the end. Only successful attempts count.

A run's submission and end come from its log if they are plausible, otherwise from its tasks. Lost time is that of
failed attempts, of killed ones, and of speculative copies.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mrdsl.exchange.logs.records import Attempt, AttemptEnd, MapReduceJob, TaskKind, small

LONGEST_WAIT = 7 * 24 * 3_600_000
"""A week in milliseconds: no run is believed to wait longer for its first task, or to end so long after its last."""


@dataclass(frozen=True, slots=True)
class Times:
    """Begin and end in milliseconds, None if unknown; ``doubted`` if the log contradicts them.

    ``before`` and ``after`` are the milliseconds before the first task and after the last one. The first ``waited`` of
    them passed before a shared cluster gave the run an executor.
    """

    begin: int | None
    end: int | None
    doubted: bool = False
    before: int = 0
    after: int = 0
    waited: int = 0


def believed(
    submitted: int | None, launched: int | None, finished: int | None, first: int | None, last: int | None
) -> Times:
    """Return plausible times; ``first`` is the start of the run's first attempt, ``last`` the end of its last
    successful one.

    A submission after the first start, or more than :data:`LONGEST_WAIT` before it, is from another clock or wrong: the
    launch replaces it if it is plausible, otherwise the first start. The same applies to an end before the last
    success.
    """
    begin = next((each for each in (submitted, launched) if each is not None and _before(each, first)), first)
    end = finished if finished is not None and (last is None or 0 <= finished - last <= LONGEST_WAIT) else last
    doubted = (submitted is not None and begin != submitted) or (finished is not None and end != finished)
    before = first - begin if first is not None and begin is not None else 0
    after = end - last if last is not None and end is not None else 0
    return Times(begin, end, doubted, max(0, before), max(0, after))


def _before(moment: int, first: int | None) -> bool:
    return first is None or 0 <= first - moment <= LONGEST_WAIT


@dataclass(frozen=True, slots=True)
class Overhead:
    """Attempts that failed and that were killed, and the slot-seconds that both held; ``work`` is held by the others.

    A copy of a task that another one overtook counts as killed. An attempt whose times are unknown is counted, its
    time is not.
    """

    failed: int = 0
    killed: int = 0
    failed_time: float = 0.0
    killed_time: float = 0.0
    work: float = 0.0

    @property
    def attempts(self) -> int:
        """The number of lost attempts."""
        return self.failed + self.killed

    @property
    def time(self) -> float:
        """The slot-seconds that were lost."""
        return self.failed_time + self.killed_time

    @property
    def share(self) -> float:
        """The part of all slot-seconds that was lost; 0 without slot-seconds."""
        every = self.time + self.work
        return self.time / every if every else 0.0


def summed(parts: Iterable[Overhead]) -> Overhead:
    """That of all parts."""
    every = tuple(parts)
    return Overhead(
        sum(each.failed for each in every),
        sum(each.killed for each in every),
        sum(each.failed_time for each in every),
        sum(each.killed_time for each in every),
        sum(each.work for each in every),
    )


@dataclass(frozen=True, slots=True)
class Durations:
    """Milliseconds of one phase in one or many jobs."""

    values: Sequence[int] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", small(self.values) if len(self.values) else ())

    @classmethod
    def of(cls, values: Iterable[int]) -> Durations:
        """Return durations that come one after the other."""
        return cls(small(values))

    @property
    def count(self) -> int:
        """The number of measurements."""
        return len(self.values)

    @property
    def average(self) -> float | None:
        """The mean, None without measurements."""
        return sum(self.values) / len(self.values) if self.values else None

    @property
    def longest(self) -> int | None:
        """The largest, None without measurements."""
        return max(self.values, default=None)

    def percentile(self, share: float) -> int | None:
        """Return the smallest value that at least ``share`` of all do not exceed (nearest rank)."""
        if not self.values:
            return None
        rank = max(0, min(self.count - 1, -int(-share * self.count // 1) - 1))
        return int(np.partition(np.asarray(self.values), rank)[rank])


@dataclass(frozen=True, slots=True)
class Phases:
    """The phases of one job.

    ``negative`` counts phases that end before they begin, ``partial`` attempts without times, ``reduces`` the reduce
    tasks that succeeded. ``times`` are its submission and end, ``overhead`` the lost attempts.
    """

    map: Durations = Durations()
    first_shuffle: Durations = Durations()
    typical_shuffle: Durations = Durations()
    sort: Durations = Durations()
    reduce: Durations = Durations()
    negative: int = 0
    partial: int = 0
    unfinished: int = 0
    overhead: Overhead = Overhead()
    times: Times = Times(None, None)
    reduces: int = 0


def phases_of(job: MapReduceJob) -> Phases:
    """Return the phases of a job's successful attempts; a job that has none gives empty ones."""
    good = [each for each in job.attempts if each.end is AttemptEnd.SUCCEEDED]
    maps = [each for each in good if each.kind is TaskKind.MAP]
    reduces = [each for each in good if each.kind is TaskKind.REDUCE]
    last_map = max((each.finish for each in maps if each.finish is not None), default=None)
    gathered = _Gathered()
    for each in maps:
        gathered.add("map", each.start, each.finish)
    for each in reduces:
        if job.phases_known:
            _split(each, last_map, gathered)
        else:
            gathered.add("reduce", each.start, each.finish)
    durations = {name: Durations(values) for name, values in gathered.found.items()}
    return Phases(
        durations["map"],
        durations["first_shuffle"],
        durations["typical_shuffle"],
        durations["sort"],
        durations["reduce"],
        negative=gathered.negative,
        partial=gathered.partial,
        unfinished=sum(each.end is AttemptEnd.UNFINISHED for each in job.attempts),
        overhead=_overhead(job.attempts),
        times=_times(job, good),
        reduces=len(reduces),
    )


ASKEW = 0.05
"""The part of a job's attempts that may have begun before it was submitted: a machine's clock is wrong then."""


def _overhead(attempts: Iterable[Attempt]) -> Overhead:
    counts, held = Counter[AttemptEnd](), Counter[AttemptEnd]()
    for each in attempts:
        counts[each.end] += 1
        if each.start is not None and each.finish is not None:
            held[each.end] += max(0, each.finish - each.start)
    return Overhead(
        counts[AttemptEnd.FAILED],
        counts[AttemptEnd.KILLED],
        held[AttemptEnd.FAILED] / 1000,
        held[AttemptEnd.KILLED] / 1000,
        held[AttemptEnd.SUCCEEDED] / 1000,
    )


def _times(job: MapReduceJob, good: Iterable[Attempt]) -> Times:
    starts = sorted(each.start for each in job.attempts if each.start is not None)
    first = starts[int(ASKEW * len(starts))] if starts else None
    last = max((each.finish for each in good if each.finish is not None), default=None)
    return believed(job.submitted, job.launched, job.finished, first, last)


_NAMES = ("map", "first_shuffle", "typical_shuffle", "sort", "reduce")


class _Gathered:
    def __init__(self) -> None:
        self.found: dict[str, array[int]] = {name: array("q") for name in _NAMES}
        self.negative = self.partial = 0

    def add(self, name: str, start: int | None, end: int | None) -> None:
        if start is None or end is None:
            self.partial += 1
        elif end < start:
            self.negative += 1
        else:
            self.found[name].append(end - start)


def _split(attempt: Attempt, last_map: int | None, gathered: _Gathered) -> None:
    early = last_map is not None and attempt.start is not None and attempt.start < last_map
    gathered.add(
        "first_shuffle" if early else "typical_shuffle", last_map if early else attempt.start, attempt.shuffled
    )
    gathered.add("sort", attempt.shuffled, attempt.sorted)
    gathered.add("reduce", attempt.sorted, attempt.finish)
