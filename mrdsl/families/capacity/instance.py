"""A capacity spec as arrays: of one VM type by class, of several types by lane and class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.lazy import kept
from mrdsl.core.rounding import ceiling, floor
from mrdsl.families.capacity.constraints import class_bounds_of
from mrdsl.families.capacity.facts import NO, CapacityFacts
from mrdsl.families.capacity.forms import has_containers, has_executors_or_drivers, wholeness_of
from mrdsl.families.capacity.groups import Groups, groups_in
from mrdsl.families.capacity.market import RESERVED, Market, market_of
from mrdsl.families.capacity.plan_parts import NO_OWN
from mrdsl.formulas import estimates, mapreduce
from mrdsl.formulas.containers import tasks_of_executors
from mrdsl.formulas.estimates import SlotLimits, stage_counts
from mrdsl.formulas.mapreduce import Coefficients
from mrdsl.formulas.own_times import shares_slots
from mrdsl.formulas.pairs import (
    Floats,
    Pairs,
    SlotSizes,
    has_vectors,
    kept_together,
    pairs_of,
    slot_sizes,
)
from mrdsl.formulas.spot_losses import slots_in_lanes, spot_shares
from mrdsl.formulas.whole_slots import whole_slots
from mrdsl.simulation.simulated_means import time_model
from mrdsl.spec.blocks import Stage, dags_of
from mrdsl.spec.columns import column, names_of
from mrdsl.spec.estimates import PAPER
from mrdsl.spec.spec import Spec


@dataclass(frozen=True)
class Prices:
    """Prices of VMs for one period, in the spec's currency, and the number of reserved VMs.

    If the spec reserves none, ``reserved`` equals ``on_demand`` and ``available`` is 0. ``disk`` is the part of each
    price that pays for the disk of the VM. ``cores`` are those of one VM, 0 if not given. ``sunk`` is the cost of
    prepaid VMs, which ``reserved`` leaves out.
    """

    vm: str
    on_demand: float
    reserved: float
    available: int
    disk: float = 0.0
    cores: float = 0.0
    sunk: float = 0.0

    def cost(self, on_demand: float, reserved: float) -> float:
        """Return the first two terms of equation (5)."""
        return self.on_demand * on_demand + self.reserved * reserved


@dataclass(frozen=True)
class Instance:
    """The numbers of a capacity spec (paper 000, table 1), in its order of classes.

    ``exact`` has A, B and C of the guaranteed estimate, and ``work`` an equal requirement for the time limits;
    ``estimates`` has those of every estimate, NaN if unknown.
    ``limits`` are the slots of one job between which they hold; ``allowed`` marks classes whose tasks fit a VM.
    ``deadline`` is the spec's, ``completion_limit`` the tighter of it and ``completion(c) <= ...`` in ``subject to``.
    ``stages`` counts those of each class, 0 if it has none; ``dags`` has them by class. ``low`` and ``expected`` bound
    the admitted jobs, in whole jobs. The relaxation has the same bounds, so it stays a relaxation. ``wholeness`` is the
    integrality of a plan, see :mod:`mrdsl.families.capacity.forms`. ``transfer`` is the cost of the data that one job
    moves.
    """

    names: Sequence[str]
    prices: Prices
    estimates: Mapping[str, Coefficients]
    exact: Coefficients
    work: Coefficients
    limits: SlotLimits
    map_per_vm: Floats
    reduce_per_vm: Floats
    allowed: NDArray[np.bool_]
    deadline: Floats
    completion_limit: Floats
    low: Floats
    expected: Floats
    penalty: Floats
    transfer: Floats
    stages: NDArray[np.int64]
    dags: Mapping[str, tuple[Stage, ...]]
    wholeness: str = NO
    own: NDArray[np.bool_] = field(default_factory=lambda: NO_OWN)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def worth(self) -> Floats:
        """The penalty that one job saves, less the cost of the data that it moves."""
        return self.penalty - self.transfer

    def cost_of_jobs(self, admitted: Floats) -> float:
        """Return the penalties of rejected jobs, and the cost of the data that admitted jobs move."""
        return float(self.penalty @ (self.expected - admitted) + self.transfer @ admitted)

    @property
    def slack(self) -> Floats:
        """Time that the deadline leaves to the phases [s], ``-E = D - C`` > 0; 1 if a class can only be rejected."""
        return np.where(self.never, 1.0, self.completion_limit - self.work.constant)

    def kept(self) -> NDArray[np.bool_]:
        """Return True for classes whose tasks fit a VM and that can meet their time limit with slots in the limits."""
        return np.asarray(self.allowed & estimates.kept(self.work, self.completion_limit, self.limits))

    @cached_property
    def never(self) -> NDArray[np.bool_]:
        """Classes that can only be rejected: no slots meet their time limit, and no job must be admitted."""
        return np.asarray(~self.kept() & (self.low <= 0.0))

    @property
    def most(self) -> Floats:
        """The most jobs that can be admitted."""
        return np.where(self.never, 0.0, self.expected)

    @cached_property
    def slots_per_job(self) -> tuple[Floats, Floats]:
        """Theorem 4.1: map and reduce slots of one job at the least number of VMs, equations (22) and (23).

        Correction to the paper: slots stay within the limits of the estimates' range. They are infinite if no slots
        meet the time limit (:meth:`kept`), 0 for classes that can only be rejected, and whole unless the spec has
        fractions.
        """
        per_vm = self.map_per_vm, self.reduce_per_vm
        slots = estimates.slots_per_job(self.work, self.completion_limit, *per_vm, self.limits)
        if self.wholeness != NO:
            slots = whole_slots(self.work, self.completion_limit, per_vm, self.limits, slots)
        return np.where(self.never, 0.0, slots[0]), np.where(self.never, 0.0, slots[1])

    def time_of_one_job(self) -> Floats:
        """Compute (4) on :attr:`slots_per_job` [s]: the time limit, or less if one slot of each kind is fast enough.

        Classes that can only be rejected have their time limit.
        """
        times = mapreduce.completion(self.exact, np.ones_like(self.completion_limit), *self.slots_per_job)
        return np.where(self.never, self.completion_limit, times)

    def vms_per_job(self) -> Floats:
        """``gamma`` of equations (29) and (30): the VMs, as a fraction, that one admitted job takes."""
        map_slots, reduce_slots = self.slots_per_job
        return map_slots / self.map_per_vm + reduce_slots / self.reduce_per_vm

    def cost(self, on_demand: float, reserved: float, admitted: Floats) -> float:
        """Equation (5), constant included."""
        return self.prices.cost(on_demand, reserved) + self.cost_of_jobs(admitted)


def instance_of(spec: Spec) -> Instance:
    """Return the arrays of a spec that has passed its checks."""
    facts: CapacityFacts = spec.facts
    classes = facts.classes
    low, expected = whole_jobs(facts)
    deadline = column(classes, "deadline")
    names = names_of(classes)
    limit = class_bounds_of(spec).tighten(names, "completion", deadline, at_most=True)
    runs = _pairs(facts).within(limit).of_type(0)
    return Instance(
        names=names,
        prices=prices_of(facts),
        estimates=runs.estimates,
        exact=runs.exact,
        work=runs.work,
        limits=runs.limits,
        map_per_vm=runs.per_vm[0],
        reduce_per_vm=runs.per_vm[1],
        allowed=runs.allowed,
        deadline=deadline,
        completion_limit=limit,
        low=low,
        expected=expected,
        penalty=column(classes, "penalty"),
        transfer=transfer_of(facts),
        stages=stage_counts(classes),
        dags=dags_of(classes),
        wholeness=wholeness_of(facts),
        own=_own_slots(facts),
    )


def _own_slots(facts: CapacityFacts) -> NDArray[np.bool_]:
    """Return the classes whose jobs have their own slots, with estimates for them; an empty array if none has."""
    return NO_OWN if facts.estimates == PAPER or wholeness_of(facts) == NO else ~shares_slots(facts.classes)


def class_runs_of(facts: CapacityFacts) -> Pairs:
    """Return the runs of classes on the first VM type, the only one of a plain spec."""
    return _pairs(facts).of_type(0)


def _pairs(facts: CapacityFacts) -> Pairs:
    model = time_model(facts, wholeness_of(facts) != NO)
    return kept(facts, "pairs", lambda: pairs_of(facts, column(facts.classes, "deadline"), model))


def prices_of(facts: CapacityFacts) -> Prices:
    """Find the prices of the one VM type for a period, as the market has them."""
    vm, market = facts.vms[0], market_of(facts)
    offers = market.offers
    on_demand = offers[0].price
    disk = 0.0 if vm.disk is None else vm.disk.size * vm.disk.price * facts.period
    contracts = [each for each in offers if (each.lane, each.way, each.term) == (0, RESERVED, "")]
    if not contracts:
        return Prices(vm.name, on_demand, on_demand, 0, disk, vm.cores or 0.0)
    available = int(contracts[0].available)
    return Prices(vm.name, on_demand, contracts[0].price, available, disk, vm.cores or 0.0, market.sunk)


def transfer_of(facts: CapacityFacts) -> Floats:
    """Return the cost of the data that one job of each class moves."""
    found = np.zeros(len(facts.classes))
    for way in ("input", "output") if facts.transfer is not None else ():
        price = getattr(facts.transfer, way)
        if price:
            found += price * column(facts.classes, f"transfer.{way}", missing=0.0)
    return found


def whole_jobs(facts: CapacityFacts) -> tuple[Floats, Floats]:
    """Return the range of jobs of every class in whole jobs: the low end rounded up, the high end down."""
    jobs = facts.classes
    return kept(facts, "whole_jobs", lambda: (ceiling(column(jobs, "jobs.low")), floor(column(jobs, "jobs.high"))))


@dataclass(frozen=True)
class Mix:
    """The numbers of a spec, by class, by VM type and by lane (see :mod:`mrdsl.families.capacity.market`).

    ``map_slots``, ``reduce_slots`` and ``gamma`` have the shape (lanes, classes). They are the slots of one job by
    Theorem 4.1, those for lost work included, and the VMs that they take; infinite if a class cannot run in a lane.
    ``map_kept`` and ``reduce_kept`` are the parts of the slots whose work is not lost. ``spot_share`` is the largest
    part of a class's VM time on spot.

    ``sizes`` are those of slots if some are containers, whose cores and memory have to fit. ``gamma`` is then VM time,
    by the number of slots of one kind per VM. ``tasks`` are those of an executor of each class, 0 without, or None if
    no class has executors or drivers. ``together`` marks classes whose jobs all stay on one type. ``groups`` are those
    of classes that never run together, see :mod:`mrdsl.families.capacity.groups`. The rest is as in
    :class:`mrdsl.families.capacity.instance.Instance`.
    """

    names: Sequence[str]
    market: Market
    pairs: Pairs
    map_slots: Floats
    reduce_slots: Floats
    map_kept: Floats
    reduce_kept: Floats
    gamma: Floats
    spot_share: Floats
    together: NDArray[np.bool_]
    deadline: Floats
    low: Floats
    expected: Floats
    penalty: Floats
    transfer: Floats
    stages: NDArray[np.int64]
    dags: Mapping[str, tuple[Stage, ...]]
    wholeness: str = NO
    sizes: SlotSizes | None = None
    tasks: Floats | None = None
    groups: Groups | None = None
    own: NDArray[np.bool_] = field(default_factory=lambda: NO_OWN)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def worth(self) -> Floats:
        """The penalty that one job saves, less the cost of the data that it moves."""
        return self.penalty - self.transfer

    def cost_of_jobs(self, admitted: Floats) -> float:
        """Return the penalties of rejected jobs, and the cost of the data that admitted jobs move."""
        return float(self.penalty @ (self.expected - admitted) + self.transfer @ admitted)

    @cached_property
    def work(self) -> Coefficients:
        """The work of one job in every lane, that which is lost included; A, B and C of the shape (lanes, classes)."""
        return self.pairs.with_losses(self.market.vm_of_lane, (self.map_kept, self.reduce_kept))[0]

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        """The lanes in which each class can run."""
        return np.isfinite(self.gamma)

    @cached_property
    def fewest(self) -> Floats:
        """Least VMs that one job takes of weighted resources, whatever its slots, shape (weights, lanes, classes).

        If cores and memory have to fit, no one pair of slots takes the least of both. Slots x and y take a x + b y of a
        VM and keep A / x + B / y below d, the limit less C: that is at least (sqrt(a A) + sqrt(b B))^2 / d. Here a and
        b are parts of cores and memory with the same weights for all jobs: the sum of the parts is at most the VMs.
        """
        if self.sizes is None:
            return self.gamma[None]
        vms, work, limits = self.market.vm_of_lane, self.pairs.work, self.pairs.limits
        weights = np.array([[part, 1.0 - part] for part in (0.0, 0.25, 0.5, 0.75, 1.0)])
        maps, reduces = np.einsum("wr,krlc->kwlc", weights, self.sizes.parts[:, :, vms])
        root = np.sqrt(maps * work.map_work[vms]) + np.sqrt(reduces * work.reduce_work[vms])
        left = np.where(self.possible, self.pairs.completion_limit - work.constant[vms], np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            by_time = np.where(left > 0.0, root**2 / left, 0.0)
        least = maps * limits.map_least[vms] + reduces * limits.reduce_least[vms]
        return np.where(self.possible, np.maximum(by_time, least), np.inf)

    def taken(self, maps: Floats, reduces: Floats) -> Floats:
        """Return the VMs that slots, (lanes, classes), ask for of each resource, (resources, lanes, classes)."""
        vms, pairs = self.market.vm_of_lane, self.pairs
        maps, reduces = np.where(np.isfinite(maps), maps, 0.0), np.where(np.isfinite(reduces), reduces, 0.0)
        if self.sizes is None:
            return np.asarray((maps / pairs.map_per_vm[vms] + reduces / pairs.reduce_per_vm[vms])[None])
        parts = self.sizes.parts[:, :, vms]
        return np.asarray(maps * parts[0] + reduces * parts[1])

    def vm_cost(self, bought: Floats) -> float:
        """Return the cost of the given VMs of each offer for one period."""
        return float(self.market.prices @ bought)

    def cost(self, bought: Floats, jobs: Floats) -> float:
        """Equation (5); ``jobs`` has the shape (lanes, classes)."""
        return self.vm_cost(bought) + self.cost_of_jobs(jobs.sum(axis=0))


def mix_of(spec: Spec) -> Mix:
    """Return the arrays of a spec that has passed its checks."""
    return kept(spec, "mix", lambda: _mix_of(spec))


def _mix_of(spec: Spec) -> Mix:
    facts: CapacityFacts = spec.facts
    classes = facts.classes
    names = names_of(classes)
    low, expected = whole_jobs(facts)
    deadline = column(classes, "deadline")
    market = market_of(facts)
    limit = class_bounds_of(spec).tighten(names, "completion", deadline, at_most=True)
    pairs = _pairs(facts).within(limit)
    whole = wholeness_of(facts) != NO
    slots, kept = slots_in_lanes(facts, market.lanes, pairs, whole)
    per_vm = pairs.map_per_vm[market.vm_of_lane], pairs.reduce_per_vm[market.vm_of_lane]
    executors = has_executors_or_drivers(facts)
    return Mix(
        names=names,
        market=market,
        pairs=pairs,
        map_slots=slots[0],
        reduce_slots=slots[1],
        map_kept=kept[0],
        reduce_kept=kept[1],
        gamma=slots[0] / per_vm[0] + slots[1] / per_vm[1],
        spot_share=spot_shares(classes),
        together=kept_together(facts),
        deadline=deadline,
        low=low,
        expected=expected,
        penalty=column(classes, "penalty"),
        transfer=transfer_of(facts),
        stages=stage_counts(classes),
        dags=dags_of(classes),
        wholeness=wholeness_of(facts),
        sizes=slot_sizes(facts) if (executors or has_containers(facts)) and has_vectors(facts) else None,
        tasks=tasks_of_executors(classes) if executors else None,
        groups=groups_in(facts),
        own=_own_slots(facts),
    )


def of_lanes(mix: Mix, lanes: NDArray[np.int64]) -> Mix:
    """Return the mix of some of its lanes; the numbering of VM types does not change."""
    market = mix.market
    number = {lane: place for place, lane in enumerate(lanes.tolist())}
    mine = np.flatnonzero(np.isin(market.lane_of_offer, lanes)).tolist()
    offers = tuple(replace(market.offers[each], lane=number[market.offers[each].lane]) for each in mine)
    return replace(
        mix,
        market=replace(market, lanes=tuple(market.lanes[lane] for lane in number), offers=offers),
        map_slots=mix.map_slots[lanes],
        reduce_slots=mix.reduce_slots[lanes],
        map_kept=mix.map_kept[lanes],
        reduce_kept=mix.reduce_kept[lanes],
        gamma=mix.gamma[lanes],
    )
