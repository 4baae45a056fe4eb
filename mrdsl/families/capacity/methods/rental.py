"""The rental program of a spec of one period: its arrays, and the plan of a solution."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from mrdsl.checking.comparisons import broken
from mrdsl.core.rounding import FEASIBILITY, ceiling, floor
from mrdsl.families.capacity.constraints import class_bounds_of, compares_completion
from mrdsl.families.capacity.facts import NO
from mrdsl.families.capacity.instance import Mix, mix_of
from mrdsl.families.capacity.lanes import is_exact, limited_classes, useful_time
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_prices import Task
from mrdsl.families.capacity.packed_plans import beyond_quotas, packed_on_more
from mrdsl.families.capacity.packing import PackedLane, sizes_of
from mrdsl.families.capacity.periods.comparisons import of_sums, rows_of_period, rows_of_sums
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.plan_building import mix_plan_of
from mrdsl.families.capacity.slot_choices import choices_in_fractions, choices_in_whole_slots
from mrdsl.families.capacity.verify import quantity
from mrdsl.formulas.packing import generated_patterns, units_of
from mrdsl.programs.columns import Relaxation, lacks, relaxed
from mrdsl.programs.integer import EXCESS, Fit, Packer, Placed, in_whole_numbers
from mrdsl.programs.rent import Master
from mrdsl.programs.renting import WEIGHTS, Choices, Comparison, Renting, SpotLimits
from mrdsl.spec.spec import Aim, Spec

Places = NDArray[np.int64]
Sum = tuple[dict[int, float], float]
"""Factors by column, and a constant."""


def renting_of(spec: Spec, task: Task) -> Renting:
    """Return the arrays of the rental program of a spec, within the limits of a task."""
    mix, market = task.mix, task.market
    parts = _parts(mix)
    limited = limited_classes(mix)
    spots = _spots(mix, limited, parts)
    kind = _kinds(mix, parts, spots)
    jobs = _Jobs(mix, kind, parts, set(limited.tolist()))
    masters = bought_masters(spec, task)
    of_lane = np.bincount(market.lane_of_offer, masters, len(market.lanes))
    comparisons = tuple(_comparisons(spec, mix))
    return Renting(
        offer_lane=market.lane_of_offer,
        prices=market.prices,
        there=market.there - masters,
        vm_of_lane=market.vm_of_lane,
        kind=kind,
        spot=market.spot,
        masters=market.masters_of_lane - of_lane,
        available=task.available - np.bincount(market.vm_of_lane, of_lane, len(market.names)),
        cores=market.cores_of_quotas,
        core_limits=market.quota_limits - market.cores_of_quotas @ of_lane,
        stored=market.stored_by_lane,
        stored_least=market.stored_on_all,
        comparisons=comparisons,
        low=task.low,
        high=task.high,
        worth=mix.worth,
        constant=float(mix.penalty @ mix.expected),
        spots=spots,
        together=mix.together & (mix.possible.sum(axis=0) > 1),
        possible=mix.possible,
        least=jobs.least,
        whole_slots=mix.wholeness != NO,
        reaches_all=jobs.have_all if mix.sizes is not None else not len(limited) or is_exact(mix),
        choices_of=jobs.choices,
    )


def bought_masters(spec: Spec, task: Task) -> Floats:
    """Return masters by offer that the program need not buy: all of them unless VMs are compared, or hold data.

    The cheapest VMs of a lane are then bought first, and it does not matter which of them are masters.
    """
    market = task.market
    if market.stored_on_all or class_bounds_of(spec).others:
        return np.zeros(len(market.offers))
    return market.buy(market.masters_of_lane)


def _comparisons(spec: Spec, mix: Mix) -> Iterator[Comparison]:
    """Yield the comparisons of a spec, apart from those of single classes. Raises KeyError for one without a row."""
    if not class_bounds_of(spec).others:
        return
    market = mix.market
    offers = {way: number for number, way in enumerate(market.ways)}
    rows = rows_of_period(spec, offers)
    if of_sums(spec):
        rows += rows_of_sums(spec, _sums(mix, offers))
    for entries, most in rows:
        both = np.zeros(len(offers) + len(mix))
        for column, value in entries:
            both[column] += value
        yield Comparison(both[: len(offers)], both[len(offers) :], most)


def _sums(mix: Mix, offers: Mapping[tuple[str, str, str], int]) -> dict[tuple[str, str], Sum]:
    """Return the factors by column, offers before classes, and the constant of quantities that are sums."""
    prices, first = mix.market.prices.tolist(), len(offers)
    saved = {first + index: -worth for index, worth in enumerate(mix.worth.tolist())}
    found = {("cost", ""): ({**dict(enumerate(prices)), **saved}, float(mix.penalty @ mix.expected))}
    found["vms", ""] = dict.fromkeys(range(first), 1.0), 0.0
    for index, name in enumerate(mix.names):
        found["admitted", name] = {first + index: 1.0}, 0.0
    for (vm, _, _), column in offers.items():
        found.setdefault(("vms", vm), ({}, 0.0))[0][column] = 1.0
        found.setdefault(("cost", vm), ({}, 0.0))[0][column] = prices[column]
    return found


def has_rows(spec: Spec) -> bool:
    """Return True if all comparisons of a spec are rows of the rental program."""
    others = class_bounds_of(spec).others
    if any(isinstance(each, Aim) for each in others) or compares_completion(spec):
        return False
    try:
        return all(True for _ in _comparisons(spec, mix_of(spec)))
    except (KeyError, ValueError):  # of a share in a sum, or of a product
        return False


def _parts(mix: Mix) -> Floats:
    """Return the part of each resource that a slot takes, (lanes, kinds of slots, resources, classes).

    A resource of which no slot takes more than of the other is left out.
    """
    vms = mix.market.vm_of_lane
    if mix.sizes is None:
        parts = 1.0 / np.stack([mix.pairs.map_per_vm, mix.pairs.reduce_per_vm])[:, None]
    else:
        parts = mix.sizes.parts
        idle = [r for r in (1, 0) if bool((parts[:, r] <= parts[:, 1 - r]).all())][:1]
        parts = np.delete(parts, idle, axis=1)
    return np.asarray(parts[:, :, vms].transpose(2, 0, 1, 3))


def _spots(mix: Mix, limited: Places, parts: Floats) -> SpotLimits:
    vms, pairs = mix.market.vm_of_lane, mix.pairs
    if not len(limited):
        return SpotLimits(mix.spot_share, limited, *[np.zeros(0)] * 4)
    vm_time = 1.0 / np.stack([pairs.map_per_vm[vms], pairs.reduce_per_vm[vms]], axis=1)
    kept = np.stack([mix.map_kept, mix.reduce_kept], axis=1)
    most = np.stack([pairs.limits.map_most[vms], pairs.limits.reduce_most[vms]], axis=1)
    most = np.where(kept > 0.0, most / np.where(kept > 0.0, kept, 1.0), 0.0)
    time = np.zeros(len(mix))
    time[limited] = [useful_time(mix, index) for index in limited.tolist()]
    useful = time / vm_time
    if mix.wholeness != NO:
        most, useful = np.asarray(ceiling(most)), np.asarray(ceiling(useful))
    return SpotLimits(mix.spot_share, limited, vm_time, parts, most, useful)


def _kinds(mix: Mix, parts: Floats, spots: SpotLimits) -> Places:
    """Return the kind of each lane: lanes are of one kind if jobs of no class can tell them apart."""
    lanes = len(mix.market.lanes)
    columns = [np.where(mix.possible, mix.gamma, -1.0)]
    if parts.shape[2] > 1 or mix.sizes is not None:
        work, limits, vms = mix.pairs.work, mix.pairs.limits, mix.market.vm_of_lane
        columns += [each[vms] for each in (work.map_work, work.reduce_work, work.constant)]
        columns += [each[vms] for each in (limits.map_least, limits.reduce_least, limits.map_most, limits.reduce_most)]
        columns += [mix.map_kept, mix.reduce_kept, parts.reshape(lanes, -1)]
        columns += [mix.map_slots, mix.reduce_slots]
        if work.own is not None:
            columns.append(vms[:, None].astype(float))
    if len(spots.limited):
        columns += [mix.market.spot[:, None].astype(float), spots.vm_time.reshape(lanes, -1)]
        columns += [spots.most.reshape(lanes, -1), parts.reshape(lanes, -1), mix.map_slots, mix.reduce_slots]
    keys: dict[bytes, int] = {}
    found = []
    for lane in range(lanes):
        text = b"".join(np.ascontiguousarray(each[lane]).tobytes() for each in columns)
        found.append(keys.setdefault(blake2b(text).digest(), len(keys)))
    return np.array(found, dtype=np.int64)


@dataclass
class _Jobs:
    """The slots that one job of a class may have in lanes of a kind."""

    mix: Mix
    kind: Places
    parts: Floats
    limited: set[int]
    known: dict[tuple[object, ...], tuple[Floats, float]] = field(default_factory=dict)
    found: dict[tuple[int, int], Choices] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lane = np.unique(self.kind, return_index=True)[1]
        mix, resources = self.mix, self.parts.shape[2]
        weights = WEIGHTS[resources]
        if mix.sizes is None:
            self.least = np.where(mix.possible, mix.gamma, np.inf)[self.lane][None]
            return
        self.least = np.full((len(weights), len(self.lane), len(mix)), np.inf)
        for kind, lane in enumerate(self.lane.tolist()):
            for index in np.flatnonzero(mix.possible[lane]).tolist():
                choices = self.choices(kind, index)
                self.least[:, kind, index] = (choices.takes @ weights.T).min(axis=0) * choices.near

    @property
    def have_all(self) -> bool:
        """True if jobs of containers have all pairs of slots as choices."""
        return all(each.near == 1.0 for each in self.found.values())

    def choices(self, kind: int, index: int) -> Choices:
        """Return the slots of a job of a class in lanes of a kind."""
        if (kind, index) not in self.found:
            lane, mix = int(self.lane[kind]), self.mix
            pairs, near = np.array([[mix.map_slots[lane, index], mix.reduce_slots[lane, index]]]), 1.0
            if mix.sizes is not None:
                of_job = choices_in_whole_slots if mix.wholeness != NO else choices_in_fractions
                pairs, near = of_job(mix, lane, index, self.known, index in self.limited)
            takes = pairs @ self.parts[lane, :, :, index]
            self.found[kind, index] = Choices(pairs, takes, near)
        return self.found[kind, index]


@dataclass(frozen=True)
class Rented:
    """A task, its rental program, and the relaxation of that.

    ``fixed`` is the cost of the masters that the program does not buy.
    """

    task: Task
    fixed: float
    master: Master
    relaxation: Relaxation

    @property
    def bound(self) -> float:
        """What every plan costs at least."""
        return self.relaxation.bound + self.fixed

    def is_impossible(self, until: float | None) -> bool:
        """Return True if the least jobs are proven to have no room."""
        if self.relaxation.lacking <= FEASIBILITY:
            return False
        return lacks(self.master.renting, until) > FEASIBILITY


def rented(spec: Spec, task: Task, until: float | None) -> Rented:
    """Return the rental program of a spec with its relaxation."""
    master = Master(renting_of(spec, task))
    fixed = float(task.market.prices @ bought_masters(spec, task))
    return Rented(task, fixed, master, relaxed(master, until=until))


def planned(
    spec: Spec, program: Rented, gap: float, until: float | None
) -> Iterator[tuple[CapacityPlan | None, float]]:
    """Yield the best plan so far, packed, and a bound on every plan."""
    found: list[CapacityPlan] = []
    pack = packer_of(spec, program.task, found)
    yield None, program.bound
    for _, _, bound in in_whole_numbers(program.master, program.relaxation, pack, gap, until):
        yield min(found, key=lambda plan: plan.total, default=None), bound + program.fixed


def plan_of_placed(spec: Spec, task: Task, placed: Placed) -> CapacityPlan:
    """Return the plan of jobs and slots in lanes, on VMs by offer."""
    mix = task.mix
    fewest = [np.where(np.isfinite(each), each, 0.0) * placed.jobs for each in (mix.map_slots, mix.reduce_slots)]
    more = placed.slots[0] - fewest[0], placed.slots[1] - fewest[1]
    return mix_plan_of(mix, placed.bought + bought_masters(spec, task), placed.jobs, False, more)


def packer_of(spec: Spec, task: Task, found: list[CapacityPlan]) -> Packer:
    """Return a function that packs the slots of a solution; ``found`` gets the plans that fit."""
    fixed = float(task.market.prices @ bought_masters(spec, task))
    number_of = {(lane.vm, lane.spot): number for number, lane in enumerate(task.market.lanes)}

    compared = bool(class_bounds_of(spec).others)

    def pack(placed: Placed) -> Fit:
        plan = plan_of_placed(spec, task, placed)
        fitting, lacking = (plan, {}) if plan.wholeness == NO else packed_on_more(spec, plan)
        if fitting is not None and compared and any(broken(spec, partial(quantity, spec, fitting))):
            fitting = None
        if fitting is not None:
            found.append(fitting)
        cuts, proven = {}, task.mix.sizes is not None  # otherwise jobs have other slots, which may pack
        for (vm, spot), (lane, vms) in lacking.items():
            number = number_of[vm, spot]
            cuts[number], sure = _prices_of_slots(lane, vms, len(task.mix))
            proven &= sure
        if fitting is not None:
            return Fit(fitting.total - fixed, cuts, proven)
        return Fit(np.inf, cuts, proven, None if compared else beyond_quotas(spec, plan))

    return pack


def _prices_of_slots(lane: PackedLane, vms: float, classes: int) -> tuple[Floats, bool]:
    """Return prices of slots, (2, classes), at which those of a lane are worth more than its VMs.

    And True if no content of a VM is proven to be worth more than 1. The prices are those of the relaxed cutting-stock
    problem, or raised until the slots are worth more.
    """
    held = lane.held
    _, place = np.unique(held.per_vm, return_inverse=True)
    sizes, demand = sizes_of(held)
    generated = generated_patterns(sizes, demand)
    each, proven = np.array(generated.prices), len(generated.prices) > 0
    if not proven:
        each = np.array([1.0 / max(1, alone) for alone in units_of(sizes).alone])
    worth = float(each @ np.array(demand))
    if worth <= vms * (1.0 + EXCESS):
        each, proven = each * (vms * (1.0 + EXCESS) / worth), False
    prices = np.zeros((2, classes))
    prices[held.reduces.astype(np.int64), held.of_class] = each[place.ravel()]
    return prices, proven


@dataclass(frozen=True)
class Spread:
    """The relaxed jobs of (lanes, classes) on one pair of slots of each, those of ``mix``; and prices.

    ``cores`` are prices of cores of quotas, ``prices`` those of VMs of lanes, ``costs`` those of a job of each class.
    """

    mix: Mix
    jobs: Floats
    bound: float
    cores: Floats
    prices: Floats
    costs: Floats


def spread(program: Rented, until: float | None = None) -> Spread | None:
    """Return the relaxed jobs of containers on the pair of which most are, elsewhere on the cheapest pair.

    None if jobs lack, or without time.
    """
    master, best, mix = program.master, program.relaxation, program.task.mix
    renting = master.renting
    solved = master.program.relaxed(None if until is None else until - time.monotonic())
    if solved is None or float(solved.point[master.short].sum()) > FEASIBILITY:
        return None
    prices = best.resources.sum(axis=0)
    weights = np.where(prices > 0.0, best.resources / np.where(prices > 0.0, prices, 1.0), 1.0 / renting.resources)
    gamma, slots = np.full_like(mix.gamma, np.inf), np.stack([mix.map_slots, mix.reduce_slots])
    for kind in range(len(renting.lane_of_kind)):
        table, lanes = master.table(kind), np.flatnonzero(renting.kind == kind)
        if not len(table.classes):
            continue
        values = table.takes @ weights[:, lanes]
        least = np.minimum.reduceat(values, table.starts, axis=0)
        sizes = np.diff(np.append(table.starts, len(values)))
        places = np.where(values <= np.repeat(least, sizes, axis=0), np.arange(len(values))[:, None], len(values))
        chosen = np.minimum.reduceat(places, table.starts, axis=0)
        at = np.ix_(lanes, table.classes)
        gamma[at] = least.T
        for number in (0, 1):
            slots[number][at] = table.pairs[chosen, number].T
    jobs, most = np.zeros_like(mix.gamma), np.zeros_like(mix.gamma)
    for (lane, index, pair), column in master.jobs.items():
        count = float(solved.point[column])
        jobs[lane, index] += count
        if count > most[lane, index]:
            choices = renting.choices_of(int(renting.kind[lane]), index)
            most[lane, index], slots[:, lane, index] = count, choices.pairs[pair]
            gamma[lane, index] = float(choices.takes[pair] @ weights[:, lane])
    for index in renting.spots.limited.tolist():
        time_of_slots = (renting.spots.vm_time[:, :, index] * slots[:, :, index].T).sum(axis=1)
        gamma[:, index] = np.where(mix.possible[:, index], time_of_slots, np.inf)
    planned_mix = replace(mix, gamma=gamma, map_slots=slots[0], reduce_slots=slots[1])
    cores = np.maximum(-solved.duals[master.quota_row], 0.0)
    return Spread(planned_mix, jobs, program.bound, cores, prices, best.of_classes)


SMALL = 2
"""If a VM holds at most this number of slots of a kind, what they leave rarely fits another slot."""


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
