"""From start times as they are written to seconds after the midnight before the first, or after offset 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import inf

from mrdsl.core.lazy import kept
from mrdsl.core.units import DAY_SECONDS as DAY
from mrdsl.core.units import Clock, parse_clock
from mrdsl.families.timetable.facts import JobClass, TimetableFacts

Moment = float | str


@dataclass(frozen=True)
class Calendar:
    """Origin of times: ``first_day`` is the ordinal of that day if times have dates, otherwise None.

    Clock times before ``begin`` are on the next day [s after midnight]; ``moved`` is True if the spec does not say it.
    """

    clock: bool
    first_day: int | None = None
    begin: float = 0.0
    moved: bool = False

    def seconds(self, written: Moment, after: float = -inf) -> float:
        """Return the seconds of a time.

        A clock time without a date is the first one later than `after`; without `after`, the first from `begin` on.
        """
        if not isinstance(written, str):
            return float(written)
        time = parse_clock(written)
        assert time is not None, written
        if time.day is not None:
            assert self.first_day is not None
            return float((time.day - self.first_day) * DAY + time.seconds)
        if after == -inf:
            return float(time.seconds + DAY * (time.seconds < self.begin))
        days = (after - time.seconds) // DAY + 1 if after >= time.seconds else 0
        return float(time.seconds + days * DAY)


def moments_of(facts: TimetableFacts) -> Iterator[tuple[JobClass | None, str, Moment]]:
    """Yield every point in time in a spec: its class or None, its item, its value."""
    for node in facts.classes:
        if node.runs is None:
            continue
        if node.runs.from_ is not None:
            yield node, "from", node.runs.from_
        for each in node.runs.at:
            yield node, "at", each
        if node.due is not None:
            yield node, "due", node.due
    if facts.horizon is not None:
        yield None, "horizon", facts.horizon
    if facts.begin is not None:
        yield None, "begin", facts.begin


def calendar_of(facts: TimetableFacts) -> Calendar:
    """Return the calendar of a spec."""
    clocks = [parse_clock(each) for _, _, each in moments_of(facts) if isinstance(each, str)]
    days = [clock.day for clock in clocks if isinstance(clock, Clock) and clock.day is not None]
    calendar = Calendar(bool(clocks), min(days) if days else None)
    if not clocks or days:
        return calendar
    if facts.begin is not None:
        return replace(calendar, begin=calendar.seconds(facts.begin))
    begin = kept(facts, "origin of clock times", lambda: _begin(facts, calendar))
    return replace(calendar, begin=begin, moved=begin > 0.0)


def _begin(facts: TimetableFacts, calendar: Calendar) -> float:
    """Return the release from which on all releases take the shortest time [s]; 0 for midnight if none takes less.

    The first runs of classes before that release move to the next day, with all runs of their class.
    """
    times = [releases_of(node, calendar) for node in facts.classes if node.runs is not None]
    spans = sorted((each[0], max(each)) for each in times)
    earlier = [-inf, *accumulate((last for _, last in spans), max)]
    later = [*accumulate((last for _, last in reversed(spans)), max)][::-1]
    found = [(max(later[place], earlier[place] + DAY) - first, place) for place, (first, _) in enumerate(spans)]
    _, place = min(found, default=(0.0, 0))
    return spans[place][0] if place else 0.0


def releases_of(node: JobClass, calendar: Calendar) -> Sequence[float]:
    """Return the releases of the runs of a class [s]."""
    runs = node.runs
    assert runs is not None
    if runs.at:
        times: list[float] = []
        for each in runs.at:
            times.append(calendar.seconds(each, times[-1] if times else -inf))
        return times
    assert runs.from_ is not None
    first, every = calendar.seconds(runs.from_), runs.every or 0.0
    return [first + number * every for number in range(runs.times or 1)]


def due_of(node: JobClass, number: int, release: float, calendar: Calendar) -> float:
    """Return the due time of a run with the given number, from 0 on, and release [s]."""
    own = node.runs.deadlines[number] if node.runs is not None and node.runs.deadlines else None
    if own is not None:
        return release + own
    if node.due is None:
        assert node.deadline is not None
        return release + node.deadline
    return calendar.seconds(node.due, release)


def horizon_of(facts: TimetableFacts, calendar: Calendar, last: float) -> float | None:
    """Return the end of the plan [s], the first such clock time after the last release; None if it is not given."""
    return None if facts.horizon is None else calendar.seconds(facts.horizon, last)
