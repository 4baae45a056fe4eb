"""A constant cluster: the fewest machines that meet every deadline, size and end weighed together, with a bound."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import Diagnostic, impossible, number_of
from mrdsl.core.rounding import PROVEN
from mrdsl.core.watching import LateError
from mrdsl.families.timetable.bounds import fewest_machines, least_cost
from mrdsl.families.timetable.facts import TimetableFacts
from mrdsl.families.timetable.night import Night
from mrdsl.families.timetable.rented import Rented
from mrdsl.families.timetable.reserved import constant_of
from mrdsl.families.timetable.slots import Placed, in_time
from mrdsl.formulas.quotas import counts


@dataclass(frozen=True)
class Found:
    """The best timetable of one way to rent, a bound on its cost, and a message if there is proven to be none."""

    best: Rented | None
    bound: float
    impossible: Diagnostic | None = None
    others: tuple[Sequence[Placed | None], ...] = ()

    @property
    def is_open(self) -> bool:
        """True if there may be a cheaper timetable, or one at all if none is known."""
        return self.bound < inf if self.best is None else self.best.value - self.bound > PROVEN * self.best.value


def constant(draft: Draft, night: Night, repairs: int, sizes: int) -> Found:
    """Plan a constant cluster: at most ``repairs`` tries of each order, and ``sizes`` sizes above the fewest.

    Stops early if the time limit ends.
    """
    fewest = fewest_machines(night)
    available = night.machine.available
    if available is not None and fewest > available:
        return Found(None, inf, too_few(draft.spec.facts, night, fewest))
    found = _smallest(draft, night, fewest, repairs)
    if found is None:
        return Found(None, least_cost(night, fewest, inf))
    count, placed = found
    best, others = constant_of(night, count, placed), [placed]
    with suppress(LateError):
        for more in range(count + 1, count + sizes + 1):
            if available is not None and more > available:
                break
            if least_cost(night, more, best.value) >= best.value:
                break
            other = in_time(night, more * night.machine.slots, _orders(night, more * night.machine.slots), repairs)
            if other is not None:
                others.append(other)
                if (cost := constant_of(night, more, other)).value < best.value:
                    best = cost
    return Found(best, least_cost(night, fewest, best.value), None, tuple(others))


def too_few(facts: TimetableFacts, night: Night, fewest: int) -> Diagnostic:
    """Return the message that there are fewer VMs than any timetable takes."""
    machine = night.machine
    vm = next(each for each in facts.vms if each.name == machine.vm)
    there, place, more = f"{machine.available} are available", vm.span_of("available"), f"available = {fewest}"
    if vm.available is None or vm.available != machine.available:
        of_type = [each for each in facts.quotas if counts(each, vm.name)]
        quota = min(of_type or facts.quotas, key=lambda each: each.cores)
        there = f"quota {quota.name} has cores for {machine.available}"
        masters = {each.name: each.masters for each in facts.vms if each.masters and counts(quota, each.name)}
        if masters:
            there += f" and {number_of(sum(masters.values()), 'master')}"
        cores = {each.name: each.cores or 0.0 for each in facts.vms}
        needed = fewest * cores[vm.name] * bool(of_type) + sum(cores[name] * n for name, n in masters.items())
        place, more = quota.span_of("cores"), f"cores = {needed:g}"
    return impossible(
        "impossible-deadline",
        f"to meet every deadline takes {number_of(fewest, 'VM')} of {machine.name} at once, and {there}",
        place,
        f"write {more} or more, or give the runs longer deadlines",
    )


def _smallest(draft: Draft, night: Night, fewest: int, repairs: int) -> tuple[int, list[Placed]] | None:
    """Return the smallest size from ``fewest`` on with all runs on time, and the runs; None if there is none."""
    each, most = night.machine.slots, night.machine.available
    low, step = fewest - 1, max(1, fewest // 200)
    high, found = fewest, None
    while found is None:
        found = in_time(night, high * each, _orders(night, high * each), repairs)
        if found is None:
            if most is not None and high >= most:
                return None
            low, high, step = high, high + step, 2 * step
            high = high if most is None else min(high, most)
    with suppress(LateError):
        while high - low > 1:
            middle = (low + high) // 2
            other = in_time(night, middle * each, _orders(night, middle * each), repairs)
            if other is None:
                low = middle
            else:
                high, found = middle, other
    return high, found


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
