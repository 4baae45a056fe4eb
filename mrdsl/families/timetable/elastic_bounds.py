"""Proven lower bounds on the cost of machines that may be rented and released at any time.

The fluid bound lets work be spread freely over the machines that are on, in whole or in part: machines on at the points
of a grid, starts and stops between them, and machine time in each interval.
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from mrdsl.families.timetable.bounds import Windows, windows_of
from mrdsl.families.timetable.night import TICK, Night

POINTS = 400
"""Intervals of a grid at most: beyond, windows are widened to fewer points, which relaxes the bound."""
EDGES = 15_000
"""Pairs of a stage and an interval at most, for the same reason, or some for each stage."""
MARGIN = 1e-7
"""The part of a bound that is given up for the tolerances of the solver."""
Ints = NDArray[np.int64]


def least_masters(night: Night) -> float:
    """Return the least cost of the masters: from the first start to the last end, whichever runs are left out."""
    machine = night.machine
    must = [run for run in night.runs if night.penalties[run.job] is None]
    if not machine.masters or not must:
        return 0.0
    paths = [job.path() for job in night.jobs]
    first, last = min(run.due - paths[run.job] for run in must), max(run.ready + paths[run.job] for run in must)
    span = machine.boot + max(last - first, *(paths[run.job] for run in must))
    return machine.masters * machine.price * machine.billed(span) / TICK


def fluid_bound(night: Night, seconds: float | None = None) -> float:
    """Return the optimum of the fluid relaxation, 0 if the solver does not reach it."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    machine = night.machine
    windows = windows_of(night, max(stage.tasks for job in night.jobs for stage in job.stages))
    if windows is None:
        return 0.0
    points = _points(windows)
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
    size = total + 1
    left, right = (
        coo_array(
            (np.concatenate([one[2] for one in part]), [np.concatenate([one[at] for one in part]) for at in (0, 1)]),
            shape=(count, size),
        ).tocsr()
        for part, count in ((equal, steps + stages), (above, rows + edges))
    )
    price = machine.price * unit / TICK
    optional = np.array([night.penalties[run.job] is not None for run in night.runs])
    upper = np.full(size, inf)
    upper[there] = upper[there + steps] = 0.0
    upper[flow : flow + edges] = windows.tasks[owner] * (overlap / unit)
    upper[out : out + len(night.runs)] = optional
    if machine.available is not None:
        upper[there : there + steps + 1] = np.minimum(upper[there : there + steps + 1], machine.available)
    cost = np.zeros(size)
    scale = price or 1.0
    cost[total] = price / scale
    cost[out : out + len(night.runs)] = [(night.penalties[run.job] or 0.0) / scale for run in night.runs]
    found = linprog(
        cost,
        A_ub=right,
        b_ub=np.zeros(rows + edges),
        A_eq=left,
        b_eq=np.concatenate([np.zeros(steps), work]),
        bounds=np.stack([np.zeros(size), upper], axis=1),
        method="highs",
        options={} if seconds is None else {"time_limit": seconds},
    )
    return float(found.fun) * scale * (1.0 - MARGIN) if found.status == 0 else 0.0


def _points(windows: Windows) -> Ints:
    """Return ends of windows, all of them or some, so that stages and intervals make a program of moderate size."""
    every: Ints = np.unique(np.concatenate([windows.begin, windows.end]))
    step = -(-len(every) // POINTS)
    while True:
        points: Ints = np.unique(np.append(every[::step], every[-1]))
        spans = np.searchsorted(points, windows.end) - np.searchsorted(points, windows.begin, side="right") + 1
        if int(spans.sum()) <= max(EDGES, 6 * len(spans)) or len(points) <= 3:
            return points
        step *= 2
