"""Rented machines of a timetable: which of them run which tasks, from when to when, and what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mrdsl.families.timetable.facts import TimetableFacts
from mrdsl.families.timetable.night import TICK, Machine, Night, Second
from mrdsl.families.timetable.plan import Rental, RunTimes, Tasks, TimetablePlan, VmUse
from mrdsl.families.timetable.releases import calendar_of
from mrdsl.families.timetable.slots import Placed
from mrdsl.families.timetable.spot import chance_of, cost_alone
from mrdsl.families.timetable.types import Market, alone

Piece = tuple[int, int, int, int, int]
"""Tasks that start together: the run, the stage, the rental, the start, how many."""


@dataclass(frozen=True)
class Lease:
    """Alike machines from their request to their release [ticks]; ``vm`` is the index of their type.

    That of masters is the index among all types of the spec, also in a market with one of them.
    Those that are ``reserved`` have the price of reserved VMs.
    """

    begin: int
    end: int
    count: int
    master: bool = False
    vm: int = 0
    reserved: bool = False


@dataclass(frozen=True)
class Rented:
    """A timetable on rented machines; a run that is left out has no place.

    ``cost`` is that of the machines, ``penalties`` that of the runs left out. With losses of spot VMs, machines and
    second attempts are expected to cost ``risk`` more, or less.
    """

    rent: str
    leases: tuple[Lease, ...]
    pieces: Sequence[Piece]
    placed: Sequence[Placed | None]
    cost: float
    penalties: float = 0.0
    risk: float = 0.0

    @property
    def value(self) -> float:
        """Expected cost of machines, and penalties."""
        return self.cost + self.risk + self.penalties


def rented(
    night: Night, rent: str, leases: Sequence[Lease], pieces: Sequence[Piece], placed: Sequence[Placed | None]
) -> Rented:
    """Return a timetable on these machines, with its cost."""
    return rented_on(alone(night), rent, leases, pieces, placed)


def rented_on(
    market: Market, rent: str, leases: Sequence[Lease], pieces: Sequence[Piece], placed: Sequence[Placed | None]
) -> Rented:
    """Return a timetable on machines of several types, with its cost."""
    machines = market.machines
    masters = {each.vm: each for each in machines[0].masters}
    paid: dict[tuple[bool, int, bool], tuple[float, int]] = {}
    for each in leases:
        of_type = (masters.get(each.vm) if each.master else None) or machines[each.vm]
        price = of_type.price_of(each.reserved) if isinstance(of_type, Machine) else of_type.price
        key = each.master, each.vm, each.reserved
        paid[key] = price, paid.get(key, (price, 0))[1] + each.count * of_type.billed(each.end - each.begin)
    cost = sum(price * ticks / TICK for _, (price, ticks) in sorted(paid.items()))
    left_out = [market.penalties[run.job] or 0.0 for run, each in zip(market.runs, placed, strict=True) if each is None]
    return Rented(rent, tuple(leases), pieces, placed, cost, sum(left_out), risk_of(market, leases, pieces, placed)[0])


def risk_of(
    market: Market, leases: Sequence[Lease], pieces: Sequence[Piece], placed: Sequence[Placed | None]
) -> tuple[float, dict[int, Second]]:
    """Return what a timetable is expected to cost beyond its rentals, and the second attempts of runs on spot VMs.

    A run alone on alike VMs gives them back if one is lost. Rentals that runs share, or of several times, are paid in
    full.
    """
    if not any(machine.spot for machine in market.machines):
        return 0.0, {}
    of_run: dict[int, dict[int, list[tuple[int, int, int]]]] = {}
    users: dict[int, set[int]] = {}
    for run, stage, place, start, count in pieces:
        if market.machines[leases[place].vm].spot:
            of_run.setdefault(run, {}).setdefault(place, []).append((stage, start, count))
            users.setdefault(place, set()).add(run)
    risk, found = 0.0, dict[int, Second]()
    for run, parts in sorted(of_run.items()):
        first, end = next(iter(parts)), placed[run]
        assert end is not None
        lease, night = leases[first], market.nights[leases[first].vm]
        job, machine = night.runs[run].job, night.machine
        left = night.runs[run].due + night.seconds[job][0].ticks - end.end
        found[run] = night.second(job, left)
        if len(parts) == 1 and len(users[first]) == 1:
            span = lease.end - lease.begin
            full = lease.count * machine.price * machine.billed(span) / TICK
            risk += cost_alone(night, job, lease.count, span, left) - full
        else:
            risk += chance_of(machine, _held(night, job, parts)) * found[run].cost
    return risk, found


def _held(night: Night, job: int, parts: dict[int, list[tuple[int, int, int]]]) -> int:
    """Return the VM ticks that hold tasks of a run, or output of a stage before its last child has ended.

    On each rental, tasks are on the fewest VMs, and those of a stage on VMs that it has had before.
    """
    stages, slots = night.jobs[job].stages, night.machine.slots
    until: dict[int, int] = {}
    for mine in parts.values():
        for stage, start, _ in mine:
            for before in stages[stage].after:
                until[before] = max(until.get(before, start), start + stages[stage].ticks)
    total = 0
    for mine in parts.values():
        changes: dict[int, list[tuple[int, int]]] = {each: [] for each in until.values()}
        for stage, start, count in mine:
            changes.setdefault(start, []).append((stage, count))
            changes.setdefault(start + stages[stage].ticks, []).append((stage, -count))
        running, output, last, vms = [0] * len(stages), [0] * len(stages), 0, 0
        for time in sorted(changes):
            total += vms * (time - last)
            for stage, count in changes[time]:
                running[stage] += count
            for stage, count in enumerate(running):
                output[stage] = max(output[stage], count) if time < until.get(stage, time) else 0
            vms, last = -(-max(sum(running), *output) // slots), time
    return total


def joined(market: Market, rent: str, parts: Iterable[tuple[int, Sequence[int], Rented]]) -> Rented:
    """Return one timetable of those of several types: the type, the indices of its runs, and their timetable."""
    leases: list[Lease] = []
    pieces: list[Piece] = []
    placed: list[Placed | None] = [None] * len(market.runs)
    for vm, runs, part in parts:
        pieces += [(runs[run], stage, at + len(leases), start, count) for run, stage, at, start, count in part.pieces]
        leases += [
            each if each.master else replace(each, vm=vm)
            for each in part.leases
            if rent == "per_job" or not each.master
        ]
        for run, each in zip(runs, part.placed, strict=True):
            placed[run] = each
    if rent != "per_job":
        leases += masters_of(market, leases)
    return rented_on(market, rent, leases, pieces, placed)


def is_mixed(market: Market, vm: int, pieces: Iterable[Piece]) -> bool:
    """Return True if tasks that take unequal parts of a VM overlap in time, also by tasks between them."""
    night, until, there = market.nights[vm], 0, 0
    if not night.has_parts:
        return False
    for run, stage, _, start, _ in sorted(pieces, key=lambda piece: piece[3]):
        each = night.jobs[night.runs[run].job].stages[stage]
        if start < until and each.parts != there:
            return True
        until, there = max(until, start + each.ticks), each.parts
    return False


def packed(market: Market, found: Rented) -> Rented:
    """Return a timetable with each VM that holds tasks of unequal parts as a rental: first fit, with more if needed."""
    leases: list[Lease] = []
    pieces: list[Piece] = []
    of_lease: dict[int, list[Piece]] = {}
    for piece in found.pieces:
        of_lease.setdefault(piece[2], []).append(piece)
    for place, lease in enumerate(found.leases):
        mine = of_lease.get(place, [])
        if lease.master or not is_mixed(market, lease.vm, mine):
            pieces += [(run, stage, len(leases), start, count) for run, stage, _, start, count in mine]
            leases.append(lease)
            continue
        first, night, busy = len(leases), market.nights[lease.vm], list[list[tuple[int, int]]]()
        stages = {run: night.jobs[night.runs[run].job].stages for run, *_ in mine}
        order = sorted(mine, key=lambda piece: (piece[3], -stages[piece[0]][piece[1]].parts, piece))
        for run, stage, _, start, count in order:
            each, at = stages[run][stage], 0
            while count:
                if at == len(busy):
                    busy.append([])
                busy[at] = [(end, taken) for end, taken in busy[at] if end > start]
                free = night.machine.slots - sum(taken for _, taken in busy[at])
                if here := min(count, free - free % each.parts):
                    busy[at].append((start + each.ticks, here))
                    pieces.append((run, stage, first + at, start, here))
                    count -= here
                at += 1
        leases += [replace(lease, count=1)] * len(busy)
    return found if leases == list(found.leases) else rented_on(market, found.rent, leases, pieces, found.placed)


def masters_of(market: Market, leases: Sequence[Lease]) -> list[Lease]:
    """Return the masters of all types: from the first request of any machine to the last release; none without any."""
    if not leases:
        return []
    begin, end = min(each.begin for each in leases), max(each.end for each in leases)
    return [Lease(begin, end, each.count, master=True, vm=each.vm) for each in market.machines[0].masters]


def within_limits(market: Market, leases: Sequence[Lease], types: Mapping[int, int]) -> bool:
    """Return True if VMs at once are within all limits, with room for second attempts of runs on spot VMs.

    Args:
        market: The market.
        leases: Rentals, with masters.
        types: The VM type of each run that is not left out.
    """
    if not market.limits:
        return True
    rooms = [
        Lease(*market.room(vm, run), vm=market.vms_on_demand[vm])
        for run, vm in types.items()
        if market.machines[vm].spot
    ]
    return all(
        most_at_once([replace(each, count=limit.taken(each.vm, each.count, each.master)) for each in (*leases, *rooms)])
        <= limit.most
        for limit in market.limits
    )


def types_of(found: Rented) -> dict[int, int]:
    """Return the VM type of each run that is not left out."""
    return {run: found.leases[lease].vm for run, _, lease, _, _ in found.pieces}


def pieces_of(placed: Sequence[Placed | None]) -> list[Piece]:
    """Return the tasks of all runs on the first rental."""
    return [
        (run, stage, 0, start, count)
        for run, each in enumerate(placed)
        if each is not None
        for stage, start, count in each.waves
    ]


def plan_of(facts: TimetableFacts, market: Market, found: Rented) -> TimetablePlan:
    """Return the plan of a timetable on rented machines."""
    calendar, machines = calendar_of(facts), market.machines
    risk, seconds = risk_of(market, found.leases, found.pieces, found.placed)
    several = len(machines) > 1
    vm_of_run = {run: found.leases[lease].vm if several else 0 for run, _, lease, _, _ in found.pieces}
    busy = [0] * len(machines)
    for run, vm in vm_of_run.items():
        night = market.nights[vm]
        busy[vm] += night.jobs[night.runs[run].job].work
    return TimetablePlan(
        rent=found.rent,
        machines=most_at_once(found.leases),
        vm=machines[0].name,
        slots=machines[0].slots,
        busy=sum(busy) / TICK,
        types=tuple(
            VmUse(
                each.name,
                each.slots,
                most_at_once([one for one in found.leases if one.vm == vm]),
                busy[vm] / TICK,
                most_at_once([one for one in found.leases if one.vm == vm and one.reserved]),
                each.spot,
            )
            for vm, each in enumerate(machines)
        ),
        prepaid=float(market.prepaid),
        rentals=tuple(
            Rental(
                machines[each.vm].vm,
                each.begin / TICK,
                each.end / TICK,
                machines[each.vm].billed(each.end - each.begin) / TICK,
                each.count,
                each.master,
                each.reserved,
                machines[each.vm].spot,
            )
            for each in found.leases
        ),
        runs=tuple(run_times(market, found, seconds)),
        cost=found.cost,
        risk=risk,
        again=float(sum(each.cost for each in seconds.values())),
        penalties=float(found.penalties),
        clock=calendar.clock,
        day=calendar.first_day,
        tasks=tasks_of(found.pieces),
    )


def most_at_once(leases: Sequence[Lease], masters: bool = True) -> int:
    """Return the most machines at once, with or without masters."""
    kept = [each for each in leases if masters or not each.master]
    events = sorted([(each.begin, each.count) for each in kept] + [(each.end, -each.count) for each in kept])
    most = there = 0
    for _, change in events:
        there += change
        most = max(most, there)
    return most


def run_times(market: Market, found: Rented, seconds: Mapping[int, Second]) -> list[RunTimes]:
    """Return the start and the end of each run; a run with a startup starts as late as its first task allows."""
    times, startups = [], market.nights[0].startups
    for index, (run, each) in enumerate(zip(market.runs, found.placed, strict=True)):
        start = None if each is None else each.first - startups[run.job]
        if start is not None and run.latest is not None:
            start = min(start, run.latest)
        times.append(
            RunTimes(
                job=market.jobs[run.job].name,
                run=run.number + 1,
                release=run.release / TICK,
                start=None if start is None else start / TICK,
                end=None if each is None else each.end / TICK,
                deadline=run.due / TICK,
                admitted=each is not None,
                second=seconds[index].machines if index in seconds else 0,
            )
        )
    return times


def tasks_of(pieces: Sequence[Piece]) -> Tasks:
    """Return the tasks as columns."""
    run, stage, machine, start, count = np.array(pieces, dtype=np.int64).reshape(-1, 5).T
    return Tasks(run, stage, machine, start / TICK, count)
