"""Packing of whole slots if some classes never run together: their slots take turns on the same part of a VM.

A VM holds the slots of a class at fixed places. It is full if the slots of all classes outside of groups, and of the
most demanding class of each group there, take all of a resource. Such a packing serves whatever class of each group
runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import ROUNDING, floor
from mrdsl.families.capacity.groups import Groups
from mrdsl.families.capacity.packing import Alike, Content, Held, PackedLane, alike, packed

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


def packed_in_turns(held: Held, groups: Groups) -> PackedLane:
    """Return one lane's slots on few VMs.

    The most demanding class of each group and the classes outside are packed first. Slots of the others then take
    places of their group, then free ones, the largest first.
    """
    if not len(held.slots):
        return packed(held)
    parts = _parts(held)
    first = _most_demanding(held, parts, groups)
    base = packed(_some(held, first))
    turns, vms = _Turns(parts, held.of_class.tolist(), groups.tolist()), list(_on_vms(base, np.flatnonzero(first)))
    others = np.flatnonzero(~first)
    for row in others[np.argsort(-parts[others].max(axis=1), kind="stable")].tolist():
        vms = turns.filled(vms, row, int(held.slots[row]))
    return PackedLane(held, (alike(vms),), sum(count for count, _ in vms), base.least)


def _parts(held: Held) -> Floats:
    """Return the part of each resource of a VM that a slot of each row takes, (rows, resources)."""
    sizes = [held.size(int(key)) for key in held.per_vm.tolist()]
    return np.array([[1.0 / size] * 2 if isinstance(size, int) else [float(part) for part in size] for size in sizes])


def _most_demanding(held: Held, parts: Floats, groups: Groups) -> NDArray[np.bool_]:
    """Return the rows of the class of each group that takes most VMs."""
    classes = np.unique(held.of_class)
    taken = np.stack([np.bincount(held.of_class, weights=held.slots * part) for part in parts.T]).max(axis=0)
    order = classes[np.argsort(-taken[classes], kind="stable")]
    _, best = np.unique(groups[order], return_index=True)
    return np.isin(held.of_class, order[best])


def _some(held: Held, rows: NDArray[np.bool_]) -> Held:
    columns = held.of_class[rows], held.reduces[rows], held.per_vm[rows], held.slots[rows]
    return Held(held.vm, held.spot, *columns, held.vectors)


def _on_vms(lane: PackedLane, of_row: Places) -> Iterator[Alike]:
    """Yield how many VMs hold the same slots of each row."""
    for counts, of_pattern, (rows, slots) in lane.patterns:
        for pattern, count in enumerate(counts.tolist()):
            mine = of_pattern == pattern
            yield count, tuple(zip(of_row[rows[mine]].tolist(), slots[mine].tolist(), strict=True))


@dataclass(frozen=True)
class _Turns:
    """The rows of a lane: the part of each resource that a slot takes, (rows, resources), and their classes."""

    parts: Floats
    of_class: list[int]
    groups: list[int]

    def filled(self, vms: list[Alike], row: int, slots: int) -> list[Alike]:
        """Place slots where their group has room, then where a VM has, then on more VMs."""
        for beside in (False, True):
            found: list[Alike] = []
            for count, content in vms:
                fits = self._fitting(row, content, beside)
                some = min(count, slots // fits) if fits else 0
                found.append((some, _with(content, row, fits)))
                slots -= some * fits
                last = int(some < count and 0 < slots < fits)
                found.append((last, _with(content, row, slots)))
                slots -= last * slots
                found.append((count - some - last, content))
            vms = [each for each in found if each[0]]
        each = self._fitting(row, (), True)
        more = (slots // each, _with((), row, each)), (int(slots % each > 0), _with((), row, slots % each))
        return vms + [alike for alike in more if alike[0]]

    def _fitting(self, row: int, content: Content, beside: bool) -> int:
        """Return how many slots of a row fit a VM: ``beside`` in its free part too."""
        zero = np.zeros(self.parts.shape[1])
        classes: dict[int, Floats] = {}
        for other, count in content:
            index = self.of_class[other]
            classes[index] = classes.get(index, zero) + count * self.parts[other]
        groups: dict[int, Floats] = {}
        for index, load in classes.items():
            groups[self.groups[index]] = np.maximum(groups.get(self.groups[index], zero), load)
        mine = self.of_class[row]
        room = groups.get(self.groups[mine], zero) - classes.get(mine, zero)
        room = room + (1.0 - sum(groups.values(), zero) if beside else 0.0)
        part = self.parts[row]
        return int(max(floor(float(((room + ROUNDING)[part > 0.0] / part[part > 0.0]).min())), 0.0))


def _with(content: Content, row: int, slots: int) -> Content:
    held = dict(content)
    held[row] = held.get(row, 0) + slots
    return tuple(sorted(held.items()))
