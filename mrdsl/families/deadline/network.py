"""Tasks as arcs between events, the activity-on-arc form: one time per event instead of one constraint per path.

A DAG has exponentially many paths. "The delays along every path add up to at most D'" holds under one condition: every
event has a time so that each task's delay fits between its start and its finish event.

Sums follow the order of events. Wide networks process a whole level at a time, in arrays. Deep networks have few arcs
per level: a plain loop over the arcs is many times faster there. Both give the same numbers to the last digit. The
objectives of a deadline spec are functions of the tasks' slacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.lazy import kept
from mrdsl.families.deadline.workload import Tasks
from mrdsl.spec.spec import Spec

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NARROW = 60
"""Arcs per level, on average, up to which the loop over arcs is taken."""


class Levels:
    """Arcs sorted by the level of their ends: the longest way, in arcs, from an event without predecessors.

    Lengths of arcs are at least 0. Raises ValueError if the arcs form a cycle.
    """

    def __init__(self, events: int, tails: Ints, heads: Ints) -> None:
        self.events, self.tails, self.heads = events, tails, heads
        self.level = _levels(events, tails, heads)
        self.narrow = len(tails) <= NARROW * (int(self.level.max(initial=0)) + 1)

    def longest(self, lengths: Floats) -> Floats:
        """Return the longest path from any first event to each event; 0 at the first events."""
        if self.narrow:
            reached = [0.0] * self.events
            order, tails, heads = self._by_head
            for a, b, length in zip(tails, heads, lengths[order].tolist(), strict=True):
                end = reached[a] + length
                if end > reached[b]:
                    reached[b] = end
            return np.array(reached)
        time = np.zeros(self.events)
        for arcs, ends, begins, _ in self._forward:
            time[ends] = np.maximum.reduceat(time[self.tails[arcs]] + lengths[arcs], begins)
        return time

    def longest_with(self, lengths: Floats, carried: Floats) -> tuple[Floats, Floats]:
        """As :meth:`longest`, with the sum of ``carried`` along one longest path to each event."""
        if self.narrow:
            return self._longest_with(lengths, carried)
        time, sums = np.zeros(self.events), np.zeros(self.events)
        for arcs, ends, begins, place in self._forward:
            reached = time[self.tails[arcs]] + lengths[arcs]
            time[ends] = np.maximum.reduceat(reached, begins)
            longest = np.flatnonzero(reached == time[ends][place])
            first = longest[np.flatnonzero(np.diff(place[longest], prepend=-1))]
            sums[ends] = sums[self.tails[arcs[first]]] + carried[arcs[first]]
        return time, sums

    def _longest_with(self, lengths: Floats, carried: Floats) -> tuple[Floats, Floats]:
        order, tails, heads = self._by_head
        reached, sums = np.where(self.level == 0, 0.0, -1.0).tolist(), [0.0] * self.events
        for a, b, length, more in zip(tails, heads, lengths[order].tolist(), carried[order].tolist(), strict=True):
            end = reached[a] + length
            if end > reached[b]:
                reached[b] = end
                sums[b] = sums[a] + more
        return np.array(reached), np.array(sums)

    def latest(self, lengths: Floats, time: Floats) -> Floats:
        """Return ``time`` of each event, lowered so that every arc of the given length fits before its head."""
        if self.narrow:
            last = time.tolist()
            order, tails, heads = self._by_tail
            for a, b, length in zip(tails[::-1], heads[::-1], lengths[order][::-1].tolist(), strict=True):
                start = last[b] - length
                if start < last[a]:
                    last[a] = start
            return np.array(last)
        for arcs, ends, begins, _ in reversed(self._backward):
            bound = np.minimum.reduceat(time[self.heads[arcs]] - lengths[arcs], begins)
            time[ends] = np.minimum(time[ends], bound)
        return time

    def pushed(self, shares: Floats, entering: Floats) -> tuple[Floats, Floats]:
        """Return a flow from the first events to the last: the inflow of an event leaves it in the given shares.

        ``shares`` of the arcs out of an event add up to 1; ``entering`` starts at each event. The result is the flow of
        each arc and the flow through each event.
        """
        flow = np.zeros(len(self.tails))
        if self.narrow:
            passing, flows = entering.tolist(), []
            order, tails, heads = self._by_tail
            for a, b, share in zip(tails, heads, shares[order].tolist(), strict=True):
                part = passing[a] * share
                flows.append(part)
                passing[b] += part
            flow[order] = flows
            return flow, np.array(passing)
        passed = entering.copy()
        for arcs, ends, _, place in self._backward:
            flow[arcs] = passed[ends][place] * shares[arcs]
            np.add.at(passed, self.heads[arcs], flow[arcs])
        return flow, passed

    @cached_property
    def _by_head(self) -> tuple[Ints, list[int], list[int]]:
        return self._listed(self.heads)

    @cached_property
    def _by_tail(self) -> tuple[Ints, list[int], list[int]]:
        return self._listed(self.tails)

    @cached_property
    def _forward(self) -> list[tuple[Ints, Ints, Ints, Ints]]:
        return self._grouped(self.heads)

    @cached_property
    def _backward(self) -> list[tuple[Ints, Ints, Ints, Ints]]:
        return self._grouped(self.tails)

    def _listed(self, ends: Ints) -> tuple[Ints, list[int], list[int]]:
        """Return the arcs by the level of their events ``ends``, then by these, with their tails and heads."""
        order = np.lexsort((ends, self.level[ends]))
        return order, self.tails[order].tolist(), self.heads[order].tolist()

    def _grouped(self, ends: Ints) -> list[tuple[Ints, Ints, Ints, Ints]]:
        """Return the arcs that end in each level (by ``ends``), from the first.

        Each level has its arcs, its events, the start of each event's arcs, and the index of each arc's event.
        """
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


def distinct(numbers: Ints) -> Ints:
    """Whole numbers in order, each once, by sorting: ``numpy.unique`` hashes them first and takes 20 times as long."""
    ordered = np.sort(numbers)
    first = np.ones(len(ordered), dtype=bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


def _levels(events: int, tails: Ints, heads: Ints) -> Ints:
    """Return the level of each event, by Kahn's algorithm."""
    order = np.argsort(tails, kind="stable")
    starts = np.searchsorted(tails[order], np.arange(events + 1)).tolist()
    ends = heads[order].tolist()
    waiting = np.bincount(heads, minlength=events)
    ready = np.flatnonzero(waiting == 0).tolist()
    left, level, reached = waiting.tolist(), [0] * events, 0
    while ready:
        event = ready.pop()
        reached += 1
        depth = level[event] + 1
        for after in ends[starts[event] : starts[event + 1]]:
            if level[after] < depth:
                level[after] = depth
            left[after] -= 1
            if not left[after]:
                ready.append(after)
    if reached < events:
        raise ValueError("the arcs form a cycle")
    return np.array(level, dtype=np.int64)


@dataclass(frozen=True)
class Network:
    """Events 0 (submission), 1..g (the deadlines of the g DAGs), and the others between them.

    ``tail`` and ``head`` are each task's start and finish event, ``before`` and ``later`` the ends of the pure order
    arcs. ``duration``, ``weight`` and ``dag`` (a number from 0) have one element per task; the weight of a group is
    that of all its members. ``deadlines`` are the times of the events 1..g; event 0 has time 0.
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
        """Number of events, the first ones, that have a given time."""
        return 1 + len(self.deadlines)

    @cached_property
    def times(self) -> Floats:
        """The given times of the first events."""
        return np.concatenate([[0.0], self.deadlines])

    @cached_property
    def arcs(self) -> tuple[Ints, Ints]:
        """Tails and heads of all arcs: the tasks, then the pure order arcs."""
        return np.concatenate([self.tail, self.before]), np.concatenate([self.head, self.later])

    @cached_property
    def levels(self) -> Levels:
        """The events in topological order."""
        return Levels(self.events, *self.arcs)

    def order_lengths(self, lengths: Floats) -> Floats:
        """Return the lengths of all arcs, given those of the tasks: the others have length 0."""
        return np.concatenate([lengths, np.zeros(len(self.before))])

    def earliest(self, lengths: Floats) -> Floats:
        """Return the longest path from the submission to each event if task i takes ``lengths[i]``."""
        return self.levels.longest(self.order_lengths(lengths))

    def longest_with(self, lengths: Floats, carried: Floats) -> tuple[Floats, Floats]:
        """Return the length of a longest path of each DAG, and the sum of ``carried`` over its tasks."""
        time, sums = self.levels.longest_with(self.order_lengths(lengths), self.order_lengths(carried))
        return time[1 : self.fixed], sums[1 : self.fixed]

    def latest(self, lengths: Floats, ends: Floats | None = None) -> Floats:
        """Return the latest time of each event from which every task after it still meets its deadline, or ``ends``."""
        start = np.full(self.events, np.inf)
        start[1 : self.fixed] = self.deadlines if ends is None else ends
        return self.levels.latest(self.order_lengths(lengths), start)


def network_of(tasks: Tasks) -> Network:
    """Return the plain network: two events per task, one per group that others wait for. The tasks cache it."""
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
    """Return the numbers of the tasks on a longest path of a DAG, and its length in seconds."""
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


PRODUCT, RATIO, LEAST = "slack", "slack_ratio", "min_slack"


def goal_of(spec: Spec) -> str:
    """Return the quantity that the spec maximizes; by default the product of slacks."""
    return PRODUCT if spec.goal is None else spec.goal.quantity


def shares(goal: str, tasks: Tasks) -> Floats:
    """Return the slack of each task per unit of a max-min objective: its weight, times its duration for a ratio.

    A task of no duration has no ratio and gets a share of 0.
    """
    weight = np.array(tasks.weights, dtype=np.float64)
    return weight * np.array(tasks.durations) if goal == RATIO else weight


def value_of(goal: str, tasks: Tasks, network: Network, slack: Floats) -> float:
    """Return the objective: the sum of weight * ln(slack / 1 s) over all tasks, or the least slack per share."""
    if goal == PRODUCT:
        with np.errstate(divide="ignore"):
            return float(network.weight @ np.log(slack))
    share = shares(goal, tasks)
    counts = share > 0
    return float((slack[counts] / share[counts]).min(initial=np.inf))


def scale_of(value: float, weight: float) -> float:
    """Return the reference of a relative gap: the sum of logarithms, at least a hundredth of the weights.

    The sum is 0 if the slacks are 1 s: a number without meaning. A gap relative to the weights is a factor on the
    slacks' mean.
    """
    return max(abs(value), 0.01 * weight)
