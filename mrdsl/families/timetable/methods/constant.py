"""A constant cluster: the fewest machines that meet every deadline, size and end weighed together, with a bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import impossible
from mrdsl.core.result import Termination
from mrdsl.core.rounding import PROVEN
from mrdsl.families.timetable.bounds import fewest_machines, least_cost
from mrdsl.families.timetable.facts import TimetableFacts
from mrdsl.families.timetable.night import TICK, Night, night_of
from mrdsl.families.timetable.plan import Rental, RunTimes, Tasks, TimetablePlan
from mrdsl.families.timetable.releases import calendar_of
from mrdsl.families.timetable.slots import Placed, in_time


def constant(draft: Draft, repairs: int = 6, sizes: int = 8) -> Draft:
    """Plan a constant cluster: at most ``repairs`` tries of each order, and ``sizes`` sizes above the fewest.

    Stops early if the time limit ends.
    """
    facts: TimetableFacts = draft.spec.facts
    night = night_of(facts)
    fewest = fewest_machines(night)
    available = night.machine.available
    if available is not None and fewest > available:
        told = impossible(
            "impossible-deadline",
            f"to meet every deadline takes {fewest} VMs of {night.machine.name} at once, and {available} are available",
            facts.vms[0].span_of("available"),
            f"write available = {fewest} or more, or give the runs longer deadlines",
        )
        return replace(draft, termination=Termination.INFEASIBLE, diagnostics=(*draft.diagnostics, told))
    found = _smallest(draft, night, fewest, repairs)
    if found is None:
        return replace(draft, bound=least_cost(night, fewest, float("inf")))
    count, placed = found
    best = _cost(night, count, placed), count, placed
    for more in range(count + 1, count + sizes + 1):
        if (available is not None and more > available) or _is_late(draft):
            break
        if least_cost(night, more, best[0]) >= best[0]:
            break
        other = in_time(night, more * night.machine.slots, _orders(night, more * night.machine.slots), repairs)
        if other is not None and _cost(night, more, other) < best[0]:
            best = _cost(night, more, other), more, other
    value, count, placed = best
    bound = least_cost(night, fewest, value)
    proven = value - bound <= PROVEN * abs(value)
    ended = Termination.TIME_LIMIT if _is_late(draft) and not proven else Termination.COMPLETED
    return replace(
        draft,
        plan=plan_of(facts, night, count, placed),
        value=value,
        bound=bound,
        termination=Termination.OPTIMAL if proven else ended,
    )


def _smallest(draft: Draft, night: Night, fewest: int, repairs: int) -> tuple[int, list[Placed]] | None:
    """Return the smallest size from ``fewest`` on with all runs on time, and the runs; None if there is none."""
    each, most = night.machine.slots, night.machine.available
    low, step = fewest - 1, max(1, fewest // 200)
    high, found = fewest, None
    while found is None:
        found = in_time(night, high * each, _orders(night, high * each), repairs)
        if found is None:
            if (most is not None and high >= most) or _is_late(draft):
                return None
            low, high, step = high, high + step, 2 * step
            high = high if most is None else min(high, most)
    while high - low > 1 and not _is_late(draft):
        middle = (low + high) // 2
        other = in_time(night, middle * each, _orders(night, middle * each), repairs)
        if other is None:
            low = middle
        else:
            high, found = middle, other
    return high, found


def _is_late(draft: Draft) -> bool:
    left = draft.seconds_left()
    return left is not None and left <= 0.01


def _orders(night: Night, slots: int) -> list[Sequence[int]]:
    """Return orders in which runs are inserted: by due time, by latest start, by release, by work within the window."""
    paths = [job.path(slots) for job in night.jobs]
    runs = list(enumerate(night.runs))
    keys = (
        lambda run: (run.due, run.release),
        lambda run: (run.due - paths[run.job], run.release),
        lambda run: (run.release, run.due),
        lambda run: (-night.jobs[run.job].work / (run.due - run.ready), run.due),
    )
    return [[index for index, _ in sorted(runs, key=lambda each, key=key: key(each[1]))] for key in keys]  # type: ignore[misc]


def _cost(night: Night, count: int, placed: Sequence[Placed]) -> float:
    return night.machine.cost(count, max(each.end for each in placed) - night.first + night.machine.boot)


def plan_of(facts: TimetableFacts, night: Night, count: int, placed: Sequence[Placed]) -> TimetablePlan:
    """Return the plan of runs on a constant cluster of ``count`` machines."""
    begin, end = night.first - night.machine.boot, max(each.end for each in placed)
    rented = count + night.machine.masters
    rental = Rental(night.machine.name, begin / TICK, end / TICK, night.machine.billed(end - begin) / TICK)
    calendar = calendar_of(facts)
    return TimetablePlan(
        rent="constant",
        machines=rented,
        vm=night.machine.name,
        rentals=(rental,) * rented,
        runs=tuple(run_times(night, placed)),
        cost=_cost(night, count, placed),
        slots=night.machine.slots,
        busy=sum(night.jobs[run.job].work for run in night.runs) / TICK,
        clock=calendar.clock,
        day=calendar.first_day,
        tasks=tasks_of(placed),
    )


def run_times(night: Night, placed: Sequence[Placed]) -> list[RunTimes]:
    """Return the start and the end of each run; a run with a startup starts as late as its first task allows."""
    times = []
    for run, each in zip(night.runs, placed, strict=True):
        start = each.first - night.startups[run.job]
        times.append(
            RunTimes(
                job=night.jobs[run.job].name,
                run=run.number + 1,
                release=run.release / TICK,
                start=(start if run.latest is None else min(start, run.latest)) / TICK,
                end=each.end / TICK,
                deadline=run.due / TICK,
            )
        )
    return times


def tasks_of(placed: Sequence[Placed]) -> Tasks:
    """Return the waves of all runs as columns, on any machine."""
    rows = [(index, *wave) for index, each in enumerate(placed) for wave in each.waves]
    run, stage, start, count = np.array(rows, dtype=np.int64).T
    return Tasks(run, stage, np.full(len(rows), -1, dtype=np.int64), start / TICK, count)
