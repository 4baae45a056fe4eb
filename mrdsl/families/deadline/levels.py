"""Events in an order in which every arc leads onwards, and what is summed up along it.

Wide networks go a whole level at a time, in arrays; in deep ones, whose levels have few arcs, a plain loop over the
arcs is many times faster than arrays of a few elements. Both give the same numbers to the last digit.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NARROW = 60
"""Arcs per level, on average, up to which the loop over arcs is taken."""


class Levels:
    """Arcs sorted by the level of their ends: the longest way, in arcs, from an event without predecessors.

    Lengths of arcs are at least 0. Raises ValueError where the arcs form a cycle.
    """

    def __init__(self, events: int, tails: Ints, heads: Ints) -> None:
        self.events, self.tails, self.heads = events, tails, heads
        self.level = _levels(events, tails, heads)
        self.narrow = len(tails) <= NARROW * (int(self.level.max(initial=0)) + 1)

    def longest(self, lengths: Floats) -> Floats:
        """The longest path from any first event to each event; 0 at the first events."""
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
        """``time`` of each event lowered so that every arc of the given length fits before its head."""
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
        """A flow from the first events to the last: what enters an event leaves it in the given shares.

        ``shares`` of the arcs out of an event add up to 1; ``entering`` starts at each event. Gives the flow of each
        arc and what passes each event.
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
        """The arcs by the level of their events ``ends``, then by these, with their tails and heads."""
        order = np.lexsort((ends, self.level[ends]))
        return order, self.tails[order].tolist(), self.heads[order].tolist()

    def _grouped(self, ends: Ints) -> list[tuple[Ints, Ints, Ints, Ints]]:
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


def distinct(numbers: Ints) -> Ints:
    """Whole numbers in order, each once, by sorting: ``numpy.unique`` hashes them first and takes 20 times as long."""
    ordered = np.sort(numbers)
    first = np.ones(len(ordered), dtype=bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


def _levels(events: int, tails: Ints, heads: Ints) -> Ints:
    """The level of each event, by Kahn's algorithm."""
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
