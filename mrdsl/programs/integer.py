"""Whole jobs on whole VMs: an integer program over the columns that cost least at the prices of the relaxation.

Slots that do not pack on the VMs of a solution are cut off, and the program is solved again.

**Proof of the bound.** Let ``L`` be the bound of the relaxation, at whose prices a job of a class costs ``d`` more than
the cheapest one of its class. A plan with such a job costs at least ``L + d``, since its other jobs cost no less than
the cheapest ones. So each plan costs at least ``L`` plus the least ``d`` of all jobs that are not columns of the
program, or no less than the bound of the program, of which it is a point. Cuts hold for all slots that pack. QED
(Baldacci and others 2008, *An exact algorithm for the vehicle routing problem*, leave out columns in this way.)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from mrdsl.core.linear_program import INTEGRALITY
from mrdsl.core.rounding import ROUNDING
from mrdsl.programs.columns import Relaxation, pair_costs
from mrdsl.programs.rent import Master
from mrdsl.programs.renting import Floats, Places

COLUMNS = 3_000
"""Most jobs on pairs of slots that the integer program has beside those of the relaxation."""
EFFORT, FEWEST_NODES = 300_000, 60
"""Branch-and-bound nodes times columns of one program, and its fewest nodes."""
TURNS, MOST_TURNS = 2, 5
"""Programs once a plan is found, and until one is found."""
MANY = 300
"""With more classes, whole jobs of the relaxation stay where they are."""
EXCESS = 1e-3
"""Relative excess of slots that do not pack, over their VMs, at prices that prove nothing."""


@dataclass(frozen=True)
class Placed:
    """Jobs by lane and class, their slots by kind of slot, and VMs by offer."""

    jobs: Floats
    slots: Floats
    bought: Floats


@dataclass(frozen=True)
class Fit:
    """The cost of a plan whose slots are packed, infinite without room; and by lane, prices of slots that do not pack.

    At prices that are ``proven``, no content of a VM is worth more than 1. Without room, ``beyond`` are the VMs of
    types and the cores of quotas that packing takes in excess.
    """

    cost: float
    cuts: dict[int, Floats] = field(default_factory=dict)
    proven: bool = True
    beyond: tuple[Floats, Floats] | None = None


Packer = Callable[[Placed], Fit]


def in_whole_numbers(
    master: Master, relaxation: Relaxation, pack: Packer, gap: float, until: float | None = None
) -> Iterator[tuple[Placed | None, float, float]]:
    """Yield jobs in whole numbers, their cost once they are packed, and a bound on every plan.

    Args:
        master: The program with the columns of the relaxation.
        relaxation: The relaxation.
        pack: Packs the slots of a solution.
        gap: The relative gap at which the search ends.
        until: Time limit on the monotonic clock [s], or None.
    """
    renting, program, bound = master.renting, master.program, relaxation.bound
    settled = _settled(master)
    left_out = candidates(master, relaxation, COLUMNS)
    master.keep_together()
    best, proves = np.inf, renting.reaches_all
    for turn in range(MOST_TURNS):
        keep = np.ones(len(program.costs), dtype=bool)
        keep[master.short] = False
        seconds = None if until is None else max(until - time.monotonic(), 0.0)
        enough = gap * abs(bound) / 2.0
        nodes = max(FEWEST_NODES, EFFORT // len(keep))
        settled = _settled(master) if turn else settled
        proves &= not len(settled)
        point, least = program.in_whole_numbers(keep, enough, nodes, seconds)
        if point is None and len(settled):
            _release(master)
            point, least = program.in_whole_numbers(keep, enough, nodes, seconds)
        if proves:
            bound = max(bound, min(least + renting.constant, relaxation.bound + left_out))
        if point is None:
            return
        placed = Placed(*master.placed(point), np.rint(point[master.offers]))
        fit = pack(placed)
        best = min(best, fit.cost)
        yield placed, fit.cost, bound
        if best - bound <= gap * abs(bound) or (turn + 1 >= TURNS and np.isfinite(best)) or not _cut(master, fit):
            return
        proves &= fit.proven and fit.beyond is None
        if fit.beyond is not None:
            master.leave(*fit.beyond)
        if until is not None and time.monotonic() >= until:
            return


def _settled(master: Master) -> Places:
    """Keep the whole jobs of most classes where the relaxation has them, if there are many classes; return columns."""
    if len(master.renting.low) <= MANY:
        return np.zeros(0, dtype=np.int64)
    _release(master)
    solved = master.program.relaxed()
    if solved is None:
        return np.zeros(0, dtype=np.int64)
    columns = np.array(list(master.jobs.values()), dtype=np.int64)
    classes = np.array([index for _, index, _ in master.jobs], dtype=np.int64)
    jobs = solved.point[columns]
    broken = np.bincount(classes, np.abs(jobs - np.rint(jobs)) > INTEGRALITY, len(master.renting.low)) > 0
    broken |= master.renting.together
    broken[master.renting.spots.limited] = True
    kept = columns[~broken[classes]]
    whole = np.rint(solved.point[kept])
    master.program.limit(kept, whole, whole)
    master.settled = ~broken
    return kept


def _release(master: Master) -> None:
    """Let jobs of all classes move again."""
    columns = np.array(list(master.jobs.values()), dtype=np.int64)
    high = master.renting.high[[index for _, index, _ in master.jobs]]
    master.program.limit(columns, np.zeros(len(columns)), high)


def _cut(master: Master, fit: Fit) -> int:
    return sum(master.cut(master.lanes_alike(lane), prices) for lane, prices in fit.cuts.items())


def candidates(master: Master, relaxation: Relaxation, most: int) -> float:
    """Add the jobs on pairs of slots that cost least beyond the cheapest of their class.

    Return what any other job costs more.
    """
    renting = master.renting
    beyond = relaxation.costs - np.where(np.isfinite(relaxation.of_classes), relaxation.of_classes, 0.0)
    beyond = np.where(renting.possible & (renting.high > 0.0) & ~master.settled, beyond, np.inf)
    order = np.argsort(beyond, axis=None)[: 2 * most + 1]
    lanes, classes = np.unravel_index(order, beyond.shape)
    finite = np.isfinite(beyond[lanes, classes])
    rest = float(beyond[lanes[-1], classes[-1]]) if len(order) > 2 * most else np.inf
    found: list[tuple[float, int, int, int]] = []
    for lane, index in zip(lanes[finite].tolist(), classes[finite].tolist(), strict=True):
        costs = pair_costs(master, relaxation, lane, index) - relaxation.of_classes[index]
        found += [(cost, lane, index, pair) for pair, cost in enumerate(costs.tolist())]
    found.sort()
    master.add_jobs((lane, index, pair) for _, lane, index, pair in found[:most])
    beyond_those = found[most][0] if len(found) > most else np.inf
    left_out = min(rest, beyond_those)
    return max(left_out - ROUNDING, 0.0)
