"""Constant clusters that may leave out runs, or of several VM types: a program that bounds the cost and assigns runs.

Of each type, one span from a first release to a last end is chosen, and whole machines for it. Runs are on a type or
left out, and their work flows into the intervals of their windows, as for one type without penalties. Spans are in
groups, each with the cost of its shortest one, so the optimum is a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from math import inf

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.watching import look
from mrdsl.families.timetable.bounds import elementary_points, time_option, windows_of
from mrdsl.families.timetable.elastic_bounds import least_masters
from mrdsl.families.timetable.night import TICK
from mrdsl.families.timetable.types import Market

RUNS = 200
"""Runs at most; beyond, the bounds on elastic machines are hardly worse and faster."""
GROUPS = 12
"""Groups of begins, and of ends, of each type at most."""
POINTS, EDGES = 200, 6000
"""Intervals, and pairs of a stage and an interval, of all types together at most, or some for each stage."""
NODES = 60
"""Branches of a search at most."""
MARGIN = 1e-6
"""The part of a bound that is given up for the tolerances of the solver."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Assigned:
    """A lower bound on the cost, and the type of each run, None if it is left out; no types if none are known."""

    bound: float
    types: tuple[int | None, ...] = ()


@dataclass
class _Program:
    """A program under construction: columns with cost, upper bound and integrality; rows with their limits."""

    cost: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    row: list[NDArray[np.int64]] = field(default_factory=list)
    column: list[NDArray[np.int64]] = field(default_factory=list)
    value: list[Floats] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)

    def columns(self, count: int, cost: float, upper: float, whole: bool) -> NDArray[np.int64]:
        first = len(self.cost)
        self.cost += [cost] * count
        self.upper += [upper] * count
        self.whole += [whole] * count
        return np.arange(first, first + count)

    def rows(self, count: int, low: float, high: float) -> NDArray[np.int64]:
        look()
        first = len(self.low)
        self.low += [low] * count
        self.high += [high] * count
        return np.arange(first, first + count)

    def add(self, row: NDArray[np.int64], column: NDArray[np.int64], value: float | Floats) -> None:
        self.row.append(row)
        self.column.append(column)
        self.value.append(np.broadcast_to(np.asarray(value, dtype=np.float64), row.shape))


def constant_program(market: Market, seconds: float | None, of_masters: float = 0.0) -> Assigned:
    """Return a bound on the cost of constant clusters, and the types of the runs.

    Masters cost as much as for the longest span, and at least ``of_masters``.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    count = len(market.runs)
    if count > RUNS:
        return Assigned(0.0)
    unit = max(market.machines[0].billed(max(run.due for run in market.runs)) / TICK, 1.0)
    scale = max(machine.price for machine in market.machines) * unit or 1.0
    program = _Program()
    left_out = program.columns(count, 0.0, 0.0, True)
    for column, run in zip(left_out.tolist(), market.runs, strict=True):
        penalty = market.penalties[run.job]
        program.upper[column] = 0.0 if penalty is None else 1.0
        program.cost[column] = (penalty or 0.0) / scale
    once = program.rows(count, 1.0, 1.0)
    program.add(once, left_out, 1.0)
    masters = program.columns(1, 1.0, inf, False)
    least = max(of_masters, least_masters(market, "constant")[0])
    program.add(program.rows(1, least / scale, inf), masters, 1.0)
    on: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for vm in range(len(market.nights)):
        numbers = np.array(market.part(vm)[0], dtype=np.int64)
        mine = program.columns(len(numbers), 0.0, 1.0, True)
        on.append((numbers, mine))
        if len(numbers):
            program.add(once[numbers], mine, 1.0)
            extra = market.nights[vm].extra
            for column, number in zip(mine.tolist(), numbers.tolist(), strict=True):
                program.cost[column] = extra[market.runs[number].job] / scale if extra else 0.0
            _add_type(program, market, vm, mine, masters, scale)
    _add_one_type(program, market, on)
    matrix = coo_array(
        (np.concatenate(program.value), (np.concatenate(program.row), np.concatenate(program.column))),
        shape=(len(program.low), len(program.cost)),
    ).tocsr()
    found = milp(
        np.array(program.cost),
        constraints=LinearConstraint(matrix, np.array(program.low), np.array(program.high)),
        integrality=np.array(program.whole, dtype=np.int64),
        bounds=Bounds(0.0, np.array(program.upper)),
        options={"mip_rel_gap": 1e-4, "node_limit": NODES, **time_option(seconds)},
    )
    dual = found.mip_dual_bound
    bound = 0.0 if dual is None or not np.isfinite(dual) else max(0.0, float(dual)) * scale * (1.0 - MARGIN)
    if found.x is None:
        return Assigned(bound)
    types: list[int | None] = [None] * count
    for vm, (numbers, mine) in enumerate(on):
        for number in numbers[found.x[mine] > 0.5].tolist():
            types[number] = vm
    return Assigned(bound, tuple(types))


def _add_one_type(program: _Program, market: Market, on: list[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> None:
    """Add rows that keep all runs of some jobs on one type."""
    for job in market.one:
        names = list(dict.fromkeys(market.vms_of(job)))
        chosen = program.columns(len(names), 0.0, 1.0, True)
        program.add(np.repeat(program.rows(1, -inf, 1.0), len(names)), chosen, 1.0)
        for vm in market.types_of(job):
            numbers, mine = on[vm]
            here = mine[[market.runs[number].job == job for number in numbers]]
            rows = program.rows(len(here), -inf, 0.0)
            program.add(rows, here, 1.0)
            program.add(rows, np.repeat(chosen[names.index(market.machines[vm].vm)], len(here)), -1.0)


def _add_type(
    program: _Program, market: Market, vm: int, mine: NDArray[np.int64], masters: NDArray[np.int64], scale: float
) -> None:
    """Add the machines of a type, the spans that they may be rented for, and the work of the runs on it."""
    numbers, night = market.part(vm)
    machine = night.machine
    windows = windows_of(night, max(stage.tasks for job in night.jobs for stage in job.stages))
    assert windows is not None
    share = len(market.nights)
    points = elementary_points(windows, POINTS // share, EDGES // share)
    lengths = np.diff(points).astype(np.float64)
    unit = float(lengths.max())
    first = np.searchsorted(points, windows.begin, side="right") - 1
    last = np.searchsorted(points, windows.end, side="left")
    each = last - first
    stages, edges = len(windows.tasks), int(each.sum())
    owner = np.repeat(np.arange(stages), each)
    interval = np.arange(edges) - np.repeat(np.cumsum(each) - each, each) + np.repeat(first, each)
    overlap = np.minimum(windows.end[owner], points[interval + 1]) - np.maximum(windows.begin[owner], points[interval])
    of_run = np.repeat(mine, [len(night.jobs[run.job].stages) for run in night.runs])
    work = windows.tasks * (windows.ticks / unit)
    flow = program.columns(edges, 0.0, inf, False)
    done = program.rows(stages, 0.0, 0.0)
    program.add(done[owner], flow, 1.0)
    program.add(done, of_run, -work)
    rate = program.rows(edges, -inf, 0.0)
    program.add(rate, flow, 1.0)
    program.add(rate, of_run[owner], -windows.tasks[owner] * (overlap / unit))
    room = program.rows(len(lengths), -inf, 0.0)
    program.add(room[interval], flow, 1.0)
    most = float(machine.available) if machine.available is not None else float(windows.tasks.sum())
    spans = list(_spans(market, vm))
    chosen = program.columns(len(spans), 0.0, 1.0, True)
    one = program.rows(1, -inf, 1.0)
    program.add(np.full(len(spans), one[0]), chosen, 1.0)
    within = program.rows(len(numbers), -inf, 0.0)
    program.add(within, mine, 1.0)
    least = program.rows(1, -inf, 0.0)  # masters are there for the span of each type
    program.add(least, masters, -1.0)
    for column, (span, inside) in zip(chosen.tolist(), spans, strict=True):
        cost = machine.billed(span)
        program.add(least, np.array([column]), machine.cost_of_masters(span) / scale)
        places = np.array(inside, dtype=np.int64)
        program.add(within[places], np.full(len(places), column), -1.0)
        prices = [(machine.price, most)]
        if machine.reserved:
            prices.append((machine.reserved_price, float(machine.reserved)))
        for price, limit in prices:
            (machines,) = program.columns(1, price * cost / TICK / scale, limit, True)
            program.add(room, np.full(len(lengths), machines), -machine.slots * lengths / unit)
            limited = program.rows(1, -inf, 0.0)
            program.add(limited, np.array([machines]), 1.0)
            program.add(limited, np.array([column]), -limit)


def _spans(market: Market, vm: int) -> Iterator[tuple[int, list[int]]]:
    """Yield groups of spans of a type: the ticks of the shortest, and the places of runs within."""
    _, night = market.part(vm)
    paths = [job.path() for job in night.jobs]
    releases = [run.release for run in night.runs]
    ends = [run.ready + paths[run.job] for run in night.runs]
    begin_groups, end_groups = _grouped(sorted(set(releases))), _grouped(sorted(set(ends), reverse=True))
    for begins, lasts in product(begin_groups, end_groups):
        inside = [
            place
            for place, (release, end) in enumerate(zip(releases, ends, strict=True))
            if release >= begins[0] and end <= lasts[0]
        ]
        if inside:
            span = max(lasts[-1] - begins[-1], min(end - releases[place] for place, end in enumerate(ends)))
            yield night.machine.boot + span, inside


def _grouped(times: list[int]) -> list[list[int]]:
    """Return times in groups that grow towards the last ones by a constant factor: most spans last the whole night."""
    growth = 1.0
    while True:
        groups, size, at = [], 1.0, 0
        while at < len(times):
            groups.append(times[at : at + int(size)])
            at += int(size)
            size *= growth
        if len(groups) <= GROUPS:
            return groups
        growth += 0.05
