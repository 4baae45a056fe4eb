"""Proven lower bounds on the cost of machines that may be rented and released at any time.

The fluid bound lets work be spread freely over the machines that are on, in whole or in part: machines on at the points
of a grid, starts and stops between them, and machine time in each interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from mrdsl.families.timetable.bounds import Windows, windows_of
from mrdsl.families.timetable.night import TICK
from mrdsl.families.timetable.types import Market

POINTS = 400
"""Intervals of a grid at most: beyond, windows are widened to fewer points, which relaxes the bound."""
EDGES = 15_000
"""Pairs of a stage and an interval at most, for the same reason, or some for each stage."""
MARGIN = 1e-7
"""The part of a bound that is given up for the tolerances of the solver."""
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Triple = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


def least_masters(market: Market) -> float:
    """Return the least cost of the masters: from the first start to the last end, whichever runs are left out."""
    must = [run for run in market.runs if market.penalties[run.job] is None]
    if not must:
        return 0.0
    paths = [min(market.nights[vm].jobs[job].path() for vm in market.types_of(job)) for job in range(len(market.jobs))]
    first, last = min(run.due - paths[run.job] for run in must), max(run.ready + paths[run.job] for run in must)
    span = max(last - first, *(paths[run.job] for run in must)) + min(machine.boot for machine in market.machines)
    return sum(each.masters * each.price * each.billed(span) / TICK for each in market.machines if each.masters)


@dataclass(frozen=True)
class _Block:
    """The rows of one VM type: triples of rows, columns and values; ``out`` is the first column of runs left out."""

    runs: Sequence[int]
    equal: Sequence[Triple]
    above: Sequence[Triple]
    right: Floats
    rows: int
    upper: Floats
    out: int
    price: float


def fluid_bound(market: Market, seconds: float | None = None) -> float:
    """Return the optimum of the fluid relaxation, 0 if the solver does not reach it.

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
    size = rejected + count
    left, right = (
        coo_array(
            (np.concatenate([one[2] for one in part]), [np.concatenate([one[at] for one in part]) for at in (0, 1)]),
            shape=(height, size),
        ).tocsr()
        for part, height in ((equal, couplings + count), (above, int(bounded[-1])))
    )
    optional = np.array([market.penalties[run.job] is not None for run in market.runs], dtype=np.float64)
    cost = np.zeros(size)
    scale = max(block.price for block in blocks) or 1.0
    for end, block in zip(sizes[1:].tolist(), blocks, strict=True):
        cost[end - 1] = block.price / scale
    cost[rejected:] = [(market.penalties[run.job] or 0.0) / scale for run in market.runs]
    upper = np.concatenate([*(block.upper for block in blocks), optional])
    found = linprog(
        cost,
        A_ub=right,
        b_ub=np.zeros(right.shape[0]),
        A_eq=left,
        b_eq=np.concatenate([*(block.right for block in blocks), types - 1.0]),
        bounds=np.stack([np.zeros(size), upper], axis=1),
        method="highs",
        options={} if seconds is None else {"time_limit": seconds},
    )
    return float(found.fun) * scale * (1.0 - MARGIN) if found.status == 0 else 0.0


def _block(market: Market, vm: int) -> _Block | None:
    """Return the rows of a VM type, None if no run ends in its window there."""
    numbers, night = market.part(vm)
    paths = [job.path() for job in night.jobs]
    numbers = [
        each for each in numbers if market.runs[each].ready + paths[market.runs[each].job] <= market.runs[each].due
    ]
    if not numbers:
        return None
    _, night = market.part(vm, numbers)
    machine = night.machine
    windows = windows_of(night, max(stage.tasks for job in night.jobs for stage in job.stages))
    assert windows is not None
    points = _points(windows, len(market.nights))
    lengths = np.diff(points).astype(np.float64)
    steps, stages = len(lengths), len(windows.tasks)
    unit = float(max(lengths.max(), machine.boot, 1))
    lengths = lengths / unit
    first = np.searchsorted(points, windows.begin, side="right") - 1
    last = np.searchsorted(points, windows.end, side="left")
    count = last - first
    owner = np.repeat(np.arange(stages), count)
    interval = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
    overlap = np.minimum(windows.end[owner], points[interval + 1]) - np.maximum(windows.begin[owner], points[interval])
    rate = np.minimum(windows.tasks, machine.slots).astype(np.float64)
    work = windows.tasks * (windows.ticks / unit)
    edges = len(owner)
    # columns: machine time, machines at each point, starts, stops, work of stages in intervals, runs left out, the cost
    time, there, on, off, flow = 0, steps, 2 * steps + 1, 3 * steps + 1, 4 * steps + 1
    out, total = flow + edges, flow + edges + len(night.runs)
    every = np.arange(steps)
    runs = np.repeat(np.arange(len(night.runs)), [len(night.jobs[run.job].stages) for run in night.runs])
    single = np.ones(steps)
    equal = [
        # machines at the next point = those at this one + starts - stops
        (every, there + every + 1, single), (every, there + every, -single), (every, on + every, -single),
        (every, off + every, single),
        # the work of each stage is done, or its run left out
        (steps + owner, flow + np.arange(edges), np.ones(edges)), (steps + np.arange(stages), out + runs, work),
    ]  # fmt: skip
    least = machine.billed(machine.boot + min(stage.ticks for job in night.jobs for stage in job.stages)) / unit
    boot = machine.boot / unit
    rows = 4 * steps + 2
    above = [
        # slots of an interval; time of machines that are on, or stay on
        (interval, flow + np.arange(edges), np.ones(edges)), (every, time + every, -single * machine.slots),
        (steps + every, time + every, single), (steps + every, there + every, -lengths),
        (steps + every, on + every, -lengths),
        (2 * steps + every, time + every, -single), (2 * steps + every, there + every, lengths),
        (2 * steps + every, off + every, -lengths),
        # stops end machines that are there, or have started
        (3 * steps + every, off + every, single), (3 * steps + every, there + every, -single),
        (3 * steps + every, on + every, -single),
        # the cost: boots and machine time, or the least of each rental
        (np.full(steps, 4 * steps), time + every, single), (np.full(steps, 4 * steps), on + every, boot * single),
        (np.array([4 * steps]), np.array([total]), np.array([-1.0])),
        (np.full(steps, 4 * steps + 1), on + every, least * single),
        (np.array([4 * steps + 1]), np.array([total]), np.array([-1.0])),
        # a stage takes part in the slots of each machine that is on
        (rows + np.arange(edges), flow + np.arange(edges), np.ones(edges)),
        (rows + np.arange(edges), time + interval, -rate[owner]),
    ]  # fmt: skip
    upper = np.full(total + 1, inf)
    upper[there] = upper[there + steps] = 0.0
    upper[flow : flow + edges] = windows.tasks[owner] * (overlap / unit)
    upper[out : out + len(night.runs)] = 1.0
    if machine.available is not None:
        upper[there : there + steps + 1] = np.minimum(upper[there : there + steps + 1], machine.available)
    right = np.concatenate([np.zeros(steps), work])
    return _Block(numbers, equal, above, right, rows + edges, upper, out, machine.price * unit / TICK)


def _points(windows: Windows, share: int) -> Ints:
    """Return ends of windows, some of them if there are many: for a ``share``-th of a program of moderate size."""
    every: Ints = np.unique(np.concatenate([windows.begin, windows.end]))
    step = -(-len(every) * share // POINTS)
    while True:
        points: Ints = np.unique(np.append(every[::step], every[-1]))
        spans = np.searchsorted(points, windows.end) - np.searchsorted(points, windows.begin, side="right") + 1
        if int(spans.sum()) <= max(EDGES // share, 6 * len(spans)) or len(points) <= 3:
            return points
        step *= 2
