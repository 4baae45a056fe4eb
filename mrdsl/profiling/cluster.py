"""The cluster as the logs show it, to compare a plan with: machines, slots, and how much ran at once.

Counts over time come from starts and ends. Very many tasks are counted in sixteen bytes each. A host is there from its
first sign to its last one.

An executor is there from its addition to its removal, otherwise to the end of its application. A host of MapReduce is
there from the submission to the end of the jobs whose attempts ran on it. A host that several runs name was there
between them; one that a single run names was not there before and after. On Kubernetes a host is a pod, which is there
as long as its executor.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from mrdsl.core.rounding import SAME_SUM
from mrdsl.exchange.logs.records import AttemptEnd, Attempts, Executor, MapReduceJob, SparkApplication, TaskKind
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
        """Return the running tasks from starts and ends; tasks with no time, or a negative one, do not count."""
        took = ends > starts
        sides = starts[took], ends[took]
        for side in sides:
            side.sort()
        return cls(*sides)

    @classmethod
    def together(cls, parts: Sequence[Running]) -> Running:
        """Return those of all parts."""
        sides = [np.concatenate([getattr(part, side) for part in parts]) for side in ("starts", "ends")]
        for side in sides:
            side.sort()
        return cls(*sides)

    @property
    def most(self) -> int:
        """The most concurrent tasks; a task that ends when another starts does not overlap it."""
        return self.most_of(None)

    def most_of(self, slots: Running | None) -> int:
        """Return the most concurrent tasks, at each moment no more than the slots then."""
        most = 0
        for first in range(0, len(self.starts), _AT_A_TIME):
            block = self.starts[first : first + _AT_A_TIME]
            running = np.arange(first + 1, first + len(block) + 1) - np.searchsorted(self.ends, block, side="right")
            if slots is not None:
                running = np.minimum(running, slots.at(block))
            most = max(most, int(running.max()))
        return most

    def at(self, moments: Moments) -> Moments:
        """Return how many run at each moment."""
        return np.searchsorted(self.starts, moments, side="right") - np.searchsorted(self.ends, moments, side="right")

    @property
    def busy(self) -> float:
        """Sum of all running times."""
        return float((self.ends - self.starts).sum())

    def mean(self, edges: Moments) -> NDArray[np.float64]:
        """Return the mean number that run between each two edges, in milliseconds."""

        def until(side: Moments) -> Moments:
            sums = np.concatenate([_NONE, [0], np.cumsum(side)])
            count = np.searchsorted(side, edges)
            passed: Moments = count * edges - sums[count]
            return passed

        return np.diff(until(self.starts) - until(self.ends)) / np.diff(edges)

    @property
    def length(self) -> float:
        """The time from the first start to the last end; 0 without tasks."""
        return float(self.ends[-1] - self.starts[0]) if len(self.starts) else 0.0

    @property
    def covered(self) -> float:
        """The time with running tasks: none run from the k-th end to the next start, if that is later."""
        return self.length - float(np.maximum(self.starts[1:] - self.ends[:-1], 0).sum())


HOUR = 3_600_000


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
        """Return the least count that is not exceeded for ``share`` of the time during which anything ran; 0
        for never.
        """
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
    """Return the number of running intervals at each moment; empty and negative ones do not count."""
    running = _running(intervals)
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
    """Return the most moments in any interval of that length without its end; 0 for none."""
    ranked = np.sort(np.asarray(moments, dtype=np.int64))
    ends = np.searchsorted(ranked, ranked + length, side="left")
    return int((ends - np.arange(len(ranked))).max(initial=0))


_NONE = np.zeros(0, np.int64)
_NOTHING = Running(_NONE, _NONE)


@dataclass(frozen=True)
class Slots:
    """The most concurrent tasks of a kind, on all VMs and on any one of them (0: unknown), and the utilization.

    The utilization of Spark is the share of the time of its executors' slots, as they came and went. The logs of
    MapReduce contain no slots: its utilization is the share of ``most`` slots while any of its machines was there.
    """

    most: int = 0
    on_one: int = 0
    use: float = 0.0


@dataclass(frozen=True)
class Cluster:
    """The cluster over ``hours`` from the first request to the last end, ``busy`` of them with tasks; ``task`` are
    Spark's.

    ``machines`` and ``pods`` are the hosts in the logs, at most ``vms`` and ``most_pods`` at once, ``pod_slots`` the
    most concurrent tasks on a pod. ``requests`` are the milliseconds from the first request to the last one in each
    stretch of time with machines or runs. ``busy_slots`` and ``slots`` are the mean numbers of running tasks and of
    slots in equal parts of the time.
    """

    map: Slots = Slots()
    reduce: Slots = Slots()
    task: Slots = Slots()
    machines: Hosts = Hosts()
    pods: Hosts = Hosts()
    vms: int = 0
    most_pods: int = 0
    pod_slots: int = 0
    hours: float = 0.0
    busy: float = 0.0
    requests: tuple[int, ...] = ()
    busy_slots: tuple[float, ...] = ()
    slots: tuple[float, ...] = ()

    @property
    def used(self) -> float | None:
        """The part of the slot time of the VMs in which tasks ran; None if VMs or slots are unknown."""
        held = self.machines.hours * (self.map.on_one + self.reduce.on_one + self.task.on_one)
        work = sum(self.busy_slots) / max(1, len(self.busy_slots)) * self.hours
        return min(1.0, work / held) if held and self.busy_slots else None

    def cost(self, price: float) -> float | None:
        """Return the cost per hour of the most VMs at once, at ``price`` for one, or None if the logs name none."""
        return self.vms * price if self.vms else None


def cluster_of(jobs: Sequence[MapReduceJob], submissions: Sequence[SparkApplication] = ()) -> Cluster:
    """Return the cluster with the concurrent attempts: all of MapReduce, the successful ones of Spark."""
    numbered = [(run, each) for run, last in enumerate(submissions) for each in (*last.lost_attempts, last)]
    applications = [each for _, each in numbered]
    running: dict[str, Running] = {}
    on_one: dict[str, int] = {}
    for kind in TaskKind:
        starts, ends, on = _spans(jobs, kind)
        on_one[kind] = _most_on_one(starts, ends, on)
        running[kind] = Running.of(starts, ends)
        del starts, ends, on
    stages = [stage for each in applications for stage in each.stages]
    running["task"] = Running.of(
        np.concatenate([_NONE, *(np.repeat(np.frombuffer(stage.launches, np.int64), stage.slots) for stage in stages)]),
        np.concatenate([_NONE, *(np.repeat(np.frombuffer(stage.finishes, np.int64), stage.slots) for stage in stages)]),
    )
    on_pods = [each.configuration.get("spark.master", "").startswith("k8s") for each in applications]
    per_host = [(each.host_cores or 0) // each.task_cpus for each in applications]
    on_one["task"], on_pod = (
        max((most for most, pod in zip(per_host, on_pods, strict=True) if pod is kind), default=0)
        for kind in (False, True)
    )
    cores = max(per_host, default=0) * len({host for each in applications for host in each.hosts})
    signs = [list(signs_of_executors(each, run)) for run, each in numbered]
    of_jobs = list(signs_of_attempts(jobs))
    own = [sign for _, found in of_jobs for sign in found]
    parts = list(zip(signs, on_pods, strict=True))
    machines = hosts_of([*(sign for found, pod in parts if not pod for sign in found), *own])
    pods = Hosts(passing=tuple((host, (begin, end)) for found, pod in parts if pod for host, begin, end, _ in found))
    spans = [*filter(None, map(span_of, submissions)), *(span for span, _ in of_jobs)]
    whole = min((begin for begin, _ in spans), default=0), max((end for _, end in spans), default=0)
    there = _running(hosts_of(own).spans or [whole])
    slots = {kind: _slots(running[kind], on_one[kind], there.covered) for kind in TaskKind}
    every = Running.together(list(running.values()))
    executors = Running.together([_NOTHING, *map(slots_of, applications)])
    return Cluster(
        slots[TaskKind.MAP],
        slots[TaskKind.REDUCE],
        replace(_of_executors(running["task"], executors, cores), on_one=on_one["task"]),
        machines,
        pods,
        _running(machines.spans).most,
        _running(pods.spans).most,
        on_pod,
        hours=(whole[1] - whole[0]) / HOUR,
        busy=every.covered / HOUR,
        requests=requests_of(machines.spans, spans),
        **_over_time(whole, every, executors, there, sum(each.most for each in slots.values()), cores),
    )


def _running(intervals: Iterable[Interval]) -> Running:
    return Running.of(*np.array([*intervals], np.int64).reshape(-1, 2).T)


PARTS = 48


def _over_time(
    span: Interval, every: Running, executors: Running, hosts: Running, constant: int, cores: int
) -> dict[str, Any]:
    """Return the mean running tasks and slots in equal parts of the time: those of executors, and ``constant`` ones
    while there are hosts of MapReduce, never fewer than tasks run. Executors have at most ``cores``, 0 if unknown.
    """
    length = span[1] - span[0]
    if not length or not len(every.starts):
        return {}
    parts = min(PARTS, length)
    edges = span[0] + np.arange(parts + 1) * length // parts
    busy = every.mean(edges)
    slots = np.minimum(executors.mean(edges), cores or np.inf) + constant * np.minimum(1.0, hosts.mean(edges))
    return {"busy_slots": tuple(busy.tolist()), "slots": tuple(np.maximum(slots, busy).tolist())}


def parallel_tasks(job: MapReduceJob, kind: TaskKind) -> int:
    """Return the most successful tasks of a kind that the job itself had running at once."""
    return counts_of(
        (each.start, each.finish)
        for each in job.attempts
        if each.kind is kind and each.end is AttemptEnd.SUCCEEDED and each.start is not None and each.finish is not None
    ).most


def _slots(running: Running, on_one: int, length: float) -> Slots:
    return Slots(running.most, on_one, running.busy / (running.most * length) if running.most and length else 0.0)


def _of_executors(running: Running, there: Running, cores: int) -> Slots:
    """Return the most concurrent tasks and the utilization of the slots that there were, at most ``cores`` if known.

    Times are rounded, so tasks of one core can seem to overlap. An application without executors in its log had the
    slots of its own most concurrent tasks, while it ran.
    """
    most = min(max(1, running.most_of(there)), cores or running.most, running.most)
    times = np.unique(np.concatenate([there.starts, there.ends]))
    held = float((np.minimum(there.at(times), cores or np.inf)[:-1] * np.diff(times)).sum())
    return Slots(most, 0, min(1.0, running.busy / held) if held else 0.0)


def slots_of(application: SparkApplication) -> Running:
    """Return when each slot of the executors of an application was there."""
    launches, finishes = (
        np.concatenate([_NONE, *(np.frombuffer(getattr(stage, side), np.int64) for stage in application.stages)])
        for side in ("launches", "finishes")
    )
    if not len(launches):
        return _NOTHING
    lives = [(begin, end, each.cores // application.task_cpus) for each, begin, end in lives_of(application)]
    if not any(count for _, _, count in lives):
        most = Running.of(launches, finishes).most
        return Running.of(np.full(most, launches.min()), np.full(most, finishes.max()))
    begins, ends, counts = np.array(lives, np.int64).T
    return Running.of(np.repeat(begins, counts), np.repeat(ends, counts))


def _spans(jobs: Sequence[MapReduceJob], kind: TaskKind) -> tuple[Moments, Moments, npt.NDArray[np.int32]]:
    """Return starts, ends and numbers of machines, -1 if unknown."""
    starts, ends, on = array("q"), array("q"), array("i")
    numbers = {"": -1}
    for job in jobs:
        began, ended, names = Attempts.of(job.attempts).spans(kind)
        starts.frombytes(began.tobytes())
        ends.frombytes(ended.tobytes())
        on.extend(numbers.setdefault(name, len(numbers) - 1) for name in names)
    return np.frombuffer(starts, np.int64), np.frombuffer(ends, np.int64), np.frombuffer(on, np.int32)


def _most_on_one(starts: Moments, ends: Moments, hosts: npt.NDArray[np.int32]) -> int:
    """Return the most at once on any host; those of the host -1 do not count."""
    order = np.argsort(hosts, kind="stable")
    edges = np.searchsorted(hosts[order], np.arange(hosts.max(initial=-1) + 2))
    parts = (order[begin:end] for begin, end in pairwise(edges))
    return max((Running.of(starts[part], ends[part]).most for part in parts), default=0)
