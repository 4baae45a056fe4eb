"""From start times as they are written to seconds after the midnight before the first, or after offset 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from mrdsl.core.clock import DAY_SECONDS as DAY
from mrdsl.core.clock import Clock, parse_clock
from mrdsl.families.timetable.facts import JobClass, TimetableFacts

Moment = float | str


@dataclass(frozen=True)
class Calendar:
    """Origin of times: ``first_day`` is the ordinal of that day if times have dates, otherwise None."""

    clock: bool
    first_day: int | None = None

    def seconds(self, written: Moment, after: float = -inf) -> float:
        """Return the seconds of a time.

        A clock time without a date is the first one later than `after`; without `after`, it is on day 0.
        """
        if not isinstance(written, str):
            return float(written)
        time = parse_clock(written)
        assert time is not None, written
        if time.day is not None:
            assert self.first_day is not None
            return float((time.day - self.first_day) * DAY + time.seconds)
        if after == -inf:
            return float(time.seconds)
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


def calendar_of(facts: TimetableFacts) -> Calendar:
    """Return the calendar of a spec."""
    clocks = [parse_clock(each) for _, _, each in moments_of(facts) if isinstance(each, str)]
    days = [clock.day for clock in clocks if isinstance(clock, Clock) and clock.day is not None]
    return Calendar(bool(clocks), min(days) if days else None)


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
