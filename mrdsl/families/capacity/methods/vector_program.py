"""Whole jobs of few classes on whole VMs of containers by one integer program: a bound, and a plan near it.

The program has VMs of each lane, and jobs of each class in each lane on each pair of slots that no other can replace on
VMs. In every lane jobs take no more than the cores and the memory of its VMs, nor more than its VMs at prices of slots
(:mod:`mrdsl.families.capacity.methods.slot_prices`). If the slots of a solution do not pack, the program is solved
again with other prices of slots for lanes of that kind: those at which no content of a VM is worth more than 1, and
these slots are worth more than their VMs (Gilmore and Gomory 1961, *A linear programming approach to the cutting-stock
problem*).

**Proof of the bound.** A plan that rents a VM in a lane costs at least the bound of that lane (``with_a_vm``). Lanes
for which this is no less than the cost of a known plan are left out: a cheaper plan has none of them. On the other
lanes a plan's jobs keep their VMs if they are moved to pairs of the program, which fit in the places of their slots. So
the plan is a point of the program, or costs more than one. So each plan costs at least the known cost or the bound of
the program, whichever is less. Of lanes alike that differ only in price, as many as there are jobs are enough: each
lane in use has a job, and a plan moves from a lane that was left out to a cheaper one that is not in use. Classes that
stay on one type only remove plans. A class of which a part may be on spot has a firm job if it has jobs: it has a row
for that (:class:`mrdsl.families.capacity.methods.spot_limits.Limits`). The limit itself is a row for plans, and left
out of bounds. QED
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.linear_program import LinearProgram
from mrdsl.core.rounding import FEASIBILITY, ROUNDING, ceiling
from mrdsl.families.capacity.lanes import limited_classes
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_columns import LaneProgram
from mrdsl.families.capacity.methods.lane_prices import Places, Task, by_type
from mrdsl.families.capacity.methods.slot_prices import on_slots
from mrdsl.families.capacity.methods.vector_lanes import VectorLanes
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.slot_choices import whole_points
from mrdsl.formulas.packing import Size, generated_patterns

MOST_COLUMNS = 8_000
"""Most columns of the program."""
FEW_CLASSES, MANY_PAIRS = 20, 32_000
"""With more classes and more pairs of classes and lanes, the program has too many columns after a second's search."""
NODES, MOST_NODES = 4_000_000, 2_500
"""Most nodes times columns, and most nodes."""
GAP = 1e-3
"""Relative gap at which the program ends."""
TURNS = 3
"""Most solutions whose slots do not pack, before the search for the bound."""
LEAST_TIME = 0.01


@dataclass(frozen=True)
class Placed:
    """A task with the pairs of slots that its jobs have, the jobs (lanes, classes), and the VMs by offer.

    ``plan`` is the packed plan if its jobs have several pairs.
    """

    task: Task
    jobs: Floats
    bought: Floats
    plan: CapacityPlan | None = None


class _Columns:
    """The columns of the program: VMs of lanes at each price, and jobs by lane, class and pair of slots."""

    def __init__(self, task: Task, lanes: VectorLanes, kept: Places) -> None:
        self.task, self.lanes = task, lanes
        self.costs: list[float] = []
        self.upper: list[float] = []
        self.lane: list[int] = []
        self.of_class: list[int] = []
        self.slots: list[tuple[float, float]] = []
        self.entries: list[tuple[int, int, float]] = []
        classes, place = len(task.mix), {lane: number for number, lane in enumerate(kept.tolist())}
        self.row_of = {lane: classes + 3 * number for lane, number in place.items()}
        self.of_type = classes + 3 * len(place)
        self.limited = limited_classes(task.mix)
        self.of_first = self.of_type + len(lanes.room)
        self.of_limit = self.of_first + len(self.limited)
        self.of_cut = self.of_limit + len(self.limited)
        for lane in kept.tolist():
            self._vms(lane)
        self.first = len(self.costs)
        self.cuts = 0

    def _vms(self, lane: int) -> None:
        """Add the VMs of a lane beyond its masters, at each of their prices."""
        tariff, market = self.lanes.tariff, self.task.market
        masters, most = float(market.masters_of_lane[lane]), self._room(lane)
        steps = zip(tariff.starts[lane], tariff.widths[lane], tariff.prices[lane], strict=True)
        for start, width, price in steps:
            count = min(start + width, masters + most) - max(start, masters)
            if count > 0.0:
                self._add(float(price), count, lane, self._rows(lane, (-1.0, -1.0, -1.0)))
                vm = int(market.vm_of_lane[lane])
                self.entries.append((self.of_type + vm, len(self.costs) - 1, 1.0))

    def _room(self, lane: int) -> float:
        """Return the VMs beyond masters within the quota: packing may take more of them than jobs add up to."""
        return max(float(self.lanes.room[self.task.market.vm_of_lane[lane]]), 0.0)

    def _rows(self, lane: int, values: tuple[float, ...]) -> list[tuple[int, float]]:
        return [(self.row_of[lane] + number, value) for number, value in enumerate(values)]

    def _add(self, cost: float, upper: float, lane: int, rows: list[tuple[int, float]]) -> None:
        self.entries += [(row, len(self.costs), value) for row, value in rows]
        self.costs.append(cost)
        self.upper.append(upper)
        self.lane.append(lane)

    def jobs(self, known: dict[tuple[int, int], tuple[Floats, Floats]]) -> bool:
        """Add the jobs; False if they are too many, or a class has too many pairs. ``known`` has pairs of kinds."""
        task, lanes = self.task, self.lanes
        for lane in self.row_of:
            kind, most = int(lanes.kind[lane]), self._room(lane) * (1.0 + ROUNDING)
            for index in np.flatnonzero(task.mix.possible[lane] & (task.high > 0.0)).tolist():
                if (kind, index) not in known:
                    found = whole_points(task.mix, lane, index)
                    if found is None:
                        return False
                    known[kind, index] = found
                gamma = float(lanes.gammas[0, kind, index])
                for slots, taken in zip(*known[kind, index], strict=True):
                    size = max(gamma, float(taken.max()))
                    if size > most:
                        continue
                    upper = min(float(task.high[index]), float(np.floor(most / size)) if size else np.inf)
                    rows = [*self._rows(lane, (*taken.tolist(), gamma)), (index, 1.0)]
                    rows += self._of_limits(lane, index, slots)
                    self._add(-float(task.mix.worth[index]), upper, lane, rows)
                    self.of_class.append(index)
                    self.slots.append((float(slots[0]), float(slots[1])))
            if len(self.costs) > MOST_COLUMNS:
                return False
        return True

    def _of_limits(self, lane: int, index: int, slots: Floats) -> list[tuple[int, float]]:
        """Return the entries of one job in the rows of its class's part on spot, if it has one."""
        mix, vm = self.task.mix, int(self.task.market.vm_of_lane[lane])
        spot, share = bool(self.task.market.spot[lane]), float(mix.spot_share[index])
        vms = float(slots[0] / mix.pairs.map_per_vm[vm, index] + slots[1] / mix.pairs.reduce_per_vm[vm, index])
        most = max(float(self.task.high[index]) - 1.0, 0.0)
        first = (0.0 if self.task.low[index] > 0.0 else -1.0) if spot else max(most, 1.0)
        found = []
        for place in np.flatnonzero(self.limited == index).tolist():
            found = [(self.of_first + place, first), (self.of_limit + place, vms * (share - spot))]
        return found

    def program(self, limits: bool = False) -> LinearProgram:
        """Return the program, with ``limits`` on spot or without.

        Its last column is its constant, so that gaps are relative to the cost.
        """
        from scipy.sparse import csr_array

        task, count, room = self.task, len(self.costs), self.lanes.room
        rows, columns, values = (np.array(each) for each in zip(*self.entries, strict=True))
        matrix = csr_array((values, (rows, columns)), shape=(self.of_cut + self.cuts, count + 1))
        inside = np.zeros(self.of_type - len(task.low))
        most = np.maximum(task.high[self.limited] - 1.0, 1.0)
        first = np.where(task.low[self.limited] > 0.0, most, 0.0)
        limit = np.full(len(first), 0.0 if limits else -np.inf)
        constant = float(task.mix.penalty @ task.mix.expected) + task.market.of_masters
        return LinearProgram(
            costs=np.append(self.costs, 1.0),
            offset=0.0,
            maximize=False,
            lower=np.append(np.zeros(count), constant),
            upper=np.append(self.upper, constant),
            integer=np.append(np.ones(count, dtype=bool), False),
            starts=matrix.indptr.astype(np.int64),
            columns=matrix.indices.astype(np.int64),
            coefficients=matrix.data,
            row_lower=np.concatenate(
                [task.low, inside - np.inf, np.full(len(room), -np.inf), first, limit, np.full(self.cuts, -np.inf)]
            ),
            row_upper=np.concatenate(
                [task.high, inside, np.maximum(room, 0.0), np.inf + first, np.inf + first, np.zeros(self.cuts)]
            ),
        )

    def cut(self, point: Floats) -> bool:
        """Add prices of slots that exclude lanes of a point whose slots do not pack; return False if there are none."""
        rented: dict[int, float] = {}
        for lane, count in zip(self.lane[: self.first], point[: self.first].tolist(), strict=True):
            rented[lane] = rented.get(lane, 0.0) + round(count)
        before, seen = self.cuts, set[tuple[int, bytes]]()
        for lane, vms in rented.items():
            mine = [number for number in np.flatnonzero(point > 0.5).tolist() if self.first <= number < len(self.lane)]
            mine = [number for number in mine if self.lane[number] == lane]
            if not mine or not vms:
                continue
            kind = int(self.lanes.kind[lane])
            keys, sizes = self._sizes(lane)
            slots = sum(self._demand(keys, number) * round(point[number]) for number in mine)
            demand = np.rint(slots).astype(np.int64)
            some = np.flatnonzero(demand)
            found = generated_patterns([sizes[place] for place in some.tolist()], demand[some].tolist())
            if found.prices and float(np.array(found.prices) @ demand[some]) > vms * (1.0 + FEASIBILITY):
                prices = np.zeros(len(sizes))
                prices[some] = found.prices
                if (kind, prices.tobytes()) not in seen:
                    seen.add((kind, prices.tobytes()))
                    self._exclude(kind, keys, prices)
        return self.cuts > before

    def _sizes(self, lane: int) -> tuple[NDArray[np.int64], list[Size]]:
        """Return the place of the size of map and reduce slots of each class, (2, classes), and the sizes."""
        sizes = self.task.mix.sizes
        assert sizes is not None
        found, place = np.unique(sizes.keys[:, self.task.market.vm_of_lane[lane]], return_inverse=True)
        return place.reshape(2, -1), [sizes.of(key) for key in found.tolist()]

    def _demand(self, keys: NDArray[np.int64], number: int) -> Floats:
        """Return the slots of each size of one job of a column."""
        slots, index = np.zeros(int(keys.max()) + 1), self.of_class[number - self.first]
        np.add.at(slots, keys[:, index], self.slots[number - self.first])
        return slots

    def _exclude(self, kind: int, keys: NDArray[np.int64], prices: Floats) -> None:
        """Add a row for each lane of a kind: the worth of its slots is no more than its VMs."""
        rows: dict[int, int] = {}
        for number, lane in enumerate(self.lane):
            if int(self.lanes.kind[lane]) == kind:
                row = rows.setdefault(lane, self.of_cut + self.cuts + len(rows))
                value = -1.0 if number < self.first else float(prices @ self._demand(keys, number))
                self.entries.append((row, number, value))
        self.cuts += len(rows)

    def placed(self, point: Floats) -> Placed | None:
        """Return the jobs of a point; None if a class has more on spot than its part, or several types for its one."""
        task, mix, market = self.task, self.task.mix, self.task.market
        jobs, best = np.zeros_like(mix.gamma), np.zeros_like(mix.gamma)
        slots = [mix.map_slots.copy(), mix.reduce_slots.copy()]
        vms = market.masters_of_lane.astype(np.float64)
        for lane, count in zip(self.lane, point[: self.first].tolist(), strict=False):
            vms[lane] += round(count)
        for number in np.flatnonzero(point[self.first : -1] > 0.5).tolist():
            lane, index = self.lane[self.first + number], self.of_class[number]
            count = round(point[self.first + number])
            jobs[lane, index] += count
            if count > best[lane, index]:
                best[lane, index] = count
                for each, value in zip(slots, self.slots[number], strict=True):
                    each[lane, index] = value
        capped = mix.spot_share < 1.0
        capped[self.limited] = False
        spot = market.spot[:, None] & capped
        types = np.array([len(np.unique(market.vm_of_lane[jobs[:, index] > 0.0])) for index in range(len(mix))])
        if bool((jobs[spot] > 0.0).any()) or bool((task.same_type & mix.together & (types > 1)).any()):
            return None
        part = replace(task, mix=on_slots(mix, slots[0], slots[1]))
        if any(part.spare.vms(index, jobs[:, index]) is None for index in self.limited.tolist()):
            return None
        taken = part.mix.taken(*(np.where(jobs > 0.0, each, 0.0) * jobs for each in slots)).sum(axis=2).max(axis=0)
        bought = market.buy(np.maximum(vms, ceiling(taken + market.masters_of_lane)))
        over = bool((by_type(market, bought) > task.available + ROUNDING).any())
        return None if over else Placed(part, jobs, bought)


def by_program(
    task: Task, program: LaneProgram, cost: float, until: float | None
) -> Iterator[tuple[Placed | None, float]]:
    """Yield plans near the optimum, or None, each with a bound; ``cost`` is that of a known plan.

    First come plans of few nodes, until their slots pack, then that of a search for the bound. There are none if the
    program has too many columns, or several types share a quota.
    """
    from mrdsl.solving.backends.highs import integer_point

    lanes = program.lanes
    many = len(task.mix) > FEW_CLASSES and np.count_nonzero(task.mix.possible) > MANY_PAIRS
    if not isinstance(lanes, VectorLanes) or len(task.market.quota_limits) or many:
        return
    if _pairs(lanes, _enough(task, lanes, np.flatnonzero(lanes.saved(program.worth(program.at)) > 0.0))) > MOST_COLUMNS:
        return
    kept = _enough(task, lanes, np.flatnonzero(program.with_a_vm() < cost))
    if _pairs(lanes, kept) > MOST_COLUMNS:
        return
    columns = _Columns(task, lanes, kept)
    if not columns.first or not columns.jobs({}):
        return
    turns = [1] * TURNS + [min(MOST_NODES, NODES // len(columns.costs)), 1]
    while turns and (until is None or time.monotonic() < until):
        seconds = None if until is None else max(until - time.monotonic(), LEAST_TIME)
        nodes = turns.pop(0)
        limits = len(columns.limited) > 0 and nodes == 1
        point, bound = integer_point(columns.program(limits), GAP, nodes, seconds)
        yield None if point is None else columns.placed(point), -np.inf if limits else min(bound, cost)
        if point is None:
            return
        if not columns.cut(point):
            turns = [nodes for nodes in turns if nodes > 1]


def _pairs(lanes: VectorLanes, some: Places) -> int:
    """Return the number of classes that have room in each of some lanes, of all these lanes."""
    room = lanes.room[lanes.market.vm_of_lane[some]]
    return int((lanes.gammas[0, lanes.kind[some]] <= room[:, None]).sum())


def _enough(task: Task, lanes: VectorLanes, some: Places) -> Places:
    """Return the cheapest lanes of each kind, as many as there are jobs, of those that differ only in price."""
    vms, jobs = task.market.vm_of_lane, int(task.high.sum())
    alone = np.bincount(vms, minlength=len(lanes.room))[vms] == 1
    room = lanes.room[vms]
    plain = alone & (lanes.tariff.widths[:, 0] >= task.market.masters_of_lane + room)
    keys = np.stack([lanes.kind, room, plain], axis=1)
    kept: list[int] = []
    for key in np.unique(keys[some], axis=0):
        mine = some[(keys[some] == key).all(axis=1)]
        mine = mine[np.argsort(lanes.price[mine], kind="stable")]
        kept += mine[:jobs].tolist() if key[2] else mine.tolist()
    return np.array(sorted(kept), dtype=np.int64)
