"""Hosts in logs, and when each was there: from its first sign to its last one.

An executor is there from its addition to its removal, otherwise to the end of its application. A host of MapReduce is
there from the submission to the end of the jobs whose attempts ran on it. A host that several runs name was there
between them; one that a single run names was not there before and after. On Kubernetes a host is a pod, which is there
as long as its executor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mrdsl.exchange.logs.records import Attempts, Executor, MapReduceJob, SparkApplication, TaskKind
from mrdsl.profiling.losses import LONGEST_IDLE
from mrdsl.profiling.phases import believed

Interval = tuple[int, int]
"""Start and end in milliseconds."""
Sign = tuple[str, int, int, int]
"""A host, an interval in which it was there, and the place of its run."""
NAMELESS = ("", "localhost", "127.0.0.1")


@dataclass(frozen=True)
class Hosts:
    """Hosts of one kind by name, from their first moment to their last one.

    ``kept`` are those that several runs name, which count between these runs, ``passing`` those of a single run.
    """

    kept: tuple[tuple[str, Interval], ...] = ()
    passing: tuple[tuple[str, Interval], ...] = ()

    @property
    def spans(self) -> list[Interval]:
        """The intervals of all that were there for some time."""
        return [(first, last) for _, (first, last) in (*self.kept, *self.passing) if first < last]

    @property
    def times(self) -> list[int]:
        """The milliseconds of each, the longest first."""
        return sorted((last - first for first, last in self.spans), reverse=True)

    @property
    def hours(self) -> float:
        """The time of all in hours."""
        return sum(self.times) / 3_600_000

    def parts(self, kind: str) -> Iterator[tuple[str, Hosts]]:
        """Yield both parts, each with what of it counts."""
        if self.kept:
            yield f"{kind} in several runs, counted from the first to the last", Hosts(kept=self.kept)
        if self.passing:
            yield f"{kind} in one run only, not counted before and after it", Hosts(passing=self.passing)


def hosts_of(signs: Iterable[Sign]) -> Hosts:
    """Return the hosts of all signs; a name that many machines have is another one in each run."""
    found: dict[tuple[str, int], tuple[int, int, set[int]]] = {}
    for host, begin, end, run in signs:
        key = host, run if host in NAMELESS else -1
        first, last, runs = found.get(key, (begin, end, set()))
        runs.add(run)
        found[key] = min(first, begin), max(last, end), runs
    kept, passing = (
        tuple(
            (host, (first, last)) for (host, _), (first, last, runs) in sorted(found.items()) if (len(runs) > 1) is many
        )
        for many in (True, False)
    )
    return Hosts(kept, passing)


def span_of(application: SparkApplication) -> Interval | None:
    """Return the request of an application, or of its first attempt, and its end, as far as its tasks make both
    plausible; None without either.
    """
    first = min((time for stage in application.stages for time in stage.launches), default=None)
    last = max((time for stage in application.stages for time in stage.finishes), default=None)
    started, finished = application.started, application.finished
    if first is None or last is None:
        return None if started is None or finished is None or finished < started else (started, finished)
    begin = first if started is None else min(first, max(started, first - LONGEST_IDLE))
    begin = min([begin, *(span[0] for each in application.lost_attempts if (span := span_of(each)) is not None)])
    return begin, last if finished is None else max(last, min(finished, last + LONGEST_IDLE))


def lives_of(application: SparkApplication) -> Iterator[tuple[Executor, int, int]]:
    """Yield each executor with the time that it was there, as far as the times of its application are plausible."""
    if (span := span_of(application)) is not None:
        for each in application.lives:
            begin = span[0] if each.added is None else max(span[0] - LONGEST_IDLE, each.added)
            end = span[1] if each.removed is None else min(span[1] + LONGEST_IDLE, each.removed)
            yield each, begin, max(begin, end)


def signs_of_executors(application: SparkApplication, run: int) -> Iterator[Sign]:
    """Yield the executors with their hosts, or without any in a log the hosts of its stages."""
    yield from ((each.host, begin, end, run) for each, begin, end in lives_of(application) if each.host)
    for stage in application.stages if not application.lives else ():
        yield from ((host, min(stage.launches), max(stage.finishes), run) for host in stage.hosts)


def signs_of_attempts(jobs: Sequence[MapReduceJob]) -> Iterator[tuple[Interval, list[Sign]]]:
    """Yield request and end of each job with known times, and its hosts; the numbers of its runs are below 0."""
    for place, job in enumerate(jobs):
        parts = [Attempts.of(job.attempts).spans(kind) for kind in TaskKind]
        moments = [int(time) for starts, ends, names in parts if names for time in (starts.min(), ends.max())]
        first, last = min(moments, default=None), max(moments, default=None)
        times = believed(job.submitted, job.launched, job.finished, first, last)
        if times.begin is not None and times.end is not None and times.begin <= times.end:
            hosts = {name for _, _, names in parts for name in names if name}
            yield (times.begin, times.end), [(name, times.begin, times.end, -1 - place) for name in hosts]


def requests_of(hosts: Sequence[Interval], runs: Sequence[Interval]) -> tuple[int, ...]:
    """Return the time from the first request to the last one in each stretch of time with hosts or runs."""
    if not runs:
        return ()
    starts, ends = np.array(sorted((*hosts, *runs)), np.int64).T
    asked = np.array(sorted(begin for begin, _ in runs), np.int64)
    cuts = starts[1:][starts[1:] >= np.maximum.accumulate(ends)[:-1]]
    return tuple(int(each[-1] - each[0]) for each in np.split(asked, np.searchsorted(asked, cuts)) if len(each))
