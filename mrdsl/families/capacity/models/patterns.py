"""Contents of VMs as variables of P2: exact if slots and VMs are whole.

P2 alone requires that the parts of VMs for all slots add up to no more than the VMs. That does not mean that the slots
fit them (see :mod:`mrdsl.formulas.packing`). Here ``pattern_vms`` counts the VMs of each content. Their slots are at
least those of the jobs, and there are no more of them than rented VMs (Gilmore and Gomory 1961).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np
import pyomo.core as pyo

from mrdsl.families.capacity.facts import MACHINES, NO
from mrdsl.families.capacity.instance import Instance, Mix
from mrdsl.families.capacity.lanes import limited_classes
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.models.variables import row_of
from mrdsl.families.capacity.packing import Held, PackedLane, Packing, assigned, joined
from mrdsl.families.capacity.slot_choices import Choices, choices_of_instance, choices_of_mix, steps
from mrdsl.formulas.packing import Counts, Packed, Size, generated_patterns, maximal_patterns, pack, without_surplus
from mrdsl.formulas.pairs import SlotSizes

MOST_PATTERNS = 3_000
ALL, SOME, BOUND = "all", "some", "bound"


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
    """Contents of VMs of one type, firm or spot, of which ``vms`` less ``masters`` are rented."""

    vm: int
    spot: bool
    rows: tuple[Row, ...]
    vms: tuple[Any, ...]
    masters: int = 0
    others: tuple[Other, ...] = ()
    vectors: SlotSizes | None = None

    def size(self, key: int) -> Size:
        """Return the size of a slot for a key."""
        return key if self.vectors is None else self.vectors.of(key)


@dataclass(frozen=True)
class Other:
    """Slots that ``jobs`` of a class, a variable, can have instead of the fewest; a VM hosts ``per_vm`` of them.

    ``steps`` are the differences in map and reduce slots between each choice and the fewest VMs.
    """

    of_class: int
    jobs: Any
    steps: tuple[tuple[int, int], ...]
    per_vm: tuple[int, int]


@dataclass(frozen=True)
class Group:
    """The rows of a lane, the sizes of their slots, and the contents of a VM; all contents if ``complete``."""

    lane: Lane
    rows: tuple[Row, ...]
    sizes: tuple[int, ...]
    patterns: tuple[Counts, ...]
    complete: bool = True


def lane_of(model: pyo.ConcreteModel, instance: Instance) -> list[Lane]:
    """Return the lane of a model of one type, bought in the paper's ways."""
    variables = list(model.admitted.values())
    slots, per_vm = instance.slots_per_job, (instance.map_per_vm, instance.reduce_per_vm)
    rows = tuple(_rows(range(len(instance)), slots, per_vm, variables))
    choices = choices_of_instance(instance)
    model.knows_all_slots = choices.complete
    others = tuple(_others(choices, 0, enumerate(variables), slots, per_vm))
    return [Lane(0, False, rows, (model.on_demand, model.reserved), others=others)]


def lanes_of(
    model: pyo.ConcreteModel,
    mix: Mix,
    jobs: Iterable[tuple[int, int, Any]],
    spare: Iterable[tuple[int, int, bool, int, Any]] = (),
) -> list[Lane]:
    """Return those of a model of several types; ``jobs``: class, lane and variable of every pair that may have some.

    ``spare``: class, lane, whether they are reduce slots, how many, and variable of slots beyond the fewest.
    """
    market, pairs = mix.market, mix.pairs
    vms = list(model.vms.values())
    by_lane: list[list[tuple[int, Any]]] = [[] for _ in market.lanes]
    for index, number, variable in jobs:
        by_lane[number].append((index, variable))
    more: list[list[Row]] = [[] for _ in market.lanes]
    keys = _keys(mix)
    for index, number, reduces, count, variable in spare:
        host = keys[int(reduces)][market.lanes[number].vm, index]
        more[number].append(Row(index, reduces, int(host), count, variable))
    found = []
    if mix.sizes is None:
        choices = Choices({}, False) if len(limited_classes(mix)) else choices_of_mix(mix)
        model.knows_all_slots = choices.complete
    else:
        choices = Choices({}, False)
    for number, lane in enumerate(market.lanes):
        classes = [index for index, _ in by_lane[number]]
        slots = mix.map_slots[number][classes], mix.reduce_slots[number][classes]
        sizes = keys[0][lane.vm][classes], keys[1][lane.vm][classes]
        rows = tuple(_rows(classes, slots, sizes, [variable for _, variable in by_lane[number]]))
        bought = tuple(vms[place] for place, offer in enumerate(market.offers) if offer.lane == number)
        per_lane = mix.map_slots[number], mix.reduce_slots[number]
        hosts = pairs.map_per_vm[lane.vm], pairs.reduce_per_vm[lane.vm]
        others = tuple(_others(choices, number, by_lane[number], per_lane, hosts))
        masters = int(market.masters_of_lane[number])
        found.append(Lane(lane.vm, lane.spot, (*rows, *more[number]), bought, masters, others, mix.sizes))
    return found


def _keys(mix: Mix) -> tuple[Floats, Floats]:
    """Return the sizes of map and reduce slots by type and class: how many a VM hosts, or which vector."""
    if mix.sizes is None:
        return mix.pairs.map_per_vm, mix.pairs.reduce_per_vm
    return mix.sizes.keys[0].astype(np.float64), mix.sizes.keys[1].astype(np.float64)


def _others(
    choices: Choices,
    lane: int,
    jobs: Iterable[tuple[int, Any]],
    slots: tuple[Floats, Floats],
    per_vm: tuple[Floats, Floats],
) -> Iterator[Other]:
    for index, variable in jobs:
        if (lane, index) in choices.pairs:
            fewest = round(float(slots[0][index])), round(float(slots[1][index]))
            hosts = int(per_vm[0][index]), int(per_vm[1][index])
            yield Other(index, variable, tuple(steps(choices.pairs[lane, index], fewest)), hosts)


def _rows(
    classes: Iterable[int], slots: tuple[Floats, Floats], per_vm: tuple[Floats, Floats], jobs: Sequence[Any]
) -> Iterator[Row]:
    """Yield the slots that jobs may have; a job has none to pack if no slots meet its time limit."""
    for reduces in (False, True):
        columns = zip(classes, slots[reduces].tolist(), per_vm[reduces].tolist(), jobs, strict=True)
        yield from (
            Row(index, reduces, int(host), round(each), job)
            for index, each, host, job in columns
            if each and isfinite(each)
        )


def groups_of(lanes: Sequence[Lane], some: bool) -> list[Group] | None:
    """Return the rows of each lane and the contents of its VMs; where they are too many None, or ``some`` of them."""
    found = []
    for lane in lanes:
        if lane.rows:
            sizes = tuple(sorted({row.per_vm for row in lane.rows}))
            patterns = maximal_patterns([lane.size(key) for key in sizes], MOST_PATTERNS)
            if patterns is None and not some:
                return None
            found.append(Group(lane, lane.rows, sizes, patterns or _generated(lane, sizes), patterns is not None))
    return found


def _generated(lane: Lane, sizes: tuple[int, ...]) -> tuple[Counts, ...]:
    """Return the contents that the slots of all jobs there may be ask for, and those that a packing of them has."""
    slots = [0] * len(sizes)
    for row in lane.rows:
        slots[sizes.index(row.per_vm)] += row.slots * int(row.jobs.ub or 0)
    there = [lane.size(key) for key in sizes]
    slots = [max(each, 1) for each in slots]
    patterns = (*generated_patterns(there, slots).patterns, *(pattern for _, pattern in pack(there, slots).patterns))
    return tuple(dict.fromkeys(patterns))


def is_complete(model: pyo.ConcreteModel) -> bool:
    """Return True if the model knows all slots of jobs and all contents of VMs, so that its bound is on all plans."""
    return model.knows_all_slots and all(group.complete for group in getattr(model, "packing_groups", ()))


def add_patterns(model: pyo.ConcreteModel, lanes_in: Callable[[], list[Lane]], wholeness: str, packing: str) -> None:
    """Add the contents of VMs if slots are whole and a packing is required, or if classes share no VM.

    ``packing`` is None, "all" contents (unless they are too many), or "some" of them in that case.

    The model is unchanged if patterns add no restriction: VMs are shared, and each number of slots per VM divides the
    next.
    """
    if wholeness == NO or not (packing in (ALL, SOME) or wholeness == MACHINES):
        return
    lanes = lanes_in()
    if wholeness == MACHINES and packing == SOME and any(lane.vectors is not None for lane in lanes):
        alone = groups_of(_by_class(lanes), True)
        assert alone is not None
        _add_groups(model, lanes, alone)
        return
    if wholeness == MACHINES:
        _add_machines(model, lanes)
        return
    groups = groups_of(lanes, packing == SOME)
    model.packing_lanes = lanes
    if groups is not None and not all(_divide(group.sizes) for group in groups):
        _add_groups(model, lanes, groups)


def _by_class(lanes: Sequence[Lane]) -> list[Lane]:
    """Return each lane once for each of its classes, with the slots of that class alone."""
    return [
        replace(lane, rows=tuple(row for row in lane.rows if row.of_class == index))
        for lane in lanes
        for index in dict.fromkeys(row.of_class for row in lane.rows)
    ]


def _add_machines(model: pyo.ConcreteModel, lanes: Sequence[Lane]) -> None:
    """Whole VMs of each class, which its slots add up to no more than: of one class alone that is enough.

    Of containers it is not: cores and memory may add up to VMs that do not hold them. See
    :func:`mrdsl.formulas.packing.of_one_class`.
    """
    parts: dict[tuple[int, ...], list[tuple[float, Any]]] = {}
    for number, lane in enumerate(lanes):
        for row in lane.rows:
            for resource, part in _parts(lane, row.per_vm):
                parts.setdefault((number, row.of_class, *resource), []).append((row.slots * part, row.jobs))
    model.class_vms = pyo.Var(list(dict.fromkeys(key[:2] for key in parts)), domain=pyo.NonNegativeIntegers)
    model.class_fits = pyo.Constraint(
        list(parts), rule=lambda k, *key: (None, row_of([*parts[key], (-1.0, k.class_vms[key[:2]])]), 0.0)
    )
    used = [number for number, lane in enumerate(lanes) if lane.rows]
    model.class_room = pyo.Constraint(
        used,
        rule=lambda k, number: (
            None,
            row_of(
                [
                    *((1.0, each) for key, each in k.class_vms.items() if key[0] == number),
                    *((-1.0, each) for each in lanes[number].vms),
                ]
            ),
            -float(lanes[number].masters),
        ),
    )


def _parts(lane: Lane, key: int) -> list[tuple[tuple[int, ...], float]]:
    """Return the part of each resource of a VM that a slot takes; one part if all resources are alike."""
    size = lane.size(key)
    if lane.vectors is None:
        return [((), 1.0 / key)]
    return [((n,), 1.0 / size if isinstance(size, int) else float(size[n])) for n in (0, 1)]


def _divide(sizes: Sequence[int]) -> bool:
    return min(sizes) > 0 and all(large % small == 0 for small, large in pairwise(sizes))


def _add_groups(model: pyo.ConcreteModel, lanes: Sequence[Lane], groups: Sequence[Group]) -> None:
    """Variables for the VMs of each content, and that they hold the slots and are rented."""
    groups = [
        replace(group, rows=(*group.rows, *others))
        for group, others in zip(groups, _add_others(model, groups), strict=True)
    ]
    model.packing_groups = groups
    keys = [(number, place) for number, group in enumerate(groups) for place in range(len(group.patterns))]
    model.pattern_vms = pyo.Var(keys, domain=pyo.NonNegativeIntegers)
    variables = model.pattern_vms
    rows = [(number, size) for number, group in enumerate(groups) for size in group.sizes]

    def hold(_: object, number: int, size: int) -> object:
        group = groups[number]
        at = group.sizes.index(size)
        there = [(p[at], variables[number, place]) for place, p in enumerate(group.patterns) if p[at]]
        needed = [(-row.slots, row.jobs) for row in group.rows if row.per_vm == size]
        return 0.0, row_of([*there, *needed]), None

    def rent(_: object, number: int) -> object:
        lane = lanes[number]
        used = [
            (1.0, variables[at, place])
            for at, group in enumerate(groups)
            if group.lane.vms is lane.vms
            for place in range(len(group.patterns))
        ]
        return None, row_of([*used, *((-1.0, each) for each in lane.vms)]), -float(lane.masters)

    model.slots_held = pyo.Constraint(rows, rule=hold)
    used = [number for number, lane in enumerate(lanes) if lane.rows]
    model.pattern_room = pyo.Constraint(used, rule=rent)


def _add_others(model: pyo.ConcreteModel, groups: Sequence[Group]) -> list[list[Row]]:
    """Return variables for jobs on other slots than the fewest, and these slots."""
    found: list[list[Row]] = [[] for _ in groups]
    keys = [
        (number, other.of_class, *step)
        for number, group in enumerate(groups)
        for other in group.lane.others
        for step in other.steps
    ]
    if not keys:
        return found
    model.other_jobs = pyo.Var(keys, domain=pyo.NonNegativeIntegers)
    for number, index, *step in keys:
        other = next(each for each in groups[number].lane.others if each.of_class == index)
        variable = model.other_jobs[(number, index, *step)]
        for reduces, more in ((False, step[0]), (True, step[1])):
            if more:
                found[number].append(Row(index, reduces, other.per_vm[reduces], more, variable))
    each = {(number, other.of_class): other for number, group in enumerate(groups) for other in group.lane.others}
    model.jobs_on_others = pyo.Constraint(
        list(each),
        rule=lambda k, *key: (
            None,
            row_of([*((1.0, k.other_jobs[(*key, *step)]) for step in each[key].steps), (-1.0, each[key].jobs)]),
            0.0,
        ),
    )
    return found


def other_slots(model: pyo.ConcreteModel, lanes: int, classes: int) -> tuple[Floats, Floats]:
    """Return the map and reduce slots that jobs on other slots have more than on the fewest, (lanes, classes)."""
    found = np.zeros((2, lanes, classes))
    used = [number for number, lane in enumerate(getattr(model, "packing_lanes", ())) if lane.rows]
    for (number, index, *step), variable in getattr(model, "other_jobs", {}).items():
        found[:, used[number], index] += np.array(step) * _whole(variable)
    if hasattr(model, "jobs_by_slots"):
        entries, whole = model.slots_by_vector
        counts = np.array([float(pyo.value(each, exception=False) or 0.0) for each in model.jobs_by_slots.values()])
        counts = np.rint(counts) if whole else np.maximum(counts, 0.0)
        np.add.at(found[0], (entries.of_lane, entries.of_class), entries.maps * counts)
        np.add.at(found[1], (entries.of_lane, entries.of_class), entries.reduces * counts)
    return found[0], found[1]


def packing_in(model: pyo.ConcreteModel) -> Packing | None:
    """Return the packing in a solved model; None if it has no patterns, or if they do not hold its jobs' slots."""
    groups: Sequence[Group] | None = getattr(model, "packing_groups", None)
    if groups is None:
        return None
    lanes = []
    for number, group in enumerate(groups):
        counts = [_whole(model.pattern_vms[number, place]) for place in range(len(group.patterns))]
        held = _held(group)
        demand = [int(held.slots[held.per_vm == size].sum()) for size in group.sizes]
        found = pack([group.lane.size(key) for key in group.sizes], demand)
        if found.vms > sum(counts):
            chosen = [(count, pattern) for count, pattern in zip(counts, group.patterns, strict=True) if count]
            held_so = without_surplus(chosen, demand)
            if held_so is None:
                return None
            found = Packed(held_so, 0)
        lanes.append(PackedLane(held, assigned(held, found), found.vms, found.least))
    return joined(lanes)


def _held(group: Group) -> Held:
    """Return the slots of each class and kind in a solution; those of other pairs are counted with the fewest."""
    slots: dict[tuple[int, bool, int], int] = {}
    for row in group.rows:
        key = row.of_class, row.reduces, row.per_vm
        slots[key] = slots.get(key, 0) + row.slots * _whole(row.jobs)
    columns = [np.array(each) for each in zip(*slots, strict=True)]
    of_class, reduces, per_vm = columns[0].astype(np.int64), columns[1].astype(bool), columns[2].astype(np.int64)
    count = np.array(list(slots.values()), np.int64)
    return Held(group.lane.vm, group.lane.spot, of_class, reduces, per_vm, count, group.lane.vectors)


def _whole(variable: Any) -> int:
    return round(float(pyo.value(variable, exception=False) or 0.0))
