"""Proven lower bounds on the cost of machines that may be rented and released at any time.

The fluid bound lets work be spread freely over the machines that are on, in whole or in part: machines on at the points
of a grid, starts and stops between them, and machine time in each interval.

A task of ``d`` ticks with a window from ``b`` to ``e`` runs all the time from its latest start ``e - d`` to its
earliest end ``b + d``. If that is not empty, all tasks of its stage have slots then, at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from mrdsl.families.timetable.bounds import elementary_points, fewest_machines, time_option, windows_of
from mrdsl.families.timetable.night import TICK, Night
from mrdsl.families.timetable.spot import chance_of
from mrdsl.families.timetable.types import Market

POINTS = 1500
"""Intervals of a grid at most: beyond, windows are widened to fewer points, which relaxes the bound."""
EDGES = 30_000
"""Pairs of a stage and an interval at most, for the same reason, or some for each stage."""
WHOLE = 400
"""Runs up to which whole machines of parts of the night are counted."""
MARGIN = 1e-7
"""The part of a bound that is given up for the tolerances of the solver."""
Floats = NDArray[np.float64]
Triple = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


def least_masters(market: Market, rent: str = "elastic") -> tuple[float, Floats]:
    """Return the least cost of the masters, whichever runs are left out, and that of each run alone, if it runs.

    They are there from the first request, which is no later than any run allows, to the last end.
    """
    count, cost = len(market.runs), market.machines[0].cost_of_masters
    if not market.machines[0].masters:
        return 0.0, np.zeros(count)
    alone, latest, earliest = [0] * count, inf, -inf
    for index, run in enumerate(market.runs):
        spans, begins, ends = [], [], []
        for vm in (each for each in market.types_of(run.job) if market.fits(each, index)):
            night, path = market.nights[vm], market.nights[vm].jobs[run.job].path()
            start = min(night.runs[index].due - path, run.due if run.start_by is None else run.start_by)
            start = run.release if rent == "constant" else start
            spans.append(path + (run.ready - run.release if rent == "constant" else 0) + night.machine.boot)
            begins.append(start - night.machine.boot)
            ends.append(run.ready + path)
        if spans:
            alone[index] = min(spans)
            if market.penalties[run.job] is None:
                latest, earliest = min(latest, max(begins)), max(earliest, min(ends))
    each = np.array([cost(span) if span else 0.0 for span in alone])
    must = [span for span, run in zip(alone, market.runs, strict=True) if market.penalties[run.job] is None]
    return (cost(int(max(*must, earliest - latest))) if latest < inf else 0.0), each


def relaxed(market: Market, alone: Sequence[float]) -> Market:
    """Return a market for bounds if the provider may take back spot VMs.

    A run alone on its spot VMs costs at least ``alone``, by job: it may be left out for that. Spot VMs that runs
    share are paid in full, and to this come second attempts, if a VM is lost while it does the work of the run.
    """
    nights = []
    penalties = tuple(
        None if least == inf and each is None else min(least, inf if each is None else each)
        for least, each in zip(alone, market.penalties, strict=True)
    )
    for night in market.nights:
        longest: list[int] = [0] * len(night.jobs)
        extra: tuple[float, ...] = ()
        if night.machine.interruptions:
            for run in night.runs:
                left = run.due - run.ready - night.jobs[run.job].path() + night.seconds[run.job][0].ticks
                longest[run.job] = max(longest[run.job], left)
            extra = tuple(
                chance_of(night.machine, each.work / night.machine.slots) * night.second(job, longest[job]).cost
                for job, each in enumerate(night.jobs)
            )
        nights.append(replace(night, penalties=penalties, extra=extra))
    return replace(market, nights=tuple(nights))


@dataclass(frozen=True)
class _Block:
    """The rows of one VM type: triples of rows, columns and values; ``out`` is the first column of runs left out.

    The last ``rows`` that are bounded above, by ``limits``, count whole machines and tasks that surely run; the others
    are at most 0.

    The last columns are the billed times of machines with these ``prices``. Each run costs ``extra`` unless it is left
    out.
    """

    runs: Sequence[int]
    equal: Sequence[Triple]
    above: Sequence[Triple]
    right: Floats
    rows: int
    limits: Floats
    upper: Floats
    out: int
    prices: Sequence[float]
    extra: Floats


def fluid_bound(market: Market, seconds: float | None = None, masters: float = 0.0) -> float:
    """Return the optimum of the fluid relaxation, 0 if the solver does not reach it; masters cost at least ``masters``.

    Runs may be divided among the types on which they end in their window, with the same part of each stage.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    blocks = [each for vm in range(len(market.nights)) if (each := _block(market, vm)) is not None]
    sizes = np.cumsum([0, *(len(each.upper) for each in blocks)])
    rows, bounded = (np.cumsum([0, *each]) for each in zip(*((len(b.right), b.rows) for b in blocks), strict=True))
    count = len(market.runs)
    # each run is on one type, or left out: it is left out on all others
    rejected, couplings = int(sizes[-1]), int(rows[-1])
    every = np.arange(count)
    equal = [(couplings + every, rejected + every, -np.ones(count))]
    above: list[Triple] = []
    types = np.zeros(count)
    for at, block in enumerate(blocks):
        mine = np.array(block.runs, dtype=np.int64)
        types[mine] += 1.0
        equal.append((couplings + mine, sizes[at] + block.out + np.arange(len(mine)), np.ones(len(mine))))
        equal += [(rows[at] + row, sizes[at] + column, value) for row, column, value in block.equal]
        above += [(bounded[at] + row, sizes[at] + column, value) for row, column, value in block.above]
    size = rejected + count + 1
    scale = max(max(block.prices) for block in blocks) or 1.0
    least, alone = least_masters(market)
    least, alone = max(least, masters) / scale, alone / scale
    # masters, the last column, cost at least what they cost for any run that is not left out
    of_masters = int(bounded[-1]) + every
    above += [(of_masters, rejected + every, -alone), (of_masters, np.full(count, size - 1), -np.ones(count))]
    left, right = (
        coo_array(
            (np.concatenate([one[2] for one in part]), [np.concatenate([one[at] for one in part]) for at in (0, 1)]),
            shape=(height, size),
        ).tocsr()
        for part, height in ((equal, couplings + count), (above, int(bounded[-1]) + count))
    )
    optional = np.array([market.penalties[run.job] is not None for run in market.runs], dtype=np.float64)
    cost = np.zeros(size)
    for end, block in zip(sizes[1:].tolist(), blocks, strict=True):
        cost[end - len(block.prices) : end] = [price / scale for price in block.prices]
    for at, block in enumerate(blocks):
        if block.extra.any():
            cost[sizes[at] + block.out : sizes[at] + block.out + len(block.extra)] = -block.extra / scale
    cost[rejected:] = [*((market.penalties[run.job] or 0.0) / scale for run in market.runs), 1.0]
    upper = np.concatenate([*(block.upper for block in blocks), optional, [inf]])
    found = linprog(
        cost,
        A_ub=right,
        b_ub=np.concatenate(
            [*(np.append(np.zeros(each.rows - len(each.limits)), each.limits) for each in blocks), -alone]
        ),
        A_eq=left,
        b_eq=np.concatenate([*(block.right for block in blocks), types - 1.0]),
        bounds=np.stack([np.append(np.zeros(size - 1), least), upper], axis=1),
        method="highs",
        options=time_option(seconds),
    )
    extra = float(sum(block.extra.sum() for block in blocks))
    return (float(found.fun) * scale + extra) * (1.0 - MARGIN) if found.status == 0 else 0.0


def _block(market: Market, vm: int) -> _Block | None:
    """Return the rows of a VM type, None if no run ends in its window there."""
    numbers, night = market.part(vm)
    if not numbers:
        return None
    machine = night.machine
    windows = windows_of(night, max(stage.tasks for job in night.jobs for stage in job.stages))
    assert windows is not None
    surely, until = windows.end - windows.ticks, windows.begin + windows.ticks  # each task runs between these
    bounded = surely < until
    corners = np.append(surely[bounded], until[bounded])
    points = elementary_points(windows, POINTS // len(market.nights), EDGES // len(market.nights), corners)
    lengths = np.diff(points).astype(np.float64)
    steps, stages = len(lengths), len(windows.tasks)
    unit = float(max(lengths.max(), machine.boot / windows.tick, 1.0))  # of the program's times, in ticks of windows
    lengths = lengths / unit
    first = np.searchsorted(points, windows.begin, side="right") - 1
    last = np.searchsorted(points, windows.end, side="left")
    count = last - first
    owner = np.repeat(np.arange(stages), count)
    interval = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
    overlap = np.minimum(windows.end[owner], points[interval + 1]) - np.maximum(windows.begin[owner], points[interval])
    rate = np.minimum(windows.tasks, machine.slots).astype(np.float64)
    work = windows.tasks * (windows.ticks / unit)
    unit_ticks = unit * windows.tick
    edges = len(owner)
    # columns of each lane: machine time, machines at each point, starts, stops, begins of billing periods; then work of
    # stages in intervals, runs left out, and the billed time of each lane
    lanes = [(machine.price, machine.available)]
    if machine.reserved:
        lanes.append((machine.reserved_price, machine.reserved))
    width = 5 * steps + 1
    period = -(-machine.period // windows.tick)
    # the first interval in which a billing period may have begun that is not over at a point
    begun = np.searchsorted(points[1:] + period, points[:-1], side="right")
    by_period = period > np.diff(points).min()
    flow = len(lanes) * width
    out = flow + edges
    total = out + len(night.runs)
    every = np.arange(steps)
    runs = np.repeat(np.arange(len(night.runs)), [len(night.jobs[run.job].stages) for run in night.runs])
    single = np.ones(steps)
    done = len(lanes) * steps
    equal: list[Triple] = [
        # the work of each stage is done, or its run left out
        (done + owner, flow + np.arange(edges), np.ones(edges)), (done + np.arange(stages), out + runs, work),
    ]  # fmt: skip
    least = machine.billed(machine.boot + min(stage.ticks for job in night.jobs for stage in job.stages)) / unit_ticks
    boot = machine.boot / unit_ticks
    rows = steps + edges
    above: list[Triple] = [
        # slots of an interval; a stage takes part in the slots of each machine that is on
        (interval, flow + np.arange(edges), np.ones(edges)),
        (steps + np.arange(edges), flow + np.arange(edges), np.ones(edges)),
    ]
    upper = np.full(total + len(lanes), inf)
    for lane, (_, most) in enumerate(lanes):
        time, start = lane * width, lane * steps
        there, on, off, paid = time + steps, time + 2 * steps + 1, time + 3 * steps + 1, total + lane
        equal += [
            # machines at the next point = those at this one + starts - stops
            (start + every, there + every + 1, single), (start + every, there + every, -single),
            (start + every, on + every, -single), (start + every, off + every, single),
        ]  # fmt: skip
        one = np.array([paid])
        above += [
            (every, time + every, -single * machine.slots), (steps + np.arange(edges), time + interval, -rate[owner]),
            # time of machines that are on, or stay on
            (rows + every, time + every, single), (rows + every, there + every, -lengths),
            (rows + every, on + every, -lengths),
            (rows + steps + every, time + every, -single), (rows + steps + every, there + every, lengths),
            (rows + steps + every, off + every, -lengths),
            # stops end machines that are there, or have started
            (rows + 2 * steps + every, off + every, single), (rows + 2 * steps + every, there + every, -single),
            (rows + 2 * steps + every, on + every, -single),
            # the cost: boots and machine time, or the least of each rental
            (np.full(steps, rows + 3 * steps), time + every, single),
            (np.full(steps, rows + 3 * steps), on + every, boot * single),
            (np.array([rows + 3 * steps]), one, np.array([-1.0])),
            (np.full(steps, rows + 3 * steps + 1), on + every, least * single),
            (np.array([rows + 3 * steps + 1]), one, np.array([-1.0])),
        ]  # fmt: skip
        rows += 3 * steps + 2
        if by_period:  # time that machines are on lies in billing periods, which are paid in whole
            periods = time + 4 * steps + 1
            covered = every + 1 - begun
            at = np.repeat(every, covered)
            which = np.arange(len(at)) - np.repeat(np.cumsum(covered) - covered, covered) + np.repeat(begun, covered)
            above += [
                (rows + every, time + every, single), (rows + at, periods + which, -lengths[at]),
                (np.full(steps, rows + steps), periods + every, np.full(steps, machine.period / unit_ticks)),
                (np.array([rows + steps]), one, np.array([-1.0])),
            ]  # fmt: skip
            rows += steps + 1
        if most is not None:
            upper[there : there + steps + 1] = most
            upper[time : time + steps] = most * lengths
        upper[there] = upper[there + steps] = 0.0
    limits: list[float] = []
    sure = np.minimum(until[owner], points[interval + 1]) - np.maximum(surely[owner], points[interval])
    (mine,) = np.nonzero(sure > 0)
    needed = windows.tasks[owner[mine]] * (sure[mine] / unit)
    at = rows + np.arange(len(mine))
    above += [(at, flow + mine, -np.ones(len(mine))), (at, out + runs[owner[mine]], -needed)]
    limits += (-needed).tolist()
    rows += len(mine)
    for begin, end, fewest in _whole_machines(night, points) if len(market.nights) == 1 and windows.tick == 1 else ():
        # machines that are there at the beginning of a part of the night, or start in it
        for lane in range(len(lanes)):
            there, on = lane * width + steps, lane * width + 2 * steps + 1
            columns = np.concatenate([[there + begin], np.arange(on + begin, on + end)])
            above.append((np.full(len(columns), rows), columns, -np.ones(len(columns))))
        limits.append(-float(fewest))
        rows += 1
        if by_period:
            for lane in range(len(lanes)):
                columns = lane * width + 4 * steps + 1 + np.arange(begun[begin], end)
                above.append((np.full(len(columns), rows), columns, -np.ones(len(columns))))
            limits.append(-float(fewest))
            rows += 1
    upper[flow : flow + edges] = windows.tasks[owner] * (overlap / unit)
    upper[out : out + len(night.runs)] = 1.0
    right = np.concatenate([np.zeros(done), work])
    prices = [price * unit_ticks / TICK for price, _ in lanes]
    extra = np.array([night.extra[run.job] if night.extra else 0.0 for run in night.runs])
    return _Block(numbers, equal, above, right, rows, np.array(limits), upper, out, prices, extra)


def _whole_machines(night: Night, points: NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
    """Yield parts of a night, from one of its points to another, and the fewest machines of the runs within them.

    The parts are the windows of single runs, and of 4, 16, ... runs in the order of their releases. Runs that may be
    left out do not count.
    """
    runs = sorted((run for run in night.runs if night.penalties[run.job] is None), key=lambda run: (run.ready, run.due))
    if len(runs) > WHOLE:
        return
    known: dict[tuple[tuple[int, int, int], ...], int] = {}
    parts: dict[tuple[int, int], None] = {}
    size = 1
    while size < 4 * len(runs):
        for first in range(0, len(runs), max(1, size // 2)):
            some = runs[first : first + size]
            parts[some[0].ready, max(run.due for run in some)] = None
        size *= 4
    for begin, end in parts:
        inside = tuple(run for run in runs if run.ready >= begin and run.due <= end)
        key = tuple((run.job, run.ready - begin, run.due - begin) for run in inside)
        if key not in known:
            known[key] = fewest_machines(replace(night, runs=inside))
        first_point = int(np.searchsorted(points, begin, side="right")) - 1
        yield first_point, int(np.searchsorted(points, end, side="left")), known[key]
