"""Slots of one job besides those on the fewest VMs: a plan may have them, so a bound must know of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mrdsl.families.capacity.instance import Instance
from mrdsl.families.capacity.mix import Mix
from mrdsl.formulas.slot_pairs import Pair, efficient_pairs

MOST = 120
"""So many pairs besides the fewest VMs' are looked at, of all classes and lanes together."""
FEW = 3
"""Of each class, so many of those that take the fewest VMs are looked at where there are more."""
LOOKED_AT = 2_000


@dataclass(frozen=True)
class Choices:
    """By lane and class the pairs besides the one on the fewest VMs; and whether these are all that are efficient."""

    pairs: dict[tuple[int, int], tuple[Pair, ...]]
    complete: bool


@dataclass(frozen=True)
class _Job:
    """One job's work, time, limits and slots on the fewest VMs, of map and reduce slots each."""

    work: tuple[float, float]
    left: float
    least: Pair
    most: tuple[float, float]
    fewest: Pair
    per_vm: tuple[float, float]

    def vms(self, pair: Pair) -> float:
        return pair[0] / self.per_vm[0] + pair[1] / self.per_vm[1]


def choices_of_instance(instance: Instance) -> Choices:
    """Those of the classes of one type."""
    work, limits, left, fewest = instance.work, instance.limits, instance.slack, instance.slots_per_job
    per_vm = instance.map_per_vm, instance.reduce_per_vm
    jobs = {}
    kept = np.isfinite(fewest[0]) & np.isfinite(fewest[1])  # no slots keep the deadline of the others
    for index in ((instance.expected > 0.0) & kept).nonzero()[0].tolist():
        jobs[0, index] = _Job(
            (float(work.map_work[index]), float(work.reduce_work[index])),
            float(left[index]),
            (int(limits.map_least[index]), int(limits.reduce_least[index])),
            (float(limits.map_most[index]), float(limits.reduce_most[index])),
            (round(float(fewest[0][index])), round(float(fewest[1][index]))),
            (float(per_vm[0][index]), float(per_vm[1][index])),
        )
    return _choices(jobs)


def choices_of_mix(mix: Mix) -> Choices:
    """Those of the classes in every lane in which they can run, with what does lost work anew."""
    pairs, jobs = mix.pairs, {}
    work, limits, left = pairs.work, pairs.limits, pairs.completion_limit - pairs.work.constant
    for lane, index in zip(*(axis.tolist() for axis in mix.possible.nonzero()), strict=True):
        at, kept = (int(mix.market.vm_of_lane[lane]), index), (mix.map_kept[lane, index], mix.reduce_kept[lane, index])
        jobs[lane, index] = _Job(
            (float(work.map_work[at] / kept[0]), float(work.reduce_work[at] / kept[1])),
            float(left[at]),
            (int(limits.map_least[at]), int(limits.reduce_least[at])),
            (float(limits.map_most[at] / kept[0]), float(limits.reduce_most[at] / kept[1])),
            (round(float(mix.map_slots[lane, index])), round(float(mix.reduce_slots[lane, index]))),
            (float(pairs.map_per_vm[at]), float(pairs.reduce_per_vm[at])),
        )
    return _choices(jobs)


def _choices(jobs: dict[tuple[int, int], _Job]) -> Choices:
    found: dict[tuple[int, int], tuple[Pair, ...]] = {}
    complete = True
    for place, job in jobs.items():
        pairs = efficient_pairs(job.work, job.left, job.least, job.most, LOOKED_AT)
        complete &= pairs is not None and len(pairs) <= MOST
        others = [pair for pair in pairs or () if pair != job.fewest]
        found[place] = tuple(sorted(others, key=job.vms))
    complete &= sum(map(len, found.values())) <= MOST
    if not complete:
        few = FEW if len(found) * FEW <= MOST else 0
        found = {place: pairs[:few] for place, pairs in found.items()}
    return Choices({place: pairs for place, pairs in found.items() if pairs}, complete)


def steps(pairs: tuple[Pair, ...], fewest: Pair) -> Iterator[Pair]:
    """How many map and reduce slots more, or fewer, each pair has than that on the fewest VMs."""
    return ((maps - fewest[0], reduces - fewest[1]) for maps, reduces in pairs)
