"""Whole jobs of few classes on whole VMs by an integer program over the contents of lanes: a plan, and a bound.

A content is whole jobs on ``k`` VMs. The integer program chooses a number of VMs for each lane and a content for each
lane in use (:mod:`mrdsl.families.capacity.methods.lane_columns`). It has each content and each lane that a plan below
some cost can use.

**Proof of the bound.** At the prices ``pi`` of jobs, the program of columns proves the bound ``L`` of every plan, with
the best saving ``s`` of each lane as its part. A plan in which a lane saves only ``v`` costs at least ``L + s - v``. So
a plan below the cost ``A`` has no content on ``k`` VMs of a lane that is worth less than their price plus ``s`` less
``A - L``. A content to which a job fits is worth no more than the content with that job, and this may replace it, since
jobs beyond those that are needed can be left out. So the largest contents of that worth are enough: each plan costs at
least ``A`` or the bound of the integer program, whichever is less. If two lanes share a type, ``s`` counts as 0: the
best saving of both is no less than that of the other lane. QED (Baldacci and others 2008, *An exact algorithm for the
vehicle routing problem*, leave out columns in this way.)
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from mrdsl.core.rounding import ROUNDING, ceiling, floor
from mrdsl.families.capacity.lanes import limited_classes
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_columns import Content, LaneProgram, Packing
from mrdsl.families.capacity.methods.lane_prices import Task
from mrdsl.families.capacity.methods.vector_program import Placed

Lot = tuple[int, int, Content]
"""A kind of lanes, a number of VMs, and their content."""
MOST_CONTENTS, STEPS = 8_000, 200_000
"""Most contents of the integer program, and most steps of the search for them."""
LOOK = 1_000
"""Steps after which a search looks at the time."""
FEW_CLASSES = 12
"""Of more classes, contents are too many."""
PARTS = (1.0, 0.25)
"""Parts of the distance between the bound and a plan for which contents are searched, until they are few."""
UNKNOWN = 0.1
"""Distance from the bound for which contents are searched if no plan is known, relative to the bound."""
TURNS = 6
"""Most solutions whose slots do not pack, each of which may exclude contents."""
FEWEST_NODES, NODES, COLUMNS = 20, 400, 200_000
"""Fewest and most nodes of the integer program, and most nodes times contents."""


def by_contents(
    task: Task, program: LaneProgram, cost: float, gap: float, until: float | None
) -> Iterator[tuple[Placed | None, float]]:
    """Yield plans near the optimum, or None, each with a bound; ``cost`` is that of a known plan, or infinite.

    If the contents are too many, a plan has those of the program of columns, and its bound is minus infinity. There are
    no plans of more than ``FEW_CLASSES``, or if parts of classes are on spot VMs.
    """
    lanes, mix = program.lanes, task.mix
    if len(mix) > FEW_CLASSES:
        return
    limited = len(limited_classes(mix)) or len(task.spare.entries) or (task.same_type and mix.together.any())
    if limited or len(task.market.quota_limits) or not np.isfinite(program.bound):
        return
    away = (cost if np.isfinite(cost) else program.bound * (1.0 + UNKNOWN)) - program.bound
    packing, bound = lanes.packing(), -np.inf
    for part in PARTS:
        if until is not None and time.monotonic() > until:
            return
        pool = _Pool(task, program, program.bound + part * away, until)
        if pool.filled(pool.kinds):
            break
    else:
        point, _ = program.whole(gap, FEWEST_NODES, None if until is None else until - time.monotonic())
        if point is not None:
            yield _placed(task, program, point, *_used(program, point, packing)), bound
        return
    for turn in range(TURNS + 1):
        if until is not None and time.monotonic() > until:
            return
        if turn == TURNS or pool.ended:
            pool.only_packed(packing)
        program.only(pool.rented, pool.contents)
        nodes = max(FEWEST_NODES, min(NODES, COLUMNS // max(1, len(pool.contents))))
        point, proven = program.whole(gap, nodes, None if until is None else until - time.monotonic())
        if turn < TURNS and not pool.ended:
            bound = max(bound, min(pool.below, proven))
        if point is None:
            yield None, bound
            return
        used, slots = _used(program, point, packing)
        yield _placed(task, program, point, used, slots), bound
        loose = [content for (_, content), pairs in zip(used, slots, strict=True) if pairs is None]
        if not loose or not pool.excluded(loose, packing):
            return


class _Pool:
    """The contents of each kind of lanes, and lanes with numbers of VMs, for plans that cost less than ``below``.

    ``rows`` are further resources of a kind, of which contents that do not pack take too much. If the pool has
    ``ended``, it has only contents that pack, and proves no bound.
    """

    def __init__(self, task: Task, program: LaneProgram, below: float, until: float | None) -> None:
        self.task, self.program, self.below, self.until, self.ended = task, program, below, until, False
        self.rows: dict[int, list[Floats]] = {}
        self.of_kind: dict[int, list[Lot]] = {}
        self.rented: set[tuple[int, int]] = set()
        lanes, market = program.lanes, task.market
        useful = program.with_a_vm() < below
        self.narrow = bool(lanes.narrow[useful].all())
        self.worth = program.worth(program.at)
        self.least: dict[int, Floats] = {}
        alone = np.bincount(market.vm_of_lane, minlength=len(lanes.room)) == 1
        for worth, lanes_alike in program.worths():
            mine = lanes_alike[useful[lanes_alike]]
            least = np.full(len(worth), np.inf)
            for lane in mine.tolist():
                costs = lanes.costs(lane)
                net = worth[: len(costs)] - costs
                saved = float(net.max()) if alone[market.vm_of_lane[lane]] else 0.0
                needed = costs + saved - (below - program.bound)
                least[: len(costs)] = np.minimum(least[: len(costs)], needed)
                pays = np.flatnonzero(worth[: len(costs)] >= needed)
                self.rented.update((lane, vms) for vms in pays.tolist() if vms)
            if len(mine):
                self.least[int(lanes.kind[mine[0]])] = np.where(worth >= least, least, np.inf)

    @property
    def kinds(self) -> list[int]:
        return list(self.least)

    @property
    def contents(self) -> list[Lot]:
        return [each for kind in self.kinds for each in self.of_kind[kind]]

    def filled(self, kinds: Iterable[int]) -> bool:
        """Find the largest contents of some kinds; return False if there are too many, or fractional VMs."""
        lanes, others = self.program.lanes, [self.of_kind[kind] for kind in self.of_kind if kind not in kinds]
        budget = _Budget(MOST_CONTENTS - sum(map(len, others)), STEPS, self.until)
        for kind in kinds:
            parts = np.stack([*lanes.parts(kind), *self.rows.get(kind, [])])
            self.of_kind[kind] = []
            for vms in np.flatnonzero(np.isfinite(self.least[kind])).tolist():
                least = float(self.least[kind][vms])
                found = _largest(parts, lanes.high[kind], self.worth[kind], vms, least, budget) if vms else []
                if found is None:
                    return False
                self.of_kind[kind] += [(kind, vms, Content(jobs)) for jobs in found]
        return self.narrow

    def excluded(self, loose: list[Lot], packing: Packing) -> bool:
        """Exclude contents that do not pack; return False if none can be left out any more."""
        if self.ended:
            return False
        rows = [(kind, packing.excluding(kind, vms, content.jobs)) for kind, vms, content in loose]
        for kind, row in rows:
            if row is not None:
                self.rows.setdefault(kind, []).append(row)
        changed = {kind for kind, row in rows if row is not None}
        self.ended = not changed or not self.filled(sorted(changed))
        return True

    def only_packed(self, packing: Packing) -> None:
        """Replace contents that do not pack by those with one job less that do, if they are worth enough."""
        for kind in self.kinds:
            found: dict[tuple[int, bytes], Lot] = {}
            for _, vms, content in self.of_kind[kind]:
                some = [jobs := content.jobs]
                if packing.slots(kind, vms, jobs) is None:
                    some = [jobs - unit for unit in np.eye(len(jobs))[jobs > 0.0]]
                    some = [each for each in some if self.worth[kind] @ each >= self.least[kind][vms] - ROUNDING]
                    some = [each for each in some if packing.slots(kind, vms, each) is not None]
                found.update({(vms, each.tobytes()): (kind, vms, Content(each)) for each in some})
            self.of_kind[kind] = list(found.values())
        self.ended = True


@dataclass
class _Budget:
    """The contents and steps that a search has left, and the time at which it ends."""

    contents: int
    steps: int
    until: float | None

    def spent(self) -> bool:
        """Take a step; return True if there is none left, or no time."""
        self.steps -= 1
        late = self.steps % LOOK == 0 and self.until is not None and time.monotonic() > self.until
        return self.steps < 0 or late


def _largest(
    parts: Floats, most: Floats, worth: Floats, vms: int, least: float, budget: _Budget
) -> list[Floats] | None:
    """Return the contents of so many VMs worth at least ``least`` to which no job can be added; None if too many.

    Jobs take ``parts`` of a VM, (resources, classes), of each of which the VMs have enough.
    """
    there = np.flatnonzero(np.isfinite(parts).all(axis=0) & (most > 0.0))
    order = there[np.argsort(-worth[there] / np.maximum(parts[0, there], ROUNDING), kind="stable")]
    sizes, high, worths = parts[:, order], most[order], worth[order]
    main = sizes[0].tolist()
    if not all(main):
        return None
    least -= ROUNDING * (1.0 + abs(least))
    jobs, found = np.zeros(len(order)), list[Floats]()

    def extended(place: int, room: Floats, value: float) -> bool:
        """Add jobs of the classes from a place on; return False if the budget is spent."""
        if budget.spent():
            return False
        if place == len(order):
            if not ((sizes <= room[:, None]).all(axis=0) & (jobs < high)).any():
                budget.contents -= 1
                content = np.zeros(len(most))
                content[order] = jobs
                found.append(content)
            return budget.contents >= 0
        left, best = float(room[0]), value
        for each in range(place, len(order)):
            count = min(high[each], left / main[each])
            best, left = best + count * worths[each], left - count * main[each]
            if left <= 0.0:
                break
        if best < least:
            return True
        most_here = np.divide(room, sizes[:, place], out=np.full(len(room), np.inf), where=sizes[:, place] > 0.0).min()
        for count in range(int(min(high[place], floor(float(most_here)))), -1, -1):
            jobs[place] = count
            if not extended(place + 1, room - count * sizes[:, place], value + count * worths[place]):
                return False
        return True

    return found if extended(0, np.full(len(parts), vms * (1.0 + ROUNDING)), 0.0) else None


def _used(program: LaneProgram, point: Floats, packing: Packing) -> tuple[list[tuple[int, Lot]], list[Floats | None]]:
    """Return each lane in use with its content, and slots with which this packs."""
    free: dict[tuple[int, int], list[int]] = {}
    for number, (lane, vms) in program.vms.items():
        if point[number] > 0.5:
            free.setdefault((int(program.lanes.kind[lane]), vms), []).append(lane)
    used, slots = list[tuple[int, Lot]](), list[Floats | None]()
    for number, (kind, vms, content) in program.chosen.items():
        for _ in range(round(point[number])):
            used.append((free[kind, vms].pop(), (kind, vms, content)))
            known = None if content.slots is None else content.slots.T
            slots.append(packing.slots(kind, vms, content.jobs, thorough=True) if known is None else known)
    return used, slots


def _placed(
    task: Task,
    program: LaneProgram,
    point: Floats,
    used: list[tuple[int, Lot]],
    slots: list[Floats | None],
) -> Placed:
    """Return the jobs of a point on their VMs, without jobs that contents have beyond the point's numbers.

    Those are left out on the most expensive lanes first. Jobs have the ``slots`` with which they pack.
    """
    mix, market = program.task.mix, task.market
    jobs, pairs = np.zeros_like(mix.gamma), np.stack([mix.map_slots, mix.reduce_slots])
    rented = market.masters_of_lane.astype(np.float64)
    for (lane, (_, vms, content)), each in zip(used, slots, strict=True):
        jobs[lane] = content.jobs
        rented[lane] += vms
        if each is not None:
            pairs[:, lane] = np.where(content.jobs > 0.0, each, pairs[:, lane])
    surplus = np.maximum(jobs.sum(axis=0) - task.low - np.rint(point[: len(task.low)]), 0.0)
    for lane in np.argsort(-program.lanes.price, kind="stable").tolist():
        less = np.minimum(surplus, jobs[lane])
        jobs[lane] -= less
        surplus = surplus - less
    if mix.sizes is not None:
        mine = replace(mix, market=market, map_slots=pairs[0], reduce_slots=pairs[1])
        return Placed(replace(task, mix=mine), jobs, market.buy(rented))
    gamma = np.where(mix.possible, mix.gamma, 0.0)
    return Placed(task, jobs, market.buy(np.asarray(ceiling((gamma * jobs).sum(axis=1) + market.masters_of_lane))))
