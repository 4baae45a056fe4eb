"""Fast makespans of many orders at once, at task and slot level, equal to those of schedules one by one.

A machine is a row of times at which its slots become free, one row per order. If ``n`` tasks of length ``p`` go to
slots that are free from ``b``, they take the ``n`` smallest of the starts ``b_i + k p``. With ``b_i = z_i p + f_i``,
whole levels below some level ``Z`` are filled in every slot, and the rest goes to the slots of least ``f`` at ``Z``.
With the ``b_i`` sorted, ``Z`` has a closed form. So a phase costs a few array operations for any number of tasks. Times
are whole ticks in floats, and are never rounded.

If there are fewer phases than slots, slots that are free at the same time are one group with a count.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

NEVER = 2.0**70
BLOCK = 2**15


class Phases(Protocol):
    """The data of a batch for the evaluation: arrays of shape (n,), times in whole ticks, at least 1."""

    @property
    def map_tasks(self) -> Floats: ...
    @property
    def map_time(self) -> Floats: ...
    @property
    def reduce_tasks(self) -> Floats: ...
    @property
    def reduce_time(self) -> Floats: ...


class _Machine(Protocol):
    def place(self, tasks: Floats, time: Floats, release: Floats | None) -> Floats: ...


class _Slots:
    """One column per slot, in no order; a row with fewer slots has columns that never fall free."""

    def __init__(self, slots: Integers) -> None:
        self.width = int(slots.max())
        self.index = np.arange(self.width)
        self.slots = slots.astype(np.float64)
        self.uneven = bool((slots < self.width).any())
        self.free: Floats = np.where(self.index < slots[:, None], 0.0, NEVER)
        self.rows = np.arange(len(slots))
        self.level, self.fill = np.empty_like(self.free), np.empty_like(self.free)
        self.raised = np.empty(self.free.shape, dtype=bool)

    def place(self, tasks: Floats, time: Floats, release: Floats | None) -> Floats:
        """Run ``tasks`` tasks of length ``time`` in every row: the end of the last of them (of no use for 0 tasks)."""
        length = time[:, None]
        if release is not None:
            np.maximum(self.free, release[:, None], out=self.free)
        np.floor(np.divide(self.free, length, out=self.level), out=self.level)
        rest = self._fill(tasks)
        begin = self.fill
        begin *= length
        begin += self.free
        begin.sort(axis=1)
        ends: Floats = begin[self.rows, np.maximum(rest.astype(np.intp) - 1, 0)] + time
        np.less(self.index, rest[:, None], out=self.raised)
        np.add(begin, length, out=begin, where=self.raised)
        self.free, self.fill = begin, self.free
        return ends

    def _fill(self, tasks: Floats) -> Floats:
        """Set the number of tasks that bring each slot to the highest level that the tasks fill; return the rest.

        It is Newton's method from above on the convex, piecewise linear number of tasks below a level.
        """
        level, fill = self.level, self.fill
        wanted = np.maximum(tasks - 1.0, 0.0)
        total = np.where(self.free < NEVER, level, 0.0).sum(axis=1) if self.uneven else level.sum(axis=1)
        top = np.floor((wanted + total) / self.slots)
        np.subtract(top[:, None], level, out=fill)
        np.maximum(fill, 0.0, out=fill)
        filled = fill.sum(axis=1)
        over = np.flatnonzero(filled > wanted)
        while len(over):
            slope = np.count_nonzero(fill[over], axis=1)
            top[over] = np.floor(top[over] - (filled[over] - wanted[over]) / slope)
            fill[over] = np.maximum(top[over, None] - level[over], 0.0)
            filled[over] = fill[over].sum(axis=1)
            over = over[filled[over] > wanted[over]]
        return np.where(tasks > 0, tasks - filled, 0.0)


class _Groups:
    """One column per group of slots that fall free together, with how many they are; a group may be empty."""

    def __init__(self, slots: Integers, phases: int) -> None:
        self.width = phases + 1
        self.free: Floats = np.full((len(slots), self.width), NEVER)
        self.free[:, 0] = 0.0
        self.count: Floats = np.zeros_like(self.free)
        self.count[:, 0] = slots
        self.used = 1
        self.rows = np.arange(len(slots))

    def place(self, tasks: Floats, time: Floats, release: Floats | None) -> Floats:
        """Return as for :class:`_Slots`; here the level comes in closed form from the groups, which are kept in
        order.
        """
        length = time[:, None]
        free, count = self.free[:, : self.used], self.count[:, : self.used]
        begin = free if release is None else np.maximum(free, release[:, None])
        level = np.floor(begin / length)
        slots = np.cumsum(count, axis=1)
        total = np.cumsum(count * level, axis=1)
        last = np.maximum((slots * level - total < tasks[:, None]).sum(axis=1), 1) - 1
        reached, held = np.maximum(slots[self.rows, last], 1.0), total[self.rows, last]
        top = np.floor((tasks - 1.0 + held) / reached)
        rest = np.where(tasks > 0, tasks - (top * reached - held), 0.0)
        begin = begin + np.maximum(top[:, None] - level, 0.0) * np.where(tasks > 0, time, 0.0)[:, None]
        begin, count = self._sorted(begin, count)
        before = np.cumsum(count, axis=1) - count
        raised = np.clip(rest[:, None] - before, 0.0, count)
        split = np.maximum((before < rest[:, None]).sum(axis=1), 1) - 1
        ends: Floats = begin[self.rows, split] + time
        self._keep(begin, count, raised, split, length)
        return ends

    def _keep(self, begin: Floats, count: Floats, raised: Floats, split: Integers, length: Floats) -> None:
        """The groups after the last level; the one that is raised in part becomes two."""
        part = raised[self.rows, split]
        left = count[self.rows, split] - part
        later = begin + (raised > 0) * length
        new_time = later[self.rows, split]
        later[self.rows, split] = np.where(left > 0, begin[self.rows, split], new_time)
        count[self.rows, split] = np.where(left > 0, left, part)
        used = self.used
        self.free[:, :used], self.count[:, :used] = later, count
        self.free[:, used] = new_time
        self.count[:, used] = np.where(left > 0, part, 0.0)
        self.used = used = used + 1
        self.free[:, :used], self.count[:, :used] = self._sorted(self.free[:, :used], self.count[:, :used])

    @staticmethod
    def _sorted(free: Floats, count: Floats) -> tuple[Floats, Floats]:
        order = free.argsort(axis=1)
        return np.take_along_axis(free, order, axis=1), np.take_along_axis(count, order, axis=1)


def _machine(slots: Integers, phases: int) -> _Machine:
    return _Groups(slots, phases) if 8 * phases <= int(slots.max()) else _Slots(slots)


def map_ends(phases: Phases, orders: Integers, slots: Integers) -> Floats:
    """Return the end of the map phase of each entry of each row's order, shape of ``orders``; 0 for padding.

    ``orders``: shape (rows, entries), jobs as indices, -1 for none; ``slots``: shape (rows,).
    """
    tasks, time = _entries(phases.map_tasks, phases.map_time, orders)
    return np.where(tasks > 0, _run(tasks, time, None, slots), 0.0)


def reduce_ends(phases: Phases, orders: Integers, release: Floats, slots: Integers) -> Floats:
    """Return the end of each entry's reduce phase; entries run in the given order, each not before its release.

    The shapes are those of :func:`map_ends`. A job without reduce tasks ends at its release.
    """
    tasks, time = _entries(phases.reduce_tasks, phases.reduce_time, orders)
    return np.where(tasks > 0, _run(tasks, time, np.where(tasks > 0, release, 0.0), slots), release)


def _run(tasks: Floats, time: Floats, release: Floats | None, slots: Integers) -> Floats:
    machine = _machine(slots, tasks.shape[1])
    ends = np.empty(tasks.shape)
    for k in range(tasks.shape[1]):
        ends[:, k] = machine.place(tasks[:, k], time[:, k], None if release is None else release[:, k])
    return ends


def makespans(phases: Phases, orders: Integers, map_slots: Integers, reduce_slots: Integers) -> Floats:
    """Return the makespan of each row's order on its own pool, shape (rows,); rows are independent of each other."""
    if not orders.shape[1]:
        return np.zeros(len(orders))
    block = max(16, BLOCK // int(max(map_slots.max(), reduce_slots.max())))
    if len(orders) > block:
        parts = [slice(at, at + block) for at in range(0, len(orders), block)]
        return np.concatenate([makespans(phases, orders[p], map_slots[p], reduce_slots[p]) for p in parts])
    ends = map_ends(phases, orders, map_slots)
    turn = ends.argsort(axis=1, kind="stable")
    turned = np.take_along_axis(orders, turn, axis=1)
    released = np.take_along_axis(ends, turn, axis=1)
    last: Floats = reduce_ends(phases, turned, released, reduce_slots).max(axis=1)
    return last


def _entries(tasks: Floats, time: Floats, orders: Integers) -> tuple[Floats, Floats]:
    there = orders >= 0
    return np.where(there, tasks[orders], 0.0), np.where(there, time[orders], 1.0)
