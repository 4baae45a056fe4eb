"""Several VM types: each run on one of them, by a search over assignments of jobs, and of single runs, to types."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import inf

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.watching import LateError, look
from mrdsl.families.timetable.methods.one_type import Plans
from mrdsl.families.timetable.rented import Rented, joined, types_of, within_limits
from mrdsl.families.timetable.types import Market

WORK = 6000
"""Runs that are planned in all, over all assignments that are tried."""
SINGLE = 40
"""Runs up to which single ones are moved to other types."""
Assignment = tuple[int, ...]
"""The type of each run."""


def several(draft: Draft, market: Market, plans: Plans, way: str) -> Rented | None:
    """Return the cheapest timetable of several assignments of runs to VM types; None if none was found."""
    search = _Search(draft, market, plans, way)
    best, value = None, inf
    starts = [_cheapest(market), *(_preferring(market, vm) for vm in range(len(market.nights)))]
    with suppress(LateError):
        for start in dict.fromkeys(starts):
            if (cost := search.cost(start)) < value or best is None:
                best, value = start, cost
        assert best is not None
        groups = _groups(market, SINGLE)
        improved = True
        while improved and search.work <= WORK:
            improved = False
            for runs, types in groups:
                for vm in types:
                    moved = list(best)
                    for run in runs:
                        moved[run] = vm
                    if tuple(moved) != best and search.work <= WORK and (cost := search.cost(tuple(moved))) < value:
                        best, value, improved = tuple(moved), cost, True
    return search.rented(best) if best is not None and value < inf else None


def _groups(market: Market, most: int) -> list[tuple[list[int], list[int]]]:
    """Return runs that are moved together, and the types that they may be on: those of each job, and single ones."""
    jobs: dict[int, list[int]] = {}
    for index, run in enumerate(market.runs):
        jobs.setdefault(run.job, []).append(index)
    groups = [(runs, market.types_of(job)) for job, runs in jobs.items()]
    if len(market.runs) <= most:
        single = [job for job in jobs if job not in market.one and len(jobs[job]) > 1]
        groups += [([run], market.types_of(job)) for job in single for run in jobs[job]]
    return [(runs, types) for runs, types in groups if len(types) > 1]


def _cheapest(market: Market) -> Assignment:
    """Return each job on the type with the cheapest slot time, of those on which its runs end in their windows."""
    chosen = []
    for job in range(len(market.jobs)):
        mine = [index for index, run in enumerate(market.runs) if run.job == job]

        def spent(vm: int, job: int = job, mine: list[int] = mine) -> tuple[bool, float, int]:
            night = market.nights[vm]
            there = night.jobs[job]
            return (
                not all(market.fits(vm, run) for run in mine),
                there.work * night.machine.price / night.machine.slots,
                vm,
            )

        chosen.append(min(market.types_of(job), key=spent))
    return tuple(chosen[run.job] for run in market.runs)


def _preferring(market: Market, vm: int) -> Assignment:
    """Return all jobs on one type if they may run there, the others on their cheapest one."""
    others = _cheapest(market)
    apart = {run.job for index, run in enumerate(market.runs) if run.job in market.one and not market.fits(vm, index)}
    return tuple(
        vm if market.fits(vm, index) and run.job not in apart else others[index]
        for index, run in enumerate(market.runs)
    )


class _Search:
    """Costs of assignments; the runs of each type are planned once."""

    def __init__(self, draft: Draft, market: Market, plans: Plans, way: str) -> None:
        self.draft, self.market, self.plans, self.way = draft, market, plans, way
        self.known: dict[tuple[int, Sequence[int]], Rented | None] = {}
        self.work = 0

    def part(self, vm: int, runs: tuple[int, ...]) -> Rented | None:
        """Return the plan of some runs on a type; None if there is none."""
        key = vm, runs
        if key not in self.known:
            look()
            _, night = self.market.part(vm, runs)
            self.work += len(runs)
            fits = all(self.market.fits(vm, run) for run in runs)
            self.known[key] = self.plans.found(night, self.way).best if fits else None
        return self.known[key]

    def _penalty(self, run: int, vm: int) -> float | None:
        """Return the penalty of a run that is late on a type in any case; None if it is planned there."""
        return None if self.market.fits(vm, run) else self.market.penalties[self.market.runs[run].job]

    def _parts(self, assignment: Assignment) -> list[tuple[int, tuple[int, ...]]]:
        found = []
        for vm in range(len(self.market.nights)):
            runs = tuple(run for run, each in enumerate(assignment) if each == vm and self._penalty(run, vm) is None)
            if runs:
                found.append((vm, runs))
        return found

    def cost(self, assignment: Assignment) -> float:
        """Return the cost of an assignment, infinite if there is no plan."""
        found = self.rented(assignment)
        is_fine = found is not None and within_limits(self.market, found.leases, types_of(found))
        return found.value if found is not None and is_fine else inf

    def rented(self, assignment: Assignment) -> Rented | None:
        """Return the timetable of an assignment; None if there is none."""
        parts = []
        for vm, runs in self._parts(assignment):
            part = self.part(vm, runs)
            if part is None:
                return None
            parts.append((vm, runs, part))
        return joined(self.market, self.way, parts)
