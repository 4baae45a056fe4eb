"""Rentals one after the other, each as long as runs keep it busy: a machine that stays, and others for the rest.

A rental begins as late as its first run allows, so that runs that were released meanwhile wait for it. Runs join it in
the order of their latest starts if that costs less than a part of a rental of their own. The others are left to later
rentals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mrdsl.families.timetable.night import Night
from mrdsl.families.timetable.slots import Placed, Slots, place

PARTS = (1.0, 0.2)
"""Parts of the cost of a rental of its own that a run may add to a rental."""
REFUSED = 60
"""Runs in a row that do not join a rental, after which it ends."""


def layered(night: Night, part: float) -> list[Placed | None]:
    """Return all runs on rentals of as many machines as the widest run that is left needs.

    Runs that are late on any number of machines are left out.
    """
    return _Layers(night, part).found()


class _Layers:
    """The runs that are left, and those that have a place."""

    def __init__(self, night: Night, part: float) -> None:
        self.night, self.part = night, part
        self.needs = [_fewest_of(night, index) for index in range(len(night.runs))]
        self.placed: list[Placed | None] = [None] * len(night.runs)
        self.paths: dict[tuple[int, int], int] = {}

    def found(self) -> list[Placed | None]:
        """Return the place of each run."""
        left = list(range(len(self.night.runs)))
        while left:
            width = max(self.needs[run] for run in left)
            left.sort(key=lambda run: (self._latest(run, width), run))
            left = self._rental(left, width)
        return self.placed

    def _rental(self, waiting: Sequence[int], width: int) -> list[int]:
        """Place runs on a rental of some machines, and return those that are left."""
        night, machine = self.night, self.night.machine
        first = next(place for place, run in enumerate(waiting) if 2 * self.needs[run] > width)
        begin = self._latest(waiting[first], width)
        slots, end, refused = Slots(width * machine.slots, begin), begin, 0
        left = list(waiting[:first])
        for at in range(first, len(waiting)):
            index = waiting[at]
            run = night.runs[index]
            if refused > REFUSED:
                left += waiting[at:]
                break
            before = slots.times.copy(), slots.free.copy()
            found = place(slots, night.jobs[run.job], replace(run, ready=max(run.ready, begin)))
            fine = found.end <= run.due and (run.start_by is None or found.first <= run.start_by)
            if fine and at > first:
                paid = machine.billed(machine.boot + end - begin)
                more = machine.billed(machine.boot + max(end, found.end) - begin) - paid
                alone = machine.billed(machine.boot + self._path(run.job, width))
                fine = more <= (self.part * alone if 2 * self.needs[index] > width else 0)
            if fine:
                self.placed[index], end, refused = found, max(end, found.end), 0
            else:
                slots.times, slots.free = before
                left.append(index)
                refused += 1
                if at == first:  # stages side by side take slots from each other
                    if self.needs[index] * machine.slots >= sum(stage.tasks for stage in night.jobs[run.job].stages):
                        left.remove(index)
                    self.needs[index] *= 2
                    return [*left, *waiting[at + 1 :]]
        return left

    def _path(self, job: int, width: int) -> int:
        key = job, width
        if key not in self.paths:
            self.paths[key] = self.night.jobs[job].path(width * self.night.machine.slots)
        return self.paths[key]

    def _latest(self, index: int, width: int) -> int:
        run = self.night.runs[index]
        latest = run.due - self._path(run.job, width)
        return latest if run.start_by is None else min(latest, run.start_by)


def _fewest_of(night: Night, index: int) -> int:
    """Return the fewest machines on which a run ends within its window, at least 1."""
    run, slots = night.runs[index], night.machine.slots
    job = night.jobs[run.job]
    low, high = 0, -(-max(stage.tasks for stage in job.stages) // slots)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if job.path(middle * slots) <= run.due - run.ready else (middle, high)
    return high
