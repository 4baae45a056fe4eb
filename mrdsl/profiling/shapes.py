"""Runs of one name whose stages differ: stages are matched by what they do, and runs with other work are kept apart.

Adaptive execution and caching change the stages of a job from run to run. A stage is known by its title without
numbers, by the operators of its data sets, and by how often both came before in its run. Runs are alike if at least
half of the work of each is in stages that both have, and if no order of stages contradicts another. The others are a
mixture: each kind is a class.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from mrdsl.profiling.ran import Ran, Shape

COMMON = 0.5
"""The share of the work of runs that are alike in stages that they have in common."""
_NUMBERS = re.compile(r"\d+")
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
    seen = Counter[str]()
    keys = []
    for stage in run:
        what = f"{_NUMBERS.sub('', stage.title)} {stage.operators}"
        keys.append((what, seen[what]))
        seen[what] += 1
    return tuple(keys)


def _joined(some: Mapping[Key, set[Key]], others: Mapping[Key, set[Key]]) -> dict[Key, set[Key]]:
    return {
        key: some.get(key, set()) | others.get(key, set()) for key in (*some, *(k for k in others if k not in some))
    }


def _in_order(parents: Mapping[Key, set[Key]]) -> list[Key]:
    """Return the stages after their predecessors, otherwise in the given order; those of a cycle are left out."""
    keys = list(parents)
    places = {key: place for place, key in enumerate(keys)}
    waiting = {key: len(before) for key, before in parents.items()}
    followers: dict[Key, list[Key]] = {}
    for key, before in parents.items():
        for parent in before:
            followers.setdefault(parent, []).append(key)
    ready = [place for place, key in enumerate(keys) if not waiting[key]]
    found = []
    while ready:
        key = keys[heappop(ready)]
        found.append(key)
        for follower in followers.get(key, ()):
            waiting[follower] -= 1
            if not waiting[follower]:
                heappush(ready, places[follower])
    return found


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
