"""Runs that may be left out: constant clusters that reject runs which are late or cost more than their penalty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mrdsl.families.timetable.bounds import fewest_machines
from mrdsl.families.timetable.night import Night
from mrdsl.families.timetable.rented import Rented
from mrdsl.families.timetable.reserved import constant_of
from mrdsl.families.timetable.slots import Placed, Slots, place

SIZES = 24
"""Sizes that are tried between the fewest machines of the mandatory runs and those of all runs."""


def has_optional(night: Night) -> bool:
    """Return True if some run may be left out."""
    return any(night.penalties[run.job] is not None for run in night.runs)


def mandatory(night: Night) -> Night:
    """Return the night without the runs that may be left out."""
    return replace(night, runs=tuple(run for run in night.runs if night.penalties[run.job] is None))


def admitting(night: Night) -> Iterator[Rented]:
    """Yield constant clusters of several sizes, each with runs that are left out."""
    must = mandatory(night)
    least = fewest_machines(must) if must.runs else 0
    fitting = tuple(run for run in night.runs if run.ready + night.jobs[run.job].path() <= run.due)
    most = max(least, fewest_machines(replace(night, runs=fitting)) if fitting else 0)
    if night.machine.available is not None:
        most = min(most, night.machine.available)
    if not must.runs:
        yield constant_of(night, 0, [None] * len(night.runs))
    step = max(1, (most - least) // SIZES)
    for count in range(max(1, least), most + step + 1, step):
        if night.machine.available is not None and count > night.machine.available:
            return
        for order in _orders(night):
            placed = _inserted(night, count * night.machine.slots, order)
            if placed is not None:
                yield _pruned(night, count, placed)


def _orders(night: Night) -> Iterator[list[int]]:
    """Yield orders of insertion: mandatory runs first, then those with the highest penalty for their slot time."""
    price = [-(penalty or 0.0) / job.work for penalty, job in zip(night.penalties, night.jobs, strict=True)]
    runs = night.runs
    yield sorted(
        range(len(runs)),
        key=lambda at: (night.penalties[runs[at].job] is not None, price[runs[at].job], runs[at].due, at),
    )
    yield sorted(range(len(runs)), key=lambda at: (night.penalties[runs[at].job] is not None, runs[at].due, at))


def _inserted(night: Night, count: int, order: Sequence[int]) -> list[Placed | None] | None:
    """Return the runs that end on time, inserted in order; None if a mandatory one does not."""
    slots = Slots(count, min(run.ready for run in night.runs))
    placed: list[Placed | None] = [None] * len(night.runs)
    for index in order:
        run = night.runs[index]
        before = list(slots.times), list(slots.free)
        found = place(slots, night.jobs[run.job], run)
        if found.end <= run.due and (run.start_by is None or found.first <= run.start_by):
            placed[index] = found
        elif night.penalties[run.job] is None:
            return None
        else:
            slots.times, slots.free = before
    return placed


def _pruned(night: Night, count: int, placed: list[Placed | None]) -> Rented:
    """Return the cluster without the first and last runs that cost more than their penalties."""
    ran = [index for index, each in enumerate(placed) if each is not None]
    best = constant_of(night, count, placed)
    last_first = sorted(ran, key=lambda at: -_end(placed[at]))
    for order in (last_first, sorted(ran, key=lambda at: night.runs[at].release)):
        kept = list(best.placed)
        for index in order:
            if kept[index] is None:
                continue
            penalty = night.penalties[night.runs[index].job]
            if penalty is None or penalty > best.cost:
                break
            kept[index] = None
            shorter = constant_of(night, count, list(kept))
            if shorter.value < best.value:
                best = shorter
    return best


def _end(placed: Placed | None) -> int:
    return 0 if placed is None else placed.end
