"""Packing of whole slots if some classes never run together: their slots take turns on the same part of a VM.

A VM holds the slots of a class at fixed places. It is full if the slots of all classes outside of groups, and of the
most demanding class of each group there, take all of a resource. Such a packing serves whatever class of each group
runs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import ROUNDING, floor
from mrdsl.families.capacity.groups import Groups
from mrdsl.families.capacity.packing import Held, PackedLane, alike, packed

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
    lane = _Lane(parts, held.of_class, groups)
    for rows, counts in _on_vms(base):
        lane.place(np.flatnonzero(first)[rows], counts)
    others = np.flatnonzero(~first)
    for row in others[np.argsort(-parts[others].max(axis=1), kind="stable")].tolist():
        lane.fill(row, int(held.slots[row]))
    return PackedLane(held, (alike(lane.used, *lane.contents()),), lane.used, base.least)


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


def _on_vms(lane: PackedLane) -> list[tuple[Places, Places]]:
    """Return the rows and their slots on each VM."""
    found: list[tuple[Places, Places]] = []
    for counts, of_pattern, (rows, slots) in lane.patterns:
        for pattern, count in enumerate(counts.tolist()):
            mine = of_pattern == pattern
            found += [(rows[mine], slots[mine])] * count
    return found


class _Lane:
    """The contents of VMs while they are packed."""

    def __init__(self, parts: Floats, of_class: Places, groups: Groups) -> None:
        self.parts, self.of_class, self.groups = parts, of_class, groups
        self.used, shape = 0, (16, parts.shape[1])
        self.full = np.zeros(shape)
        self.of_classes: dict[int, Floats] = {}
        self.of_groups: dict[int, Floats] = {}
        self.held: list[tuple[int, int, int]] = []

    def place(self, rows: Places, counts: Places) -> None:
        """Fill one more VM."""
        vm = self._more(1)
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
            self._add(row, np.array([vm]), np.array([count]))

    def fill(self, row: int, slots: int) -> None:
        """Place slots where their group has room, then where a VM has, then on more VMs."""
        for beside in (False, True):
            own, group = self._loads(row)
            room = group - own + (1.0 - self.full if beside else 0.0)
            fits = self._fitting(row, room[: self.used])
            before = np.cumsum(fits) - fits
            taken = np.clip(slots - before, 0, fits)
            some = np.flatnonzero(taken)
            self._add(row, some, taken[some])
            slots -= int(taken.sum())
        each = int(self._fitting(row, np.ones((1, self.parts.shape[1])))[0])
        while slots:
            vm, count = self._more(1), min(each, slots)
            self._add(row, np.array([vm]), np.array([count]))
            slots -= count

    def contents(self) -> tuple[list[int], list[int], list[int]]:
        """Return the VM, the row and the number of slots of each entry."""
        totals: dict[tuple[int, int], int] = {}
        for vm, row, count in self.held:
            totals[vm, row] = totals.get((vm, row), 0) + count
        keys = sorted(totals)
        return [vm for vm, _ in keys], [row for _, row in keys], [totals[key] for key in keys]

    def _fitting(self, row: int, room: Floats) -> Places:
        part = self.parts[row]
        with np.errstate(divide="ignore"):
            fits = np.where(part > 0.0, (room + ROUNDING) / np.where(part > 0.0, part, 1.0), np.inf).min(axis=1)
        return np.asarray(np.maximum(floor(fits), 0.0), dtype=np.int64)

    def _add(self, row: int, vms: Places, counts: Places) -> None:
        own, group = self._loads(row)
        own[vms] += counts[:, None] * self.parts[row]
        more = np.maximum(own[vms], group[vms]) - group[vms]
        group[vms] += more
        self.full[vms] += more
        self.held += zip(vms.tolist(), [row] * len(vms), counts.tolist(), strict=True)

    def _loads(self, row: int) -> tuple[Floats, Floats]:
        index = int(self.of_class[row])
        shape = self.full.shape
        own = self.of_classes.setdefault(index, np.zeros(shape))
        return own, self.of_groups.setdefault(int(self.groups[index]), np.zeros(shape))

    def _more(self, count: int) -> int:
        first, self.used = self.used, self.used + count
        if self.used > len(self.full):
            size = ((0, len(self.full)), (0, 0))
            self.full = np.pad(self.full, size)
            for loads in (self.of_classes, self.of_groups):
                loads.update({key: np.pad(each, size) for key, each in loads.items()})
        return first
