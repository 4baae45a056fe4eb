"""Tasks as arcs between events, the activity-on-arc form: one time per event instead of one constraint per path.

A DAG has exponentially many paths; "the delays along every path add up to at most D'" holds exactly where every event
can be given a time so that each task's delay lies between its start and its finish event.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mrdsl.families.deadline.workload import Tasks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Network:
    """Events 0 (submission), 1..g (the deadlines of the g DAGs), and the others between them.

    ``tail`` and ``head`` are each task's start and finish event, ``before`` and ``later`` the ends of the arcs that
    only keep order. ``duration``, ``weight`` and ``dag`` (a number from 0) have one element per task; the weight of a
    group is that of all its members. ``deadlines`` are the times of the events 1..g; event 0 has time 0.
    """

    events: int
    tail: Ints
    head: Ints
    duration: Floats
    weight: Floats
    dag: Ints
    before: Ints
    later: Ints
    deadlines: Floats

    @property
    def fixed(self) -> int:
        """How many events, the first ones, have a given time."""
        return 1 + len(self.deadlines)

    @cached_property
    def times(self) -> Floats:
        """The given times of the first events."""
        return np.concatenate([[0.0], self.deadlines])

    @cached_property
    def arcs(self) -> tuple[Ints, Ints]:
        """Tails and heads of all arcs: the tasks, then those that only keep order."""
        return np.concatenate([self.tail, self.before]), np.concatenate([self.head, self.later])

    @cached_property
    def levels(self) -> Levels:
        """The events in topological order."""
        return Levels(self.events, *self.arcs)

    def order_lengths(self, lengths: Floats) -> Floats:
        """The lengths of all arcs where the tasks have the given ones: the others have none."""
        return np.concatenate([lengths, np.zeros(len(self.before))])

    def earliest(self, lengths: Floats) -> Floats:
        """The longest path from the submission to each event where task i takes ``lengths[i]``."""
        return self.levels.longest(self.order_lengths(lengths))

    def longest_with(self, lengths: Floats, carried: Floats) -> tuple[Floats, Floats]:
        """Per DAG the length of a longest path, and what its tasks carry in all."""
        time, sums = self.levels.longest_with(self.order_lengths(lengths), self.order_lengths(carried))
        return time[1 : self.fixed], sums[1 : self.fixed]

    def latest(self, lengths: Floats, ends: Floats | None = None) -> Floats:
        """The latest time of each event from which every task after it still keeps its deadline, or ``ends``."""
        start = np.full(self.events, np.inf)
        start[1 : self.fixed] = self.deadlines if ends is None else ends
        return self.levels.latest(self.order_lengths(lengths), start)


class Levels:
    """Arcs sorted by the level of their ends: the longest way, in arcs, from an event without predecessors."""

    def __init__(self, events: int, tails: Ints, heads: Ints) -> None:
        self.events, self.tails, self.heads = events, tails, heads
        self.level = self._levels()
        self._forward = self._sorted(heads)
        self._backward = self._sorted(tails)

    def _levels(self) -> Ints:
        """Kahn's algorithm, a whole level at once. Raises ValueError where the arcs form a cycle."""
        order = np.argsort(self.tails, kind="stable")
        starts = np.searchsorted(self.tails[order], np.arange(self.events + 1))
        heads = self.heads[order]
        waiting = np.bincount(self.heads, minlength=self.events)
        level = np.full(self.events, -1, dtype=np.int64)
        ready = np.flatnonzero(waiting == 0)
        depth = 0
        while len(ready):
            level[ready] = depth
            reached = heads[ranges(starts[ready], starts[ready + 1])]
            np.subtract.at(waiting, reached, 1)
            next_level = reached[waiting[reached] == 0]
            ready = np.unique(next_level) if len(next_level) > 1 else next_level
            depth += 1
        if (level < 0).any():
            raise ValueError("the arcs form a cycle")
        return level

    def _sorted(self, ends: Ints) -> list[tuple[Ints, Ints, Ints, Ints]]:
        """Per level, from the first: the arcs that end there (by ``ends``), the events, where each one's begin, and
        the place of each arc's event among them."""
        order = np.lexsort((ends, self.level[ends]))
        sorted_ends = ends[order]
        changes = np.diff(sorted_ends, prepend=-1) != 0
        firsts = np.flatnonzero(changes)
        place = np.cumsum(changes) - 1
        groups = []
        levels = self.level[sorted_ends[firsts]]
        cuts = np.flatnonzero(np.diff(levels, prepend=-1))
        for low, high in zip(cuts, [*cuts[1:], len(firsts)], strict=True):
            start = firsts[low]
            end = firsts[high] if high < len(firsts) else len(order)
            events = sorted_ends[firsts[low:high]]
            groups.append((order[start:end], events, firsts[low:high] - start, place[start:end] - low))
        return groups

    def longest(self, lengths: Floats) -> Floats:
        """The longest path from any first event to each event; 0 at the first events."""
        time = np.zeros(self.events)
        for arcs, ends, begins, _ in self._forward:
            time[ends] = np.maximum.reduceat(time[self.tails[arcs]] + lengths[arcs], begins)
        return time

    def longest_with(self, lengths: Floats, carried: Floats) -> tuple[Floats, Floats]:
        """As :meth:`longest`, with the sum of ``carried`` along one longest path to each event."""
        time, sums = np.zeros(self.events), np.zeros(self.events)
        for arcs, ends, begins, place in self._forward:
            reached = time[self.tails[arcs]] + lengths[arcs]
            time[ends] = np.maximum.reduceat(reached, begins)
            longest = np.flatnonzero(reached == time[ends][place])
            first = longest[np.flatnonzero(np.diff(place[longest], prepend=-1))]
            sums[ends] = sums[self.tails[arcs[first]]] + carried[arcs[first]]
        return time, sums

    def latest(self, lengths: Floats, time: Floats) -> Floats:
        """``time`` of each event lowered so that every arc of the given length fits before its head."""
        for arcs, ends, begins, _ in reversed(self._backward):
            bound = np.minimum.reduceat(time[self.heads[arcs]] - lengths[arcs], begins)
            time[ends] = np.minimum(time[ends], bound)
        return time

    def pushed(self, shares: Floats, entering: Floats) -> tuple[Floats, Floats]:
        """A flow from the first events to the last: what enters an event leaves it in the given shares.

        ``shares`` of the arcs out of an event add up to 1; ``entering`` starts at each event. Gives the flow of each
        arc and what passes each event.
        """
        flow = np.zeros(len(self.tails))
        passing = entering.copy()
        for arcs, ends, _, place in self._backward:
            flow[arcs] = passing[ends][place] * shares[arcs]
            np.add.at(passing, self.heads[arcs], flow[arcs])
        return flow, passing


def ranges(starts: Ints, ends: Ints) -> Ints:
    """The numbers of all half-open ranges, one after the other.

    >>> ranges(np.array([2, 7]), np.array([4, 10])).tolist()
    [2, 3, 7, 8, 9]
    """
    counts = ends - starts
    total = int(counts.sum())
    offsets = np.repeat(starts - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    return np.asarray(np.arange(total) + offsets)


def network_of(tasks: Tasks) -> Network:
    """The plain network: two events per task, one per group that others wait for."""
    n, g = len(tasks), len(tasks.delays)
    first = 1 + g
    start, finish, group = first, first + n, first + 2 * n
    before: list[int] = []
    later: list[int] = []
    waited = np.zeros(n + len(tasks.groups), dtype=bool)
    for number, after in enumerate(tasks.after):
        for other in after:
            waited[other if other >= 0 else n + ~other] = True
            before.append(finish + other if other >= 0 else group + ~other)
        later += [start + number] * len(after)
        if not after:
            before.append(0)
            later.append(start + number)
    for number, members in enumerate(tasks.groups):
        if waited[n + number]:
            before += [finish + member for member in members]
            later += [group + number] * len(members)
            waited[list(members)] = True
    last = np.flatnonzero(~waited[:n])
    numbers = np.arange(n)
    return Network(
        events=first + 2 * n + len(tasks.groups),
        tail=start + numbers,
        head=finish + numbers,
        duration=np.array(tasks.durations, dtype=np.float64),
        weight=np.array(tasks.weights, dtype=np.float64) * np.array(tasks.counts),
        dag=np.array(tasks.dag, dtype=np.int64),
        before=np.concatenate([np.array(before, dtype=np.int64), finish + last]),
        later=np.concatenate([np.array(later, dtype=np.int64), 1 + np.array(tasks.dag, dtype=np.int64)[last]]),
        deadlines=np.array(tasks.delays, dtype=np.float64),
    )


def critical_path(tasks: Tasks, network: Network, dag: int) -> tuple[list[int], float]:
    """The numbers of the tasks on a longest path of a DAG, and its length in seconds."""
    earliest = network.earliest(network.duration)
    tails, heads = network.arcs
    order = np.argsort(heads, kind="stable")
    starts = np.searchsorted(heads[order], np.arange(network.events + 1))
    lengths = network.order_lengths(network.duration)
    event, path = 1 + dag, []
    while starts[event] < starts[event + 1]:
        arcs = order[starts[event] : starts[event + 1]]
        arc = int(arcs[np.argmax(earliest[tails[arcs]] + lengths[arcs])])
        if arc < len(tasks):
            path.append(arc)
        event = int(tails[arc])
    return path[::-1], float(earliest[1 + dag])
