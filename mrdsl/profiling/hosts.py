"""Hosts in logs, and when each was there: from its first sign to its last one.

An executor is there from its addition to its removal, otherwise to the end of its application. A host of MapReduce is
there from the submission to the end of the jobs whose attempts ran on it. A host that several runs name was there
between them; one that a single run names was not there before and after. On Kubernetes a host is a pod, which is there
as long as its executor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mrdsl.exchange.logs.records import Attempts, Executor, MapReduceJob, SparkApplication, TaskKind
from mrdsl.profiling.losses import LONGEST_IDLE
from mrdsl.profiling.phases import believed

Interval = tuple[int, int]
"""Start and end in milliseconds."""


@dataclass(frozen=True)
class Hosts:
    """Hosts of one kind: the most at once, and the time of each in milliseconds, by name.

    ``kept`` are those that several runs name, which count between these runs, ``passing`` those of a single run.
    """

    most: int = 0
    kept: tuple[tuple[str, int], ...] = ()
    passing: tuple[tuple[str, int], ...] = ()

    @property
    def times(self) -> list[int]:
        """The time of each, the longest first; without those that were there for no time."""
        return sorted((time for _, time in (*self.kept, *self.passing) if time), reverse=True)

    @property
    def hours(self) -> float:
        """The time of all in hours."""
        return sum(self.times) / 3_600_000

    @property
    def parts(self) -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
        """The two kinds, each with what counts of it."""
        kept, passing = (
            "in several runs, counted from the first to the last",
            "in one run only, not counted before and after it",
        )
        return (kept, self.kept), (passing, self.passing)


class Sign(NamedTuple):
    """A host in a run over an interval; ``run`` is the place of the run."""

    host: str
    begin: int
    end: int
    run: int


def whole_lives(signs: Iterable[Sign]) -> list[tuple[str, int, int, bool]]:
    """Return each host with its first and its last moment, and True if several runs name it."""
    found: dict[str, tuple[int, int, int, bool]] = {}
    for host, begin, end, run in signs:
        first, last, before, several = found.get(host, (begin, end, run, False))
        found[host] = min(first, begin), max(last, end), run, several or run != before
    return [(host, first, last, several) for host, (first, last, _, several) in found.items()]


def is_on_pods(application: SparkApplication) -> bool:
    """Return True if the hosts of an application are pods."""
    return application.configuration.get("spark.master", "").startswith("k8s")


def span_of(application: SparkApplication) -> Interval | None:
    """Return request and end of an application as far as its tasks make them plausible; None without either."""
    first = min((time for stage in application.stages for time in stage.launches), default=None)
    last = max((time for stage in application.stages for time in stage.finishes), default=None)
    started, finished = application.started, application.finished
    if first is None or last is None:
        return None if started is None or finished is None or finished < started else (started, finished)
    begin = first if started is None else min(first, max(started, first - LONGEST_IDLE))
    return begin, last if finished is None else max(last, min(finished, last + LONGEST_IDLE))


def lives_of(application: SparkApplication) -> Iterator[tuple[Executor, int, int]]:
    """Yield each executor with the time that it was there, as far as the times of its application are plausible."""
    if (span := span_of(application)) is None:
        return
    earliest, latest = span[0] - LONGEST_IDLE, span[1] + LONGEST_IDLE
    for each in application.lives:
        begin = span[0] if each.added is None else min(latest, max(earliest, each.added))
        yield each, begin, max(begin, span[1] if each.removed is None else min(latest, each.removed))


def signs_of_executors(applications: Sequence[SparkApplication]) -> Iterator[Sign]:
    """Yield the executors with their hosts, or without any in a log the hosts of its stages."""
    for run, application in enumerate(applications):
        for each, begin, end in lives_of(application):
            yield Sign(each.host, begin, end, run)
        for stage in application.stages if not application.lives else ():
            for host in stage.hosts:
                yield Sign(host, min(stage.launches), max(stage.finishes), run)


def signs_of_attempts(jobs: Sequence[MapReduceJob], after: int = 0) -> Iterator[tuple[Interval, list[Sign]]]:
    """Yield request and end of each job with known times, and its hosts; the first job is the run ``after``."""
    for run, job in enumerate(jobs, after):
        hosts: set[str] = set()
        moments: list[int] = []
        for kind in TaskKind:
            starts, ends, names = Attempts.of(job.attempts).spans(kind)
            hosts.update(names)
            moments += [int(starts.min()), int(ends.max())] if names else []
        first, last = min(moments, default=None), max(moments, default=None)
        times = believed(job.submitted, job.launched, job.finished, first, last)
        if times.begin is not None and times.end is not None and times.begin <= times.end:
            yield (times.begin, times.end), [Sign(name, times.begin, times.end, run) for name in sorted(hosts)]


def requests_of(hosts: Iterable[Interval], runs: Iterable[Interval]) -> Iterator[int]:
    """Yield the time from the first request to the last one in each stretch of time with hosts or runs."""
    first = last = end = None
    for begin, until, asks in sorted([*((*each, False) for each in hosts), *((*each, True) for each in runs)]):
        if end is not None and begin >= end and first is not None and last is not None:
            yield last - first
            first = None
        end = until if end is None else max(end, until)
        if asks:
            first, last = begin if first is None else first, begin
    if first is not None and last is not None:
        yield last - first
