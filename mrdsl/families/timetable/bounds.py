"""Proven lower bounds on the machines that meet every deadline, and on the cost of a constant cluster.

The bound on the size is a maximum flow. Each stage has a window, in which it runs at a rate of at most as many slots as
it has tasks. Elementary intervals between the ends of windows offer all the slots. The relaxation lets tasks be
interrupted and spread freely, so if a size has no such flow, it has no plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappush, heapreplace
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.lazy import kept
from mrdsl.core.watching import look, shared_time
from mrdsl.families.timetable.night import TICK, Night, Run

POINTS = 3000
"""Elementary intervals at most: beyond, several are taken as one, which relaxes the bound."""
EDGES = 1_000_000
"""Pairs of a stage and an interval at most, for the same reason."""
UNITS = 1 << 30
"""Largest total of all slots of all intervals in a flow, whose capacities are 32-bit integers."""
MOST = 1 << 62
"""Largest total of all slots of a night in ticks: for more, ticks are longer, which relaxes the bound."""
RANGES = 5000
"""Ranges of sizes that are halved for a bound on the cost."""
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Windows:
    """Of every stage of every run: its earliest start, its latest end, its tasks and their time, in ticks.

    A tick is ``tick`` nanoseconds, more than one if the night comes to more than ``MOST`` of them.
    """

    begin: Ints
    end: Ints
    tasks: Ints
    ticks: Ints
    tick: int = 1


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
    if any(begin - (-count // slots) * each > end for begin, end, count, each in rows):
        return None
    span = max(end for _, end, _, _ in rows) - min(begin for begin, _, _, _ in rows)
    tick = -(-max(slots * span, sum(count * each for _, _, count, each in rows)) // MOST)
    if tick > 1:
        rows = [(begin // tick, -(-end // tick), count, each // tick) for begin, end, count, each in rows]
    first, last, tasks, ticks = np.array(rows, dtype=np.int64).T
    return Windows(first, last, tasks, ticks, max(tick, 1))


def fits(night: Night, slots: int) -> bool:
    """Return False if no plan meets every deadline on ``slots`` slots; True is not a proof."""
    look()
    windows = windows_of(night, slots)
    return windows is not None and _flows(windows, slots)


def _flows(windows: Windows, slots: int) -> bool:
    """Return True if a flow brings all work into its windows."""
    from scipy.sparse.csgraph import maximum_flow

    graph, needs, _ = _graph(windows, slots)
    source = graph.shape[0] - 2
    return int(maximum_flow(graph, source, source + 1).flow_value) >= needs


@dataclass(frozen=True)
class Bottleneck:
    """Why ``slots`` are too few: from when to when which runs have more work than fits [ticks].

    A single run is one that does not end on time with all slots to itself.
    """

    begin: int
    end: int
    runs: tuple[int, ...]


def bottleneck(night: Night, slots: int) -> Bottleneck | None:
    """Return a minimum cut of the flow on ``slots`` slots; None if all work flows, or the cut has no stages."""
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    for index, run in enumerate(night.runs):
        if run.ready + night.jobs[run.job].path(slots) > run.due:
            return Bottleneck(run.ready, run.due, (index,))
    windows = windows_of(night, slots)
    if windows is None:
        return None
    graph, needs, points = _graph(windows, slots)
    source = graph.shape[0] - 2
    found = maximum_flow(graph, source, source + 1)
    if int(found.flow_value) >= needs:
        return None
    reached = breadth_first_order(graph - found.flow > 0, source, return_predecessors=False)
    stages = len(windows.tasks)
    at = np.sort(reached[(reached >= stages) & (reached < source)]) - stages
    owner = np.repeat(np.arange(len(night.runs)), [len(night.jobs[run.job].stages) for run in night.runs])
    runs = np.unique(owner[reached[reached < stages]])
    if not len(at) or not len(runs):
        return None
    begin, end = (int(points[each]) * windows.tick for each in (at[0], at[-1] + 1))
    return Bottleneck(begin, end, tuple(runs.tolist()))


def _graph(windows: Windows, slots: int) -> tuple[Any, int, Ints]:
    """Return the flow network, the flow that brings all work into its windows, and the ends of its intervals.

    Its nodes are the stages, the intervals, the source and the sink.
    """
    from scipy.sparse import csr_array

    points = elementary_points(windows)
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
    return csr_array((capacities.astype(np.int32), ends), shape=(size, size)), int(needs.sum()), points


def elementary_points(windows: Windows, most: int = POINTS, edges: int = EDGES, more: Ints | None = None) -> Ints:
    """Return ends of windows and more points, or some, so that stages and intervals make a program of moderate size."""
    every: Ints = np.unique(np.concatenate([windows.begin, windows.end, *([] if more is None else [more])]))
    step = -(-len(every) // most)
    while True:
        points: Ints = np.unique(np.append(every[::step], every[-1]))
        spans = np.searchsorted(points, windows.end) - np.searchsorted(points, windows.begin, side="right") + 1
        if int(spans.sum()) <= max(edges, 6 * len(spans)) or len(points) <= 3:
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


def time_option(seconds: float | None = None) -> dict[str, float]:
    """Return the option that ends a solver of SciPy after some seconds, or with the shared time if that is less."""
    left = shared_time(seconds)
    return {} if left is None else {"time_limit": left}


def earliest_end(night: Night, slots: int) -> int:
    """Return a proven lower bound on the end of the last run on ``slots`` slots [ticks].

    That is the end of the run that ends last with all slots to itself, or of the work that is released from some time
    on, with no slot idle.
    """
    last = kept(night, "last", lambda: {run.job: run.ready for run in sorted(night.runs, key=_ready)})
    alone = max(ready + night.jobs[job].path(slots) for job, ready in last.items())
    return max(alone, max(ready - (-work // slots) for ready, work in kept(night, "backlog", lambda: _backlog(night))))


def _ready(run: Run) -> int:
    return run.ready


def _backlog(night: Night) -> list[tuple[int, int]]:
    """Return times and the work that is released from each on, without those that never give the latest end.

    The end of work ``W`` from time ``r`` on is ``r + W / slots``: only corners of the upper hull matter.
    """
    hull: list[tuple[int, int]] = []
    work = 0
    for run in sorted(night.runs, key=_ready, reverse=True):
        work += night.jobs[run.job].work
        while len(hull) > 1 and _is_below(hull[-2], hull[-1], (run.ready, work)):
            hull.pop()
        hull.append((run.ready, work))
    return hull


def _is_below(first: tuple[int, int], middle: tuple[int, int], last: tuple[int, int]) -> bool:
    """Return True if the middle one of three points lies on or below the line between the others."""
    return (middle[0] - first[0]) * (last[1] - first[1]) <= (last[0] - first[0]) * (middle[1] - first[1])


def least_cost(night: Night, fewest: int, most: float) -> float:
    """Return a proven lower bound on the cost of a constant cluster of at least ``fewest`` machines.

    No more than ``most``, the cost of a known plan. A range of sizes costs at least as much as its smallest size that
    ends when its largest one can. Ranges are halved, the cheapest first, until that is one size, or ``RANGES`` times.
    """
    machine, begin = night.machine, night.first - night.machine.boot

    def cost(count: int, upto: int) -> float:
        return machine.cost(count, earliest_end(night, upto * machine.slots) - begin)

    least = min(most, cost(fewest, fewest))
    shortest = max(run.ready + night.jobs[run.job].path() for run in night.runs) - begin
    each = machine.price * machine.billed(shortest) / TICK
    largest = max(fewest, machine.reserved + ceil(least / each)) if each else max(fewest, machine.reserved)
    ranges = [(cost(fewest, largest), fewest, largest)]
    for _ in range(RANGES):
        bound, low, high = ranges[0]
        if bound >= least or low == high:
            break
        middle = (low + high) // 2
        heapreplace(ranges, (cost(low, middle), low, middle))
        heappush(ranges, (cost(middle + 1, high), middle + 1, high))
    return min(ranges[0][0], least)
