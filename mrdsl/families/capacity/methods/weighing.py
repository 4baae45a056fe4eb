"""Cores and memory of containers as one resource: the slots of jobs at weights of both.

Jobs that fit the cores and the memory of VMs fit any weighting of both. At weights of a type, a slot takes the weighted
sum of its parts of a VM. Each job has the pair of slots that takes the least by Theorem 4.1. The rest is as with one
resource, and it bounds the cost from below for all weights. This is a surrogate constraint (Glover 1965, *A multiphase-
dual algorithm for the zero-one integer programming problem*). The weights are those at which all expected jobs on the
type take the most: there cores and memory are filled alike, or one of them is idle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import ROUNDING, floor
from mrdsl.families.capacity.facts import MACHINES, NO
from mrdsl.families.capacity.instance import Mix, of_lanes
from mrdsl.families.capacity.lanes import limited_classes
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_prices import Places, Task
from mrdsl.families.capacity.methods.slot_prices import least_slots

Flags = NDArray[np.bool_]

LEAST = 1e-7
"""The least weight of a resource: a slot that takes nothing of one still takes something."""
STEPS, STEPS_OF_PRICES = 40, 12
CLASSES = 64
"""Most classes from which the weights of a type are chosen."""


def weighed(task: Task) -> tuple[Task, Task]:
    """Return the task to plan with and the task that bounds the cost; both are the task itself for one resource.

    If a part of a class may be on spot VMs, VM time is counted by the slots per VM. The class is then planned on the
    slots that take least of that, and the bound ignores its limit on spot.
    """
    mix = task.mix
    if mix.sizes is None:
        return task, task
    if mix.wholeness == MACHINES and task.same_type:
        gamma, (maps, reduces), planned = of_one_class(mix)
    else:
        lanes, of_lane = alike(mix)
        few = of_lanes(mix, lanes)
        gamma, maps, reduces = (each[of_lane] for each in least_at(few, _weights(few)))
        planned = gamma
    limited = np.zeros(len(mix), dtype=bool)
    limited[limited_classes(mix)] = True
    bound = replace(
        mix, gamma=gamma, map_slots=maps, reduce_slots=reduces, spot_share=np.where(limited, 1.0, mix.spot_share)
    )
    kept = [
        np.where(limited, old, new)
        for old, new in ((mix.gamma, planned), (mix.map_slots, maps), (mix.reduce_slots, reduces))
    ]
    plan = replace(mix, gamma=kept[0], map_slots=kept[1], reduce_slots=kept[2])
    return replace(task, mix=plan), replace(task, mix=bound)


WEIGHTS = (LEAST, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0 - LEAST)
"""Weights of cores at which slots of one class alone on VMs are compared."""
MOST_CONTENTS = 32
"""Most map slots of a class on a VM of which all contents are compared."""
FEW_SLOTS = 16
"""Contents of VMs with more map slots of a class fill them nearly."""


def of_one_class(mix: Mix) -> tuple[Floats, tuple[Floats, Floats], Floats]:
    """Return the VMs of one job of classes that share none: at least, its slots on few VMs, and the VMs of these.

    At prices of slots no content of a VM is worth more than its dearest one. Slots therefore take at least their worth
    as a part of that: the relaxed cutting-stock problem at some of its prices (Gilmore and Gomory 1961). These are
    weights of both resources, and the best prices of VMs with few contents.
    """
    assert mix.sizes is not None
    lanes, of_lane = alike(mix)
    mix = of_lanes(mix, lanes)
    assert mix.sizes is not None
    parts = mix.sizes.parts[:, :, mix.market.vm_of_lane]
    pairs = [least_at(mix, np.full(len(lanes), weight))[1:] for weight in WEIGHTS]
    sizes = [_slot_parts(parts, weight, pairs[0][1] > 0.0) for weight in WEIGHTS]
    least = np.full(mix.gamma.shape, np.inf)
    slots = [np.full(mix.gamma.shape, np.inf) for _ in range(2)]
    bound = np.zeros(mix.gamma.shape)
    for weight, (maps, reduces) in enumerate(pairs):
        taken = np.stack([maps * one + reduces * other for one, other in sizes])
        bound = np.maximum(bound, taken[weight])
        better = taken.max(axis=0) < least
        least = np.where(better, taken.max(axis=0), least)
        slots = [np.where(better, new, old) for new, old in zip((maps, reduces), slots, strict=True)]
    bound = np.where(mix.possible, np.maximum(bound, at_best_prices(mix, parts)), np.inf)
    least = np.maximum(least, of_contents(parts, slots[0], slots[1]))
    return bound[of_lane], (slots[0][of_lane], slots[1][of_lane]), least[of_lane]


def at_best_prices(mix: Mix, parts: Floats) -> Floats:
    """Return the least VMs of one job at the prices of slots at which they are most, (lanes, classes).

    A job is worth at least its cheapest pair of slots, and a VM at most its dearest content. As a quotient of a concave
    and a convex function of the prices, it has no other local maximum: golden section. 0 with too many contents.
    """
    every, whole = np.arange(len(mix)), mix.wholeness != NO
    most, beside = _contents(parts)
    maps = np.arange(len(beside))[:, None, None]
    few = mix.possible & (most <= MOST_CONTENTS)
    largest = parts.max(axis=1)

    def taken(part: Floats) -> Floats:
        worth = part * largest[0], (1.0 - part) * largest[1]
        dearest = np.where(maps <= most, maps * worth[0] + beside * worth[1], 0.0).max(axis=0)
        least = np.where(few, least_slots(mix, worth, every, whole)[0], 0.0)
        return np.where(few & (dearest > 0.0), least / np.where(dearest > 0.0, dearest, 1.0), 0.0)

    shape = mix.gamma.shape
    found = _golden(taken, np.full(shape, LEAST), np.full(shape, 1.0 - LEAST), STEPS_OF_PRICES)
    return taken(found)


def _contents(parts: Floats) -> tuple[Floats, Floats]:
    """Return the most map slots of VMs, and the most reduce slots beside 0, 1, ... map slots.

    ``parts`` of VMs have the shape (kinds, resources, ...).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        most = floor((1.0 / parts[0]).min(axis=0))
        counts = np.arange(MOST_CONTENTS + 1.0).reshape(-1, *(1,) * (parts.ndim - 1))
        room = 1.0 - counts * parts[0]
        beside = floor(np.where(parts[1] > 0.0, np.maximum(room, 0.0) / parts[1], np.inf)).min(axis=1)
    return most, np.where((room > -ROUNDING).all(axis=1), beside, 0.0)


def of_contents(parts: Floats, maps: Floats, reduces: Floats) -> Floats:
    """Return the VMs, in fractions, of which whole contents hold some slots, of the shape of ``maps``.

    ``parts`` of a VM are those that a slot takes, (kinds, resources, lanes, classes). The relaxed cutting-stock problem
    of two kinds of slots has an optimum of at most two contents. All pairs are tried of those with the most reduce
    slots beside each number of map slots. 0 if there are too many contents, or slots of one kind only.
    """
    found = np.zeros(maps.shape)
    with np.errstate(divide="ignore"):
        few = floor((1.0 / parts[0]).min(axis=0)) <= MOST_CONTENTS
    at = np.nonzero(np.isfinite(maps) & (maps > 0.0) & (reduces > 0.0) & few)
    one, other, least = maps[at], reduces[at], np.full(len(at[0]), np.inf)
    most, beside = _contents(np.moveaxis(np.moveaxis(parts, (2, 3), (0, 1))[at], 0, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        for first in range(int(most.max(initial=-1.0)) + 1):
            there = first <= most
            alone = np.maximum(one / first, other / beside[first])
            least = np.where(there & (alone < least), alone, least)
            for second in range(first):
                both = first * beside[second] - second * beside[first]
                some = (one * beside[second] - other * second) / both, (first * other - beside[first] * one) / both
                total = np.where(there & (some[0] >= 0.0) & (some[1] >= 0.0), some[0] + some[1], np.inf)
                least = np.fmin(least, total)
    found[at] = np.where(np.isfinite(least), least, 0.0)
    return found


def alike(mix: Mix) -> tuple[Places, Places]:
    """Return a lane of each group of lanes that are alike for all classes, and the group of each lane.

    Limits on the parts of classes on spot VMs divide firm from spot lanes.
    """
    assert mix.sizes is not None
    spot = mix.market.spot & bool(len(limited_classes(mix)))
    vms, work, limits = mix.market.vm_of_lane, mix.pairs.work, mix.pairs.limits
    of_types = [mix.sizes.keys[0], mix.sizes.keys[1], work.map_work, work.reduce_work, work.constant]
    of_types += [*limits.parts, np.zeros_like(work.map_work) if work.own is None else work.own.rows]
    of_lane = [spot, mix.possible, mix.map_kept, mix.reduce_kept]
    groups: dict[bytes, int] = {}
    found = np.empty(len(vms), dtype=np.int64)
    first: list[int] = []
    for lane, vm in enumerate(vms.tolist()):
        rows = [each[vm] for each in of_types] + [each[lane] for each in of_lane]
        key = b"".join(np.ascontiguousarray(row).tobytes() for row in rows)
        found[lane] = groups.setdefault(key, len(groups))
        if found[lane] == len(first):
            first.append(lane)
    return np.array(first, dtype=np.int64), found


def _slot_parts(parts: Floats, weight: float, reducing: Flags) -> tuple[Floats, Floats]:
    """Return the parts of a VM that a map and a reduce slot count for, so that no content counts for more than one."""
    maps, reduces = (np.tensordot([weight, 1.0 - weight], each, axes=1) for each in parts)
    reduces = np.where(reducing, reduces, 0.0)
    fullest = np.zeros_like(maps)
    with np.errstate(divide="ignore", invalid="ignore"):
        for count in range(FEW_SLOTS + 1):
            room = 1.0 - count * parts[0]
            fits = (room > -ROUNDING).all(axis=0)
            more = np.where(parts[1] > 0.0, floor(np.maximum(room, 0.0) / parts[1]), np.inf).min(axis=0)
            worth = count * maps + np.where(reducing, more * reduces, 0.0)
            fullest = np.where(fits, np.maximum(fullest, worth), fullest)
        many = np.floor(1.0 / parts[0].max(axis=0)) > FEW_SLOTS
    fullest = np.where(many | ~(fullest > 0.0), 1.0, np.minimum(fullest, 1.0))
    return maps / fullest, reduces / fullest


def _weights(mix: Mix) -> Floats:
    """Return the weight of cores in each lane at which jobs take the most, by golden section; memory has the rest."""
    some = np.argsort(-mix.expected, kind="stable")[:CLASSES]
    expected = mix.expected[some]
    low, high = np.full(len(mix.gamma), LEAST), np.full(len(mix.gamma), 1.0 - LEAST)

    def taken(weights: Floats) -> Floats:
        gamma = least_at(mix, weights, some, whole=False)[0]
        return np.asarray((np.where(np.isfinite(gamma), gamma, 0.0) * expected).sum(axis=1))

    return _golden(taken, low, high, STEPS)


def _golden(value: Callable[[Floats], Floats], low: Floats, high: Floats, steps: int) -> Floats:
    """Return where a function has its largest value between two numbers, by golden section; elementwise."""
    part = (5.0**0.5 - 1.0) / 2.0
    for _ in range(steps):
        one, two = high - part * (high - low), low + part * (high - low)
        less = value(one) < value(two)
        low, high = np.where(less, one, low), np.where(less, high, two)
    return np.asarray((low + high) / 2.0)


def least_at(
    mix: Mix, weights: Floats, at: Places | None = None, whole: bool | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return the weighted part of a VM that one job takes, and its map and reduce slots, (lanes, classes).

    ``at`` selects classes.
    """
    assert mix.sizes is not None
    vms, classes = mix.market.vm_of_lane, np.arange(len(mix)) if at is None else at
    both = np.stack([weights, 1.0 - weights])[:, :, None]
    maps_part, reduces_part = ((mix.sizes.parts[kind][:, vms[:, None], classes] * both).sum(axis=0) for kind in (0, 1))
    return least_slots(mix, (maps_part, reduces_part), classes, mix.wholeness != NO if whole is None else whole)
