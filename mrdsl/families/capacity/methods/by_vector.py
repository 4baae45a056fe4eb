"""``direct`` where cores and memory of containers have to fit: both resources of a type weighed as one.

Jobs that fit the cores and the memory of VMs fit any weighing of both. At weights of a type a slot takes so much of a
VM as its parts so weighed add up to, and each job the pair of slots that takes the least by Theorem 4.1: all is as with
one resource, and bounds the cost from below, whatever the weights (a surrogate constraint: Glover 1965, *A multiphase-
dual algorithm for the zero-one integer programming problem*). The weights are those at which all
expected jobs on the type take the most, which is where cores and memory are filled alike or one of them is left idle.

A plan has the pairs of its weights, and as many VMs as the scarcer resource asks for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mrdsl.core.whole_numbers import ceiling
from mrdsl.families.capacity.facts import NO
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_prices import Places, Task
from mrdsl.families.capacity.mix import Mix
from mrdsl.families.capacity.mix_plan import taken_vms
from mrdsl.families.capacity.spare_slots import limited_classes

LEAST = 1e-7
"""The least weight of a resource: a slot that takes nothing of one still takes something."""
STEPS = 40
CLASSES = 64
"""So many classes are weighed to choose the weights of a type."""


def weighed(task: Task) -> tuple[Task, Task]:
    """The task to plan with and the task that bounds the cost; both the task itself where there is one resource.

    Where a part of a class may be on spot VMs, VM time is counted by how many slots a VM hosts: its jobs are planned
    on the slots that take least of that, and the bound leaves its part on spot aside.
    """
    mix = task.mix
    if mix.sizes is None:
        return task, task
    gamma, maps, reduces = _least(mix, _weights(mix))
    limited = np.zeros(len(mix), dtype=bool)
    limited[limited_classes(mix)] = True
    bound = replace(
        mix, gamma=gamma, map_slots=maps, reduce_slots=reduces, spot_share=np.where(limited, 1.0, mix.spot_share)
    )
    kept = [
        np.where(limited, old, new)
        for old, new in ((mix.gamma, gamma), (mix.map_slots, maps), (mix.reduce_slots, reduces))
    ]
    plan = replace(mix, gamma=kept[0], map_slots=kept[1], reduce_slots=kept[2])
    return replace(task, mix=plan), replace(task, mix=bound)


def needed_vms(task: Task, jobs: Floats, relax: bool) -> Floats:
    """The VMs of each lane that the scarcer resource asks for."""
    vms = taken_vms(task.mix, jobs, task.spare.of_all(jobs))
    return vms if relax else np.asarray(ceiling(vms))


def by_scarcer_resource(mix: Mix) -> Mix:
    """Return the mix with jobs that count for the scarcer of their own resources: what fits so, fits both resources.

    Classes of which only a part may be on spot VMs count as before, for that part is of VM time.
    """
    limited = np.zeros(len(mix), dtype=bool)
    limited[limited_classes(mix)] = True
    taken = mix.taken(mix.map_slots, mix.reduce_slots).max(axis=0)
    return replace(mix, gamma=np.where(limited, mix.gamma, np.maximum(mix.gamma, taken)))


def _weights(mix: Mix) -> Floats:
    """The weight of cores in each lane at which jobs take the most, by golden section; memory has the rest."""
    some = np.argsort(-mix.expected, kind="stable")[:CLASSES]
    expected = mix.expected[some]
    low, high = np.full(len(mix.gamma), LEAST), np.full(len(mix.gamma), 1.0 - LEAST)

    def taken(weights: Floats) -> Floats:
        gamma = _least(mix, weights, some, whole=False)[0]
        return np.asarray((np.where(np.isfinite(gamma), gamma, 0.0) * expected).sum(axis=1))

    part = (5.0**0.5 - 1.0) / 2.0
    for _ in range(STEPS):
        one, two = high - part * (high - low), low + part * (high - low)
        less = taken(one) < taken(two)
        low, high = np.where(less, one, low), np.where(less, high, two)
    return np.asarray((low + high) / 2.0)


def _least(
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
