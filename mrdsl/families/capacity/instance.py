"""A capacity spec as arrays: one element per class, all that formulations, ``direct`` and the checks compute with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.kept_values import kept
from mrdsl.core.whole_numbers import ceiling, floor
from mrdsl.families.capacity.class_bounds import class_bounds_of
from mrdsl.families.capacity.facts import NO, CapacityFacts
from mrdsl.families.capacity.pairs import pairs_of
from mrdsl.families.capacity.shape import has_slots_for_all
from mrdsl.families.capacity.wholeness import wholeness_of
from mrdsl.formulas import mapreduce, sizing
from mrdsl.formulas.estimates import estimates_of, guaranteed, slot_limits, slots_per_vm, stage_counts
from mrdsl.formulas.mapreduce import Coefficients
from mrdsl.formulas.sizing import SlotLimits
from mrdsl.formulas.whole_slots import whole_slots
from mrdsl.spec.columns import column, names_of
from mrdsl.spec.spec import Spec
from mrdsl.spec.stages import Stage, dags_of

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Prices:
    """What VMs cost for one period, in the spec's currency, and how many are reserved.

    ``reserved`` equals ``on_demand`` and ``available`` is 0 where the spec reserves none.
    """

    vm: str
    on_demand: float
    reserved: float
    available: int

    def cost(self, on_demand: float, reserved: float) -> float:
        """The first two terms of equation (5)."""
        return self.on_demand * on_demand + self.reserved * reserved


@dataclass(frozen=True)
class Instance:
    """The numbers of a capacity spec (paper 000, table 1), in its order of classes.

    ``work`` are A, B and C of the guaranteed estimate; ``estimates`` those of every estimate, NaN where unknown.
    ``limits`` are the slots of one job between which they hold; ``allowed`` says whose tasks a VM holds.
    ``deadline`` is what the spec says, ``completion_limit`` the tighter of it and ``completion(c) <= ...`` in
    ``subject to``.
    ``stages`` counts those of each class, 0 where it has none; ``dags`` has them by class.
    ``low`` and ``expected`` bound the admitted jobs, in whole jobs (also in the relaxation, which so stays a bound).
    ``wholeness`` is what of a plan is whole, see :mod:`mrdsl.families.capacity.wholeness`.
    """

    names: Sequence[str]
    prices: Prices
    estimates: Mapping[str, Coefficients]
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
    stages: NDArray[np.int64]
    dags: Mapping[str, tuple[Stage, ...]]
    wholeness: str = NO

    def __len__(self) -> int:
        return len(self.names)

    @property
    def slack(self) -> Floats:
        """``-E = D - C``, what the deadline leaves to the phases, positive; 1 of classes that can only be rejected."""
        return np.where(self.never, 1.0, self.completion_limit - self.work.constant)

    def kept(self) -> NDArray[np.bool_]:
        """Which promises slots within the limits keep, of classes whose tasks a VM holds."""
        return np.asarray(self.allowed & sizing.kept(self.work, self.completion_limit, self.limits))

    @cached_property
    def never(self) -> NDArray[np.bool_]:
        """Which classes can only be rejected: no slots keep their promise, and no job has to be admitted."""
        return np.asarray(~self.kept() & (self.low <= 0.0))

    @property
    def most(self) -> Floats:
        """The most jobs that can be admitted."""
        return np.where(self.never, 0.0, self.expected)

    def earliest(self) -> Floats:
        """The time of one job with a slot for every task; in the limit of ever more slots where tasks are unknown."""
        return sizing.earliest(self.work, self.limits.map_most, self.limits.reduce_most)

    @cached_property
    def slots_per_job(self) -> tuple[Floats, Floats]:
        """Theorem 4.1: map and reduce slots of one job at the least number of VMs, equations (22) and (23).

        Correction to the paper: within the limits of the estimates' range; infinite where the promise is not
        :meth:`kept`, 0 of classes that can only be rejected. Whole numbers, unless the spec has fractions.
        """
        per_vm = self.map_per_vm, self.reduce_per_vm
        slots = sizing.slots_per_job(self.work, self.completion_limit, *per_vm, self.limits)
        if self.wholeness != NO:
            slots = whole_slots(self.work, self.completion_limit, per_vm, self.limits, slots)
        return np.where(self.never, 0.0, slots[0]), np.where(self.never, 0.0, slots[1])

    def time_of_one_job(self) -> Floats:
        """(4) on :attr:`slots_per_job`: the promise, or less where one slot of each kind is fast enough.

        Of classes that can only be rejected, the promise.
        """
        times = mapreduce.completion(self.work, np.ones_like(self.completion_limit), *self.slots_per_job)
        return np.where(self.never, self.completion_limit, times)

    def vms_per_job(self) -> Floats:
        """``gamma`` of equations (29) and (30): the VMs, as a fraction, that one admitted job takes."""
        map_slots, reduce_slots = self.slots_per_job
        return map_slots / self.map_per_vm + reduce_slots / self.reduce_per_vm

    def cost(self, on_demand: float, reserved: float, admitted: Floats) -> float:
        """Equation (5), constant included."""
        return self.prices.cost(on_demand, reserved) + float(self.penalty @ (self.expected - admitted))


def instance_of(spec: Spec) -> Instance:
    """The arrays of a spec that has passed its checks."""
    facts: CapacityFacts = spec.facts
    classes = facts.classes
    low, expected = whole_jobs(facts)
    deadline = column(classes, "deadline")
    names = names_of(classes)
    runs = class_runs_of(facts)
    return Instance(
        names=names,
        prices=prices_of(facts),
        estimates=runs.estimates,
        work=runs.work,
        limits=runs.limits,
        map_per_vm=runs.per_vm[0],
        reduce_per_vm=runs.per_vm[1],
        allowed=runs.allowed,
        deadline=deadline,
        completion_limit=class_bounds_of(spec).tighten(names, "completion", deadline, at_most=True),
        low=low,
        expected=expected,
        penalty=column(classes, "penalty"),
        stages=stage_counts(classes),
        dags=dags_of(classes),
        wholeness=wholeness_of(facts),
    )


@dataclass(frozen=True)
class ClassRuns:
    """How classes run on the one VM type: estimates, the guaranteed one, slots of a job, and slots that a VM hosts.

    ``allowed`` says which classes may use the type, and whose tasks it holds.
    """

    estimates: Mapping[str, Coefficients]
    work: Coefficients
    limits: SlotLimits
    per_vm: tuple[Floats, Floats]
    allowed: NDArray[np.bool_]


def class_runs_of(facts: CapacityFacts) -> ClassRuns:
    """As the classes say, for all types or for the one that there is; for checks, method and verification alike."""
    return kept(facts, "class_runs", lambda: _class_runs(facts))


def _class_runs(facts: CapacityFacts) -> ClassRuns:
    classes = facts.classes
    if has_slots_for_all(facts):
        estimates = estimates_of(classes)
        every = np.ones(len(classes), dtype=bool)
        return ClassRuns(estimates, guaranteed(classes, estimates), slot_limits(classes), slots_per_vm(classes), every)
    there = pairs_of(facts, column(classes, "deadline")).of_type(0)
    return ClassRuns(there.estimates, there.work, there.limits, there.per_vm, there.allowed)


def prices_of(facts: CapacityFacts) -> Prices:
    """The one VM type's prices per period, fee included; contracts that are paid in any case cost the fee alone."""
    vm = facts.vms[0]
    on_demand = (vm.on_demand.price + vm.fee) * facts.period
    if vm.reserved is None:
        return Prices(vm.name, on_demand, on_demand, 0)
    price = 0.0 if vm.reserved.paid == "yes" else vm.reserved.price
    return Prices(vm.name, on_demand, (price + vm.fee) * facts.period, vm.reserved.available)


def whole_jobs(facts: CapacityFacts) -> tuple[Floats, Floats]:
    """The range of jobs of every class in whole jobs: the low end rounded up, the high end down."""
    jobs = facts.classes
    return kept(facts, "whole_jobs", lambda: (ceiling(column(jobs, "jobs.low")), floor(column(jobs, "jobs.high"))))
