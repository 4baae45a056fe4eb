"""The relaxed P2 of many lanes by column generation: a linear program over some pairs of classes and lanes.

A catalogue with quotas has thousands of lanes, each scarce, and a class runs in a handful of them. The program has the
pairs that cost least at the prices of VMs so far; pairs whose reduced cost is negative at its dual prices are added
until the dual bound over all pairs meets its value (Gilmore and Gomory 1961, *A linear programming approach to the
cutting-stock problem*). The bound is computed from the prices alone, so that it holds whatever the program left out.

Where cores and memory of containers both have to fit, each lane has a row for either. Jobs that fit both fit any
weighing of both (a surrogate constraint: Glover 1965, *A multiphase-dual algorithm for the zero-one integer programming
problem*): at the weights that the dual prices are, each job takes the pair of slots that takes the least by Theorem
4.1, and the bound is that of one resource. A pair of which no whole job fits the quota of its lane is left out.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import ROUNDING, SAME_SUM, ceiling
from mrdsl.families.capacity.facts import MACHINES, NO
from mrdsl.families.capacity.instance import Mix
from mrdsl.families.capacity.lanes import limited_classes
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_prices import (
    NONE,
    Places,
    Relaxed,
    Task,
    Ways,
    cheapest,
    dearest,
    dual_bound,
    wanted,
)

Flags = NDArray[np.bool_]
FIRST, MORE, LANE_MORE = 10, 3, 2
"""So many pairs of each class are there to begin with, of firm and of spot lanes, and come at most in a round."""
COLUMN_ROUNDS, WEIGHINGS = 100, 4
LEAST = 1e-7
"""The least weight of a resource: a slot that takes nothing of one still takes something."""
STEPS, CLASSES = 24, 24
"""Steps and classes by which the first weights of a type are chosen."""


@dataclass
class _Found:
    """The best so far: a value with its point, and a bound with its prices of lanes and quotas."""

    prices: Floats
    quotas: Floats
    value: float = np.inf
    bound: float = -np.inf
    point: Floats = field(default_factory=lambda: np.zeros(0))


def by_pairs(task: Task, gap: float, dear: float, until: float | None) -> Relaxed:
    """Find the optimum of the relaxation to a relative ``gap``, or what is known ``until`` then.

    A VM that lacks costs ``dear`` times what any costs or is worth.
    """
    market, mix = task.market, task.mix
    program = PairProgram(task, dear)
    program.add_pairs(_first_pairs(task))
    found = _Found(market.cheapest(), np.zeros(len(market.names)))
    rounds = weighings = 0
    while rounds < COLUMN_ROUNDS:
        solved = program.solve(None if until is None else until - time.monotonic())
        if solved is None:
            break
        rounds += 1
        found.value, found.point = solved.value, solved.point
        new = _worth(solved, program)
        least = np.minimum(np.where(mix.possible, solved.reduced, np.inf).min(axis=0), 0.0)
        near = -float(least[least < 0.0] @ task.high[least < 0.0]) <= gap * abs(found.value)
        if new.any() and mix.sizes is not None and not near:
            program.add_pairs(new)
            continue
        weighings += 1
        ways, bound, variants = _bound_at(program, solved)
        if bound > found.bound:
            found.bound, found.prices, found.quotas = bound, solved.prices.sum(axis=0), solved.quotas
        away = found.value - found.bound
        if away <= gap * max(abs(found.value - market.of_masters), SAME_SUM * max(1.0, abs(found.value))):
            break
        if variants is None:
            new = (new | _taken(ways, mix.gamma.shape)) & mix.possible & ~program.there
            if not new.any():
                break
            program.add_pairs(new)
        elif weighings >= WEIGHINGS or not program.add(variants):
            break
    if not len(found.point):
        return _nothing(task, found, dear)
    bought, jobs, more, lacking = program.parts(found.point)
    bound = min(found.bound, found.value)
    return Relaxed(jobs, bought, found.prices, found.quotas, found.value, bound, lacking, rounds, more, program)


def _worth(solved: Solved, program: PairProgram) -> Flags:
    """Mark pairs that pay at the prices: the best lanes of each class, and the best classes of each lane."""
    reduced = np.where(program.there | (solved.reduced >= -SAME_SUM), np.inf, solved.reduced)
    size = np.where(program.task.mix.possible, program.taken.max(axis=0), 1.0)
    return least_of(reduced, MORE) | least_of((reduced / size).T, LANE_MORE).T


def weighed(task: Task) -> tuple[Task, Task]:
    """The task to plan with and the task that bounds the cost; both the task itself where there is one resource.

    Where a part of a class may be on spot VMs, VM time is counted by how many slots a VM hosts: its jobs are planned
    on the slots that take least of that, and the bound leaves its part on spot aside. The weights are those at which
    all expected jobs on a type take the most: there cores and memory are filled alike or one of them is left idle.
    """
    mix = task.mix
    if mix.sizes is None:
        task = _fitting(task, mix, mix.gamma)
        return task, task
    gamma, maps, reduces = least_taken(mix, _weights(mix))
    limited = np.zeros(len(mix), dtype=bool)
    limited[limited_classes(mix)] = True
    slots = np.where(limited, mix.map_slots, maps), np.where(limited, mix.reduce_slots, reduces)
    taken = mix.taken(*slots).max(axis=0)
    planned = np.where(mix.possible, taken, np.inf) if mix.wholeness == MACHINES else gamma
    plan = replace(mix, gamma=np.where(limited, mix.gamma, planned), map_slots=slots[0], reduce_slots=slots[1])
    bound = replace(mix, gamma=gamma, map_slots=maps, reduce_slots=reduces, spot_share=_any_on_spot(mix), sizes=None)
    return _fitting(task, plan, taken), _fitting(task, bound, gamma)


def _any_on_spot(mix: Mix) -> Floats:
    """Return the parts of classes that may be on spot, all where it is only some."""
    limited = np.zeros(len(mix), dtype=bool)
    limited[limited_classes(mix)] = True
    return np.where(limited, 1.0, mix.spot_share)


def _fitting(task: Task, mix: Mix, taken: Floats) -> Task:
    """The task without pairs of which not even one job fits the VMs that there are; all where jobs are in parts."""
    market = task.market
    if not task.same_type or not is_scarce(task):
        return replace(task, mix=mix)
    room = task.available[market.vm_of_lane] - market.masters_of_lane
    vms = taken if mix.wholeness != MACHINES else np.asarray(ceiling(np.where(mix.possible, taken, 0.0)))
    fits = vms <= room[:, None] * (1.0 + SAME_SUM) + ROUNDING
    return replace(task, mix=replace(mix, gamma=np.where(fits, mix.gamma, np.inf)))


def is_scarce(task: Task) -> bool:
    """Return whether quotas, of the types or of all their lanes, leave too few of the VMs that are cheapest."""
    return bool(np.isfinite(task.available).any())


def _weights(mix: Mix) -> Floats:
    """The weight of cores in each lane at which jobs take the most, by golden section; memory has the rest."""
    some = np.argsort(-mix.expected, kind="stable")[:CLASSES]
    expected = mix.expected[some]
    low, high = np.full(len(mix.gamma), LEAST), np.full(len(mix.gamma), 1.0 - LEAST)

    def taken(weights: Floats) -> Floats:
        gamma = least_taken(mix, weights, some, whole=False)[0]
        return np.asarray((np.where(np.isfinite(gamma), gamma, 0.0) * expected).sum(axis=1))

    part = (5.0**0.5 - 1.0) / 2.0
    for _ in range(STEPS):
        one, two = high - part * (high - low), low + part * (high - low)
        less = taken(one) < taken(two)
        low, high = np.where(less, one, low), np.where(less, high, two)
    return np.asarray((low + high) / 2.0)


def _bound_at(program: PairProgram, solved: Solved) -> tuple[Ways, float, Columns | None]:
    """Compute each class's way and the bound at prices; with two resources also pairs that cost less than nothing."""
    task, prices = program.task, solved.prices.sum(axis=0)
    if task.mix.sizes is None:
        ways = cheapest(task, prices)
        return ways, dual_bound(task, prices, solved.quotas, ways, wanted(task, ways)), None
    mix = task.mix
    weights = solved.prices[0] / np.where(prices > 0.0, prices, 1.0)
    weights = np.clip(np.where(prices > 0.0, weights, program.weights), LEAST, 1.0 - LEAST)
    gamma, maps, reduces = least_taken(mix, weights)
    below = _fitting(task, replace(mix, gamma=gamma, spot_share=_any_on_spot(mix), sizes=None), gamma)
    ways = cheapest(below, prices)
    bound = dual_bound(below, prices, solved.quotas, ways, wanted(below, ways))
    reduced = solved.beside + np.where(np.isfinite(gamma), prices[:, None] * gamma, np.inf)
    new = least_of(np.where(reduced < -ROUNDING, reduced, np.inf), MORE) & mix.possible
    new &= (maps != mix.map_slots) | (reduces != mix.reduce_slots)
    of_class, of_lane = new.T.nonzero()
    return ways, bound, program.columns(of_lane, of_class, maps[new.T.nonzero()[::-1]], reduces[new.T.nonzero()[::-1]])


def _nothing(task: Task, found: _Found, dear: float) -> Relaxed:
    """No jobs, and the bound at the prices of the cheapest offers, where there was no time for more."""
    below = task if task.mix.sizes is None else weighed(task)[1]
    ways = cheapest(below, found.prices)
    bound = dual_bound(below, found.prices, found.quotas, ways, wanted(below, ways))
    bought = task.market.buy(task.market.masters_of_lane)
    least = np.where(task.mix.possible, task.mix.gamma, np.inf).min(axis=0)
    short = float((least[task.low > 0.0] * task.low[task.low > 0.0]).sum())
    jobs = np.zeros_like(task.mix.gamma)
    value = task.mix.cost(bought, jobs) + dear * dearest(task) * short
    return Relaxed(jobs, bought, found.prices, found.quotas, value, min(bound, value), short)


@dataclass(frozen=True)
class Columns:
    """Jobs of a class in a lane: the slots of one, and what it takes of each resource, (resources, columns)."""

    of_lane: Places
    of_class: Places
    maps: Floats
    reduces: Floats
    taken: Floats

    def __len__(self) -> int:
        return len(self.of_lane)

    def at(self, places: Places) -> Columns:
        """Some of the columns."""
        return Columns(*(each[..., places] for each in vars(self).values()))

    def and_more(self, other: Columns) -> Columns:
        """These columns, and then others."""
        return Columns(
            *(np.concatenate([a, b], axis=-1) for a, b in zip(vars(self).values(), vars(other).values(), strict=True))
        )


@dataclass(frozen=True)
class Solved:
    """The value and the point of a solved program, prices of resources of lanes and of quotas, and the reduced costs of
    pairs of lanes and classes; ``beside`` are those without what VMs cost."""

    value: float
    point: Floats
    prices: Floats
    quotas: Floats
    reduced: Floats
    beside: Floats


class PairProgram:
    """The program: rows of resources of lanes, quotas, parts on spot and classes; columns of offers, VMs that lack,
    jobs that are turned away, and then jobs of classes in lanes in the order in which they come."""

    def __init__(self, task: Task, dear: float, scale: Floats | None = None) -> None:
        from mrdsl.solving.backends.highs import GrowingProgram

        self.task, self.dear, mix, market = task, dear, task.mix, task.market
        self.taken = mix.gamma[None] if mix.sizes is None else mix.taken(mix.map_slots, mix.reduce_slots)
        self.weights = np.full(len(market.lanes), 0.5)
        self.scale = np.ones(len(market.lanes)) if scale is None else scale
        lanes, classes, offers = len(market.lanes), len(mix), len(market.offers)
        self.limited = np.flatnonzero(np.isfinite(task.available))
        some = (mix.possible & market.spot[:, None]).any(axis=0)
        self.capped = np.flatnonzero((mix.spot_share < 1.0) & some)
        resources = len(self.taken)
        self.ends = np.cumsum([resources * lanes, len(self.limited), len(self.capped), classes]).tolist()
        self.there = np.zeros_like(mix.possible)
        none = np.zeros(0, dtype=np.int64)
        self.jobs = Columns(none, none, np.zeros(0), np.zeros(0), np.zeros((resources, 0)))
        self.place_of, self.count = none, 0
        most = [np.tile(-market.masters_of_lane, resources), task.available[self.limited], np.zeros(len(self.capped))]
        free = np.full(self.ends[2], -np.inf)
        self.program = GrowingProgram(np.concatenate([free, task.high]), np.concatenate([*most, task.high]))
        quota_of = np.full(len(market.names), NONE)
        quota_of[self.limited] = self.ends[0] + np.arange(len(self.limited))
        quota = quota_of[market.vm_of_lane[market.lane_of_offer]]
        limited = np.flatnonzero(quota != NONE)
        each, every = np.arange(classes), np.arange(resources)[:, None] * lanes
        rows, lacking = (every + market.lane_of_offer).ravel(), (every + np.arange(lanes)).ravel()
        self._columns(
            np.concatenate([market.prices, np.full(lanes, dear * dearest(task)), np.zeros(classes)]),
            np.concatenate([market.there, np.full(lanes, np.inf), task.high - task.low]),
            (rows, np.tile(np.arange(offers), resources), -np.ones(len(rows))),
            (quota[limited], limited, np.ones(len(limited))),
            (lacking, np.tile(offers + np.arange(lanes), resources), -np.ones(len(lacking))),
            (self.ends[2] + each, offers + lanes + each, np.ones(classes)),
        )

    def add_lacking(self, costs: Floats) -> None:
        """Add columns for jobs that a class lacks."""
        each = np.arange(len(costs))
        self._columns(costs, np.full(len(costs), np.inf), (self.ends[2] + each, each, np.ones(len(costs))))

    def columns(self, of_lane: Places, of_class: Places, maps: Floats, reduces: Floats) -> Columns:
        """Jobs of classes in lanes on so many slots."""
        mix = self.task.mix
        if mix.sizes is None:
            taken = mix.gamma[of_lane, of_class][None]
        else:
            parts = mix.sizes.parts[:, :, mix.market.vm_of_lane[of_lane], of_class]
            taken = parts[0] * maps + parts[1] * reduces
        return Columns(of_lane, of_class, maps, reduces, taken)

    def add_pairs(self, new: Flags) -> None:
        """Add columns of pairs that are not there yet, on the fewest slots."""
        of_class, of_lane = new.T.nonzero()
        self.there |= new
        mix = self.task.mix
        self.add(self.columns(of_lane, of_class, mix.map_slots[of_lane, of_class], mix.reduce_slots[of_lane, of_class]))

    def add(self, new: Columns) -> bool:
        """Add columns; return False if there are none."""
        task, mix, lanes = self.task, self.task.mix, len(self.task.market.lanes)
        self.jobs = self.jobs.and_more(new)
        self.place_of = np.append(self.place_of, self.count + np.arange(len(new)))
        each = np.arange(len(new))
        part_of = np.full(len(mix), NONE)
        part_of[self.capped] = self.ends[1] + np.arange(len(self.capped))
        capped = np.flatnonzero(part_of[new.of_class] != NONE)
        beyond = self.hosted(new) * (task.market.spot[new.of_lane] - mix.spot_share[new.of_class])
        self._columns(
            -mix.penalty[new.of_class],
            np.full(len(new), np.inf),
            *((r * lanes + new.of_lane, each, row * self.scale[new.of_lane]) for r, row in enumerate(new.taken)),
            (part_of[new.of_class][capped], capped, beyond[capped]),
            (self.ends[2] + new.of_class, each, np.ones(len(new))),
        )
        return len(new) > 0

    def hosted(self, new: Columns) -> Floats:
        """The VM time of one job by how many slots a VM hosts, of which a part may be on spot."""
        pairs, at = self.task.mix.pairs, (self.task.market.vm_of_lane[new.of_lane], new.of_class)
        return np.asarray(new.maps / pairs.map_per_vm[at] + new.reduces / pairs.reduce_per_vm[at])

    def _columns(self, costs: Floats, upper: Floats, *entries: tuple[Places, Places, Floats]) -> None:
        from scipy.sparse import coo_array

        rows, columns, values = (np.concatenate(each) for each in zip(*entries, strict=True))
        self.count += len(costs)
        self.program.add(costs, upper, coo_array((values, (rows, columns)), shape=(self.ends[3], len(costs))))

    def solve(self, seconds: float | None) -> Solved | None:
        """Solve the program; None if time is over.

        Prices of lanes are raised to those of their cheapest offers: a lane that no pair of the program has is not
        free.
        """
        solved = self.program.solve(seconds)
        if solved is None:
            return None
        value, point, duals = solved
        mix, market = self.task.mix, self.task.market
        of_lanes, of_quotas, of_parts, of_classes = np.split(duals, self.ends[:3])
        quotas, parts = np.zeros(len(market.names)), np.zeros(len(mix))
        quotas[self.limited], parts[self.capped] = np.maximum(-of_quotas, 0.0), np.maximum(-of_parts, 0.0)
        prices = np.maximum(-of_lanes, 0.0).reshape(len(self.taken), -1)
        less = np.maximum(market.cheapest() + quotas[market.vm_of_lane] - prices.sum(axis=0), 0.0)
        prices += less * (1.0 if len(prices) == 1 else np.stack([self.weights, 1.0 - self.weights]))
        on_spot = (market.spot[:, None] - mix.spot_share) * parts
        beside = np.where(mix.possible, mix.gamma, 0.0) * on_spot - mix.penalty - of_classes
        with np.errstate(invalid="ignore"):
            cost = sum(price[:, None] * taken for price, taken in zip(prices, self.taken, strict=True))
        reduced = np.where(mix.possible, beside + cost, np.inf)
        return Solved(value + float(mix.penalty @ mix.expected), point, prices, quotas, reduced, beside)

    def parts(self, point: Floats) -> tuple[Floats, Floats, tuple[Floats, Floats], float]:
        """Return VMs by offer, jobs by lane and class, their slots beyond the fewest, and VMs that lack."""
        market = self.task.market
        offers, lanes = len(market.offers), len(market.lanes)
        bought, lacks = point[:offers], point[offers : offers + lanes]
        placed, more = self.placed(np.maximum(self.jobs_at(point), 0.0))
        return np.maximum(bought, 0.0), placed, more, float(lacks.sum())

    def jobs_at(self, point: Floats) -> Floats:
        """The jobs of each column at a point."""
        return point[self.place_of]

    def placed(self, jobs: Floats) -> tuple[Floats, tuple[Floats, Floats]]:
        """Return jobs by lane and class, and their map and reduce slots beyond the fewest."""
        mix, at = self.task.mix, (self.jobs.of_lane, self.jobs.of_class)
        placed, maps, reduces = (np.zeros_like(mix.gamma) for _ in range(3))
        np.add.at(placed, at, jobs)
        np.add.at(maps, at, jobs * (self.jobs.maps - mix.map_slots[at]))
        np.add.at(reduces, at, jobs * (self.jobs.reduces - mix.reduce_slots[at]))
        return placed, (maps, reduces)

    def scaled(self, scale: Floats) -> PairProgram:
        """The same program where jobs take so many times as much of each lane."""
        found = PairProgram(self.task, self.dear, scale)
        found.add(self.jobs)
        found.there = self.there
        return found


def _first_pairs(task: Task) -> Flags:
    """The cheapest lanes of each class, firm and spot, and lanes that hold all classes one after another."""
    mix, spot = task.mix, task.market.spot
    with np.errstate(invalid="ignore"):
        cost = np.where(mix.possible, task.market.cheapest()[:, None] * mix.gamma, np.inf)
    found = _filled(task, cost)
    for kind in (spot, ~spot):
        found |= least_of(np.where(kind[:, None], cost, np.inf), FIRST)
    return found


def least_of(values: Floats, count: int) -> Flags:
    """Mark the least values of each column, ``count`` of them at the most, that are finite."""
    found = np.zeros(values.shape, dtype=bool)
    count = min(count, len(values))
    if count:
        rows = np.argpartition(values, count - 1, axis=0)[:count]
        found[rows, np.arange(values.shape[1])] = True
    return found & np.isfinite(values)


def _taken(ways: Ways, shape: tuple[int, ...]) -> Flags:
    """Mark the lanes of each class's way."""
    found = np.zeros(shape, dtype=bool)
    found[ways.lane, np.arange(shape[1])] = True
    beside = np.flatnonzero(ways.spot != NONE)
    found[ways.spot[beside], beside] = True
    return found


def _filled(task: Task, cost: Floats) -> Flags:
    """Mark pairs that hold the most jobs of all classes, each in turn in its cheapest lanes with room left."""
    mix, vms = task.mix, task.market.vm_of_lane
    left = task.available.copy()
    found = np.zeros_like(mix.possible)
    alone = np.where(task.market.spot[:, None] & (mix.spot_share < 1.0), np.inf, cost)
    for index, jobs in enumerate(task.high.tolist()):
        lanes = np.flatnonzero(np.isfinite(alone[:, index]) & (left[vms] > 0.0))
        for lane in lanes[np.argsort(alone[lanes, index], kind="stable")].tolist():
            gamma = float(mix.gamma[lane, index])
            taken = min(jobs * gamma, float(left[vms[lane]]))
            found[lane, index] = True
            left[vms[lane]] -= taken
            jobs -= taken / gamma
            if jobs <= ROUNDING:
                break
    return found


def least_taken(
    mix: Mix, weights: Floats, at: Places | None = None, whole: bool | None = None
) -> tuple[Floats, Floats, Floats]:
    """What one job takes of a VM so weighed, and its map and reduce slots, (lanes, classes); of some classes ``at``."""
    assert mix.sizes is not None
    vms, classes = mix.market.vm_of_lane, np.arange(len(mix)) if at is None else at
    both = np.stack([weights, 1.0 - weights])[:, :, None]
    maps_part, reduces_part = ((mix.sizes.parts[kind][:, vms[:, None], classes] * both).sum(axis=0) for kind in (0, 1))
    lanes = np.arange(len(vms))
    pairs = (mix.pairs if at is None else mix.pairs.of_classes(at)).in_lanes(vms, (1.0 / maps_part, 1.0 / reduces_part))
    kept = mix.map_kept[:, classes], mix.reduce_kept[:, classes]
    maps, reduces = pairs.slots_with_losses(lanes, kept, mix.wholeness != NO if whole is None else whole)
    maps, reduces = (np.where(mix.possible[:, classes], each, np.inf) for each in (maps, reduces))
    return maps * maps_part + reduces * reduces_part, maps, reduces
