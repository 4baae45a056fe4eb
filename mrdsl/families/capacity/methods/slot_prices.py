"""Prices of slots at which whole VMs hold containers of cores and memory, to weigh both resources of a lane as one.

Take any prices of slots. The content of a VM is worth at most its most valuable content, so that jobs take at least the
worth of their slots as a part of that. Whole contents count here, and not parts of cores and memory: a bound from such
parts of VMs includes what packing loses. The prices are those of the relaxed cutting-stock problem with VMs of all
lanes within their quotas (Gilmore and Gomory 1961, *A linear programming approach to the cutting-stock problem*). They
are a choice: the bound holds at any prices.

The most valuable content of a VM is an integer knapsack with two resources. It is solved exactly in whole units of both
if these are few; otherwise the continuous one, which is worth no less, takes its place.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import ROUNDING
from mrdsl.families.capacity.instance import Mix
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_prices import Places, Task
from mrdsl.formulas.packing import units_of

MOST_KINDS = 60
"""Of more kinds of slots, no prices are computed."""
MOST_ROWS, MOST_CELLS = 512, 400_000
"""Most units of one resource, and most pairs of units of both, for which a knapsack is solved exactly."""
WEIGHTS = np.linspace(0.0, 1.0, 33)
"""Weights of the first resource in continuous knapsacks."""
LEAST = 1e-6
"""The least price of a slot, relative to the largest."""
ROUNDS, NEAR = 40, 1e-3


@dataclass(frozen=True)
class Shape:
    """VMs alike for packing: parts of each resource that slots of each kind take, (resources, kinds), and the units.

    ``usable`` marks kinds of jobs that can run there. ``units`` and ``wholes`` are empty if they are too many.
    """

    parts: Floats
    usable: NDArray[np.bool_]
    units: NDArray[np.int64]
    wholes: tuple[int, ...]

    def values(self, prices: Floats) -> Floats | None:
        """Return the worth of the best content of each number of units of both resources, None if they are many."""
        if not self.wholes:
            return None
        first, second = self.wholes
        best = np.zeros((first + 1, second + 1))
        kinds = [
            (int(self.units[0, kind]), int(self.units[1, kind]), float(prices[kind]))
            for kind in np.flatnonzero(self.usable & (prices > 0.0)).tolist()
        ]
        for row in range(first + 1):
            mine = best[row]
            if row:
                mine[:] = best[row - 1]
            for one, other, price in kinds:
                if 0 < one <= row and other <= second:
                    np.maximum(mine[other:], best[row - one, : second + 1 - other] + price, out=mine[other:])
            for one, other, price in kinds:
                if not one:
                    for cell in range(other, second + 1):
                        mine[cell] = max(mine[cell], mine[cell - other] + price)
            np.maximum.accumulate(mine, out=mine)
        return best

    def worth(self, prices: Floats, values: Floats | None) -> float:
        """Return the most that the content of a VM can be worth, from above."""
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = WEIGHTS[:, None] * self.parts[0] + (1.0 - WEIGHTS)[:, None] * self.parts[1]
            most = np.where(self.usable & (prices > 0.0), prices / parts, 0.0).max(axis=1)
        bound = float(np.nan_to_num(most, nan=np.inf).min())
        return bound if values is None else min(bound, float(values[-1, -1]))

    def content(self, prices: Floats, values: Floats) -> Floats:
        """Return the slots of each kind in the most valuable content."""
        slots, (row, cell) = np.zeros(len(prices)), self.wholes
        some = np.flatnonzero(self.usable & (prices > 0.0))
        while values[row, cell] > ROUNDING * values[-1, -1]:
            rows, cells = row - self.units[0, some], cell - self.units[1, some]
            fits = (rows >= 0) & (cells >= 0)
            before = np.where(fits, values[np.maximum(rows, 0), np.maximum(cells, 0)] + prices[some], -np.inf)
            place = int(before.argmax())
            if before[place] >= values[row, cell] * (1.0 - ROUNDING):
                slots[some[place]] += 1.0
                row, cell = int(rows[place]), int(cells[place])
            elif cell and values[row, cell - 1] >= values[row, cell]:
                cell -= 1
            else:
                row -= 1
        return slots


class Shapes:
    """The kinds of slots of a mix, and the shapes of its lanes."""

    def __init__(self, mix: Mix) -> None:
        assert mix.sizes is not None
        self.mix = mix
        keys, vms = mix.sizes.keys, mix.market.vm_of_lane
        columns = np.concatenate([keys[0].T, keys[1].T])
        _, first, kind_of = np.unique(columns, axis=0, return_index=True, return_inverse=True)
        self.count, self.kind = len(first), kind_of.ravel().reshape(2, len(mix))
        used = np.zeros((len(vms), self.count), dtype=bool)
        for kinds in self.kind:
            for index, kind in enumerate(kinds.tolist()):
                used[:, kind] |= mix.possible[:, index]
        self.first = first
        lanes = np.concatenate([columns[first][:, vms].T, used], axis=1)
        _, self.lane, shape = np.unique(lanes, axis=0, return_index=True, return_inverse=True)
        self.shape, self.used = shape.ravel(), used

    @cached_property
    def all(self) -> list[Shape]:
        """The shapes, in the order of their numbers."""
        return [self._shape(int(lane)) for lane in self.lane]

    def _shape(self, lane: int) -> Shape:
        sizes, vm = self.mix.sizes, int(self.mix.market.vm_of_lane[lane])
        assert sizes is not None
        of_kind, of_class = self.first // len(self.mix), self.first % len(self.mix)
        parts = np.moveaxis(sizes.parts[of_kind, :, vm, of_class], -1, 0)
        usable = self.used[lane]
        keys = sizes.keys[of_kind, vm, of_class]
        some = np.flatnonzero(usable)
        units = np.zeros((2, self.count), dtype=np.int64)
        if not len(some):
            return Shape(parts, usable, units, (0, 0))
        found = units_of([sizes.of(key) for key in keys[some].tolist()])
        both = np.array(found.parts, dtype=object)
        wholes: tuple[int, ...] = (*found.wholes, 0)[:2]
        if wholes[0] > wholes[1] > 0:
            both, wholes = both[:, ::-1], wholes[::-1]
        if wholes[0] > MOST_ROWS or (wholes[0] + 1) * (wholes[1] + 1) > MOST_CELLS:
            return Shape(parts, usable, units, ())
        units[: both.shape[1], some] = both.T.astype(np.int64)
        return Shape(parts, usable, units, wholes)

    def worth(self, prices: Floats) -> Floats:
        """Return the most that the content of a VM of each lane can be worth, from above."""
        return np.array([shape.worth(prices, shape.values(prices)) for shape in self.all])[self.shape]


def least_slots(mix: Mix, parts: tuple[Floats, Floats], classes: Places, whole: bool) -> tuple[Floats, Floats, Floats]:
    """Return the least worth of one job's slots, and its map and reduce slots, (lanes, classes).

    ``parts`` are the worth of a map and of a reduce slot, above 0.
    """
    vms, lanes = mix.market.vm_of_lane, np.arange(len(mix.market.lanes))
    pairs = (mix.pairs if np.array_equal(classes, np.arange(len(mix))) else mix.pairs.of_classes(classes)).in_lanes(
        vms, (1.0 / parts[0], 1.0 / parts[1])
    )
    kept = mix.map_kept[:, classes], mix.reduce_kept[:, classes]
    maps, reduces = pairs.slots_with_losses(lanes, kept, whole)
    maps, reduces = (np.where(mix.possible[:, classes], each, np.inf) for each in (maps, reduces))
    return maps * parts[0] + reduces * parts[1], maps, reduces


def priced(task: Task, until: float | None) -> tuple[Floats, Floats, Floats] | None:
    """Return the part of a VM that one job takes at prices of slots, and its map and reduce slots, (lanes, classes).

    None if the slots are of too many kinds.
    """
    mix = task.mix
    if mix.sizes is None:
        return None
    shapes = Shapes(mix)
    if shapes.count > MOST_KINDS or not mix.possible.any():
        return None
    prices = _Cutting(task, shapes).prices(until)
    prices = np.maximum(prices, LEAST * (float(prices.max()) or 1.0))
    worth = shapes.worth(prices)[:, None]
    worth = np.where(worth > 0.0, worth, 1.0)
    parts = prices[shapes.kind[0]] / worth, prices[shapes.kind[1]] / worth
    return least_slots(mix, parts, np.arange(len(mix)), True)


def on_slots(mix: Mix, maps: Floats, reduces: Floats) -> Mix:
    """Return the mix of containers whose jobs have these slots, (lanes, classes), and the VM time of these."""
    vms, pairs = mix.market.vm_of_lane, mix.pairs
    gamma = maps / pairs.map_per_vm[vms] + reduces / pairs.reduce_per_vm[vms]
    return replace(mix, map_slots=maps, reduce_slots=reduces, gamma=gamma)


class _Cutting:
    """The relaxed cutting-stock problem: contents of VMs within quotas hold the slots of the jobs of each class.

    Rows: the least jobs of each class, the slots of each kind, the VMs of each type. A class has the pairs of slots of
    the first of a few lanes in which it can run.
    """

    def __init__(self, task: Task, shapes: Shapes) -> None:
        from mrdsl.solving.backends.highs import GrowingProgram

        self.task, self.shapes = task, shapes
        mix, market = task.mix, task.market
        self.of_class = self._lane_of_class()
        self.lanes = np.unique(self.of_class[self.of_class >= 0])
        self.price, self.of_kind = market.cheapest(), len(mix)
        self.of_type = self.of_kind + shapes.count
        free = np.full(len(market.names), -np.inf)
        lower = np.concatenate([np.where(self.of_class >= 0, task.low, 0.0), np.zeros(shapes.count), free])
        upper = np.concatenate([np.full(self.of_type, np.inf), np.maximum(task.available - market.masters, 0.0)])
        self.program, self.seen = GrowingProgram(lower, upper), set[bytes]()
        dear = float(mix.worth.max(initial=0.0)) + float(self.price.max()) + 1.0
        self._add(np.eye(len(mix), len(lower)) * -1.0, -mix.worth, task.high - task.low)
        self._add(np.eye(shapes.count, len(lower), self.of_kind), np.full(shapes.count, dear))

    def _lane_of_class(self) -> Places:
        """Return a lane for each class, few of them in all; -1 for classes without."""
        possible = self.task.mix.possible & (self.task.high > 0.0)
        found = np.full(possible.shape[1], -1)
        while possible.any():
            lane = int(possible.sum(axis=1).argmax())
            found[possible[lane]] = lane
            possible = possible & ~possible[lane]
        return found

    def _add(self, rows: Floats, costs: Floats, upper: Floats | None = None) -> bool:
        """Add columns that are new; return True if there are some."""
        from scipy.sparse import csr_array

        keys = [row.tobytes() for row in rows]
        new = [place for place, key in enumerate(keys) if key not in self.seen]
        self.seen.update(keys)
        most = np.full(len(costs), np.inf) if upper is None else upper
        if new:
            self.program.add(costs[new], most[new], csr_array(rows[new]).T)
        return bool(new)

    def prices(self, until: float | None) -> Floats:
        """Return the prices of the kinds of slots at the optimum, or nearly."""
        mix, market, shapes = self.task.mix, self.task.market, self.shapes
        classes, width = len(mix), self.of_type + len(market.names)
        prices = np.ones(shapes.count)
        for _ in range(ROUNDS):
            jobs = self._jobs(prices)
            rows = np.zeros((classes, width))
            rows[np.arange(classes), np.arange(classes)] = 1.0
            for kinds, slots in zip(shapes.kind, jobs, strict=True):
                np.add.at(rows, (np.arange(classes), self.of_kind + kinds), -slots)
            found = self._add(rows[self.of_class >= 0], np.zeros(int((self.of_class >= 0).sum())))
            found |= self._contents(prices, width)
            solved = self.program.solve(None if until is None else until - time.monotonic())
            if solved is None or not found:
                break
            prices = np.maximum(solved[2][self.of_kind : self.of_type], 0.0)
            self.quotas = np.maximum(-solved[2][self.of_type :], 0.0)
        return prices

    quotas: Floats | float = 0.0

    def _jobs(self, prices: Floats) -> tuple[Floats, Floats]:
        """Return the map and reduce slots of one job of each class that are worth least."""
        from mrdsl.families.capacity.instance import of_lanes

        kind, some = self.shapes.kind, of_lanes(self.task.mix, self.lanes)
        each = np.maximum(prices, LEAST * (float(prices.max()) or 1.0))
        parts = [np.broadcast_to(each[kinds], (len(self.lanes), len(some))) for kinds in kind]
        slots = least_slots(some, (parts[0], parts[1]), np.arange(len(some)), True)[1:]
        at = np.searchsorted(self.lanes, np.maximum(self.of_class, self.lanes.min())), np.arange(len(some))
        found = [np.where(self.of_class >= 0, every[at], 0.0) for every in slots]
        return found[0], found[1]

    def _contents(self, prices: Floats, width: int) -> bool:
        """Add the most valuable contents of VMs that are worth more than they cost; return True if one is new."""
        shapes, vms = self.shapes, self.task.market.vm_of_lane
        cost = self.price + (self.quotas[vms] if isinstance(self.quotas, np.ndarray) else 0.0)
        rows, costs = [], []
        for number, shape in enumerate(shapes.all):
            mine = np.flatnonzero(shapes.shape == number)
            if shape.worth(prices, None) <= float(cost[mine].min()) * (1.0 + NEAR):
                continue
            values = shape.values(prices)
            if values is None:
                continue
            pays = mine[values[-1, -1] > cost[mine] * (1.0 + NEAR)]
            if not len(pays):
                continue
            content = shape.content(prices, values)
            row = np.zeros((len(pays), width))
            row[:, self.of_kind : self.of_type] = content
            row[np.arange(len(pays)), self.of_type + vms[pays]] = 1.0
            rows.append(row)
            costs.append(self.price[pays])
        return bool(rows) and self._add(np.concatenate(rows), np.concatenate(costs))
