"""Work, critical path and width of jobs that are DAGs of stages.

A stage is a set of equal tasks that can run concurrently. It starts when its predecessors have ended. Three numbers of
a job enter the estimates:

- Its work ``W``: tasks times their average, over all stages.
- Its critical path ``P``: the longest path of one task a stage, by average or by longest tasks.
- Its width: the most concurrent tasks.

Delays of stages take no slots. No time is shorter than the work on all slots plus the delays of the stages that run
with no other stage, and the bound of Graham holds with the longest path of delays added: at each moment all slots are
busy, or a stage of one chain runs or is delayed.

Sources: Graham 1969, *Bounds on Multiprocessing Timing Anomalies* (:mod:`mrdsl.formulas.mapreduce` shows its use);
Dilworth's theorem, weighted, for the width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from mrdsl.spec.blocks import Stage, any_stages, stages_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Parents = tuple[tuple[int, ...], ...]
"""For every stage the numbers of those that it comes after."""


@dataclass(frozen=True)
class StageWork:
    """Totals of the stages of one job, one element per class; NaN if a class has no stages.

    ``work``: slot-seconds. ``path_avg``, ``path_max``: the longest path of one average and of one longest task a stage
    [s]. ``beside``: the work outside the longest path of longest tasks. ``width``: the most slots at once, ``least``:
    the fewest on which every stage runs. ``delay_low``: the delays of stages that can run with no other one [s],
    ``delay_high``: the longest path of delays.
    """

    work: Floats
    path_avg: Floats
    path_max: Floats
    beside: Floats
    width: Floats
    least: Floats
    delay_low: Floats
    delay_high: Floats


def stage_work(classes: Sequence[Any]) -> StageWork | None:
    """Return work, paths and width of every class; None if no class has stages.

    The stages must have passed their check.
    """
    import numpy as np

    if not any_stages(classes):
        return None
    rows = stages_of(classes)
    known = {stages: _numbers(stages) if stages else (np.nan,) * 8 for stages in dict.fromkeys(rows)}
    return StageWork(*np.array([known[stages] for stages in rows]).T)


def parents_of(stages: Sequence[Stage]) -> Parents:
    """Return the predecessors of every stage, each once; unknown names are left out."""
    places = {stage.name: number for number, stage in enumerate(stages)}
    return tuple(tuple(dict.fromkeys(places[name] for name in stage.after if name in places)) for stage in stages)


def in_order(parents: Parents) -> list[int]:
    """Order stages so that each comes after its parents; of those that may come next, the first written comes first.

    Those of a cycle, and their successors, are left out.
    """
    followers: list[list[int]] = [[] for _ in parents]
    for number, before in enumerate(parents):
        for other in before:
            followers[other].append(number)
    waiting = [len(before) for before in parents]
    ready = [number for number, count in enumerate(waiting) if not count]
    order: list[int] = []
    while ready:
        order.append(heappop(ready))
        for follower in followers[order[-1]]:
            waiting[follower] -= 1
            if not waiting[follower]:
                heappush(ready, follower)
    return order


def find_cycle(parents: Parents) -> list[int]:
    """Return the stages of one cycle, each before its successor, the lowest first; [] if there is none."""
    left = set(range(len(parents))).difference(in_order(parents))
    if not left:
        return []
    seen: dict[int, int] = {}
    walk: list[int] = []
    at = min(left)
    while at not in seen:
        seen[at] = len(walk)
        walk.append(at)
        at = next(before for before in parents[at] if before in left)
    cycle = walk[seen[at] :][::-1]
    turn = cycle.index(min(cycle))
    return cycle[turn:] + cycle[:turn]


def longest_path(parents: Parents, lengths: Sequence[float]) -> list[int]:
    """Return the stages of the path whose lengths add up to most, in order; of equal ones the first in spec order."""
    best: dict[int, float] = {}
    before: dict[int, int | None] = {}
    for number in in_order(parents):
        last = max(parents[number], key=lambda other: (best[other], -other), default=None)
        before[number] = last
        best[number] = lengths[number] + (0.0 if last is None else best[last])
    at: int | None = max(best, key=lambda other: (best[other], -other))
    path: list[int] = []
    while at is not None:
        path.append(at)
        at = before[at]
    return path[::-1]


def width(tasks: tuple[int, ...], parents: Parents) -> int:
    """Return the most concurrent tasks: the heaviest set of stages without a dependency between them.

    By Dilworth's theorem, that is the least number of chains that cover every task. It equals all tasks less the most
    that can follow another within a chain, a maximum flow. A chain can pass a stage without taking a task of it.
    """
    import networkx as nx

    network = nx.DiGraph()
    network.add_nodes_from(("start", "end"))
    for number, count in enumerate(tasks):
        network.add_edge("start", ("out", number), capacity=count)
        network.add_edge(("in", number), "end", capacity=count)
        network.add_edge(("in", number), ("out", number))
        network.add_edges_from((("out", before), ("in", number)) for before in parents[number])
    return sum(tasks) - int(nx.maximum_flow_value(network, "start", "end"))


def described(stages: tuple[Stage, ...]) -> tuple[str, ...]:
    """Work, critical paths and width of one job, in words."""
    parents = parents_of(stages)
    work = sum(stage.width * stage.avg for stage in stages)
    lines = [f"work = {work:g} s on one slot"]
    for what, lengths in (("average", [s.avg for s in stages]), ("longest", [s.max for s in stages])):
        path = longest_path(parents, lengths)
        names = " -> ".join(stages[number].name for number in path)
        lines.append(f"critical path of {what} tasks = {sum(lengths[number] for number in path):g} s: {names}")
    if any(stage.delay for stage in stages):
        lines.append(f"longest path of delays = {_delays(stages, parents)[1]:g} s")
    what = "tasks" if all(stage.slots == 1 for stage in stages) else "slots of tasks"
    return *lines, f"width = {width(tuple(stage.width for stage in stages), parents)} {what} at once"


@lru_cache(maxsize=1 << 16)
def _numbers(stages: tuple[Stage, ...]) -> tuple[float, ...]:
    parents = parents_of(stages)
    averages, longest = [stage.avg for stage in stages], [stage.max for stage in stages]
    path = longest_path(parents, longest)
    work = sum(stage.width * stage.avg for stage in stages)
    path_max = sum(longest[number] for number in path)
    on_path = sum(stages[number].slots * longest[number] for number in path)
    return (
        work,
        sum(averages[number] for number in longest_path(parents, averages)),
        path_max,
        _beside(stages, set(path), work - on_path),
        width(tuple(stage.width for stage in stages), parents),
        max(stage.together for stage in stages),
        *_delays(stages, parents),
    )


def _delays(stages: tuple[Stage, ...], parents: Parents) -> tuple[float, float]:
    """Return the delays of the stages that are before or after every other one, and the longest path of delays."""
    delays = [stage.delay for stage in stages]
    if not any(delays):
        return 0.0, 0.0
    before: dict[int, int] = {}
    for number in in_order(parents):
        before[number] = 0
        for parent in parents[number]:
            before[number] |= before[parent] | 1 << parent
    after = [sum(found >> number & 1 for found in before.values()) for number in range(len(stages))]
    low = sum(
        delay for number, delay in enumerate(delays) if before[number].bit_count() + after[number] == len(stages) - 1
    )
    return low, sum(delays[number] for number in longest_path(parents, delays))


def serial_parts(parents: Parents) -> list[list[int]]:
    """Return the stages in parts of which each ends before the next one begins, as small as possible."""
    before: dict[int, int] = {}
    for number in in_order(parents):
        before[number] = 0
        for parent in parents[number]:
            before[number] |= before[parent] | 1 << parent
    order = sorted(before, key=lambda number: (before[number].bit_count(), number))
    found: list[list[int]] = [[]]
    common, earlier = -1, sum(1 << number for number in order)
    for number in reversed(order):
        found[-1].insert(0, number)
        common &= before[number]
        earlier ^= 1 << number
        if common & earlier == earlier:
            found.append([])
    return [part for part in reversed(found) if part]


def width_and_beside(stages: tuple[Stage, ...]) -> tuple[int, float]:
    """Return the most concurrent tasks of stages, and their work outside their longest path."""
    if len(stages) == 1:
        stage = stages[0]
        return stage.width, _beside(stages, {0}, stage.width * stage.avg - stage.slots * stage.max)
    parents, longest = parents_of(stages), [stage.max for stage in stages]
    path = longest_path(parents, longest)
    left = sum(stage.width * stage.avg for stage in stages)
    left -= sum(stages[number].slots * longest[number] for number in path)
    return width(tuple(stage.width for stage in stages), parents), _beside(stages, set(path), left)


def _beside(stages: tuple[Stage, ...], path: set[int], left: float) -> float:
    """Return the work outside one longest task of each stage of the path.

    An average so small that a stage's work is below its longest task cannot be from one job. The other tasks then take
    at most the longest time each.
    """
    short = [number in path and stage.tasks * stage.avg < stage.max for number, stage in enumerate(stages)]
    if not any(short):
        return left
    return sum(
        (stage.tasks - 1.0) * stage.slots * stage.max
        if short[number]
        else stage.width * stage.avg - (stage.slots * stage.max if number in path else 0.0)
        for number, stage in enumerate(stages)
    )
