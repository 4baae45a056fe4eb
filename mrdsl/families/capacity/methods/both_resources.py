"""The relaxed P2 of containers with a row for the cores and one for the memory of each lane.

One weighting of both resources bounds the cost, whatever it is; the best ones are the duals of this linear program. Its
columns are pairs of slots of a class in a lane. At the duals, each class has the slots that are worth least, and those
with a negative reduced cost are added (Gilmore and Gomory 1961, *A linear programming approach to the cutting-stock
problem*). The bound at the weights meets the value of the program at the end.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import ROUNDING, floor
from mrdsl.families.capacity.facts import NO
from mrdsl.families.capacity.instance import Mix, of_lanes
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_prices import NONE, Places, Task, cheapest, dearest, dual_bound, wanted
from mrdsl.families.capacity.methods.relaxation import least_of_columns
from mrdsl.families.capacity.methods.spot_limits import Limits
from mrdsl.families.capacity.methods.weighing import LEAST, alike, least_at

FIRST_WEIGHTS = (LEAST, 0.25, 0.5, 0.75, 1.0 - LEAST)
FIRST, MORE = 4, 4
"""Pairs of each class at each of the first weights, and new ones in a round."""
ROUNDS, NEAR = 40, 1e-4
"""Most rounds, and the relative gap at which they end."""
SMALL = 2
"""If a VM holds at most this number of slots of a kind, what they leave rarely fits another slot."""
DEAR = 100.0
"""Cost of a job that lacks, in multiples of the largest cost or worth of a VM."""


@dataclass(frozen=True)
class Both:
    """The relaxed optimum: jobs of (lanes, classes) on the slots of ``mix``, a bound, and prices.

    ``cores`` are prices of cores of quotas, ``prices`` those of VMs of lanes, and ``costs`` those of a job of each
    class at the best bound. ``pairs`` are the columns of the program: lanes, classes, map and reduce slots, and jobs, 0
    for slots beyond those of a job.
    """

    mix: Mix
    jobs: Floats
    value: float
    bound: float
    cores: Floats
    prices: Floats
    costs: Floats
    pairs: tuple[NDArray[Any], ...] = ()


def relaxed_by_both(task: Task, until: float | None, gap: float = NEAR, near: Both | None = None) -> Both | None:
    """Return the relaxed optimum with both resources to a ``gap``; None if there was no time, or if jobs have no room.

    Firm VMs may hold slots of a class beyond those of its jobs, for a larger part of the class on spot. The search
    begins at the columns of a ``near`` optimum of the same lanes, for the classes whose jobs are the same there.
    Lanes that are alike for all jobs share their rows: their jobs can be divided in proportion to their VMs.
    """
    mix, market = task.mix, task.market
    if not mix.possible.any():
        return None
    kinds = _Kinds(mix)
    few = replace(task, mix=of_lanes(mix, kinds.lanes))
    limits = Limits(few)
    few = replace(few, mix=replace(few.mix, spot_share=np.where(limits.there, 1.0, mix.spot_share)))
    program = _Program(few, limits, task, kinds)
    prices = kinds.least(market.cheapest())
    weights = np.full(len(prices), 0.5)
    changed = np.ones(len(mix), dtype=bool) if near is None else ~_same_jobs(mix, near.mix)
    if near is not None:
        program.begin(near.pairs, ~changed)
    for weight in FIRST_WEIGHTS if changed.any() else ():
        gamma, maps, reduces = least_at(few.mix, np.full(len(weights), weight))
        program.add(least_of_columns(_worth(few.mix, prices, gamma), FIRST) & changed, maps, reduces)
    best, costs = -np.inf, np.zeros(len(mix))
    for _ in range(ROUNDS):
        solved = program.solve(None if until is None else until - time.monotonic())
        if solved is None:
            return None
        value, point, (both, quotas, cores, of_classes, shares, firm) = solved
        added = kinds.least(market.cheapest() + quotas[market.vm_of_lane] + cores @ market.cores_of_quotas)
        lacking = np.maximum(added - both.sum(axis=0), 0.0)
        both = both + lacking * np.stack([weights, 1.0 - weights])
        prices = both.sum(axis=0)
        weights = np.clip(both[0] / np.where(prices > 0.0, prices, 1.0), LEAST, 1.0 - LEAST)
        least = limits.least(few.mix, weights, prices, shares, firm)
        gamma, maps, reduces = least.gamma, least.maps, least.reduces
        below = replace(few, mix=replace(few.mix, gamma=gamma))
        ways = cheapest(below, prices)
        bound = dual_bound(task, prices[kinds.kind], quotas, ways, wanted(below, ways), cores)
        if bound + least.constant > best:
            best, costs = bound + least.constant, ways.cost
        if value - best <= gap * abs(value):
            break
        reduced = _worth(few.mix, prices, gamma) - mix.worth - of_classes
        new = program.add(least_of_columns(np.where(reduced < 0.0, reduced, np.inf), MORE), maps, reduces)
        if not (program.fill(*least.fillers) or new):
            break
    jobs, at_maps, at_reduces, lacks = program.parts(point)
    if lacks > ROUNDING:
        return None
    used = jobs > 0.0
    slots = [np.where(used, mine, every) for mine, every in ((at_maps, maps), (at_reduces, reduces))]
    gamma = np.where(limits.there & few.mix.possible, limits.vm_time(slots[0], slots[1]), gamma)
    each = [of_kinds[kinds.kind] for of_kinds in (gamma, *slots)]
    planned = replace(mix, gamma=each[0], map_slots=each[1], reduce_slots=each[2])
    bought = np.bincount(market.lane_of_offer, point[: len(market.offers)], len(kinds.kind))
    jobs = kinds.on_lanes(jobs, gamma, np.maximum(bought - market.masters_of_lane, 0.0))
    return Both(planned, jobs, value, min(best, value), cores, prices[kinds.kind], costs, program.columns)


def _same_jobs(mix: Mix, other: Mix) -> NDArray[np.bool_]:
    """Return the classes whose jobs meet their time limits on the same slots of all lanes; none for other lanes."""
    if mix.gamma.shape != other.gamma.shape:
        return np.zeros(len(mix), dtype=bool)
    if mix.pairs.work.own is not None or other.pairs.work.own is not None:
        return np.zeros(len(mix), dtype=bool)
    parts = [
        (
            *(each.pairs.work.map_work, each.pairs.work.reduce_work, each.pairs.work.constant),
            *each.pairs.limits.parts,
            *(each.pairs.completion_limit[None], each.map_kept, each.reduce_kept, each.possible),
        )
        for each in (mix, other)
    ]
    same: NDArray[np.bool_] = np.all([(one == two).all(axis=0) for one, two in zip(*parts, strict=True)], axis=0)
    return same


class _Kinds:
    """Kinds of lanes that are alike for all jobs: one of the ``lanes`` of each, and the ``kind`` of each lane.

    Lanes with masters are kinds of their own, since VMs of others cannot be masters there.
    """

    def __init__(self, mix: Mix) -> None:
        kind = alike(mix)[1]
        alone = np.where(mix.market.masters_of_lane > 0.0, np.arange(len(kind)), NONE)
        _, self.lanes, kind = np.unique(np.stack([kind, alone]), axis=1, return_index=True, return_inverse=True)
        self.kind = kind.ravel()

    def least(self, values: Floats) -> Floats:
        """Return the least value in each kind of those of all lanes."""
        found = np.full(len(self.lanes), np.inf)
        np.minimum.at(found, self.kind, values)
        return found

    def on_lanes(self, jobs: Floats, gamma: Floats, vms: Floats) -> Floats:
        """Return jobs of kinds by lane, most of them whole: class by class in proportion to the VMs of lanes."""
        found = np.zeros((len(self.kind), jobs.shape[1]))
        for kind in np.flatnonzero(jobs.any(axis=1)).tolist():
            mine = np.flatnonzero(self.kind == kind)
            ends = np.cumsum(vms[mine])
            some = np.flatnonzero(jobs[kind])
            taken = np.cumsum(np.maximum(gamma[kind, some], LEAST) * jobs[kind, some])
            if len(mine) == 1 or not ends[-1]:
                found[mine[int(vms[mine].argmax())], some] = jobs[kind, some]
                continue
            ends = np.concatenate([[0.0], ends * (taken[-1] / ends[-1])])
            starts = np.concatenate([[0.0], taken[:-1]])
            parts = np.minimum(ends[1:, None], taken) - np.maximum(ends[:-1, None], starts)
            found[np.ix_(mine, some)] = np.maximum(parts, 0.0) * (jobs[kind, some] / (taken - starts))
        return found


def _worth(mix: Mix, prices: Floats, gamma: Floats) -> Floats:
    """Return the cost of one job at prices of lanes, infinite where a class cannot run; VMs may be free."""
    return np.where(mix.possible, prices[:, None] * np.where(mix.possible, gamma, 0.0), np.inf)


def as_hosted(mix: Mix) -> Mix:
    """Return the mix in which a slot takes the part of a VM that holds whole slots of its kind alone.

    On small VMs it takes that part of both resources. Plans of such jobs rarely need more VMs for their packing.
    """
    if mix.sizes is None or mix.wholeness == NO:
        return mix
    parts = mix.sizes.parts
    most = parts.max(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = np.maximum(floor(np.where(most > 0.0, 1.0 / most, 1.0)), 1.0)
        scale = np.where(most > 0.0, 1.0 / (alone * most), 1.0)
    hosted = parts * np.maximum(scale, 1.0)
    hosted = np.where((alone <= SMALL) & (most > 0.0), np.maximum(hosted, 1.0 / alone), hosted)
    return replace(mix, sizes=replace(mix.sizes, parts=hosted))


class _Program:
    """The linear program: rows of cores and of memory of kinds, of types, quotas, classes and their limits on spot.

    Its columns are offers, rejected jobs and lacking jobs, followed by pairs of slots of classes in kinds of lanes.
    Some of these are single slots that jobs on firm VMs hold beyond their pair. Types with one offer have no row: their
    VMs limit its column. ``few`` is the ``task`` in which each kind is a lane.
    """

    def __init__(self, few: Task, limits: Limits, task: Task, kinds: _Kinds) -> None:
        from mrdsl.solving.backends.highs import GrowingProgram

        self.task, mix, market, self.limits = few, few.mix, task.market, limits
        self.market, self.available, self.kinds = market, task.available, kinds
        lanes, classes, offers = len(kinds.lanes), len(mix), len(market.offers)
        type_of_offer = market.vm_of_lane[market.lane_of_offer]
        limited = np.isfinite(task.available)
        alone = limited & (np.bincount(type_of_offer, minlength=len(limited)) == 1)
        self.limited, self.alone = np.flatnonzero(limited & ~alone), alone
        counts = [2 * lanes, len(self.limited), len(market.quotas), classes, len(limits.classes), len(limits.classes)]
        self.ends = np.cumsum(counts).tolist()
        self.row_of_share = np.full(classes, NONE)
        self.row_of_share[limits.classes] = self.ends[3] + np.arange(len(limits.classes))
        masters = np.bincount(kinds.kind, market.masters_of_lane, lanes)
        most = [-masters, -masters, task.available[self.limited], market.quota_limits]
        free = np.full(self.ends[2], -np.inf)
        none, firm = np.full(len(limits.classes), np.inf), limits.least_firm
        low = np.concatenate([free, task.high, -none, firm])
        high = np.concatenate([*most, task.high, 0.0 * firm, none])
        self.program = GrowingProgram(low, high)
        self.pairs: list[tuple[Places, Places, Floats, Floats, Floats]] = []
        self.seen: set[tuple[int, int, float, float, float]] = set()
        place = np.full(len(market.names), NONE)
        place[self.limited] = self.ends[0] + np.arange(len(self.limited))
        of_type = place[type_of_offer]
        some = np.flatnonzero(of_type != NONE)
        of_cores = market.cores_of_quotas[:, market.lane_of_offer]
        quota, counted = of_cores.nonzero()
        each, every = np.arange(classes), np.arange(offers)
        dear = DEAR * (dearest(task) + float(mix.worth.max(initial=0.0)))
        self.first = offers + 2 * classes
        of_kind = kinds.kind[market.lane_of_offer]
        there = np.where(alone[type_of_offer], np.minimum(market.there, task.available[type_of_offer]), market.there)
        self._columns(
            np.concatenate([market.prices, np.zeros(classes), np.full(classes, dear)]),
            np.concatenate([there, task.high - task.low, np.full(classes, np.inf)]),
            (of_kind, every, -np.ones(offers)),
            (lanes + of_kind, every, -np.ones(offers)),
            (of_type[some], some, np.ones(len(some))),
            (self.ends[1] + quota, counted, of_cores[quota, counted]),
            (self.ends[2] + each, offers + each, np.ones(classes)),
            (self.ends[2] + each, offers + classes + each, np.ones(classes)),
            (self.ends[4] + np.arange(len(firm)), offers + classes + limits.classes, np.ones(len(firm))),
        )

    def _columns(self, costs: Floats, upper: Floats, *entries: tuple[Places, Places, Floats]) -> None:
        from scipy.sparse import coo_array

        rows, columns, values = (np.concatenate(each) for each in zip(*entries, strict=True))
        self.program.add(costs, upper, coo_array((values, (rows, columns)), shape=(self.ends[-1], len(costs))))

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """The pairs in order: one of the lanes of each kind, classes, map and reduce slots, and jobs."""
        of_kind, *others = (np.concatenate(each) for each in zip(*self.pairs, strict=True))
        return self.kinds.lanes[of_kind], *others

    def begin(self, pairs: tuple[NDArray[Any], ...], classes: NDArray[np.bool_]) -> None:
        """Add the pairs of some classes that another program has."""
        mine = classes[pairs[1]]
        of_lane, *others = (each[mine] for each in pairs)
        self._add(self.kinds.kind[of_lane], *others)

    def add(self, new: NDArray[np.bool_], maps: Floats, reduces: Floats) -> bool:
        """Add marked pairs with these slots, unless they are there; return True if one is new."""
        of_class, of_lane = (new & self.task.mix.possible).T.nonzero()
        return self._add(of_lane, of_class, maps[of_lane, of_class], reduces[of_lane, of_class], np.ones(len(of_lane)))

    def fill(self, kinds: Places, of_lane: Places, of_class: Places) -> bool:
        """Add single slots beyond those of jobs, unless they are there; return True if one is new."""
        slots = np.where(kinds == 0, 1.0, 0.0), np.where(kinds == 0, 0.0, 1.0)
        return self._add(of_lane, of_class, *slots, np.zeros(len(kinds)))

    def _add(self, of_lane: Places, of_class: Places, maps: Floats, reduces: Floats, jobs: Floats) -> bool:
        mix, lanes = self.task.mix, len(self.task.market.lanes)
        columns = of_lane, of_class, maps, reduces, jobs
        keys = list(zip(*(each.tolist() for each in columns), strict=True))
        fresh = np.array([key not in self.seen for key in keys], dtype=bool)
        if not fresh.any():
            return False
        self.seen.update(keys)
        of_lane, of_class, maps, reduces, count = (each[fresh] for each in columns)
        self.pairs.append((of_lane, of_class, maps, reduces, count))
        assert mix.sizes is not None
        parts = mix.sizes.parts[:, :, mix.market.vm_of_lane[of_lane], of_class]
        taken = maps * parts[0] + reduces * parts[1]
        times = self.limits.times[:, of_lane, of_class]
        beyond = (maps * times[0] + reduces * times[1]) * self.limits.beyond[of_lane, of_class]
        each, shared = np.arange(len(of_class)), np.flatnonzero(self.row_of_share[of_class] != NONE)
        mine, limited = of_class[shared], self.limits.classes
        counts = count[shared] * self.limits.counts[of_lane[shared], self.row_of_share[mine] - self.ends[3]]
        self._columns(
            -mix.worth[of_class] * count,
            np.full(len(of_class), np.inf),
            (of_lane, each, taken[0]),
            (lanes + of_lane, each, taken[1]),
            (self.ends[2] + of_class, each, count),
            (self.row_of_share[mine], shared, beyond[shared]),
            (len(limited) + self.row_of_share[mine], shared, counts),
        )
        return True

    def solve(self, seconds: float | None) -> tuple[float, Floats, tuple[Floats, ...]] | None:
        """Return value, point, and prices.

        These are prices of cores and memory of lanes, of types, of cores in quotas, of classes, of their shares, and of
        first firm jobs.
        """
        solved = self.program.solve(seconds)
        if solved is None:
            return None
        value, point, duals = solved
        market, kind = self.market, self.kinds.kind
        of_kinds, of_types, of_cores, of_classes, of_shares, firm = np.split(duals, self.ends[:5])
        both = np.maximum(-of_kinds, 0.0).reshape(2, len(self.kinds.lanes))
        mix = self.task.mix
        cores, shares = np.maximum(-of_cores, 0.0), np.maximum(-of_shares, 0.0)
        surplus = both.sum(axis=0)[kind] - market.cheapest() - cores @ market.cores_of_quotas
        quotas = np.zeros(len(market.names))
        np.maximum.at(quotas, market.vm_of_lane, surplus)
        quotas = np.where(self.alone, quotas, 0.0)
        quotas[self.limited] = np.maximum(-of_types, 0.0)
        return (
            value + float(mix.penalty @ mix.expected),
            point,
            (
                both,
                quotas,
                cores,
                of_classes,
                shares,
                np.maximum(firm, 0.0),
            ),
        )

    def parts(self, point: Floats) -> tuple[Floats, Floats, Floats, float]:
        """Return jobs of (lanes, classes), their map and reduce slots (those of most jobs), and lacking jobs."""
        shape = self.task.mix.gamma.shape
        columns = [np.concatenate(each) for each in zip(*self.pairs, strict=True)]
        of_lane, of_class = columns[0], columns[1]
        values = np.maximum(point[self.first :], 0.0)
        values *= columns[4][: len(values)]
        jobs, most = np.zeros(shape), np.zeros(shape)
        slots = np.zeros((2, *shape))
        np.add.at(jobs, (of_lane[: len(values)], of_class[: len(values)]), values)
        for column in np.flatnonzero(values > 0.0).tolist():
            at = of_lane[column], of_class[column]
            if values[column] > most[at]:
                most[at] = values[column]
                slots[0][at], slots[1][at] = columns[2][column], columns[3][column]
        classes = shape[1]
        return jobs, slots[0], slots[1], float(point[self.first - classes : self.first].sum())
