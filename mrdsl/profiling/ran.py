"""Stages of a Spark application that ran: their order, the time between them, and runs whose stages differ.

Each comes after those of its parents that ran in the same job, and the first ones of a job after the last ones of the
jobs that had ended when it was submitted. Retries of a stage belong to it.

Before a stage none of the tasks may run, for the driver, commits or broadcasts. The time of jobs that were dropped does
not count: they are no part of the profile.

Adaptive execution and caching change the stages of a job from run to run. A stage is known by its title without
numbers, by the operators of its data sets, and by how many like it are before it in its run. Runs are alike if at least
half of the work of each is in stages that both have, and if no order of stages contradicts another. The others are a
mixture: each kind is a class.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from mrdsl.exchange.logs.records import SparkApplication, SparkJob, StageRun
from mrdsl.formulas.stages import in_order
from mrdsl.profiling.losses import complete_stages, planned

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


Shape = tuple[tuple[int, ...], ...]
"""For every stage of a run the places of those that it comes after."""


@dataclass(frozen=True)
class Ran:
    """A stage that ran, its retries with it."""

    number: int
    title: str
    tasks: int
    durations: tuple[int, ...]
    after: tuple[int, ...]
    delay: int = 0
    operators: str = ""
    shuffled: int = 0
    slots: int = 1
    barrier: bool = False


def ran_stages(application: SparkApplication) -> tuple[Ran, ...]:
    """Return the stages of an application that ran, in the order of their numbers."""
    attempts: dict[int, list[StageRun]] = {}
    for stage in application.stages:
        if stage.launches:
            attempts.setdefault(stage.stage, []).append(stage)
    places = {number: place for place, number in enumerate(sorted(attempts))}
    before, complete = _job_order(application.jobs, attempts), complete_stages(application)
    stages = []
    for number in sorted(attempts):
        runs = attempts[number]
        durations = tuple(max(0, value) for run in runs for value in run.durations)
        parents = {parent for run in runs for parent in run.parents if parent in places} | before.get(number, set())
        after = tuple(sorted(places[parent] for parent in parents if parent < number))
        tasks, operators = planned(runs, number in complete), runs[0].operators
        shuffled = sum(run.shuffle_read for run in runs)
        about = {"operators": operators, "shuffled": shuffled, "slots": runs[0].slots, "barrier": runs[0].barrier}
        stages.append(Ran(number, runs[0].name, tasks, durations, after, **about))  # type: ignore[arg-type]
    delays = delays_of(application, [stage.number for stage in stages], [stage.after for stage in stages])
    return tuple(replace(stage, delay=delay) for stage, delay in zip(stages, delays, strict=True))


def shape_of(application: SparkApplication) -> Shape:
    """Return the graph of its stages that ran."""
    return tuple(stage.after for stage in ran_stages(application))


def _job_order(jobs: Sequence[SparkJob], ran: dict[int, list[StageRun]]) -> dict[int, set[int]]:
    """For the first stages of every job the last ones of the jobs before it."""
    taken: set[int] = set()
    own: list[tuple[SparkJob, set[int]]] = []
    for job in jobs:
        mine = {stage for stage in job.stages if stage in ran} - taken
        taken |= mine
        if mine:
            own.append((job, mine))
    before: dict[int, set[int]] = {}
    for job, mine in own:
        lasts = {last for other in _just_before(job, own) for last in _last(other, ran)}
        for stage in mine:
            if not any(parent in mine for run in ran[stage] for parent in run.parents):
                before[stage] = lasts
    return before


def _just_before(job: SparkJob, own: Sequence[tuple[SparkJob, set[int]]]) -> Iterator[set[int]]:
    """Yield the stages of each job that had ended when this one was submitted, but of those before others of them."""
    if job.submitted is None:
        return
    ended = [(other, mine) for other, mine in own if other.ended is not None and other.ended <= job.submitted]
    latest = max((other.submitted or 0 for other, _ in ended), default=0)
    for other, mine in ended:
        if other.ended is not None and (other.ended > latest or other.submitted == latest):
            yield mine


def _last(mine: set[int], ran: dict[int, list[StageRun]]) -> set[int]:
    followed = {parent for stage in mine for run in ran[stage] for parent in run.parents}
    return mine - followed


COMMON = 0.5
"""The share of the work of runs that are alike in stages that they have in common."""
_NUMBERS, _NOWHERE = re.compile(r"[0-9]+"), re.compile(r" at (<unknown>|\w+Accessor\w*\.java):0$")
"""Numbers in titles, and the call sites that Spark records if it does not know the line of a program in Python."""
Key = tuple[str, int]
"""What a stage does, and how many stages before it do the same."""


@dataclass(frozen=True)
class Alike:
    """Runs that are alike, by place: the graph of all their stages, and each stage in each run, None without it."""

    runs: tuple[int, ...]
    after: Shape
    stages: tuple[tuple[Ran | None, ...], ...]


@dataclass
class _Graph:
    parents: dict[Key, set[Key]]
    work: Counter[Key]
    runs: list[int] = field(default_factory=list)

    def share(self, keys: Iterable[Key]) -> float:
        """Return the share of the work that is in these stages."""
        every = self.work.total()
        return sum(self.work[key] for key in keys) / every if every else 1.0

    def is_like(self, other: _Graph) -> bool:
        common = self.parents.keys() & other.parents.keys()
        if min(self.share(common), other.share(common)) < COMMON:
            return False
        return len(_in_order(_joined(self.parents, other.parents))) == len(self.parents | other.parents)

    def take(self, other: _Graph) -> None:
        self.parents = _joined(self.parents, other.parents)
        self.work.update(other.work)
        self.runs += other.runs


def alike(runs: Sequence[tuple[Ran, ...]]) -> list[Alike]:
    """Return the kinds of runs, each run in one of them, the most frequent graph of stages first."""
    keys = [_keys(run) for run in runs]
    same: dict[tuple[tuple[Key, ...], Shape], list[int]] = {}
    for place, (run, own) in enumerate(zip(runs, keys, strict=True)):
        same.setdefault((own, tuple(stage.after for stage in run)), []).append(place)
    graphs: list[_Graph] = []
    for (own, after), places in sorted(same.items(), key=lambda each: -len(each[1])):
        parents = {key: {own[parent] for parent in before} for key, before in zip(own, after, strict=True)}
        work = Counter[Key]()
        for place in places:
            for key, stage in zip(own, runs[place], strict=True):
                work[key] += sum(stage.durations)
        graph = _Graph(parents, work, places)
        like = next((other for other in graphs if other.is_like(graph)), None)
        if like is None:
            graphs.append(graph)
        else:
            like.take(graph)
    return [_aligned(graph, runs, keys) for graph in graphs]


def _keys(run: Sequence[Ran]) -> tuple[Key, ...]:
    """Return the key of each stage of a run.

    Spark numbers stages that do not depend on each other in any order, so those of one kind are counted by those that
    they come after, and then by their numbers of tasks.
    """
    seen = Counter[str]()
    keys: dict[int, Key] = {}
    depths: list[int] = []
    for stage in run:
        depths.append(1 + max((depths[before] for before in stage.after), default=0))
    for _, level in groupby(sorted(range(len(run)), key=depths.__getitem__), depths.__getitem__):
        for place in sorted(level, key=lambda each: (sorted(keys[one] for one in run[each].after), -run[each].tasks)):
            what = f"{_NUMBERS.sub('', _NOWHERE.sub('', run[place].title))} {run[place].operators}"
            keys[place] = what, seen[what]
            seen[what] += 1
    return tuple(keys[place] for place in range(len(run)))


def _joined(some: Mapping[Key, set[Key]], others: Mapping[Key, set[Key]]) -> dict[Key, set[Key]]:
    return {
        key: some.get(key, set()) | others.get(key, set()) for key in (*some, *(k for k in others if k not in some))
    }


def _in_order(parents: Mapping[Key, set[Key]]) -> list[Key]:
    """Return the stages after their predecessors, otherwise in the given order; those of a cycle are left out."""
    keys = list(parents)
    places = {key: place for place, key in enumerate(keys)}
    numbers = [tuple(places.get(parent, places[key]) for parent in parents[key]) for key in keys]
    return [keys[place] for place in in_order(tuple(numbers))]


def _aligned(graph: _Graph, runs: Sequence[tuple[Ran, ...]], keys: Sequence[tuple[Key, ...]]) -> Alike:
    order = _in_order(graph.parents)
    places = {key: place for place, key in enumerate(order)}
    members = sorted(graph.runs)
    found = [dict(zip(keys[place], runs[place], strict=True)) for place in members]
    return Alike(
        tuple(members),
        tuple(tuple(sorted(places[parent] for parent in graph.parents[key])) for key in order),
        tuple(tuple(run.get(key) for run in found) for key in order),
    )
