"""Machines of its own for each run: the cheapest size by a search over all sizes that change the end of the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

from mrdsl.core.rounding import PROVEN
from mrdsl.core.watching import is_late
from mrdsl.families.timetable.exact import solve_exactly
from mrdsl.families.timetable.limits import Limit
from mrdsl.families.timetable.night import Job, Machine, Night, Run
from mrdsl.families.timetable.per_job_program import is_limited, per_job_program
from mrdsl.families.timetable.rented import Lease, Rented, joined, masters_of, pieces_of, rented_on
from mrdsl.families.timetable.reserved import with_reserved
from mrdsl.families.timetable.slots import Placed, Slots, place, sizes_of
from mrdsl.families.timetable.spot import cost_alone
from mrdsl.families.timetable.types import Market
from mrdsl.families.timetable.types import alone as market_alone


@dataclass(frozen=True)
class Size:
    """Machines of one run, and when its last task ends [ticks] if it is released at time 0.

    ``placed`` is the run on them, or None if every stage takes the earliest slots.
    """

    machines: int
    end: int
    cost: float
    placed: Placed | None = None


class Sizes:
    """The sizes of runs, computed once for each machine, job and window."""

    def __init__(self) -> None:
        self._known: dict[tuple[Machine, Job, int], tuple[list[Size], float]] = {}

    def of(self, night: Night, job: int, window: int) -> tuple[list[Size], float]:
        """Return the sizes that end a run within its window [ticks], the cheapest first, and a bound on the cost."""
        key = night.machine, night.jobs[job], window
        if key not in self._known:
            self._known[key] = _sizes(night, job, window)
        return self._known[key]


def _alone(night: Night, job: int, machines: int) -> Placed:
    """Return a run that is released at time 0 on machines of its own."""
    return place(Slots(machines * night.machine.slots, 0), night.jobs[job], Run(job, 0, 0, 0, 0, None, None))


def _sized(night: Night, job: int, machines: int, window: int) -> Size:
    stages, machine = night.jobs[job], night.machine
    placed = None if stages.is_chain else _alone(night, job, machines)
    end = stages.path(machines * machine.slots) if placed is None else placed.end
    return Size(machines, end, cost_of(night, job, machines, end, window), placed)


def cost_of(night: Night, job: int, machines: int, end: int, window: int) -> float:
    """Return the cost of a run that ends in time on machines of its own, on spot VMs the expected one [ticks]."""
    machine, ticks = night.machine, night.machine.boot + end
    if not machine.spot:
        return machine.cost(machines, ticks)
    left = window + night.seconds[job][0].ticks - end
    return machine.cost_of_masters(ticks) + cost_alone(night, job, machines, ticks, left)


def _sizes(night: Night, job: int, window: int) -> tuple[list[Size], float]:
    """Return the sizes that end a run within its window [ticks], the cheapest first, and a bound on the cost.

    A range of sizes costs at least as much as its smallest size that ends when its largest one can.
    """
    machine, stages = night.machine, night.jobs[job]
    every = sizes_of(stages, machine.slots)
    shortest = stages.path()
    found: list[Size] = []
    best = bound = float("inf")
    for count, following in zip(every, [*every[1:], every[-1] + 1], strict=True):
        if cost_of(night, job, count, shortest, window) >= best:
            break
        largest = (following - 1) * machine.slots
        least = shortest if count == every[-1] else max(stages.path(largest), -(-stages.work // largest))
        if least > window:
            continue
        bound = min(bound, cost_of(night, job, count, least, window))
        size = _sized(night, job, count, window)
        if size.end <= window:
            found.append(size)
            best = min(best, size.cost)
    if not machine.interruptions and best - bound > PROVEN * best and not is_late():
        alone = replace(night, runs=(Run(job, 0, 0, 0, window, None, None),), penalties=(None,) * len(night.jobs))
        exact = solve_exactly(market_alone(alone), "constant", None)
        if exact is not None:
            bound = max(bound, exact.bound)
            if exact.found is not None and exact.found.placed[0] is not None and exact.found.value < best:
                count = sum(each.count for each in exact.found.leases if not each.master)
                placed = exact.found.placed[0]
                found.append(Size(count, placed.end, exact.found.value, placed))
    return sorted(found, key=lambda each: (each.cost, each.machines)), bound


Choice = tuple[int, Size]
"""A VM type, and machines of it."""


def per_job(market: Market, sizes: Sizes, program: bool = False) -> tuple[Rented | None, float]:
    """Return the runs on machines of their own, and a bound on the cost; None if no plan was found.

    With ``program``, few runs on limited machines are planned by a program.
    """
    least = []
    for index, run in enumerate(market.runs):
        mine = {}
        for vm in market.types_of(run.job):
            if not market.fits(vm, index):
                continue
            there = market.nights[vm].runs[index]
            mine[vm] = sizes.of(market.nights[vm], run.job, there.due - there.ready)
        least.append(mine)
    bound = _bound(market, least)
    best: Rented | None = None
    for allowed in _allowed(market, least):
        choices: list[list[Choice]] = []
        for run, mine in zip(market.runs, least, strict=True):
            penalty = market.penalties[run.job]
            found = [(vm, size) for vm in mine if vm in allowed[run.job] for size in mine[vm][0]]
            found.sort(key=lambda each: (each[1].cost, each[0], each[1].machines))
            choices.append([each for each in found if penalty is None or each[1].cost < penalty])
        rented = _together(market, choices)
        if rented is None and market.limits:
            for index, each in enumerate(choices):
                each.sort(key=lambda choice, index=index: _taken(market, index, choice))  # type: ignore[misc]
            rented = _together(market, choices)
        if rented is not None and (best is None or rented.value < best.value):
            best = rented
    is_open = bound < inf if best is None else best.value - bound > PROVEN * best.value
    if program and is_limited(market) and is_open:
        return _by_program(market, best, bound)
    return best, bound


def _by_program(market: Market, best: Rented | None, bound: float) -> tuple[Rented | None, float]:
    """Return the better plan and bound of those that are known and of the program over all sizes."""
    known: dict[tuple[int, int, int], list[tuple[Size, int]]] = {}
    mine: list[dict[int, list[tuple[Size, int]]]] = []
    for index, run in enumerate(market.runs):
        mine.append({})
        for vm in market.types_of(run.job):
            if market.fits(vm, index):
                there = market.nights[vm].runs[index]
                key = vm, run.job, there.due - there.ready
                if key not in known:
                    known[key] = _every_size(market.nights[vm], *key[1:])
                mine[-1][vm] = known[key]
    least, planned = (
        [
            {vm: [(size.machines, ticks(size, end)) for size, end in found] for vm, found in each.items()}
            for each in mine
        ]
        for ticks in (lambda _, end: end, lambda size, _: size.end)
    )
    found = per_job_program(market, planned)
    bounded = found if found is None or least == planned else per_job_program(market, least)
    if found is None or bounded is None:
        return best, bound
    if found.choices:
        parts = []
        for number, choice in enumerate(found.choices):
            if choice is not None:
                vm, place, start = choice
                night = market.nights[vm]
                size, _ = mine[number][vm][place]
                parts.append((vm, [number], _rented_from(night, night.runs[number], size, start)))
        other = with_reserved(market, joined(market, "per_job", parts))
        best = other if best is None or other.value < best.value else best
    return best, max(bound, bounded.bound)


def _every_size(night: Night, job: int, window: int) -> list[tuple[Size, int]]:
    """Return all sizes that may end a run within its window, each with a bound on its time [ticks]."""
    machine, stages = night.machine, night.jobs[job]
    every = sizes_of(stages, machine.slots)
    found = []
    for count, following in zip(every, [*every[1:], every[-1] + 1], strict=True):
        largest = (following - 1) * machine.slots
        least = stages.path() if count == every[-1] else max(stages.path(largest), -(-stages.work // largest))
        if least <= window:
            found.append((_sized(night, job, count, window), least))
    return found


Least = list[dict[int, tuple[list[Size], float]]]
"""Of each run and type, the sizes with the cheapest first, and a bound on the cost."""


def _bound(market: Market, least: Least) -> float:
    """Return a bound on the cost of all runs: each on its cheapest type, or all runs of a job on the cheapest one."""

    def of(run: int, vm: int) -> float:
        penalty = market.penalties[market.runs[run].job]
        return least[run][vm][1] if penalty is None else min(least[run][vm][1], penalty)

    def penalty(run: int) -> float:
        found = market.penalties[market.runs[run].job]
        return inf if found is None else found

    total = 0.0
    together: dict[int, list[int]] = {job: [] for job in market.one}
    for index, run in enumerate(market.runs):
        if run.job in together:
            together[run.job].append(index)
        else:
            total += min((of(index, vm) for vm in least[index]), default=penalty(index))
    for job, runs in together.items():
        total += min(
            sum(
                min((of(run, vm) for vm in least[run] if market.machines[vm].vm == name), default=penalty(run))
                for run in runs
            )
            for name in market.vms_of(job)
        )
    return total


def _allowed(market: Market, least: Least) -> Iterator[list[list[int]]]:
    """Yield the types of each job: all of its types, but one for jobs whose runs are together, the cheapest first."""
    every = [market.types_of(job) for job in range(len(market.jobs))]
    together: dict[int, list[list[int]]] = {}
    for job in market.one:
        mine = [index for index, run in enumerate(market.runs) if run.job == job]

        def spent(name: str, mine: list[int] = mine) -> float:
            costs = (
                [size.cost for vm in least[run] if market.machines[vm].vm == name for size in least[run][vm][0]]
                for run in mine
            )
            return sum(min(each, default=inf) for each in costs)

        names = sorted(dict.fromkeys(market.vms_of(job)), key=spent)
        together[job] = [[vm for vm in every[job] if market.machines[vm].vm == name] for name in names]
    for rank in range(len(market.nights) if together else 1):
        yield [
            together[job][min(rank, len(together[job]) - 1)] if job in together else types
            for job, types in enumerate(every)
        ]


def _together(market: Market, choices: list[list[Choice]]) -> Rented | None:
    """Return the runs on the first of their choices that is available; None if a mandatory run has none."""
    limits = [(each, Slots(each.most, -(1 << 90))) for each in market.limits]
    runs = market.runs
    chosen: dict[int, tuple[int, Rented]] = {}
    for index in sorted(range(len(runs)), key=lambda index: (runs[index].due, index)):
        for vm, size in choices[index]:
            part = _placed(market, vm, index, size, limits)
            if part is not None:
                chosen[index] = vm, part
                break
        else:
            if market.penalties[runs[index].job] is None:
                return None
    found = joined(market, "per_job", ((vm, [index], part) for index, (vm, part) in sorted(chosen.items())))
    return with_reserved(market, found)


def _taken(market: Market, run: int, choice: Choice) -> float:
    """Return the part of the limits that a choice takes, times its ticks."""
    vm, size = choice
    machine, on_demand = market.machines[vm], market.vms_on_demand[vm]
    begin, end, count = market.room(vm, run) if machine.spot else (0, 0, 0)
    total = 0.0
    for limit in market.limits:
        taken = limit.taken(vm, size.machines) + limit.taken_by_masters(machine)
        spent = taken * (machine.boot + size.end) + limit.taken(on_demand, count) * (end - begin)
        total += spent / max(limit.most, 1)
    return total


def _placed(market: Market, vm: int, index: int, size: Size, limits: Sequence[tuple[Limit, Slots]]) -> Rented | None:
    """Return a run on machines of its own in its window; None if they, or room to run again, are not available."""
    night = market.nights[vm]
    machine, run = night.machine, night.runs[index]
    ticks = machine.boot + size.end
    latest = run.due - size.end
    if run.start_by is not None:
        latest = min(latest, run.start_by)
    start: int | None = run.ready - machine.boot
    before = [(list(slots.times), list(slots.free)) for _, slots in limits]
    if machine.spot:
        begin, end, count = market.room(vm, index)
        for limit, slots in limits:
            kept = limit.taken(market.vms_on_demand[vm], count)
            if next(slots.starts(begin, begin, kept, end - begin), None) is None:
                start = None
                break
            slots.take(kept, end - begin, begin)
    taken = [(slots, limit.taken(vm, size.machines) + limit.taken_by_masters(machine)) for limit, slots in limits]
    moved = True
    while start is not None and moved:
        first = start
        for slots, each in taken:
            start = None if start is None else next(slots.starts(start, latest - machine.boot, each, ticks), None)
        moved = start != first
    if start is None:
        for (_, slots), (times, free) in zip(limits, before, strict=True):
            slots.times, slots.free = times, free
        return None
    for slots, each in taken:
        slots.take(each, ticks, start)
    return _rented_from(night, run, size, start + machine.boot)


def _rented_from(night: Night, run: Run, size: Size, start: int) -> Rented:
    """Return a run on machines of its own whose first task starts at a time."""
    machine = night.machine
    alone = size.placed or _alone(night, run.job, size.machines)
    waves = [(stage, at + start, count) for stage, at, count in alone.waves]
    placed = Placed(waves, alone.first + start, alone.end + start)
    begin = start - machine.boot
    market, leases = market_alone(replace(night, runs=(run,))), [Lease(begin, placed.end, size.machines)]
    return rented_on(market, "per_job", [*leases, *masters_of(market, leases)], pieces_of([placed]), [placed])
