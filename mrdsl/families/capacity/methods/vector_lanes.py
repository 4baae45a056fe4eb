"""Contents of whole VMs whose slots take cores and memory, for the program of columns: worth from above, and packed.

The worth of whole jobs on ``k`` VMs is the least of three bounds:

- fractional jobs at weights of both resources, and at prices of slots;
- a knapsack of two resources over the classes that are worth most per part of a VM, each with all its efficient pairs;
- with a job of another class, the fractional jobs less what that class lacks in worth at the price of a VM there.

**Proof of the last one.** Take the price ``mu`` of a VM at which fractional jobs fill ``k`` of them. Contents are worth
at most ``mu k`` and the sum of ``max(0, pi_c - mu gamma_c)`` over all jobs, which is the worth of the fractional ones.
Each job whose ``pi_c`` is less than ``mu gamma_c`` reduces that by the difference. QED

The knapsack counts whole units of both resources, rounded down. Several pairs of a class may be replaced by the least
of both resources that they take. So the worth is from above. The contents themselves are from below: their slots pack,
on the pair of slots that a plan has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import ROUNDING
from mrdsl.families.capacity.instance import Mix, of_lanes
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_columns import LESS, NOISE, Contents, Lanes, Packer, contents_of
from mrdsl.families.capacity.methods.lane_prices import Places, Task
from mrdsl.families.capacity.methods.own_machines import Tariff
from mrdsl.families.capacity.methods.weighing import alike, least_at
from mrdsl.families.capacity.slot_choices import efficient_points
from mrdsl.formulas.packing import Units, packs_on, quickly_filled, units_of

WEIGHTS = (1e-7, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0 - 1e-7)
"""Weights of cores at which fractional jobs bound contents."""
CORE = 12
"""Classes beyond those that fill the VMs in the knapsack of two resources."""
MOST_CORE = 24
UNITS, MOST_UNITS, FEW_CLASSES = 256, 480, 20
"""Most units of one resource on all VMs in that knapsack, the second for few classes."""
CELLS = 5_040
"""Parts of all VMs in knapsacks of both resources weighed as one."""
MOST_SUMMED = 8
"""Most jobs of a class that it counts on several pairs."""
MOST_POINTS = 4
"""Most pairs of a class in it; of more, neighbours are replaced by the least that they take."""
TRIES = 4
"""So often one more job is tried on the VMs of a content."""
SMALLER, STEP = 8, 0.004
"""Trials of the knapsack, each with less room by this part, until its jobs pack."""
MOST_SIZES = 10
"""Numbers of VMs of a kind of lanes for which a round adds contents."""
ROUNDS, FEW_ROUNDS = 16, 2
"""Most rounds of the program, and in a dive."""
NEAR_UNITS = 0.01
"""Relative loss by rounding at which fewer units are enough."""


def corners(points: Floats, most: int) -> Floats:
    """Return at most so many points, (n, 2), of which each given one takes no less than some."""
    order = np.lexsort((points[:, 1], points[:, 0]))
    points = points[order]
    below = np.minimum.accumulate(points[:, 1])
    kept = np.concatenate([[True], points[1:, 1] < below[:-1]])
    points = points[kept]
    if len(points) <= most:
        return points
    parts = np.array_split(np.arange(len(points)), most)
    return np.array([points[part].min(axis=0) for part in parts])


@dataclass(frozen=True)
class VectorContents:
    """The worth of whole jobs on 0 to some number of VMs, from above, and contents that these VMs have room for."""

    of: Vessels
    kind: int
    worth: Floats
    prices: Floats
    high: Floats
    units: tuple[int, int]
    taken: tuple[tuple[int, float, NDArray[np.int8], NDArray[np.int64]], ...]
    others: tuple[Contents, ...] = ()

    def each(self, vms: int) -> list[Floats]:
        """Return jobs of each class that pack on ``vms`` VMs, near those that are worth most of each knapsack.

        If those of the knapsack of two resources do not pack, those for less room may be worth more than some of them.
        """
        best, most, seen = np.zeros(len(self.prices)), -1.0, set[bytes]()
        for turn in range(SMALLER):
            room = [max(vms * unit - turn * max(1, round(STEP * vms * unit)), 0) for unit in self.units]
            jobs = np.minimum(self._jobs(room), self.high)
            if jobs.tobytes() in seen:
                continue
            seen.add(jobs.tobytes())
            fitting = self.of.fitting(self.kind, vms, jobs, self.prices, self.high)
            worth = float(self.prices @ fitting)
            if worth > most:
                best, most = fitting, worth
            if worth >= float(self.prices @ jobs):
                break
        others = [other.jobs(vms) for other in self.others]
        return [best, *(self.of.fitting(self.kind, vms, each, self.prices, self.high) for each in others)]

    def _jobs(self, room: list[int]) -> Floats:
        """Return the jobs of the knapsack of two resources that are worth most in a room of units of both."""
        jobs = np.zeros(len(self.prices))
        for index, count, chosen, sizes in reversed(self.taken):
            if choice := chosen[room[0], room[1]]:
                jobs[index] += count
                room = [room[0] - int(sizes[choice - 1, 0]), room[1] - int(sizes[choice - 1, 1])]
        return jobs


class Vessels:
    """Kinds of lanes alike for all classes: the least that jobs take there, and the packing of a plan's slots.

    ``gammas`` has the shape (weights, kinds, classes): parts of a VM, of which no content has more than all its VMs.
    """

    def __init__(self, mix: Mix, below: Mix) -> None:
        assert mix.sizes is not None
        lanes, self.kind = alike(mix)
        self.mix, self.below, self.lanes = mix, below, lanes
        part = of_lanes(mix, lanes)
        with np.errstate(invalid="ignore"):
            each = [least_at(part, np.full(len(lanes), weight))[0] for weight in WEIGHTS]
        self.gammas = np.stack([below.gamma[lanes], *each])
        self.gammas[:, ~part.possible] = np.inf
        self.taken = np.where(part.possible, part.taken(part.map_slots, part.reduce_slots), np.inf)
        self.taken = np.concatenate([self.taken, self.gammas[:1]])
        self._points: dict[tuple[int, int], Floats] = {}
        self._pairs: dict[tuple[object, ...], list[tuple[int, int]] | None] = {}
        self._packed: dict[tuple[int, int, bytes], bool] = {}
        self._slots: dict[int, tuple[Units, Floats]] = {}

    def points(self, kind: int, index: int) -> Floats:
        """Return what pairs of slots of one job take of a VM's cores and memory, or the least of neighbours."""
        if (kind, index) not in self._points:
            found = efficient_points(self.mix, int(self.lanes[kind]), index, self._pairs)
            self._points[kind, index] = corners(found, MOST_POINTS)
        return self._points[kind, index]

    def slots(self, kind: int) -> tuple[Units, Floats]:
        """Return sizes of slots in units, and the slots of each size of one job of each class."""
        if kind not in self._slots:
            sizes, lane = self.mix.sizes, int(self.lanes[kind])
            assert sizes is not None
            some = np.flatnonzero(self.mix.possible[lane])
            keys = sizes.keys[:, self.mix.market.vm_of_lane[lane]]
            counts = np.stack([self.mix.map_slots[lane], self.mix.reduce_slots[lane]])
            used = np.unique(np.concatenate([keys[each][some][counts[each][some] > 0.0] for each in (0, 1)]))
            slots = np.zeros((len(keys[0]), len(used)))
            for key, count in zip(keys, counts, strict=True):
                mine = some[count[some] > 0.0]
                np.add.at(slots, (mine, np.searchsorted(used, key[mine])), count[mine])
            self._slots[kind] = units_of([sizes.of(key) for key in used.tolist()]), slots
        return self._slots[kind]

    def _packs(self, kind: int, vms: int, jobs: Floats) -> bool:
        key = kind, vms, jobs.tobytes()
        if key not in self._packed:
            units, slots = self.slots(kind)
            self._packed[key] = packs_on(units, _demand(jobs, slots), vms)
        return self._packed[key]

    def fits(self, kind: int, vms: int, jobs: Floats) -> bool:
        """Return True if the slots of jobs are found to pack on ``vms`` VMs."""
        some = np.flatnonzero(jobs)
        room = vms * (1.0 + ROUNDING)
        return bool((self.taken[:, kind, some] @ jobs[some] <= room).all()) and self._packs(kind, vms, jobs)

    def fitting(self, kind: int, vms: int, jobs: Floats, prices: Floats, high: Floats) -> Floats:
        """Return jobs whose cores and memory the VMs have: without some of them, or with more."""
        taken, room = self.taken[:, kind], vms * (1.0 + ROUNDING)
        size = taken.max(axis=0)
        finite, jobs = np.where(np.isfinite(taken), taken, 0.0), np.minimum(jobs, high)
        while jobs.any() and not self.fits(kind, vms, jobs):
            jobs[int(np.where(jobs > 0.0, size, np.inf).argmin())] -= 1.0
        free = room - finite @ jobs
        worth = prices / np.maximum(size, ROUNDING)
        tried = np.zeros(len(jobs), dtype=bool)
        for _ in range(TRIES):
            fits = (taken <= free[:, None]).all(axis=0) & (jobs < high) & (worth > 0.0) & ~tried
            if not fits.any():
                break
            index = int(np.where(fits, worth, -np.inf).argmax())
            jobs[index] += 1.0
            if not self._packs(kind, vms, jobs):
                jobs[index] -= 1.0
                tried[index] = True
            else:
                free -= taken[:, index]
        return jobs

    def packed(self, lane: int, vms: int, jobs: Floats) -> tuple[int, Floats]:
        """Return the jobs that so many VMs of a lane hold, the smallest ones left out, and the VMs that they take."""
        kind, left = int(self.kind[lane]), jobs.copy()
        units, slots = self.slots(kind)
        while (taken := quickly_filled(units, _demand(left, slots), vms, vms).vms) > vms:
            left[int(np.where(left > 0.0, self.taken[:, kind].max(axis=0), np.inf).argmin())] -= 1.0
        return taken, left


def _demand(jobs: Floats, slots: Floats) -> list[int]:
    """Return the slots of each size that jobs have."""
    found: list[int] = np.rint(jobs @ slots).astype(np.int64).tolist()
    return found


class VectorLanes(Lanes):
    """The lanes of a task of containers, with contents of both resources."""

    rounds = ROUNDS

    def __init__(
        self,
        task: Task,
        vessels: Vessels,
        closed: NDArray[np.bool_] | None = None,
        taken: Floats | float = 0.0,
        tariff: Tariff | None = None,
        begun: Floats | None = None,
    ) -> None:
        self.vessels = vessels
        self.most_units = MOST_UNITS if len(task.mix) <= FEW_CLASSES else UNITS
        super().__init__(task, closed, taken, tariff, begun)

    def _kinds(self) -> tuple[Floats, Places]:
        gammas = np.where(self.task.high > 0.0, self.vessels.gammas, np.inf)
        self.gammas = gammas
        return gammas.max(axis=0), self.vessels.kind

    def within(self, task: Task, closed: NDArray[np.bool_], taken: Floats, begun: Floats) -> VectorLanes:
        """Return the lanes of the rest of a task."""
        lanes = VectorLanes(task, self.vessels, closed, taken, self.tariff, begun)
        lanes.rounds = FEW_ROUNDS
        return lanes

    def sizes(self, worth: Floats, lanes: Places) -> Sequence[int]:
        """Return the numbers of VMs that save most."""
        most = lanes[self.most[lanes] >= len(worth) - 1.0]
        saved = worth - self.costs(int(most[np.argmin(self.price[most])]))[: len(worth)]
        best = 1 + np.argsort(-saved[1:], kind="stable")[:MOST_SIZES]
        return [int(vms) for vms in best if saved[vms] > 0.0]

    def of(self, task: Task) -> VectorLanes:
        """Return the lanes of a task in which other classes can run there."""
        return VectorLanes(task, Vessels(task.mix, self.vessels.below))

    def packer(self) -> Packer:
        """Return what packs on whole VMs of these lanes."""
        return self.vessels

    def alone(self, kind: int, most: int) -> list[tuple[int, Floats]]:
        """Return no contents of one class: those of several are as many."""
        return []

    def saved(self, worth: Floats) -> Floats:
        """Return the worth less the cost of fractional jobs and VMs of each lane, without its quota."""
        least = np.full(len(self.kind), np.inf)
        for gamma in self.gammas:
            used, jobs = (np.where(np.isfinite(gamma), each, 0.0) for each in (gamma, worth))
            each = jobs[self.kind] - self.price[:, None] * used[self.kind]
            least = np.minimum(least, (np.maximum(each, 0.0) * self.high[self.kind]).sum(axis=1))
        return np.where(self.most >= 1.0, least, 0.0)

    def _contents(self, kind: int, vms: int, prices: Floats) -> VectorContents:
        gammas, high = self.gammas[:, kind], self.high[kind]
        some = np.flatnonzero((prices > 0.0) & (gammas.max(axis=0) <= vms * (1.0 + ROUNDING)) & (high > 0.0))
        if not len(some):
            return VectorContents(self.vessels, kind, np.zeros(vms + 1), prices, high, (1, 1), ())
        worth, price, order = _fractional(prices[some], gammas[:, some], high[some], vms)
        core = order[:MOST_CORE]
        best, units, taken = self._knapsack(kind, some[core], vms, prices)
        most = np.zeros(len(high))
        most[some[core]] = high[some[core]]
        others, few = [], len(high) <= FEW_CLASSES
        for weight in {0, int(price[1][-1]), int(price[1][(vms + 1) // 2])}:
            gamma = np.where(most > 0.0, gammas[weight], np.inf)
            others.append(contents_of(gamma, most, prices, vms, CELLS))
            best = np.minimum(best, others[-1].worth)
        outside = np.setdiff1d(np.arange(len(some)), core)
        if len(outside):
            used = np.array([gammas[weight, some[outside]] for weight in price[1].astype(int)])
            lacking = np.maximum(price[0][:, None] * used - prices[some[outside]], 0.0).min(axis=1)
            best = np.maximum(best, worth - lacking)
        return VectorContents(
            self.vessels, kind, np.minimum(worth, best), prices, high, units, taken, tuple(others if few else ())
        )

    def _knapsack(
        self, kind: int, classes: Places, vms: int, prices: Floats
    ) -> tuple[Floats, tuple[int, int], tuple[tuple[int, float, NDArray[np.int8], NDArray[np.int64]], ...]]:
        """Return the worth of jobs of some classes on 0 to ``vms`` VMs, the units of a VM, and the choices."""
        points = [self.vessels.points(kind, index) for index in classes.tolist()]
        both = np.concatenate(points)
        units = _units(both[:, 0], self.most_units // vms), _units(both[:, 1], self.most_units // vms)
        best = np.zeros((units[0] * vms + 1, units[1] * vms + 1))
        taken = []
        for index, each in zip(classes.tolist(), points, strict=True):
            left, count, sizes = float(self.high[kind, index]), 1.0, each
            while left > 0.0:
                whole = np.floor(sizes * units + NOISE).astype(np.int64)
                fits = (whole < best.shape).all(axis=1)
                if not fits.any():
                    break
                chosen = np.zeros(best.shape, dtype=np.int8)
                new = best.copy()
                for place in np.flatnonzero(fits).tolist():
                    first, second = whole[place].tolist()
                    more = best[: best.shape[0] - first, : best.shape[1] - second] + count * prices[index]
                    there = new[first:, second:]
                    better = more > there
                    np.copyto(there, more, where=better)
                    chosen[first:, second:][better] = place + 1
                best = new
                taken.append((index, count, chosen, whole))
                left -= count
                count = min(left, 2.0 * count)
                sizes = _sums(each, count)
        at = np.arange(vms + 1)
        return best[at * units[0], at * units[1]], units, tuple(taken)


def _sums(points: Floats, count: float) -> Floats:
    """Return what ``count`` jobs take on any of the pairs, or the least of neighbours."""
    if count > MOST_SUMMED:
        return count * corners(points, 1)
    sums = points
    for _ in range(int(count) - 1):
        sums = corners((sums[:, None] + points[None]).reshape(-1, 2), MOST_POINTS)
    return sums


def _units(parts: Floats, most: int) -> int:
    """Return a number of units of a VM, at most ``most``, at which rounding parts down loses little."""
    numbers = np.arange(1, most + 1)
    exact = parts[:, None] * numbers
    lost = (1.0 - np.floor(exact + NOISE) / np.maximum(exact, NOISE)).mean(axis=0)
    enough = np.flatnonzero(lost <= NEAR_UNITS)
    return int(numbers[enough[0] if len(enough) else lost.argmin()])


def _fractional(prices: Floats, gammas: Floats, high: Floats, vms: int) -> tuple[Floats, Floats, Places]:
    """Return the worth of fractional jobs on 0 to ``vms`` VMs, the price of a VM there at a weight, and an order.

    The order is that of the classes by their worth per part of a VM, at the weight that counts for all VMs.
    """
    at = np.arange(vms + 1.0)
    worth, price, orders = [], [], []
    for gamma in gammas:
        order = np.argsort(-prices / gamma, kind="stable")
        size = np.concatenate([[0.0], np.cumsum((gamma * high)[order])])
        sums = np.concatenate([[0.0], np.cumsum((prices * high)[order])])
        worth.append(np.interp(at, size * LESS, sums))
        place = np.minimum(np.searchsorted(size[1:] * LESS, at), len(order))
        price.append(np.append((prices / gamma)[order], 0.0)[place])
        orders.append(order)
    least = np.argmin(worth, axis=0)
    each = np.arange(vms + 1)
    return np.array(worth)[least, each], np.stack([np.array(price)[least, each], least]), orders[int(least[-1])]
