"""Whole jobs within quotas: the relaxation over pairs of classes and lanes, then a dive from it.

A catalogue with quotas has thousands of lanes, each scarce, and a class runs in a handful of them. The program has the
pairs that cost least at the prices of VMs so far; pairs whose reduced cost is negative at its dual prices are added
until the dual bound over all pairs meets its value (Gilmore and Gomory 1961, *A linear programming approach to the
cutting-stock problem*). The bound is computed from the prices alone, so that it holds whatever the program left out.

Where cores and memory of containers both have to fit, each lane has a row for either. Jobs that fit both fit any
weighing of both (a surrogate constraint: Glover 1965, *A multiphase-dual algorithm for the zero-one integer programming
problem*): at the weights that the dual prices are, each job takes the pair of slots that takes the least by Theorem
4.1, and the bound is that of one resource.

The dive keeps the whole parts of jobs, takes the largest of the other parts as whole jobs, and solves the program again
for what is left, in which no lane has a part of a job for which it has no room; until all jobs are whole.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import PROVEN, ROUNDING, SAME_SUM, ceiling, floor
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
TURNS, AT_ONCE = 60, 0.25
"""So many turns of a dive at the most, each of which makes at least this part of what is left whole."""
SEARCHES, NODES, FREE = 6, 1, 3
"""So many integer programs improve a plan, of so many nodes each, that leave one of so many lanes or classes free."""
LANES_OF_ONE = 120
"""So many lanes, divided by the root of the number of classes, are there for each class."""
FEW, MANY_NODES = 400, 100
"""Of so few columns all are left free, for so many nodes."""
LITTLE = 2e-3
"""A part of the cost for which an integer program is searched no further."""
PART = 1e-6
"""A part of a job that is not overlooked."""


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
    return _least(reduced, MORE) | _least((reduced / size).T, LANE_MORE).T


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
    new = _least(np.where(reduced < -ROUNDING, reduced, np.inf), MORE) & mix.possible
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
        beyond = self._hosted(new) * (task.market.spot[new.of_lane] - mix.spot_share[new.of_class])
        self._columns(
            -mix.penalty[new.of_class],
            np.full(len(new), np.inf),
            *((r * lanes + new.of_lane, each, row * self.scale[new.of_lane]) for r, row in enumerate(new.taken)),
            (part_of[new.of_class][capped], capped, beyond[capped]),
            (self.ends[2] + new.of_class, each, np.ones(len(new))),
        )
        return len(new) > 0

    def _hosted(self, new: Columns) -> Floats:
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
        found |= _least(np.where(kind[:, None], cost, np.inf), FIRST)
    return found


def _least(values: Floats, count: int) -> Flags:
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


@dataclass(frozen=True)
class Whole:
    """Whole jobs by lane and class, their map and reduce slots beyond the fewest, VMs by offer, and what they cost."""

    jobs: Floats
    more: tuple[Floats, Floats] | None
    bought: Floats
    cost: float


def whole_jobs(relaxed: Relaxed, enough: float, until: float | None, scale: Floats | None = None) -> Whole | None:
    """Find whole jobs on whole VMs within the quotas near a relaxed optimum, and stop at a cost of ``enough``.

    Jobs count for ``scale`` times as much in each lane.
    """
    given: PairProgram = relaxed.program
    solved = given.solve(None)
    if solved is None:
        return None
    room = dive(given.scaled(given.scale if scale is None else scale), until)
    if bool((room.total < room.task.low).any()):
        return None
    program, jobs, parts = room.program, room.count, given.jobs_at(solved.point)
    room.program.add_pairs(_cheap_pairs(room.program, solved))
    jobs, parts = (np.append(each, np.zeros(len(program.jobs) - len(each))) for each in (jobs, parts))
    places = _cheap_columns(program, solved, (jobs > 0.0) | (parts > PART))
    search = _Search(room.task, program.scale, program.jobs.at(places), until)
    jobs[places] = search.best(jobs[places], parts[places], enough)
    placed, more = program.placed(jobs)
    bought = room.task.market.buy(search.vms(jobs[places]))
    return Whole(placed, more, bought, room.task.mix.cost(bought, placed))


def _cheap_pairs(program: PairProgram, solved: Solved) -> Flags:
    """Mark pairs of the least reduced costs that have no columns yet."""
    most = int(LANES_OF_ONE / len(program.task.mix) ** 0.5) + 1
    ordered = np.maximum(solved.reduced, 0.0) + SAME_SUM * np.arange(len(solved.reduced))[:, None]
    return _least(ordered, most) & program.task.mix.possible & ~program.there


def _cheap_columns(program: PairProgram, solved: Solved, used: Flags) -> Places:
    """Find the columns in use and those of the least reduced costs, so many of each class."""
    most = int(LANES_OF_ONE / len(program.task.mix) ** 0.5) + 1
    jobs = program.jobs
    order = np.lexsort((np.arange(len(jobs)), solved.reduced[jobs.of_lane, jobs.of_class], jobs.of_class))
    rank = np.arange(len(jobs)) - np.searchsorted(jobs.of_class[order], jobs.of_class[order])
    kept = used.copy()
    kept[order[rank < most]] = True
    return np.flatnonzero(kept)


def dive(program: PairProgram, until: float | None) -> _Room:
    """Find whole jobs on whole VMs within the quotas, of all jobs that find room."""
    room = _Room(program)
    program.add_lacking(room.lacking)
    for _ in range(TURNS):
        solved = program.solve(None if until is None else until - time.monotonic())
        if solved is None:
            break
        if room.add(solved):
            continue
        if not room.keep(program.jobs_at(solved.point)):
            break
        program.program.bound(*room.bounds())
    room.fill()
    return room


class _Search:
    """Integer programs over some columns, each of which leaves a part of a plan free."""

    def __init__(self, task: Task, scale: Floats, columns: Columns, until: float | None) -> None:
        self.task, self.columns, self.until = task, columns, until
        self.program = PairProgram(task, 1.0, scale)
        self.program.add(columns)
        market, classes = task.market, len(task.mix)
        offers, lanes = len(market.offers), len(market.lanes)
        self.whole = np.ones(self.program.count, dtype=bool)
        self.whole[offers : offers + lanes] = False
        turned_away = offers + lanes + np.arange(classes)
        self.upper = np.zeros(self.program.count)
        self.upper[:offers], self.upper[turned_away] = market.there, task.high - task.low
        self.upper[self.program.place_of] = task.high[columns.of_class]

    def best(self, jobs: Floats, parts: Floats, enough: float) -> Floats:
        """Find better jobs of each column than these, at first around the ``parts`` of jobs of a relaxed optimum."""
        cost = self.cost(jobs)
        for turn in range(SEARCHES):
            if cost <= enough or (self.until is not None and time.monotonic() > self.until):
                break
            least = np.minimum(floor(parts + PART), jobs) if turn == 0 else np.where(self._free(jobs, turn), 0.0, jobs)
            few = len(jobs) <= FEW and turn > 0
            gap, nodes = (PROVEN, MANY_NODES) if few else (LITTLE, NODES)
            found, _ = self.solved(jobs, np.asarray(least), gap * abs(enough), nodes)
            if found is not None and self.cost(found) < cost * (1.0 - SAME_SUM):
                jobs, cost = found, self.cost(found)
            if few:
                break
        return jobs

    def solved(self, jobs: Floats, least: Floats, gap: float, nodes: int) -> tuple[Floats | None, float]:
        """Solve for whole jobs that are no fewer than the least, from ``jobs`` on; and return a bound on the cost."""
        program, mix = self.program, self.task.mix
        lower, upper, start = np.zeros(program.count), self.upper.copy(), np.zeros(program.count)
        lower[program.place_of] = least
        offers, lanes = len(self.task.market.offers), len(self.task.market.lanes)
        start[:offers] = self.task.market.buy(self.vms(jobs))
        total = np.bincount(self.columns.of_class, weights=jobs, minlength=len(mix))
        start[offers + lanes : offers + lanes + len(mix)] = np.maximum(self.task.high - total, 0.0)
        start[program.place_of] = jobs
        kept_together = mix.together[self.columns.of_class] & (jobs == 0.0)
        upper[program.place_of[kept_together & ~self._of_type(jobs)]] = 0.0
        seconds = None if self.until is None else self.until - time.monotonic()
        point, bound = program.program.solve_whole(self.whole, (lower, upper), start, gap, nodes, seconds)
        found = None if point is None else np.rint(program.jobs_at(point))
        return found, bound + float(mix.penalty @ mix.expected)

    def cost(self, jobs: Floats) -> float:
        """What jobs cost on whole VMs."""
        penalty = self.task.mix.penalty
        spared = float(penalty[self.columns.of_class] @ jobs)
        return (
            self.task.mix.vm_cost(self.task.market.buy(self.vms(jobs)))
            + float(penalty @ self.task.mix.expected)
            - spared
        )

    def vms(self, jobs: Floats) -> Floats:
        """The whole VMs of each lane that jobs take."""
        used = np.stack(
            [np.bincount(self.columns.of_lane, row * jobs, len(self.program.scale)) for row in self.columns.taken]
        )
        return np.asarray(ceiling(used.max(axis=0) * self.program.scale + self.task.market.masters_of_lane))

    def _of_type(self, jobs: Floats) -> Flags:
        """Mark the columns of types on which their classes have jobs."""
        vms = self.task.market.vm_of_lane[self.columns.of_lane]
        used = np.zeros((len(self.task.market.names), len(self.task.mix)), dtype=bool)
        used[vms[jobs > 0.0], self.columns.of_class[jobs > 0.0]] = True
        return np.asarray(used[vms, self.columns.of_class])

    def _free(self, jobs: Floats, turn: int) -> Flags:
        """Mark the columns of some lanes in use or of some classes, drawn anew in each turn; all of a few."""
        if len(jobs) <= FEW:
            return np.ones(len(jobs), dtype=bool)
        random = np.random.RandomState(turn)
        of = self.columns.of_lane if turn % 2 else self.columns.of_class
        there = np.unique(of[jobs > 0.0])
        return np.isin(of, random.permutation(there)[: max(2, len(there) // FREE)])


class _Room:
    """Whole jobs that are placed, by column of a program, and what of the lanes is left."""

    def __init__(self, program: PairProgram) -> None:
        task = program.task
        self.program, self.task, market = program, task, task.market
        self.count = np.zeros(len(program.jobs))
        self.shut = np.zeros(len(program.jobs), dtype=bool)
        self.used = np.tile(market.masters_of_lane, (len(program.taken), 1))
        self.total, self.rounds = np.zeros(len(task.mix)), 0
        self.scale = program.scale
        worth = dearest(task) * program.dear
        self.lacking = np.full(len(task.mix), worth) * np.maximum(1.0, task.mix.expected)

    @property
    def types(self) -> Places:
        """The type of each column's lane."""
        return self.task.market.vm_of_lane[self.program.jobs.of_lane]

    def vms(self) -> Floats:
        """The whole VMs of each lane."""
        return np.asarray(ceiling(self.used.max(axis=0)))

    def left(self, of_lane: Places) -> Floats:
        """How many VMs each of the lanes may have in all, beside the others of its type."""
        market, vms = self.task.market, self.vms()
        of_type = np.bincount(market.vm_of_lane, weights=vms, minlength=len(market.names))
        types = market.vm_of_lane[of_lane]
        there = np.bincount(market.lane_of_offer, weights=market.there, minlength=len(vms))
        return np.minimum(self.task.available[types] - of_type[types] + vms[of_lane], there[of_lane])

    def keep(self, jobs: Floats) -> bool:
        """Place the whole parts of jobs and the largest other parts; return False if nothing is left to place."""
        whole = np.asarray(floor(jobs + PART)) - self.count
        for place in np.flatnonzero(whole > 0.0).tolist():
            self.put(place, float(whole[place]))
        part = np.where(self.shut, 0.0, jobs - self.count)
        left = np.flatnonzero(part > PART)
        if not len(left):
            return False
        order = left[np.argsort(-part[left], kind="stable")]
        most = max(1, int(np.ceil(AT_ONCE * len(order))))
        for place in order[:most].tolist():
            if not self.put(place, 1.0):
                self.shut[place] = True
        self.shut |= ~self.fits(np.arange(len(self.count)))
        return True

    def add(self, solved: Solved) -> bool:
        """Add pairs that pay at the prices and have room; return False if there are none, or turns enough."""
        self.rounds += 1
        if self.rounds % 3 == 0:
            return False
        new = _least(np.where(solved.reduced < -ROUNDING, solved.reduced, np.inf), 3) & ~self.program.there
        of_lane, of_class = new.nonzero()
        after = self.used[:, of_lane] + self.program.taken[:, of_lane, of_class] * self.scale[of_lane]
        fits = np.asarray(ceiling(after.max(axis=0))) <= self.left(of_lane) + ROUNDING
        new[of_lane[~fits], of_class[~fits]] = False
        if not new.any():
            return False
        before = len(self.count)
        self.program.add_pairs(new)
        self.count = np.append(self.count, np.zeros(len(self.program.jobs) - before))
        self.shut = np.append(self.shut, np.zeros(len(self.program.jobs) - before, dtype=bool))
        return True

    def fits(self, places: Places) -> Flags:
        """Mark the columns of which the lane has room for another job, and the class may have one."""
        jobs, high = self.program.jobs, self.task.high
        lanes, classes = jobs.of_lane[places], jobs.of_class[places]
        after = self.used[:, lanes] + jobs.taken[:, places] * self.scale[lanes]
        free = np.asarray(ceiling(after.max(axis=0))) <= self.left(lanes) + ROUNDING
        return free & (self.total[classes] + 1.0 <= high[classes] + ROUNDING)

    def put(self, place: int, count: float) -> bool:
        """Place so many jobs, or as many of them as there is room for; return False if there is none."""
        jobs = self.program.jobs
        lane, index = int(jobs.of_lane[place]), int(jobs.of_class[place])
        taken = jobs.taken[:, place] * self.scale[lane]
        room = self.left(np.array([lane]))[0] - self.used[:, lane]
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(taken > 0.0, room / taken, np.inf).min(initial=np.inf)
        count = min(count, float(floor(most + ROUNDING)), float(self.task.high[index] - self.total[index]))
        if count < 1.0 or self.shut[place]:
            return False
        if self.task.mix.together[index]:
            self.shut |= (jobs.of_class == index) & (self.types != self.types[place])
        self.count[place] += count
        self.used[:, lane] += count * taken
        self.total[index] += count
        return True

    def bounds(self) -> tuple[Places, Floats, Floats]:
        """Columns of the program with their least and greatest values for what is left."""
        program, market = self.program, self.task.market
        bought = market.buy(self.vms())
        jobs = program.place_of
        high = np.where(self.shut, self.count, np.inf)
        places = np.concatenate([np.arange(len(bought)), jobs])
        return places, np.concatenate([bought, self.count]), np.concatenate([market.there, high])

    def fill(self) -> None:
        """Place jobs that a class lacks, or that cost less than their penalties, where they cost least."""
        task = self.task
        for index in np.argsort(-task.mix.penalty, kind="stable").tolist():
            while self.total[index] + 1.0 <= task.high[index] + ROUNDING:
                if not self._put_cheapest(index, self.total[index] < task.low[index]):
                    break

    def _put_cheapest(self, index: int, needed: bool) -> bool:
        program, mix, market = self.program, self.task.mix, self.task.market
        lanes = np.flatnonzero(mix.possible[:, index] & self._may_come(index))
        after = self.used[:, lanes] + program.taken[:, lanes, index] * self.scale[lanes]
        vms, more = self.vms()[lanes], np.asarray(ceiling(after.max(axis=0)))
        cost = np.where(more <= self.left(lanes) + ROUNDING, market.cheapest()[lanes] * (more - vms), np.inf)
        if not len(cost) or not cost.min() < (np.inf if needed else mix.penalty[index]):
            return False
        lane = lanes[[int(cost.argmin())]]
        new = program.columns(lane, np.array([index]), mix.map_slots[lane, index], mix.reduce_slots[lane, index])
        program.jobs = program.jobs.and_more(new)
        self.count, self.shut = np.append(self.count, 0.0), np.append(self.shut, False)
        return self.put(len(self.count) - 1, 1.0)

    def _may_come(self, index: int) -> Flags:
        """Mark lanes that a class may use beside those that it uses: firm ones, of its type if it stays on one."""
        mix, vms = self.task.mix, self.task.market.vm_of_lane
        free = ~self.task.market.spot | (mix.spot_share[index] >= 1.0)
        mine = self.types[(self.program.jobs.of_class == index) & (self.count > 0.0)]
        return np.asarray(free & np.isin(vms, mine)) if mix.together[index] and len(mine) else free


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
