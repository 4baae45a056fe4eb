"""Machines that are rented as runs need them: batches of delayed runs, and releases from other timetables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

from mrdsl.core.watching import until_late
from mrdsl.families.timetable.assigned import elastic_of
from mrdsl.families.timetable.methods.opened import opened
from mrdsl.families.timetable.night import Night, Run
from mrdsl.families.timetable.rented import Rented, most_at_once
from mrdsl.families.timetable.reserved import with_reserved
from mrdsl.families.timetable.slots import Placed, Slots, place
from mrdsl.families.timetable.types import alone

OTHERS, FEW = 2, 500
"""Timetables whose machines are released, if there are more runs than a few."""
LONGEST = 64
"""Runs of a batch at most."""
BATCHED = 2000
"""Runs up to which batches are tried."""
TRIES = 8
"""Starts of a batch that are tried."""
WORSE = 8
"""Longer batches that are no improvement before no longer one is tried."""
EVALUATIONS = 12_000
"""Stages of batches that are scheduled at most; beyond, batches are shorter."""


def batched(night: Night) -> list[Placed | None]:
    """Return the runs in the cheapest sequence of batches, each on machines of its own that start late.

    Between batches, runs may be left out for their penalties.
    """
    batches = _Batches(night)
    count = len(night.runs)
    order = batches.order
    best = [0.0] + [inf] * count
    chosen: list[tuple[int, Sequence[Placed | None]]] = [(0, [])] * (count + 1)
    longest = max(2, min(LONGEST, EVALUATIONS // stages_of(night)))
    for begin in range(count):
        penalty = night.penalties[night.runs[order[begin]].job]
        if penalty is not None and best[begin] + penalty < best[begin + 1]:
            best[begin + 1], chosen[begin + 1] = best[begin] + penalty, (begin, [None])
        worse = 0
        for end in range(begin + 1, min(count, begin + longest) + 1):
            cost, together = batches.cheapest(begin, end)
            worse += 1
            if best[begin] + cost < best[end]:
                best[end] = best[begin] + cost
                chosen[end] = begin, together
                worse = 0
            if worse == WORSE:
                break
    found: dict[int, Placed | None] = {}
    end = count
    while end:
        begin, placed = chosen[end]
        found.update(zip(order[begin:end], placed, strict=True))
        end = begin
    return [found[index] for index in range(count)]


def stages_of(night: Night) -> int:
    """Return the stages of all runs."""
    return sum(len(night.jobs[run.job].stages) for run in night.runs)


class _Batches:
    """Batches of consecutive runs; alike batches are scheduled once."""

    def __init__(self, night: Night) -> None:
        self.night = night
        paths = [job.path() for job in night.jobs]
        runs = night.runs
        self.order = sorted(range(len(runs)), key=lambda at: (runs[at].due - paths[runs[at].job], runs[at].ready, at))
        self.known: dict[tuple[tuple[int, ...], ...], tuple[float, list[Placed]]] = {}
        self.least: dict[tuple[int, int], int] = {}

    def cheapest(self, begin: int, end: int) -> tuple[float, list[Placed]]:
        """Return the cost and the timetable of the runs in these places of the order."""
        runs = [self.night.runs[index] for index in self.order[begin:end]]
        first = min(run.ready for run in runs)
        key = tuple(
            (run.job, run.ready - first, run.due - first, -1 if run.start_by is None else run.start_by - first)
            for run in runs
        )
        if key not in self.known:
            self.known[key] = self._cheapest([_moved(run, -first) for run in runs])
        cost, placed = self.known[key]
        return cost, [shifted(each, first) for each in placed]

    def _cheapest(self, runs: list[Run]) -> tuple[float, list[Placed]]:
        night, machine = self.night, self.night.machine
        work = sum(night.jobs[run.job].work for run in runs)
        window = max(run.due for run in runs) - min(run.ready for run in runs)
        if window <= 0:  # startups take as long as the windows
            return inf, []
        least = max(-(-work // (window * machine.slots)), *(self._least_of(run) for run in runs))
        best: tuple[float, list[Placed]] = inf, []
        size, tried = least, 0
        most = -(-sum(stage.tasks for run in runs for stage in night.jobs[run.job].stages) // machine.slots)
        while tried < 2 and size <= max(most, least):
            found = self._latest(runs, size)
            if found is None:
                size = min(size + max(1, size // 4), most) if size < most else max(size, most) + 1
                continue
            tried += 1
            span = max(each.end for each in found) - min(each.first for each in found)
            cost = size * machine.price * machine.billed(machine.boot + span) / 1e9
            if cost < best[0]:
                best = cost, found
            size += 1
        return best

    def _least_of(self, run: Run) -> int:
        """Return the fewest machines on which a run may end within its window, at least 1."""
        window = run.due - run.ready
        key = run.job, window
        if key not in self.least:
            job, slots = self.night.jobs[run.job], self.night.machine.slots
            low, high = 0, -(-max(stage.tasks for stage in job.stages) // slots)
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if job.path(middle * slots) <= window else (middle, high)
            self.least[key] = high
        return self.least[key]

    def _latest(self, runs: list[Run], size: int) -> list[Placed] | None:
        """Return the runs from a late start on at which all of them end on time, None if none was found.

        A start at which some are late is moved forward by the latest one's lateness.
        """
        low = min(run.ready for run in runs)
        slots = size * self.night.machine.slots
        start = min(self._latest_of(run, self.night.jobs[run.job].path(slots)) for run in runs)
        for _ in range(TRIES):
            placed = self._scheduled(runs, slots, start)
            late = max(self._lateness(run, each) for run, each in zip(runs, placed, strict=True))
            if late <= 0:
                return placed
            if start <= low:
                return None
            start = max(low, start - late)
        return None

    def _latest_of(self, run: Run, path: int) -> int:
        latest = run.due - path
        return latest if run.start_by is None else min(latest, run.start_by)

    def _lateness(self, run: Run, placed: Placed) -> int:
        late = placed.end - run.due
        return late if run.start_by is None else max(late, placed.first - run.start_by)

    def _scheduled(self, runs: list[Run], count: int, start: int) -> list[Placed]:
        slots = Slots(count, min(start, min(run.ready for run in runs)))
        return [place(slots, self.night.jobs[run.job], replace(run, ready=max(run.ready, start))) for run in runs]


def _moved(run: Run, by: int) -> Run:
    start_by = None if run.start_by is None else run.start_by + by
    return replace(run, release=run.release + by, ready=run.ready + by, due=run.due + by, start_by=start_by)


def shifted(placed: Placed, by: int) -> Placed:
    """Return a run as much later."""
    waves = [(stage, start + by, count) for stage, start, count in placed.waves]
    return Placed(waves, placed.first + by, placed.end + by)


def elastic(night: Night, others: Sequence[Sequence[Placed | None]]) -> Rented | None:
    """Return the cheapest elastic timetable of batches and other timetables whose machines are released."""
    most = night.machine.available
    found = [
        with_reserved(alone(night), each)
        for each in until_late(_candidates(night, others))
        if most is None or most_at_once(each.leases, masters=False) <= most
    ]
    return min(found, key=lambda each: each.value, default=None)


def _candidates(night: Night, others: Sequence[Sequence[Placed | None]]) -> Iterator[Rented]:
    for placed in others[: OTHERS if len(night.runs) > FEW else None]:
        yield elastic_of(night, placed)
    if len(night.runs) <= BATCHED:
        yield elastic_of(night, batched(night))
    best = min(until_late(opened(night)), key=lambda each: each.value, default=None)
    if best is not None:
        yield best
        yield elastic_of(night, best.placed)
