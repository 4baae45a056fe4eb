"""Tasks as arcs between events, the activity-on-arc form: one time per event instead of one constraint per path.

A DAG has exponentially many paths; "the delays along every path add up to at most D'" holds exactly where every event
can be given a time so that each task's delay lies between its start and its finish event.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrdsl.core.kept_values import kept
from mrdsl.families.deadline.levels import Floats, Ints, Levels
from mrdsl.families.deadline.workload import Tasks


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


def network_of(tasks: Tasks) -> Network:
    """The plain network: two events per task, one per group that others wait for. It is kept on the tasks."""
    return kept(tasks, "_network", lambda: _network_of(tasks))


def _network_of(tasks: Tasks) -> Network:
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
