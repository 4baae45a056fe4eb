"""Proven lower bounds on the machines that meet every deadline, and on the cost of a constant cluster.

The bound on the size is a maximum flow. Each stage has a window, in which it runs at a rate of at most as many slots as
it has tasks. Elementary intervals between the ends of windows offer all the slots. The relaxation lets tasks be
interrupted and spread freely, so if a size has no such flow, it has no plan.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mrdsl.families.timetable.night import TICK, Job, Night

POINTS = 3000
"""Elementary intervals at most: beyond, several are taken as one, which relaxes the bound."""
EDGES = 1_000_000
"""Pairs of a stage and an interval at most, for the same reason."""
UNITS = 1 << 30
"""What all slots of all intervals come to at most in a flow, whose capacities are 32-bit integers."""
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Windows:
    """Of every stage of every run: its earliest start, its latest end, its tasks and their time, in ticks."""

    begin: Ints
    end: Ints
    tasks: Ints
    ticks: Ints


def windows_of(night: Night, slots: int) -> Windows | None:
    """Return the windows of all stages on ``slots`` slots; None if a stage does not fit into its window."""
    heads: dict[int, tuple[list[int], list[int], list[int], list[int]]] = {}
    for index, job in enumerate(night.jobs):
        ends = job.ends(slots)
        heads[index] = (
            [max((ends[before] for before in stage.after), default=0) for stage in job.stages],
            job.tails(slots),
            [stage.tasks for stage in job.stages],
            [stage.ticks for stage in job.stages],
        )
    rows: list[tuple[int, int, int, int]] = []
    for run in night.runs:
        head, tail, tasks, ticks = heads[run.job]
        rows += [(run.ready + head[i], run.due - tail[i], tasks[i], ticks[i]) for i in range(len(head))]
    begin, end, count, each = np.array(rows, dtype=np.int64).T
    if bool((begin - (-count // slots) * each > end).any()):
        return None
    return Windows(begin, end, count, each)


def fits(night: Night, slots: int) -> bool:
    """Return False if no plan meets every deadline on ``slots`` slots; True is not a proof."""
    windows = windows_of(night, slots)
    return windows is not None and _flows(windows, slots)


def _flows(windows: Windows, slots: int) -> bool:
    """Return True if a flow brings all work into its windows."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    points = _points(windows)
    work = windows.tasks * windows.ticks
    lengths = np.diff(points)
    unit = max(1, -(-int(lengths.sum()) * slots // UNITS), -(-int(work.sum()) // UNITS))
    first = np.searchsorted(points, windows.begin, side="right") - 1
    last = np.searchsorted(points, windows.end, side="left")
    rate = np.minimum(windows.tasks, slots)
    count = last - first
    owner = np.repeat(np.arange(len(work)), count)
    interval = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
    overlap = np.minimum(windows.end[owner], points[interval + 1]) - np.maximum(windows.begin[owner], points[interval])
    stages, steps = len(work), len(lengths)
    source, sink = stages + steps, stages + steps + 1
    tails = np.concatenate([np.full(stages, source), owner, stages + np.arange(steps)])
    heads = np.concatenate([np.arange(stages), stages + interval, np.full(steps, sink)])
    needs = work // unit
    capacities = np.concatenate([needs, -(-rate[owner] * overlap // unit), -(-slots * lengths // unit)])
    size = stages + steps + 2
    ends = (tails.astype(np.int32), heads.astype(np.int32))  # SciPy 1.12 reads no other indices
    graph = csr_array((capacities.astype(np.int32), ends), shape=(size, size))
    return int(maximum_flow(graph, source, sink).flow_value) >= int(needs.sum())


def _points(windows: Windows) -> Ints:
    """Return ends of windows, all of them or some, so that stages and intervals make a flow of moderate size."""
    every: Ints = np.unique(np.concatenate([windows.begin, windows.end]))
    step = -(-len(every) // POINTS)
    while True:
        points: Ints = np.unique(np.append(every[::step], every[-1]))
        spans = np.searchsorted(points, windows.end) - np.searchsorted(points, windows.begin, side="right") + 1
        if int(spans.sum()) <= EDGES or len(points) <= 3:
            return points
        step *= 2


def fewest_machines(night: Night) -> int:
    """Return a proven lower bound on the machines of a constant cluster that meets every deadline."""
    each = night.machine.slots
    low, high = 0, 1
    while not fits(night, high * each):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(night, middle * each) else (middle, high)
    return high


def earliest_end(night: Night, slots: int) -> int:
    """Return a proven lower bound on the end of the last run on ``slots`` slots [ticks]."""
    paths = [job.path(slots) for job in night.jobs]
    alone = max(run.ready + paths[run.job] for run in night.runs)
    ready = np.array([run.ready for run in night.runs], dtype=np.int64)
    order = np.argsort(-ready, kind="stable")
    work = np.cumsum(np.array([_work(night.jobs[night.runs[i].job]) for i in order], dtype=np.int64))
    return max(alone, int((ready[order] + -(-work // slots)).max()))


def _work(job: Job) -> int:
    return job.work


def least_cost(night: Night, fewest: int, most: float) -> float:
    """Return a proven lower bound on the cost of a constant cluster of at least ``fewest`` machines.

    Sizes above ``most`` cost more than a known plan.
    """
    machine, begin = night.machine, night.first - night.machine.boot
    least = float("inf")
    shortest = min(run.ready + night.jobs[run.job].path(1 << 40) for run in night.runs)
    count = fewest
    shortest = max(run.ready + night.jobs[run.job].path(1 << 40) for run in night.runs) - begin
    while machine.cost(count, shortest) < min(least, most):
        least = min(least, machine.cost(count, earliest_end(night, count * machine.slots) - begin))
        count += 1
    return min(least, most)


def seconds(ticks: int) -> float:
    """Return ticks in seconds."""
    return ticks / TICK
