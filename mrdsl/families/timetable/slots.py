"""A timetable of slots: how many are free from when to when, and the insertion of runs at the earliest fit."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mrdsl.core.watching import look
from mrdsl.families.timetable.night import Job, Night, Run

FOREVER = 1 << 100
ROUNDS, INSERTIONS = 60, 60_000
"""Rounds in which late runs move forward, and insertions of runs in all rounds, at most."""
EVERY_SIZE = 200
"""Sizes up to which all are tried for stages that may run at the same time."""
Waves = list[tuple[int, int, int]]
"""Tasks that start together: the stage, the start, how many."""


class Slots:
    """Free slots over time, as a step function: ``free[i]`` from ``times[i]`` to the next time."""

    def __init__(self, count: int, begin: int, end: int | None = None) -> None:
        self.times = [begin, FOREVER] if end is None else [-FOREVER, begin, end, FOREVER]
        self.free = [count, 0] if end is None else [0, count, 0, 0]

    def insert(self, tasks: int, ticks: int, ready: int, parts: int = 1) -> list[tuple[int, int]]:
        """Reserve slots for alike tasks of ``parts`` slots, each as early as these are free for all of its time.

        Returns when they start and the slots; never raises, since the last step is free for ever.
        """
        placed: list[tuple[int, int]] = []
        start = ready
        while tasks:
            found = self.earliest(ticks, start, parts)
            assert found is not None
            start, free, index, last = found
            count = free - free % parts if free < tasks else tasks
            placed.append((start, count))
            tasks -= count
            self._take(index, last, start, start + ticks, count)
        return placed

    def earliest(self, ticks: int, ready: int, parts: int = 1) -> tuple[int, int, int, int] | None:
        """Return the earliest time from ``ready`` on at which slots are free for ``ticks``; None if there is none.

        With it, how many are free, and the first and the last step of that time.
        """
        times, free = self.times, self.free
        index, steps = bisect_right(times, ready) - 1, len(times) - 1
        start = ready
        while index < steps:
            end, last, least = start + ticks, index, free[index]
            blocked = index if least < parts else -1
            while blocked < 0 and times[last + 1] < end:
                last += 1
                if free[last] < least:
                    least = free[last]
                    if least < parts:
                        blocked = last
            if blocked < 0:
                return start, least, index, last
            index = blocked + 1
            start = times[index]
        return None

    def _take(self, index: int, last: int, start: int, end: int, count: int) -> int:
        """Take slots from start to end, which begin in step ``index`` and end in ``last``; return the step of start."""
        times, free = self.times, self.free
        if times[last + 1] > end:
            times.insert(last + 1, end)
            free.insert(last + 1, free[last])
        if times[index] < start:
            index += 1
            last += 1
            times.insert(index, start)
            free.insert(index, free[index - 1])
        for each in range(index, last + 1):
            free[each] -= count
        if last + 1 < len(free) - 1 and free[last + 1] == free[last]:
            del times[last + 1], free[last + 1]
        if index and free[index] == free[index - 1]:
            del times[index], free[index]
            index -= 1
        return index

    def starts(self, first: int, last: int, tasks: int, ticks: int) -> Iterator[int]:
        """Yield ``first`` and later steps, up to ``last``, from which on ``tasks`` slots are free for ``ticks``."""
        index = bisect_right(self.times, first) - 1
        start = first
        while start <= last:
            step = index
            while self.free[step] >= tasks and self.times[step + 1] < start + ticks:
                step += 1
            if self.free[step] >= tasks:
                yield start
                step = index
            index = step + 1
            start = self.times[index]

    def take(self, tasks: int, ticks: int, start: int) -> None:
        """Reserve slots that are free, for all tasks at once; give them back for a negative number."""
        index = bisect_right(self.times, start) - 1
        last = index
        while self.times[last + 1] < start + ticks:
            last += 1
        self._take(index, last, start, start + ticks, tasks)


@dataclass(frozen=True)
class Placed:
    """A run in the timetable: its waves, and when its first task starts and its last one ends."""

    waves: Waves
    first: int
    end: int


def place(slots: Slots, job: Job, run: Run) -> Placed:
    """Insert a run: every stage at the earliest fit after its predecessors."""
    look()
    ends = [0] * len(job.stages)
    waves: Waves = []
    for index in job.order:
        stage = job.stages[index]
        ready = max((ends[before] for before in stage.after), default=run.ready)
        placed = slots.insert(stage.tasks, stage.ticks, ready, stage.parts)
        waves += [(index, start, count) for start, count in placed]
        ends[index] = max(start for start, _ in placed) + stage.ticks
    return Placed(waves, min(start for _, start, _ in waves), max(ends))


def sizes_of(job: Job, slots: int) -> list[int]:
    """Return the sizes at which a stage takes fewer waves than on one machine less, in order.

    ``ceil(tasks / (k * slots))`` is constant between them, so for stages one after the other no other size is cheaper.
    """
    found = {1}
    for stage in job.stages:
        whole = -(-stage.tasks // slots)
        size = 1
        while size < whole:
            waves = -(-whole // size)
            size = -(-whole // (waves - 1))
            found.add(size)
    if not job.is_chain:
        most = -(-sum(each.tasks for each in job.stages) // slots)
        found |= {*range(1, min(EVERY_SIZE, most) + 1), most}
    return sorted(found)


def insert_all(night: Night, count: int, order: Iterable[int]) -> tuple[list[Placed], list[int]]:
    """Return all runs on ``count`` slots, inserted in order, and the indices of late ones."""
    slots = Slots(count, night.first - night.machine.boot)
    placed: list[Placed | None] = [None] * len(night.runs)
    late: list[int] = []
    for index in order:
        run = night.runs[index]
        found = placed[index] = place(slots, night.jobs[run.job], run)
        if found.end > run.due or (run.start_by is not None and found.first > run.start_by):
            late.append(index)
    return [each for each in placed if each is not None], late


def in_time(night: Night, count: int, orders: Sequence[Sequence[int]], repairs: int) -> list[Placed] | None:
    """Return all runs on time, by the first order that achieves it; repairs move late runs to the front.

    If no order does, late runs of the first one move forward by twice their lateness, round by round.
    """
    for each in orders:
        order, before = list(each), len(night.runs) + 1
        front: dict[int, None] = {}
        for _ in range(repairs):
            placed, late = insert_all(night, count, order)
            if not late:
                return placed
            if len(late) > before and len(late) > 8:
                break
            before = len(late)
            known = len(front)
            front |= dict.fromkeys(late)
            if len(front) == known:
                front = dict.fromkeys([*late, *(one for one in front if one not in set(late))])
            order = [*front, *(one for one in each if one not in front)]
    return moved_forward(night, count, orders[0])


def moved_forward(night: Night, count: int, order: Sequence[int]) -> list[Placed] | None:
    """Return all runs on time, or None: in each round late runs are due twice their lateness earlier than before.

    The first order is by due times. This is the squeaky wheel optimization of Joslin and Clements (1999).
    """
    key = [run.due for run in night.runs]
    for _ in range(min(ROUNDS, INSERTIONS // len(night.runs))):
        placed, late = insert_all(night, count, order)
        if not late:
            return placed
        for index in late:
            key[index] -= 2 * max(placed[index].end - night.runs[index].due, 1)
        order = sorted(order, key=lambda index: key[index])
    return None
