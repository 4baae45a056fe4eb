"""Every class on every VM type: estimates, slots per VM, the size of a slot, and the VMs of one job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.lazy import kept
from mrdsl.core.rounding import floor
from mrdsl.formulas import estimates
from mrdsl.formulas.containers import (
    RESOURCES,
    in_executors,
    left_to_containers,
    limits_in_executors,
    staged,
    taken,
    tasks_of_slots,
    with_drivers,
)
from mrdsl.formulas.estimates import SlotLimits, estimates_of, guaranteed, slot_limits, slots_per_vm
from mrdsl.formulas.mapreduce import Coefficients
from mrdsl.formulas.own_times import PAPER, Model
from mrdsl.formulas.packing import Size
from mrdsl.formulas.whole_slots import settled, whole_slots
from mrdsl.spec.blocks import ONE, OnType, any_rows, shared_rows
from mrdsl.spec.columns import words
from mrdsl.spec.rented import described_on

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Pair = tuple[int, int]


class Typed(Protocol):
    """Facts with VM types and with classes that run on them."""

    @property
    def vms(self) -> Sequence[Any]:
        """The VM types."""

    @property
    def classes(self) -> Sequence[Any]:
        """The classes."""


@dataclass(frozen=True)
class Pairs:
    """Input of Theorem 4.1 for every class on every VM type.

    ``estimates``, ``exact`` (the guaranteed estimate) and ``limits`` are as in :class:`Instance`. ``work`` is the same
    requirement for the time limits, see :func:`mrdsl.formulas.whole_slots.settled`. A VM hosts ``map_per_vm`` map slots
    or ``reduce_per_vm`` reduce slots, 1 if it holds none. ``allowed`` marks the types that a class may use and that
    hold its tasks.
    """

    estimates: Mapping[str, Coefficients]
    exact: Coefficients
    work: Coefficients
    limits: SlotLimits
    map_per_vm: Floats
    reduce_per_vm: Floats
    completion_limit: Floats
    allowed: Flags

    @property
    def per_vm(self) -> tuple[Floats, Floats]:
        """The map and the reduce slots that one VM hosts."""
        return self.map_per_vm, self.reduce_per_vm

    def of_type(self, vm: int) -> Pairs:
        """Return the pairs of one type, as arrays of one element per class."""
        return self._at(vm, self.completion_limit)

    def of_classes(self, at: NDArray[np.int64]) -> Pairs:
        """Return the pairs of some classes, without their estimates."""
        return replace(self, estimates={})._at((slice(None), at), self.completion_limit[at])

    def in_lanes(self, vms: NDArray[np.int64], per_vm: tuple[Floats, Floats]) -> Pairs:
        """Return the pairs of each lane's type as those of a separate type, which hosts ``per_vm`` slots."""
        lanes = replace(self, estimates={})._at(vms, self.completion_limit)
        return replace(lanes, map_per_vm=per_vm[0], reduce_per_vm=per_vm[1])

    def within(self, completion_limit: Floats) -> Pairs:
        """Return the pairs for other time limits."""
        work = settled(self.exact, completion_limit, self.limits)
        return replace(self, completion_limit=completion_limit, work=work)

    def _at(self, key: Any, completion_limit: Floats) -> Pairs:
        return Pairs(
            {name: work.at(key) for name, work in self.estimates.items()},
            self.exact.at(key),
            self.work.at(key),
            self.limits.at(key),
            self.map_per_vm[key],
            self.reduce_per_vm[key],
            completion_limit,
            self.allowed[key],
        )

    def kept(self) -> Flags:
        """Return True for time limits that slots within the limits meet, on types that the class may use."""
        return np.asarray(self.allowed & estimates.kept(self.work, self.completion_limit, self.limits))

    def slots_per_job(self, whole: bool = False) -> tuple[Floats, Floats]:
        """Apply Theorem 4.1 to every pair, in ``whole`` slots or not; infinite if no slots meet the limit."""
        slots = estimates.slots_per_job(
            self.work, self.completion_limit, self.map_per_vm, self.reduce_per_vm, self.limits
        )
        if whole:
            slots = whole_slots(self.work, self.completion_limit, self.per_vm, self.limits, slots)
        return np.where(self.allowed, slots[0], np.inf), np.where(self.allowed, slots[1], np.inf)

    def slots_with_losses(
        self, of_lane: NDArray[np.int64], kept: tuple[Floats, Floats], whole: bool
    ) -> tuple[Floats, Floats]:
        """Return slots of one job in lanes of these types, of which the parts ``kept`` do work that is not lost.

        Before Theorem 4.1, the work of each kind is divided by that part. A job holds at least one slot of each kind,
        even if part of that slot's work is lost. The slots whose work is not lost are at most its tasks. It can
        therefore hold more slots than tasks, by the losses rounded up.
        """
        work, limits = self.with_losses(of_lane, kept)
        per_vm = self.map_per_vm[of_lane], self.reduce_per_vm[of_lane]
        found = estimates.slots_per_job(work, self.completion_limit, *per_vm, limits)
        if whole:
            found = whole_slots(work, self.completion_limit, per_vm, limits, found)
        possible = self.allowed[of_lane] & (kept[0] > 0.0) & (kept[1] > 0.0)
        possible &= estimates.kept(work, self.completion_limit, limits)
        return np.where(possible, found[0], np.inf), np.where(possible, found[1], np.inf)

    def with_losses(self, of_lane: NDArray[np.int64], kept: tuple[Floats, Floats]) -> tuple[Coefficients, SlotLimits]:
        """Return the work of one job in lanes of these types, of whose slots the parts ``kept`` last, and its range."""
        parts = [np.where(part > 0.0, part, 1.0) for part in kept]
        limits = self.limits.at(of_lane)
        limits = replace(limits, map_most=limits.map_most / parts[0], reduce_most=limits.reduce_most / parts[1])
        if self.exact.own is None or all((part == 1.0).all() for part in parts):
            return self.work.at(of_lane).with_parts(parts[0], parts[1]), limits
        return settled(self.exact.at(of_lane).with_parts(parts[0], parts[1]), self.completion_limit, limits), limits


def pairs_of(facts: Typed, completion_limit: Floats, model: Model = PAPER) -> Pairs:
    """Return the pairs of a checked spec; ``completion_limit`` is the time limit of each class [s]."""
    classes = facts.classes
    per_vm = slots_on_types(facts)
    shape = len(facts.vms), len(classes)
    speed, described = _as_said(facts)
    estimates, limits = estimates_of(classes, speed, model), _spread_limits(slot_limits(classes), shape)
    if described:
        nodes = tuple(described_on(classes[index], row) for (_, index), row in described.items())
        places = tuple(np.array([pair[axis] for pair in described]) for axis in (0, 1))
        there, own_limits = estimates_of(nodes, speed[places], model), slot_limits(nodes)
        estimates = {name: work.placed(places, there[name]) for name, work in estimates.items()}
        for part, own in zip(limits.parts, own_limits.parts, strict=True):
            part[places] = own
    work = guaranteed(np.tile(words(classes, "guarantee", model.default), (shape[0], 1)), estimates)
    if staged(classes).any():  # others have neither executors nor drivers
        tasks = tasks_of_slots(classes)
        estimates = {name: in_executors(each, tasks) for name, each in estimates.items()}
        work, limits = in_executors(work, tasks), limits_in_executors(limits, tasks, with_drivers(classes))
    allowed = _listed(facts) & holds(per_vm, limits)
    hosted = np.maximum(per_vm[0], 1.0), np.maximum(per_vm[1], 1.0)
    pairs = Pairs(estimates, work, work, limits, hosted[0], hosted[1], completion_limit, allowed)
    return pairs if work.own is None else pairs.within(completion_limit)


def run_on(node: Any, vm: str) -> tuple[Any, float]:
    """Return a class as it is measured on a VM type, and the speed of its tasks there."""
    there = next((on for on in node.on if on.name == vm), None)
    if there is None:
        return node, 1.0
    return described_on(node, there) if there.described else node, there.speed


def slots_on_types(facts: Typed) -> tuple[Floats, Floats]:
    """Return the map and the reduce slots that one VM of each type hosts; stage slots replace both.

    ``on TYPE { slots }`` has priority, then ``slots``, then the number of containers that fit. A slot of a class with
    executors is one of them, and reduce slots of stages are drivers.
    """
    found = _said_on_types(facts)
    for kind, slots in zip(("map", "reduce"), found, strict=True):
        np.copyto(slots, _fitting(facts, kind), where=np.isnan(slots))
    return np.nan_to_num(found[0]), np.nan_to_num(found[1])


def fits_by_container(facts: Typed) -> tuple[Flags, Flags]:
    """Return the pairs, (types, classes), whose map or reduce slots follow from containers that fit."""
    hosted = slots_on_types(facts)
    maps, reduces = (np.isnan(said) & (count >= 1.0) for said, count in zip(_said_on_types(facts), hosted, strict=True))
    return maps, reduces


def _said_on_types(facts: Typed) -> tuple[Floats, Floats]:
    """Return the ``slots`` of each type; NaN if they are not given."""
    classes = facts.classes
    shape = len(facts.vms), len(classes)
    maps, reduces = (np.broadcast_to(each, shape).copy() for each in slots_per_vm(classes))
    of_stages = staged(classes)
    for vm, index, row in on_rows(facts):
        if row.slots is not None:
            for kind, slots in (("map", maps), ("reduce", reduces)):
                said = row.slots.task if of_stages[index] else getattr(row.slots, kind)
                if said is not None:
                    slots[vm, index] = said
    if of_stages.any():
        reduces[:, with_drivers(classes)] = np.nan
    return maps, reduces


def holds(per_vm: tuple[Floats, Floats], limits: SlotLimits) -> Flags:
    """Return True for types that hold at least one task of every kind of a class's jobs."""
    held = ((per_vm[0] >= 1.0) | (limits.map_most == 0.0)) & ((per_vm[1] >= 1.0) | (limits.reduce_most == 0.0))
    return np.asarray(held)


def on_rows(facts: Typed) -> list[tuple[int, int, OnType]]:
    """Return every ``on TYPE`` with the numbers of its type and its class; unknown types are left out."""
    if not any_rows(facts.classes, "on"):
        return []
    places = {vm.name: number for number, vm in enumerate(facts.vms)}
    return [
        (places[row.name], index, row)
        for index, rows in enumerate(shared_rows(facts.classes, "on"))
        for row in rows
        if row.name in places
    ]


def kept_together(facts: Typed) -> Flags:
    """Return the classes whose jobs all stay on one type."""
    if not any_rows(facts.classes, "types"):
        return np.zeros(len(facts.classes), dtype=bool)
    return np.array([types == (ONE,) for types in shared_rows(facts.classes, "types")], dtype=bool)


def _as_said(facts: Typed) -> tuple[Floats, dict[Pair, OnType]]:
    """Return the speed of every class on every type, and the pairs with a separate profile."""
    speed = np.ones((len(facts.vms), len(facts.classes)))
    own: dict[Pair, OnType] = {}
    for vm, index, row in on_rows(facts):
        speed[vm, index] = row.speed
        if row.described:
            own[vm, index] = row
    return speed, own


def _listed(facts: Typed) -> Flags:
    """Return True for types that each class may use by its list of types."""
    listed = np.ones((len(facts.vms), len(facts.classes)), dtype=bool)
    if any_rows(facts.classes, "types"):
        names = [vm.name for vm in facts.vms]
        for index, types in enumerate(shared_rows(facts.classes, "types")):
            if types and types != (ONE,):
                listed[:, index] = [name in types for name in names]
    return listed


def _fitting(facts: Typed, kind: str) -> Floats:
    """Return the containers of a kind that fit one VM of each type, by the scarcer resource; NaN if not given."""
    slots = np.full((len(facts.vms), len(facts.classes)), np.inf)
    for resource in RESOURCES:
        each = taken(facts.classes, kind, resource)
        there = left_to_containers(facts.vms, resource)
        with np.errstate(invalid="ignore"):
            slots = np.fmin(slots, floor(there[:, None] / each))
    return np.where(np.isinf(slots), np.nan, slots)


def _spread_limits(limits: SlotLimits, shape: tuple[int, int]) -> SlotLimits:
    return SlotLimits(*(np.broadcast_to(part, shape).copy() for part in limits.parts))


NONE = -1
"""Number for a missing value, and for no group."""


@dataclass(frozen=True)
class SlotSizes:
    """Sizes by kind, type and class: ``keys``, and ``parts`` of resources, (kinds, resources, types, classes).

    A key above 0 is the number of slots per VM, each with the same part of every resource. A key below 0 selects one of
    the ``vectors``: -1 for the first.
    """

    keys: NDArray[np.int64]
    parts: Floats
    vectors: tuple[tuple[Fraction, Fraction], ...]

    def of(self, key: int) -> Size:
        """Return the size for a key."""
        return key if key > 0 else self.vectors[-1 - key]


def slot_sizes(facts: Typed) -> SlotSizes:
    """Return the sizes of a spec's slots, cached with it."""
    return kept(facts, "slot_sizes", lambda: _slot_sizes(facts))


def has_vectors(facts: Typed) -> bool:
    """Return True if some slot takes other parts of cores than of memory, or a part that is not one of equal ones."""
    return bool(slot_sizes(facts).vectors)


def _slot_sizes(facts: Typed) -> SlotSizes:
    hosts = np.maximum(np.stack(slots_on_types(facts)), 1.0)
    keys = np.rint(hosts).astype(np.int64)
    parts = np.repeat(1.0 / hosts[:, None], len(RESOURCES), axis=1)
    vectors: dict[tuple[Fraction, Fraction], int] = {}
    there = [left_to_containers(facts.vms, each) for each in RESOURCES]
    by_container = fits_by_container(facts)
    for number, kind in enumerate(("map", "reduce")):
        parts_taken = [taken(facts.classes, kind, each) for each in RESOURCES]
        both = np.nan_to_num(np.stack(parts_taken, axis=1), nan=NONE)
        containers, of_class = np.unique(both, axis=0, return_inverse=True)
        shapes, of_vm = np.unique(np.nan_to_num(np.stack(there, axis=1), nan=NONE), axis=0, return_inverse=True)
        group = np.where(by_container[number], of_vm.ravel()[:, None] * len(containers) + of_class.ravel(), NONE)
        groups, first, of_group = np.unique(group, return_index=True, return_inverse=True)
        found = [
            _key(containers[each % len(containers)], shapes[each // len(containers)], hosted, vectors)
            for each, hosted in zip(groups.tolist(), keys[number].ravel()[first].tolist(), strict=True)
            if each != NONE
        ]
        every = np.array([*[0] * (len(groups) - len(found)), *found], dtype=np.int64)[of_group].reshape(group.shape)
        keys[number] = np.where(by_container[number], every, keys[number])
    vector = keys < 0
    values = np.array(list(vectors) or [(Fraction(0), Fraction(0))], dtype=np.float64).T
    parts = np.where(vector[:, None], np.moveaxis(values[:, np.where(vector, -1 - keys, 0)], 0, 1), parts)
    return SlotSizes(keys, parts, tuple(vectors))


def _key(container: Floats, vm: Floats, hosts: int, vectors: dict[tuple[Fraction, Fraction], int]) -> int:
    """The key of a container and a VM with their cores and memory; NONE where nothing is said."""
    parts = _both_parts(tuple(container.tolist()), tuple(vm.tolist()), hosts)
    return hosts if parts is None else vectors.setdefault(parts, -1 - len(vectors))


@lru_cache(10_000)
def _both_parts(container: tuple[float, ...], vm: tuple[float, ...], hosts: int) -> tuple[Fraction, Fraction] | None:
    """Return the parts of a VM's cores and memory that a container takes; None for equal parts of one in ``hosts``."""
    parts = [_part(taken, there) for taken, there in zip(container, vm, strict=True)]
    parts = [
        min(part, Fraction(1, hosts)) if part * hosts <= Fraction(1) + Fraction(1, 10**6) else part for part in parts
    ]
    return None if parts[0] == parts[1] == Fraction(1, hosts) else (parts[0], parts[1])


def _part(taken: float, there: float) -> Fraction:
    if taken == NONE or there <= 0.0:
        return Fraction(0)
    return Fraction(repr(float(taken))) / Fraction(repr(float(there)))
