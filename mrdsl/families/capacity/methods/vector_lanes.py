"""Contents of whole VMs whose slots take cores and memory, for the program of columns: worth from above, and packed.

The worth of whole jobs on ``k`` VMs is the least of three bounds:

- fractional jobs at weights of both resources, the best one among them, and at prices of slots;
- a knapsack of two resources over the classes that are worth most per part of a VM, each with all its efficient pairs;
- with a job of another class, the fractional jobs less what that class lacks in worth at the price of a VM there.

The first holds at any weight: each job takes at least the weighted resources of its lightest pair, and VMs have ``k``
of them. Among many classes it alone counts on lanes of many jobs, on which whole jobs are worth nearly as much.

**Proof of the last one.** Take the price ``mu`` of a VM at which fractional jobs fill ``k`` of them. Contents are worth
at most ``mu k`` and the sum of ``max(0, pi_c - mu gamma_c)`` over all jobs, which is the worth of the fractional ones.
Each job whose ``pi_c`` is less than ``mu gamma_c`` reduces that by the difference. QED

The knapsack counts whole units of both resources, rounded down. Several pairs of a class may be replaced by the least
of both resources that they take. So the worth is from above. The contents themselves are from below: their slots pack.
Each class has one pair of slots in a content. It is the one that takes least at a weight, and weights of classes differ
until jobs fill both resources alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import ROUNDING
from mrdsl.families.capacity.instance import Mix, of_lanes
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.content_slots import AnyPairs
from mrdsl.families.capacity.methods.lane_columns import LESS, NOISE, Content, Lanes, Packer, Packing, contents_of
from mrdsl.families.capacity.methods.lane_prices import Places, Task
from mrdsl.families.capacity.methods.own_machines import Tariff
from mrdsl.families.capacity.methods.weighing import LEAST, alike, least_at
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
MIXTURES, BETWEEN = 25, 4
"""Weights of cores at which contents have the pair of a class that takes least."""
TRIED, REFINED = 7, 3
"""Weights that are tried at once for the least worth of fractional jobs, and how often between neighbours."""
NEVER = 1e9
NEIGHBOURS = 4
"""Weights on each side of the best one that exchanges have."""
FURTHER_CLASSES = 12
"""Classes after the first that has no room for all of its jobs of which jobs are added."""
EXCHANGES = 12
"""Most exchanges of single jobs in a content."""
SMALL = 1e-6
"""Gain of an exchange that counts, relative to the largest worth of a job."""
MANY_JOBS = 12
"""Lanes that hold more jobs have no knapsack of two resources among many classes: fractional jobs are as good."""
SMALLER, STEP = 4, 0.008
"""Trials of contents, each with less room by this part, until their jobs pack."""
MOST_SIZES = 10
"""Numbers of VMs of a kind of lanes for which a round adds contents."""
ROUNDS, FEW_ROUNDS = 16, 4
"""Most rounds of the program, and in a dive."""
DEAR, FURTHER = 1.1, 1.2
"""Prices of lacking jobs, and of first lanes, in multiples of the first prices of jobs, which are nearly right."""
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
    order: Places

    def each(self, vms: int) -> list[Content]:
        """Return jobs of each class that pack on ``vms`` VMs, of those near the ones that are worth most.

        If jobs that have room do not pack, those for less room may be worth more than some of them.
        """
        best, most = None, -1.0
        for turn in range(SMALLER):
            content = self.of.filled(self.kind, vms, vms * (1.0 - turn * STEP), self.prices, self.high, self.order)
            packs = self.of.packs(self.kind, vms, content)
            content = content if packs else self.of.fewer(self.kind, vms, content)
            worth = float(self.prices @ content.jobs)
            if worth > most:
                best, most = content, worth
            if packs:
                break
        return [] if best is None else [best]


@dataclass(frozen=True)
class Pairs:
    """The efficient pairs of slots of one job of each class on VMs of a kind.

    ``slots`` are the map and reduce slots of each pair, (classes, pairs, 2), and ``least`` what each takes of both
    resources, or less, ``NEVER`` if there are fewer pairs. At each weight a class has one pair: its
    place is ``at``, (weights, classes), and it takes ``taken`` of a VM, (3, weights, classes), ``NEVER`` if the class
    cannot run there. The third part is one at prices of slots, of which contents have no more than their VMs either.
    """

    slots: Floats
    least: Floats
    at: Places
    taken: Floats

    @cached_property
    def mixed(self) -> Floats:
        """What a job takes at the weights and at mixtures of the pairs of neighbouring weights."""
        parts = np.arange(BETWEEN)[:, None] / BETWEEN
        between = (1.0 - parts) * self.taken[:, :-1, None] + parts * self.taken[:, 1:, None]
        return np.concatenate([between.reshape(3, -1, self.taken.shape[2]), self.taken[:, -1:]], axis=1)

    def alike(self, weight: int, jobs: Floats, room: float) -> Places:
        """Return a weight of each class, near the given one, at which jobs fill both resources alike."""
        found, some = np.full(len(jobs), weight), np.flatnonzero(jobs)
        near = np.arange(max(0, weight - 1), min(weight + 3, len(self.at)))
        taken = self.taken[:2, near[:, None], some] * jobs[some]
        now = np.full(len(some), weight - near[0])
        total = taken[:, now, np.arange(len(some))].sum(axis=1)
        while total.max(initial=0.0) > room:
            after = total[:, None, None] + taken - taken[:, now, np.arange(len(some))][:, None]
            most = np.maximum(after[0], after[1])
            best = int(most.argmin())
            if most.flat[best] >= total.max() * (1.0 - ROUNDING):
                break
            place, index = divmod(best, len(some))
            now[index], total = place, after[:, place, index]
        found[some] = near[now]
        return found


class Vessels:
    """Kinds of lanes alike for all classes: the least that jobs take there, their pairs of slots, and their packing.

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
        self._points: dict[tuple[int, int], Floats] = {}
        self._known: dict[tuple[object, ...], list[tuple[int, int]] | None] = {}
        self._pairs: dict[int, Pairs] = {}
        self._packed: dict[tuple[int, int, bytes], bool] = {}
        self._sizes: dict[int, tuple[Units, NDArray[np.int64]]] = {}

    def points(self, kind: int, index: int) -> Floats:
        """Return what pairs of slots of one job take of a VM's cores and memory, or the least of neighbours."""
        if (kind, index) not in self._points:
            found = efficient_points(self.mix, int(self.lanes[kind]), index, self._known)[1]
            self._points[kind, index] = corners(found, MOST_POINTS)
        return self._points[kind, index]

    def pairs(self, kind: int) -> Pairs:
        """Return the pairs of slots of one job of each class."""
        if kind not in self._pairs:
            lane = int(self.lanes[kind])
            some = np.flatnonzero(self.mix.possible[lane]).tolist()
            below, parts, pairs = (dict[int, Floats]() for _ in range(3))
            for index in some:
                found, below[index] = efficient_points(self.mix, lane, index, self._known)
                parts[index] = below[index]
                if found is None:
                    found = np.array([[self.mix.map_slots[lane, index], self.mix.reduce_slots[lane, index]]])
                    parts[index] = self.mix.taken(self.mix.map_slots, self.mix.reduce_slots)[None, :, lane, index]
                pairs[index] = found
            least, taken, slots = (_padded(each, self.mix.gamma.shape[1]) for each in (below, parts, pairs))
            weights = np.linspace(0.0, 1.0, MIXTURES)[:, None, None]
            at = (weights * taken[:, :, 0] + (1.0 - weights) * taken[:, :, 1] + LEAST * taken.sum(axis=2)).argmin(
                axis=2
            )
            chosen = np.take_along_axis(taken[None], at[:, :, None, None], axis=2)[:, :, 0]
            third = np.broadcast_to(self.gammas[0, kind], at.shape)
            chosen = np.minimum(np.stack([chosen[:, :, 0], chosen[:, :, 1], third]), NEVER)
            self._pairs[kind] = Pairs(slots, least, at, chosen)
        return self._pairs[kind]

    def sizes(self, kind: int) -> tuple[Units, NDArray[np.int64]]:
        """Return sizes of slots in units, and the place there of the map and the reduce slots of each class."""
        if kind not in self._sizes:
            sizes, lane = self.mix.sizes, int(self.lanes[kind])
            assert sizes is not None
            some = self.mix.possible[lane]
            keys = sizes.keys[:, self.mix.market.vm_of_lane[lane]]
            used, place = np.unique(keys[:, some], return_inverse=True)
            places = np.zeros(keys.shape, dtype=np.int64)
            places[:, some] = place.reshape(2, -1)
            self._sizes[kind] = units_of([sizes.of(key) for key in used.tolist()]), places
        return self._sizes[kind]

    def _demand(self, kind: int, content: Content) -> tuple[Units, list[int]]:
        """Return sizes of slots, and the slots of each that a content has."""
        units, places = self.sizes(kind)
        assert content.slots is not None
        some = np.flatnonzero(content.jobs)
        slots = (content.slots[some] * content.jobs[some, None]).T
        counts = np.bincount(places[:, some].ravel(), weights=slots.ravel(), minlength=len(units.parts))
        found: list[int] = np.rint(counts).astype(np.int64).tolist()
        return units, found

    def packs(self, kind: int, vms: int, content: Content) -> bool:
        """Return True if a quick search packs the slots of a content on ``vms`` VMs."""
        units, demand = self._demand(kind, content)
        key = kind, vms, np.array(demand).tobytes()
        if key not in self._packed:
            self._packed[key] = packs_on(units, demand, vms)
        return self._packed[key]

    def fewer(self, kind: int, vms: int, content: Content) -> Content:
        """Return the part of a content that packs on VMs, without its smallest jobs."""
        while content.jobs.any() and not self.packs(kind, vms, content):
            content = self._without_smallest(kind, content)
        return content

    def _without_smallest(self, kind: int, content: Content) -> Content:
        size, jobs = self.gammas[:, kind].max(axis=0), content.jobs.copy()
        jobs[int(np.where(jobs > 0.0, size, np.inf).argmin())] -= 1.0
        return replace(content, jobs=jobs)

    def filled(self, kind: int, vms: int, room: float, prices: Floats, high: Floats, order: Places) -> Content:
        """Return jobs that have nearly room on VMs in both resources, nearly worth most, with a pair of each class.

        Classes are taken in an order, as many jobs of each as have room. Then jobs are exchanged for others that are
        worth more, if there is a mixture of pairs with which both resources have ``room``. Each class has the pair of
        one weight at the end: those with which both resources of the VMs are filled alike.
        """
        pairs = self.pairs(kind)
        jobs, room = np.zeros(len(high)), room * (1.0 + ROUNDING)
        if not len(order):
            return Content(jobs, np.zeros((len(high), 2)))
        most, taken = high[order], pairs.mixed[:, :, order]
        ends = np.cumsum(taken * most, axis=2)
        full = _largest(ends).min(axis=0) <= room
        first = len(order) if full.all() else int(full.argmin())
        count = np.where(np.arange(len(order)) < first, most, 0.0)
        total = ends[:, :, first - 1] if first else np.zeros(taken.shape[:2])
        weight = int(_largest(total).argmin()) if first else taken.shape[1] // 2
        near = slice(max(0, weight - NEIGHBOURS), weight + NEIGHBOURS + 1)
        taken, total = taken[:, near], total[:, near]
        for place in range(first, min(first + FURTHER_CLASSES, len(order))):
            free = ((room - total) / taken[:, :, place]).min(axis=0).max()
            more = min(float(np.floor(free + NOISE)), float(most[place]))
            if more >= 1.0:
                count[place] += more
                total = total + more * taken[:, :, place]
        count, total = _exchanged(prices[order], most, taken, room, count, total)
        jobs[order] = count
        weight = (near.start + int(_largest(total).argmin())) // BETWEEN
        each = np.arange(len(jobs))
        return Content(jobs, pairs.slots[each, pairs.at[pairs.alike(weight, jobs, float(vms)), each]])

    def packed(self, lane: int, vms: int, content: Content) -> tuple[int, Content]:
        """Return the jobs that so many VMs of a lane hold, the smallest ones left out, and the VMs that they take."""
        kind = int(self.kind[lane])
        while True:
            units, demand = self._demand(kind, content)
            taken = quickly_filled(units, demand, vms, vms).vms
            if taken <= vms:
                return taken, content
            content = self._without_smallest(kind, content)


def _padded(rows: dict[int, Floats], count: int) -> Floats:
    """Return an array of so many rows, with ``NEVER`` for what is missing."""
    found = np.full((count, max(map(len, rows.values()), default=1), 2), NEVER)
    for index, row in rows.items():
        found[index, : len(row)] = row
    return found


def _largest(taken: Floats) -> Floats:
    """Return the largest of the first axis, of three parts: faster than a reduction."""
    return np.asarray(np.maximum(np.maximum(taken[0], taken[1]), taken[2]))


def _exchanged(
    worth: Floats, most: Floats, taken: Floats, room: float, count: Floats, total: Floats
) -> tuple[Floats, Floats]:
    """Return jobs after exchanges of one job for another, or for none, while these are worth more and have room."""
    count, least = count.copy(), SMALL * float(worth.max())
    for _ in range(EXCHANGES):
        out = np.append(np.flatnonzero(count > 0.0), len(worth))
        gain = worth - np.append(worth, 0.0)[out, None]
        rows, columns = np.nonzero((gain > least) & (count < most))
        if not len(rows):
            break
        gain, rows = gain[rows, columns], out[rows]
        less = np.append(taken, np.zeros((*total.shape, 1)), axis=2)
        after = total[:, :, None] + taken[:, :, columns] - less[:, :, rows]
        fits = _largest(after).min(axis=0) <= room
        best = int(np.where(fits, gain, 0.0).argmax())
        if not fits[best]:
            break
        if rows[best] < len(worth):
            count[rows[best]] -= 1.0
        count[columns[best]] += 1.0
        total = after[:, :, best]
    return count, total


class VectorLanes(Lanes):
    """The lanes of a task of containers, with contents of both resources."""

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
        self.rounds, self.dear, self.further = ROUNDS, DEAR, FURTHER

    def _kinds(self) -> tuple[Floats, Places]:
        gammas = np.where(self.task.high > 0.0, self.vessels.gammas, np.inf)
        self.gammas = gammas
        return gammas.max(axis=0), self.vessels.kind

    def within(self, task: Task, closed: NDArray[np.bool_], taken: Floats, begun: Floats) -> VectorLanes:
        """Return the lanes of the rest of a task."""
        lanes = VectorLanes(task, self.vessels, closed, taken, self.tariff, begun)
        lanes.rounds, lanes.dear = FEW_ROUNDS, Lanes.dear
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

    def parts(self, kind: int) -> Floats:
        """Return what a job of each class takes of a VM of a kind, at each weight of both resources."""
        return np.asarray(self.gammas[:, kind])

    def packing(self) -> Packing:
        """Return what finds slots of contents that pack."""
        return AnyPairs(self.vessels)

    def packer(self) -> Packer:
        """Return what packs on whole VMs of these lanes."""
        return self.vessels

    def alone(self, kind: int, most: int) -> list[tuple[int, Content]]:
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
            return VectorContents(self.vessels, kind, np.zeros(vms + 1), prices, high, some)
        best = np.full((1, len(high)), np.inf)
        best[0, some] = self._best_weighed(kind, some, vms, prices)
        gammas = np.concatenate([gammas, best])
        worth, price, order = _fractional(prices[some], gammas[:, some], high[some], vms)
        if len(high) > FEW_CLASSES:
            size = gammas[int(price[1][-1]), some[order]]
            if high[some[order]][np.cumsum(size * high[some[order]]) <= vms].sum() > MANY_JOBS:
                return VectorContents(self.vessels, kind, worth, prices, high, some[order])
        core = order[:MOST_CORE]
        best = self._knapsack(kind, some[core], vms, prices)
        most = np.zeros(len(high))
        most[some[core]] = high[some[core]]
        for weight in {0, int(price[1][-1]), int(price[1][(vms + 1) // 2])}:
            gamma = np.where(most > 0.0, gammas[weight], np.inf)
            best = np.minimum(best, contents_of(gamma, most, prices, vms, CELLS).worth)
        outside = np.setdiff1d(np.arange(len(some)), core)
        if len(outside):
            used = np.array([gammas[weight, some[outside]] for weight in price[1].astype(int)])
            lacking = np.maximum(price[0][:, None] * used - prices[some[outside]], 0.0).min(axis=1)
            best = np.maximum(best, worth - lacking)
        return VectorContents(self.vessels, kind, np.minimum(worth, best), prices, high, some[order])

    def _best_weighed(self, kind: int, some: Places, vms: int, prices: Floats) -> Floats:
        """Return parts of VMs at the weight of cores at which fractional jobs are worth least, or nearly."""
        least, high = self.vessels.pairs(kind).least[some], self.task.high[some]
        low, step = 0.0, 1.0 / (TRIED + 1)
        for _ in range(REFINED):
            weights = low + step * np.arange(1.0, TRIED + 1.0)
            each = weights[:, None, None]
            gammas = (each * least[:, :, 0] + (1.0 - each) * least[:, :, 1]).min(axis=2)
            order = np.argsort(-prices[some] / gammas, axis=1, kind="stable")
            taken = np.take_along_axis(gammas, order, axis=1) * high[order]
            before = np.cumsum(taken, axis=1) - taken
            parts = np.clip((vms - before) / taken, 0.0, 1.0)
            best = int((parts * (prices[some] * high)[order]).sum(axis=1).argmin())
            low, step = max(0.0, weights[best] - step), 2.0 * step / (TRIED + 1)
        return np.asarray(gammas[best])

    def _knapsack(self, kind: int, classes: Places, vms: int, prices: Floats) -> Floats:
        """Return the worth of jobs of some classes on 0 to ``vms`` VMs, from above."""
        points = [self.vessels.points(kind, index) for index in classes.tolist()]
        both = np.concatenate(points)
        units = _units(both[:, 0], self.most_units // vms), _units(both[:, 1], self.most_units // vms)
        best = np.zeros((units[0] * vms + 1, units[1] * vms + 1))
        for index, each in zip(classes.tolist(), points, strict=True):
            left, count, sizes = float(self.high[kind, index]), 1.0, each
            while left > 0.0:
                whole = np.floor(sizes * units + NOISE).astype(np.int64)
                fits = (whole < best.shape).all(axis=1)
                if not fits.any():
                    break
                new = best.copy()
                for first, second in whole[fits].tolist():
                    more = best[: best.shape[0] - first, : best.shape[1] - second] + count * prices[index]
                    np.maximum(new[first:, second:], more, out=new[first:, second:])
                best = new
                left -= count
                count = min(left, 2.0 * count)
                sizes = _sums(each, count)
        at = np.arange(vms + 1)
        return np.asarray(best[at * units[0], at * units[1]])


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
