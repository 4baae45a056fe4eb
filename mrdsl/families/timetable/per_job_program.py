"""Machines of its own for each run if machines at once are limited: a program over sizes and whole time steps.

Every size has the ends of its shortest timetable, so the program chooses a size, a VM type and a start for each run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd, inf

import numpy as np

from mrdsl.families.timetable.bounds import time_option
from mrdsl.families.timetable.night import TICK
from mrdsl.families.timetable.spot import cost_alone
from mrdsl.families.timetable.types import Market

COLUMNS = 6000
"""Starts of all runs, sizes and types at most."""
NODES = 5000
"""Branches of a search at most."""

Lengths = Sequence[Mapping[int, Sequence[tuple[int, int]]]]
"""Of each run and VM type the sizes: machines, and ticks from the first task to the end."""
Choice = tuple[int, int, int]
"""VM type, place of the size, and start of the first task."""


@dataclass(frozen=True)
class Chosen:
    """A bound on the cost, infinite if there is no plan, and the choice of each run, None if it is left out."""

    bound: float
    choices: tuple[Choice | None, ...] = ()


@dataclass
class _Program:
    cost: list[float] = field(default_factory=list)
    most: list[float] = field(default_factory=list)
    terms: list[tuple[int, int, float]] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)

    def column(self, cost: float, most: float) -> int:
        self.cost.append(cost)
        self.most.append(most)
        return len(self.cost) - 1

    def row(self, terms: Sequence[tuple[int, float]], low: float, high: float) -> None:
        self.terms += [(len(self.low), column, value) for column, value in terms]
        self.low.append(low)
        self.high.append(high)


@dataclass(frozen=True)
class _Start:
    """A start of a run: its column, that of the machines that are reserved, and when its machines are there."""

    column: int
    reserved: int | None
    run: int
    choice: Choice
    begin: int
    end: int
    machines: int


def is_limited(market: Market) -> bool:
    """Return True if machines of some type at once are limited, all or those of a lower price."""
    return bool(market.limits) or any(machine.reserved for machine in market.machines)


def per_job_program(market: Market, lengths: Lengths) -> Chosen | None:
    """Return the cheapest choices of all runs, None if there are too many.

    Args:
        market: The night on each VM type.
        lengths: The sizes of each run on each type that it may be on.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    step = gcd(
        *(value for run in market.runs for value in (run.release, run.ready, run.due, run.start_by or 0)),
        *(machine.boot for machine in market.machines),
        *(ticks for mine in lengths for found in mine.values() for _, ticks in found),
        *(run.due for night in market.nights for run in night.runs),
    )
    unit = max(machine.price for machine in market.machines) * step / TICK or 1.0
    program, starts = _Program(), list[_Start]()
    if not _add_runs(program, market, lengths, step, unit, starts):
        return None
    _add_one_type(program, market, starts)
    _add_limits(program, market, starts)
    row, column, value = zip(*program.terms, strict=True)
    found = milp(
        np.array(program.cost),
        constraints=LinearConstraint(
            coo_array((value, (row, column)), shape=(len(program.low), len(program.cost))).tocsr(),
            np.array(program.low),
            np.array(program.high),
        ),
        integrality=np.ones(len(program.cost)),
        bounds=Bounds(0.0, np.array(program.most)),
        options={"mip_rel_gap": 0.0, "node_limit": NODES, **time_option()},
    )
    if found.status == 2:
        return Chosen(inf)
    bound = 0.0 if found.mip_dual_bound is None else float(found.mip_dual_bound) * unit * (1.0 - 1e-9)
    if found.x is None:
        return Chosen(bound)
    choices: list[Choice | None] = [None] * len(market.runs)
    for each in starts:
        if found.x[each.column] > 0.5:
            choices[each.run] = each.choice
    return Chosen(bound, tuple(choices))


def _add_runs(
    program: _Program, market: Market, lengths: Lengths, step: int, unit: float, starts: list[_Start]
) -> bool:
    """Add the starts of all runs; return False if there are too many."""
    for index, run in enumerate(market.runs):
        penalty = market.penalties[run.job]
        once = [] if penalty is None else [(program.column(penalty / unit, 1.0), 1.0)]
        for vm, found in lengths[index].items():
            machine, there = market.machines[vm], market.nights[vm].runs[index]
            for place, (count, ticks) in enumerate(found):
                paid = machine.billed(machine.boot + ticks) / TICK / unit
                latest = there.due - ticks if run.start_by is None else min(there.due - ticks, run.start_by)
                for start in range(run.ready, latest + 1, step):
                    length = machine.boot + ticks
                    cost = machine.cost_of_masters(length) / unit
                    if machine.spot:
                        night = market.nights[vm]
                        left = there.due - start - ticks + night.seconds[run.job][0].ticks
                        cost += cost_alone(night, run.job, count, length, left) / unit
                    else:
                        cost += count * machine.price * paid
                    column = program.column(cost, 1.0)
                    reserved = None
                    if machine.reserved:
                        reserved = program.column((machine.reserved_price - machine.price) * paid, float(count))
                        program.row([(reserved, 1.0), (column, -float(count))], -inf, 0.0)
                    once.append((column, 1.0))
                    begin = start - machine.boot
                    starts.append(_Start(column, reserved, index, (vm, place, start), begin, start + ticks, count))
                    if len(starts) > COLUMNS:
                        return False
        program.row(once, 1.0, 1.0)
    return True


def _add_one_type(program: _Program, market: Market, starts: Sequence[_Start]) -> None:
    """Add rows that keep all runs of some jobs on one type."""
    for job in market.one:
        chosen = {name: program.column(0.0, 1.0) for name in dict.fromkeys(market.vms_of(job))}
        program.row([(column, 1.0) for column in chosen.values()], 1.0, 1.0)
        for index, run in enumerate(market.runs):
            for name, column in chosen.items() if run.job == job else ():
                mine = [
                    (each.column, 1.0)
                    for each in starts
                    if each.run == index and market.machines[each.choice[0]].vm == name
                ]
                program.row([*mine, (column, -1.0)], -inf, 0.0)


def _add_limits(program: _Program, market: Market, starts: Sequence[_Start]) -> None:
    """Add the limits on VMs at once, with room for second attempts, and on reserved ones."""
    found: list[tuple[list[tuple[int, int, int, float]], int]] = []
    for limit in market.limits:
        held = []
        for each in starts:
            vm = each.choice[0]
            machine = market.machines[vm]
            taken = limit.taken(vm, each.machines) + limit.taken_by_masters(machine)
            held.append((each.begin, each.end, each.column, float(taken)))
            if machine.spot:
                begin, end, count = market.room(vm, each.run)
                held.append((begin, end, each.column, float(limit.taken(market.vms_on_demand[vm], count))))
        found.append((held, limit.most))
    for vm, machine in enumerate(market.machines):
        kept = [
            (each.begin, each.end, each.reserved, 1.0)
            for each in starts
            if each.reserved is not None and each.choice[0] == vm
        ]
        found.append((kept, machine.reserved))
    for spans, most in found:
        unit = float(max(most, 1))
        for at in sorted({begin for begin, _, _, value in spans if value}):
            terms = [(column, value / unit) for begin, end, column, value in spans if begin <= at < end and value]
            program.row(terms, -inf, most / unit)
