"""What one slot takes of a VM of each type: 1/n of all of it where ``slots`` say n, else its container's resources."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.kept_values import kept
from mrdsl.families.capacity.facts import CapacityFacts
from mrdsl.families.capacity.pairs import Floats, fits_by_container, slots_on_types, staged
from mrdsl.formulas.pattern_generation import Size
from mrdsl.spec.columns import column

RESOURCES = ("cores", "memory")


@dataclass(frozen=True)
class SlotSizes:
    """Sizes by kind, type and class: ``keys``, and ``parts`` of resources, (kinds, resources, types, classes).

    A key above 0 is how many slots a VM hosts, of which each takes as much of every resource; one below stands for
    one of the ``vectors``: -1 for the first.
    """

    keys: NDArray[np.int64]
    parts: Floats
    vectors: tuple[tuple[Fraction, Fraction], ...]

    def of(self, key: int) -> Size:
        """The size that a key stands for."""
        return key if key > 0 else self.vectors[-1 - key]


def slot_sizes(facts: CapacityFacts) -> SlotSizes:
    """The sizes of a spec's slots; kept with it."""
    return kept(facts, "slot_sizes", lambda: _slot_sizes(facts))


def has_vectors(facts: CapacityFacts) -> bool:
    """Return True if some slot takes other parts of cores than of memory, or a part that is not one of equal ones."""
    return bool(slot_sizes(facts).vectors)


def _slot_sizes(facts: CapacityFacts) -> SlotSizes:
    hosts = np.maximum(np.stack(slots_on_types(facts)), 1.0)
    keys = np.rint(hosts).astype(np.int64)
    parts = np.repeat(1.0 / hosts[:, None], len(RESOURCES), axis=1)
    vectors: dict[tuple[Fraction, Fraction], int] = {}
    there = [column(facts.vms, each) for each in RESOURCES]
    by_container, of_stages = fits_by_container(facts), staged(facts.classes)
    for number, kind in enumerate(("map", "reduce")):
        taken = [
            np.where(
                of_stages,
                column(facts.classes, f"container.task.{each}"),
                column(facts.classes, f"container.{kind}.{each}"),
            )
            for each in RESOURCES
        ]
        known: dict[tuple[float, ...], int] = {}
        for vm, index in zip(*(axis.tolist() for axis in by_container[number].nonzero()), strict=True):
            said = tuple(
                float(each) for pair in zip(taken, there, strict=True) for each in (pair[0][index], pair[1][vm])
            )
            count = int(keys[number, vm, index])
            if said not in known:
                known[said] = _key(said, count, vectors)
            key = known[said]
            keys[number, vm, index] = key
            if key < 0:
                parts[number, :, vm, index] = [float(each) for each in list(vectors)[-1 - key]]
    return SlotSizes(keys, parts, tuple(vectors))


def _key(said: tuple[float, ...], hosts: int, vectors: dict[tuple[Fraction, Fraction], int]) -> int:
    """The key of a container and a VM, whose cores and memory are said in turn; NaN where nothing is said."""
    parts = [_part(said[place], said[place + 1]) for place in (0, 2)]
    parts = [
        min(part, Fraction(1, hosts)) if part * hosts <= Fraction(1) + Fraction(1, 10**6) else part for part in parts
    ]
    if parts[0] == parts[1] == Fraction(1, hosts):
        return hosts
    return vectors.setdefault((parts[0], parts[1]), -1 - len(vectors))


def _part(taken: float, there: float) -> Fraction:
    if np.isnan(taken) or np.isnan(there) or there <= 0.0:
        return Fraction(0)
    return Fraction(repr(float(taken))) / Fraction(repr(float(there)))
