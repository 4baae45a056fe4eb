"""Machines that are rented as runs need them: batches of delayed runs, layers, and releases from other timetables."""

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
PARTS = (1.0, 0.2)
"""Parts of the cost of a rental of its own that a run may add to a rental."""
REFUSED = 60
"""Runs in a row that do not join a rental, after which it ends."""


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
    for part in PARTS:
        yield elastic_of(night, layered(night, part))
    if len(night.runs) <= BATCHED:
        yield elastic_of(night, batched(night))
    best = min(until_late(opened(night)), key=lambda each: each.value, default=None)
    if best is not None:
        yield best
        yield elastic_of(night, best.placed)


def layered(night: Night, part: float) -> list[Placed | None]:
    """Return all runs on rentals of as many machines as the widest run that is left needs, one after the other.

    A rental begins as late as its first run allows, so that runs that were released meanwhile wait for it. Runs join it
    in the order of their latest starts if that costs less than a part of a rental of their own. The others are left to
    later rentals. Runs that are late on any number of machines are left out.
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
