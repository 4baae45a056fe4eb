"""What VMs hold as variables of P2: exact where slots and VMs are whole.

P2 alone asks that the parts of VMs which slots take add up to no more than the VMs, which does not say that the slots
fit them (see :mod:`mrdsl.formulas.packing`). Here ``pattern_vms`` counts the VMs of each content, whose slots are at
least those of the jobs, and of which there are no more than are rented (Gilmore and Gomory 1961).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np
import pyomo.core as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from mrdsl.families.capacity.facts import MACHINES, NO
from mrdsl.families.capacity.instance import Instance
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.mix import Mix
from mrdsl.families.capacity.packing import Held, PackedLane, Packing, assigned, joined
from mrdsl.formulas.packing import Counts, Packed, maximal_patterns, pack, without_surplus
from mrdsl.formulas.pattern_generation import generated_patterns

MOST_PATTERNS = 3_000
ALL, SOME = "all", "some"


@dataclass(frozen=True)
class Row:
    """So many ``slots`` of one kind for each job of a class, of which a VM hosts ``per_vm``; ``jobs`` is a variable."""

    of_class: int
    reduces: bool
    per_vm: int
    slots: int
    jobs: Any


@dataclass(frozen=True)
class Lane:
    """What lies on VMs of one type, firm or spot, of which ``vms`` less ``masters`` are rented."""

    vm: int
    spot: bool
    rows: tuple[Row, ...]
    vms: tuple[Any, ...]
    masters: int = 0


@dataclass(frozen=True)
class Group:
    """The rows of a lane, the sizes of their slots, and the contents of a VM: all of them where ``complete``."""

    lane: Lane
    rows: tuple[Row, ...]
    sizes: tuple[int, ...]
    patterns: tuple[Counts, ...]
    complete: bool = True


def lane_of(model: pyo.ConcreteModel, instance: Instance) -> list[Lane]:
    """The lane of a model of one type, bought in the paper's ways."""
    variables = list(model.admitted.values())
    slots, per_vm = instance.slots_per_job, (instance.map_per_vm, instance.reduce_per_vm)
    rows = tuple(_rows(range(len(instance)), slots, per_vm, variables))
    return [Lane(0, False, rows, (model.on_demand, model.reserved))]


def lanes_of(model: pyo.ConcreteModel, mix: Mix, jobs: Iterable[tuple[int, int, Any]]) -> list[Lane]:
    """Those of a model of several types; ``jobs``: class, lane and variable of every pair that may have some."""
    market, pairs = mix.market, mix.pairs
    vms = list(model.vms.values())
    by_lane: list[list[tuple[int, Any]]] = [[] for _ in market.lanes]
    for index, number, variable in jobs:
        by_lane[number].append((index, variable))
    found = []
    for number, lane in enumerate(market.lanes):
        classes = [index for index, _ in by_lane[number]]
        slots = mix.map_slots[number][classes], mix.reduce_slots[number][classes]
        per_vm = pairs.map_per_vm[lane.vm][classes], pairs.reduce_per_vm[lane.vm][classes]
        rows = tuple(_rows(classes, slots, per_vm, [variable for _, variable in by_lane[number]]))
        bought = tuple(vms[place] for place, offer in enumerate(market.offers) if offer.lane == number)
        found.append(Lane(lane.vm, lane.spot, rows, bought, int(market.masters_of_lane[number])))
    return found


def _rows(
    classes: Iterable[int], slots: tuple[Floats, Floats], per_vm: tuple[Floats, Floats], jobs: Sequence[Any]
) -> Iterator[Row]:
    """The slots that jobs may have; a job that no slots keep in time has none to pack."""
    for reduces in (False, True):
        columns = zip(classes, slots[reduces].tolist(), per_vm[reduces].tolist(), jobs, strict=True)
        yield from (
            Row(index, reduces, int(host), round(each), job)
            for index, each, host, job in columns
            if each and isfinite(each)
        )


def groups_of(lanes: Sequence[Lane], some: bool) -> list[Group] | None:
    """The rows of each lane and the contents of its VMs; where they are too many None, or ``some`` of them."""
    found = []
    for lane in lanes:
        if lane.rows:
            sizes = tuple(sorted({row.per_vm for row in lane.rows}))
            patterns = maximal_patterns(sizes, MOST_PATTERNS)
            if patterns is None and not some:
                return None
            found.append(Group(lane, lane.rows, sizes, patterns or _generated(lane, sizes), patterns is not None))
    return found


def _generated(lane: Lane, sizes: tuple[int, ...]) -> tuple[Counts, ...]:
    """The contents that the slots of all jobs there may be ask for, and those that a packing of them has."""
    slots = [0] * len(sizes)
    for row in lane.rows:
        slots[sizes.index(row.per_vm)] += row.slots * int(row.jobs.ub)
    patterns = (*generated_patterns(sizes, slots).patterns, *(pattern for _, pattern in pack(sizes, slots).patterns))
    return tuple(dict.fromkeys(patterns))


def is_complete(model: pyo.ConcreteModel) -> bool:
    """Whether the model knows all that VMs may hold, so that its bound is one on all plans."""
    return all(group.complete for group in getattr(model, "packing_groups", ()))


def add_patterns(model: pyo.ConcreteModel, lanes_in: Callable[[], list[Lane]], wholeness: str, packing: str) -> None:
    """What VMs hold, where slots are whole and it is asked for, or classes share no VM.

    ``packing``: nothing, "all" that VMs may hold unless that is too much, or "some" of it then.

    Nothing is added where it says nothing new: of shared VMs where every number of slots on a VM divides the next.
    """
    if wholeness == NO or not (packing or wholeness == MACHINES):
        return
    lanes = lanes_in()
    if wholeness == MACHINES:
        _add_machines(model, lanes)
        return
    groups = groups_of(lanes, packing == SOME)
    if groups is not None and not all(_divide(group.sizes) for group in groups):
        _add_groups(model, lanes, groups)


def _add_machines(model: pyo.ConcreteModel, lanes: Sequence[Lane]) -> None:
    """Whole VMs of each class, which its slots add up to no more than: of one class alone that is enough.

    See :func:`mrdsl.formulas.packing.of_one_class`.
    """
    parts: dict[tuple[int, int], list[tuple[float, Any]]] = {}
    for number, lane in enumerate(lanes):
        for row in lane.rows:
            parts.setdefault((number, row.of_class), []).append((row.slots / row.per_vm, row.jobs))
    model.class_vms = pyo.Var(list(parts), domain=pyo.NonNegativeIntegers)
    model.class_fits = pyo.Constraint(
        list(parts), rule=lambda k, *key: (None, _sum([*parts[key], (-1.0, k.class_vms[key])]), 0.0)
    )
    used = [number for number, lane in enumerate(lanes) if lane.rows]
    model.class_room = pyo.Constraint(
        used,
        rule=lambda k, number: (
            None,
            _sum(
                [
                    *((1.0, k.class_vms[key]) for key in parts if key[0] == number),
                    *((-1.0, each) for each in lanes[number].vms),
                ]
            ),
            -float(lanes[number].masters),
        ),
    )


def _divide(sizes: Sequence[int]) -> bool:
    return all(large % small == 0 for small, large in pairwise(sizes))


def _add_groups(model: pyo.ConcreteModel, lanes: Sequence[Lane], groups: Sequence[Group]) -> None:
    """Variables for the VMs of each content, and that they hold the slots and are rented."""
    model.packing_groups = list(groups)
    keys = [(number, place) for number, group in enumerate(groups) for place in range(len(group.patterns))]
    model.pattern_vms = pyo.Var(keys, domain=pyo.NonNegativeIntegers)
    variables = model.pattern_vms
    rows = [(number, size) for number, group in enumerate(groups) for size in group.sizes]

    def hold(_: object, number: int, size: int) -> object:
        group = groups[number]
        at = group.sizes.index(size)
        there = [(p[at], variables[number, place]) for place, p in enumerate(group.patterns) if p[at]]
        needed = [(-row.slots, row.jobs) for row in group.rows if row.per_vm == size]
        return 0.0, _sum([*there, *needed]), None

    def rent(_: object, number: int) -> object:
        lane = lanes[number]
        used = [
            (1.0, variables[at, place])
            for at, group in enumerate(groups)
            if group.lane is lane
            for place in range(len(group.patterns))
        ]
        return None, _sum([*used, *((-1.0, each) for each in lane.vms)]), -float(lane.masters)

    model.slots_held = pyo.Constraint(rows, rule=hold)
    used = [number for number, lane in enumerate(lanes) if lane.rows]
    model.pattern_room = pyo.Constraint(used, rule=rent)


def _sum(terms: Sequence[tuple[float, Any]]) -> LinearExpression:
    return LinearExpression(
        constant=0.0, linear_coefs=[float(each) for each, _ in terms], linear_vars=[variable for _, variable in terms]
    )


def packing_in(model: pyo.ConcreteModel) -> Packing | None:
    """The packing in a solved model; None where it has no patterns, or they do not hold the slots of its jobs."""
    groups: Sequence[Group] | None = getattr(model, "packing_groups", None)
    if groups is None:
        return None
    lanes = []
    for number, group in enumerate(groups):
        counts = [_whole(model.pattern_vms[number, place]) for place in range(len(group.patterns))]
        held = Held(
            group.lane.vm,
            group.lane.spot,
            np.array([row.of_class for row in group.rows], dtype=np.int64),
            np.array([row.reduces for row in group.rows], dtype=bool),
            np.array([row.per_vm for row in group.rows], dtype=np.int64),
            np.array([row.slots * _whole(row.jobs) for row in group.rows], dtype=np.int64),
        )
        demand = [int(held.slots[held.per_vm == size].sum()) for size in group.sizes]
        found = pack(group.sizes, demand)
        if found.vms > sum(counts):
            chosen = [(count, pattern) for count, pattern in zip(counts, group.patterns, strict=True) if count]
            held_so = without_surplus(chosen, demand)
            if held_so is None:
                return None
            found = Packed(held_so, 0)
        lanes.append(PackedLane(held, assigned(held, found), found.vms, found.least))
    return joined(lanes)


def _whole(variable: Any) -> int:
    return round(float(pyo.value(variable, exception=False) or 0.0))
