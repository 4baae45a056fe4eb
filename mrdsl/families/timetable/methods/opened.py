"""Rentals of whole periods that open if a run would be late without them.

Runs are inserted in the order of their latest starts, each as early as it fits on the machines that are open. If it
would be late, the fewest more machines open for whole periods, so late that runs which were released meanwhile wait
for them. This is the lazy binning of Bender et al. (2013), "Efficient scheduling to minimize calibrations", for jobs
of several stages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import inf
from random import Random

from mrdsl.core.watching import look
from mrdsl.families.timetable.assigned import Opened, Wave, opened_of
from mrdsl.families.timetable.night import Night, Run
from mrdsl.families.timetable.rented import Rented
from mrdsl.families.timetable.slots import Placed, Slots

EARLY = (0.5, 0.25, 0.75, 0.0, 1.0)
"""How much earlier rentals open than as late as possible, as a part of the time that is left."""
FEW, OTHERS = 500, 2
"""Runs up to which all of these parts are tried, and how many of them beyond."""
TRIES = 8
"""Times from which more machines are tried."""
GROWTH = 1.5
"""Factor between the numbers of machines that are tried."""
REPLACED, WORSE = 600_000, 20
"""Stages that are tried on machines at most while rentals are replaced, and times for each rental without success."""
TOGETHER = 4
"""Rentals that are taken out together at most."""
NOISE = 0.3
"""Part of a period by which the order of runs is changed when they are inserted again."""
PERIODS = (2.5, 10.0)
"""Lengths of rentals in boots if billing periods are shorter."""


class _Open:
    """Alike machines that hold tasks from ``begin`` to ``end``."""

    __slots__ = ("begin", "count", "end", "slots")

    def __init__(self, begin: int, end: int, count: int, slots: int) -> None:
        self.begin, self.end, self.count = begin, end, count
        self.slots = Slots(count * slots, begin, end)


@dataclass(frozen=True)
class _Tried:
    """Where the tasks of a run are: machines, stage, start, ticks, how many; ``end`` is None if some are late."""

    tasks: Sequence[tuple[_Open, int, int, int, int]]
    end: int | None

    @property
    def first(self) -> int:
        """When the first task starts."""
        return min(start for _, _, start, _, _ in self.tasks)

    def take_again(self) -> None:
        """Take the slots of all tasks that were freed."""
        for machines, _, start, ticks, count in self.tasks:
            machines.slots.take(count, ticks, start)

    def give_back(self) -> None:
        """Free the slots of all tasks."""
        for machines, _, start, ticks, count in self.tasks:
            machines.slots.take(-count, ticks, start)


def opened(night: Night) -> Iterator[Rented]:
    """Yield timetables on rentals that open in whole periods, of several lengths and from several times on.

    If billing periods are long, rentals of the cheapest one are then replaced by others, some at a time.
    """
    best: _Opening | None = None
    few = len(night.runs) <= FEW
    for period in periods_of(night):
        for early in EARLY if few else EARLY[:OTHERS]:
            opening = _Opening(night, period, early)
            if opening.insert(opening.order()):
                yield opening.found()
                if best is None or opening.rented() < best.rented():
                    best = opening
    if best is not None and few and best.period == best.machine.billed(1):
        best.replace()
        yield best.found()


def periods_of(night: Night) -> list[int]:
    """Return the lengths of rentals to try, in whole billing periods [ticks]."""
    machine = night.machine
    shortest = max(machine.boot, min(night.jobs[run.job].path() for run in night.runs))
    return list(dict.fromkeys(machine.billed(round(by * shortest)) for by in PERIODS))


class _Opening:
    """The machines that are open, and the runs that have a place."""

    def __init__(self, night: Night, period: int, early: float) -> None:
        self.night, self.period, self.early = night, period, early
        self.machine = night.machine
        self.there: list[_Open] = []
        self.tried: list[_Tried | None] = [None] * len(night.runs)
        self.tries = 0
        self.paths: dict[tuple[int, int], int] = {}
        self.widest = [sum(stage.tasks for stage in job.stages) for job in night.jobs]
        self.tails = [job.tails(width) for job, width in zip(night.jobs, self.widest, strict=True)]
        self.needs = [self._fewest(run) for run in night.runs]

    def found(self) -> Rented:
        """Return all runs and the machines that they open."""
        placed: list[Placed | None] = [None] * len(self.night.runs)
        waves: dict[_Open, list[Wave]] = {each: [] for each in self.there}
        for index, tried in enumerate(self.tried):
            if tried is not None and tried.end is not None:
                mine = [(stage, start, count) for _, stage, start, _, count in tried.tasks]
                placed[index] = Placed(mine, tried.first, tried.end)
                for machines, stage, start, ticks, count in tried.tasks:
                    waves[machines].append((start, ticks, index, stage, count))
        opened = (Opened(each.begin, each.end, each.count, waves[each]) for each in self.there)
        return opened_of(self.night, opened, placed)

    def order(self) -> list[int]:
        """Return the runs in the order of their latest starts."""
        return sorted(range(len(self.night.runs)), key=lambda index: (self._latest(index), index))

    def insert(self, order: Sequence[int], most: float = inf) -> bool:
        """Insert runs; return False if a mandatory one is late, or the machine time exceeds ``most``."""
        night = self.night
        for index in order:
            run = night.runs[index]
            near = [each for each in self.there if each.end > run.ready and each.begin < run.due]
            tried = self._tried(run, near)
            if not self._in_time(run, tried):
                tried.give_back()
                more = self._opened(run, near)
                if more is None and night.penalties[run.job] is None:
                    return False
                if more is not None:
                    self.there.append(more)
                    tried = self._tried(run, [*near, more])
                if self.rented() > most:
                    if more is not None:
                        tried.give_back()
                    return False
                if more is None:
                    continue
            self.tried[index] = tried
        return True

    def rented(self) -> int:
        """Return the machine time of all rentals [ticks]."""
        return sum(each.count * self._rented(each) for each in self.there)

    def replace(self) -> None:
        """Take out some rentals that are near each other, and insert their runs again, if that costs no more."""
        random, self.tries = Random(1), 0
        least, worse = self.rented(), 0
        while self.tries < REPLACED and worse < WORSE * len(self.there):
            first = random.choice(self.there)
            begin, end = first.begin - self.period, first.end + self.period
            near = [each for each in self.there if each is not first and each.begin < end and each.end > begin]
            out = [first, *random.sample(near, min(len(near), random.randrange(TOGETHER)))]
            there, before = list(self.there), list(self.tried)
            self.there = [each for each in there if each not in out]
            keys = {}
            for index, tried in enumerate(before):
                if tried is not None and any(machines in out for machines, *_ in tried.tasks):
                    tried.give_back()
                    self.tried[index] = None
                    keys[index] = self._latest(index) + random.random() * NOISE * self.period
            if not self.insert(sorted(keys, key=lambda index: (keys[index], index)), least):
                for index in keys:
                    now, then = self.tried[index], before[index]
                    if now is not None:
                        now.give_back()
                    assert then is not None
                    then.take_again()
                self.there, self.tried = there, before
            worse = 0 if self.rented() < least else worse + 1
            least = self.rented()

    def _path(self, job: int, machines: int) -> int:
        key = job, machines
        if key not in self.paths:
            self.paths[key] = self.night.jobs[job].path(machines * self.machine.slots)
        return self.paths[key]

    def _most(self, job: int) -> int:
        """Return the machines on which a run has a slot for each task."""
        return -(-self.widest[job] // self.machine.slots)

    def _fewest(self, run: Run) -> int:
        """Return the fewest machines on which a run ends within its window, at least 1."""
        low, high = 0, self._most(run.job)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._path(run.job, middle) <= run.due - run.ready else (middle, high)
        return high

    def _latest(self, index: int) -> int:
        run = self.night.runs[index]
        return self._by(run, run.due - self._path(run.job, self.needs[index]))

    def _by(self, run: Run, start: int) -> int:
        return start if run.start_by is None else min(start, run.start_by)

    def _in_time(self, run: Run, tried: _Tried) -> bool:
        return tried.end is not None and (run.start_by is None or tried.first <= run.start_by)

    def _tried(self, run: Run, there: Sequence[_Open]) -> _Tried:
        """Take slots for a run: its stages in order, each task at the earliest fit on any machine."""
        look()
        job, tails = self.night.jobs[run.job], self.tails[run.job]
        self.tries += len(job.stages) * len(there)
        ends = [0] * len(job.stages)
        tasks: list[tuple[_Open, int, int, int, int]] = []
        for index in job.order:
            ticks, left, parts = job.stages[index].ticks, job.stages[index].tasks, job.stages[index].parts
            ready = max((ends[before] for before in job.stages[index].after), default=run.ready)
            latest = run.due - tails[index] - ticks
            heap = []
            for place, each in enumerate(there):
                if each.end >= ready + ticks and each.begin <= latest:
                    fit = each.slots.earliest(ticks, max(ready, each.begin), parts)
                    if fit is not None and fit[0] <= latest:
                        heap.append((fit[0], each.end, place, fit))
            heapify(heap)
            end = ready
            while left:
                if not heap:
                    return _Tried(tasks, None)
                start, _, place, fit = heappop(heap)
                each = there[place]
                count = min(fit[1] - fit[1] % parts, left)
                each.slots.take(count, ticks, start)
                tasks.append((each, index, start, ticks, count))
                left -= count
                end = max(end, start + ticks)
                again = each.slots.earliest(ticks, start, parts) if left else None
                if again is not None and again[0] <= latest:
                    heappush(heap, (again[0], each.end, place, again))
            ends[index] = end
        return _Tried(tasks, max(ends))

    def _opened(self, run: Run, near: Sequence[_Open]) -> _Open | None:
        """Return the machines to open for a run that cost least; None if it is late on any number of them.

        Numbers grow by a factor, and the fewest machines that do are found between two of them.
        """
        best: _Open | None = None
        most, least = self._most(run.job), 0
        count, late = 1, 0
        while best is None or count * self.period < least:
            more = self._from(run, near, count)
            low, high = late, count
            while more is not None and high - low > 1:
                middle = (low + high) // 2
                fewer = self._from(run, near, middle)
                low, high, more = (
                    (low, middle, fewer)
                    if fewer and self._rented(fewer) <= self._rented(more)
                    else (middle, high, more)
                )
            if more is None:
                late = count
            elif best is None or high * self._rented(more) < least:
                best, least = more, high * self._rented(more)
            if count == most:
                break
            count = min(most, max(count + 1, int(count * GROWTH)))
        return best

    def _rented(self, machines: _Open) -> int:
        return machines.end - machines.begin + self.machine.boot

    def _paid(self, ticks: int) -> int:
        """Return the whole periods of a rental that holds tasks for these ticks."""
        return -(-(ticks + self.machine.boot) // self.period) * self.period

    def _from(self, run: Run, near: Sequence[_Open], count: int) -> _Open | None:
        """Return as many more machines from a late time on with which a run ends in time; None if there is none."""
        start = self._by(run, run.due - self._path(run.job, self._most(run.job)))
        start = max(run.ready, start)
        step = max((start - run.ready) // (TRIES - 1), 1)
        start = max(run.ready, round(start - self.early * (start - run.ready)))
        while True:
            span = self._paid(min(run.due - start, self._path(run.job, count))) - self.machine.boot
            more = _Open(start, start + span, count, self.machine.slots)
            tried = self._tried(run, [*near, more])
            tried.give_back()
            if self._in_time(run, tried):
                return more
            if start <= run.ready:
                return None
            start = max(run.ready, start - step)
