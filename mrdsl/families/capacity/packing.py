"""Packing of a plan of whole slots: the slots of each class on each VM.

VMs of one type are alike for packing under all purchase options, but firm and spot VMs are separate. The part of a
class on spot has separate slots there, those for lost work included. Masters hold no slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.result import Table
from mrdsl.core.tables import Rows
from mrdsl.formulas.packing import Packed, Size, pack, units_of
from mrdsl.formulas.pairs import SlotSizes

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]
KINDS = ("map", "reduce"), ("task", "driver")
"""What slots are called of classes of map and reduce tasks, and of stages."""
Part = tuple[Places, Places, tuple[Places, Places]]
"""VMs of each pattern; of each entry its pattern, and the row of its slots with their number."""
Content = tuple[tuple[int, int], ...]
"""The rows whose slots a VM holds, and how many of each."""
Alike = tuple[int, Content]
"""How many VMs have this content."""


@dataclass(frozen=True)
class Held:
    """The whole slots of one lane's classes, one element per class and kind: of a VM ``per_vm`` host the whole.

    With ``vectors``, ``per_vm`` are keys of sizes.
    """

    vm: int
    spot: bool
    of_class: Places
    reduces: Flags
    per_vm: Places
    slots: Places
    vectors: SlotSizes | None = None

    def size(self, key: int) -> Size:
        """Return the size of a slot for a key."""
        return key if self.vectors is None else self.vectors.of(key)


@dataclass(frozen=True, eq=False)
class Packing:
    """Patterns and their entries: ``count`` VMs of type ``of_vm``, firm or ``spot``, have the same contents.

    An entry is the number of ``slots`` of the class ``of_class`` on each VM of the pattern ``of_pattern``: map (or
    stage) slots, or reduce slots if ``reduces``.
    """

    of_vm: Places
    spot: Flags
    count: Places
    of_pattern: Places
    of_class: Places
    reduces: Flags
    slots: Places

    def document(self, types: Sequence[str], names: Sequence[str], staged: Places) -> list[dict[str, Any]]:
        """Return the patterns as JSON has them."""
        rows: list[dict[str, Any]] = [
            {"vm": types[vm], "spot": spot, "count": count, "slots": {}}
            for vm, spot, count in zip(self.of_vm.tolist(), self.spot.tolist(), self.count.tolist(), strict=True)
        ]
        for pattern, name, kind, slots in self._entries(names, staged):
            held = rows[pattern]["slots"].setdefault(name, {})
            held[kind] = held.get(kind, 0) + slots
        return rows

    def table(self, types: Sequence[str], names: Sequence[str], staged: Places, most: int) -> Table:
        """Return a table of the patterns, those with the most VMs first; a reader is shown ``most``."""
        order = np.argsort(-self.count, kind="stable").tolist()
        held: dict[int, list[int]] = {pattern: [] for pattern in order}
        for entry, pattern in enumerate(self.of_pattern.tolist()):
            held[pattern].append(entry)

        def rows(part: slice) -> Iterator[tuple[Any, ...]]:
            for p in order[part]:
                vm = types[int(self.of_vm[p])] + (" spot" if self.spot[p] else "")
                on_each = (
                    f"{slots} {kind} of {name}" for _, name, kind, slots in self._entries(names, staged, held[p])
                )
                yield int(self.count[p]), vm, ", ".join(on_each)

        return Table("Packing", ("VMs", "vm", "slots on each"), Rows(len(order), rows), most=most)

    def in_tasks(self, tasks: Floats | None) -> Packing:
        """Return the packing of executors with ``tasks`` each as one of slots for tasks; None without executors."""
        if tasks is None:
            return self
        each = np.maximum(tasks, 1.0).astype(np.int64)[self.of_class]
        return replace(self, slots=np.where(self.reduces, 1, each) * self.slots)

    def machines(self) -> dict[tuple[int, bool, int], tuple[tuple[int, int, int], ...]]:
        """For each class on VMs of a type, firm or spot: how many VMs hold how many map and reduce slots of it."""
        each: dict[tuple[int, int], list[int]] = {}
        for pattern, index, reduces, slots in zip(
            self.of_pattern.tolist(), self.of_class.tolist(), self.reduces.tolist(), self.slots.tolist(), strict=True
        ):
            each.setdefault((pattern, index), [0, 0])[reduces] += slots
        found: dict[tuple[int, bool, int], dict[tuple[int, int], int]] = {}
        for (pattern, index), (maps, reduces) in each.items():
            there = found.setdefault((int(self.of_vm[pattern]), bool(self.spot[pattern]), index), {})
            there[maps, reduces] = there.get((maps, reduces), 0) + int(self.count[pattern])
        return {place: tuple((n, *slots) for slots, n in there.items()) for place, there in found.items()}

    def _entries(
        self, names: Sequence[str], staged: Places, which: Sequence[int] | slice = slice(None)
    ) -> Iterator[tuple[int, str, str, int]]:
        columns = (self.of_pattern, self.of_class, self.reduces, self.slots)
        for pattern, index, reduces, slots in zip(*(each[which].tolist() for each in columns), strict=True):
            yield pattern, names[index], KINDS[bool(staged[index])][reduces], slots


@dataclass(frozen=True)
class PackedLane:
    """The packing of one lane: the VMs that it takes, and the fewest that any could."""

    held: Held
    patterns: tuple[Part, ...]
    vms: int
    least: int


def packed(held: Held, enough: float = 0.0) -> PackedLane:
    """Return one lane's slots on the fewest VMs, or on ``enough`` of them.

    As many VMs as possible hold one class and kind; the others hold a mixture.
    """
    if not len(held.slots):
        return PackedLane(held, (), 0, 0)
    sizes, demand = sizes_of(held)
    found = pack(sizes, demand, enough)
    return PackedLane(held, assigned(held, found), found.vms, found.least)


def by_class(lanes: Sequence[Held]) -> list[Held]:
    """Return the slots of each lane, those of every class apart."""
    found = []
    for held in lanes:
        order = np.argsort(held.of_class, kind="stable")
        ends = np.flatnonzero(np.diff(held.of_class[order])) + 1
        for rows in np.split(order, ends):
            columns = (held.of_class[rows], held.reduces[rows], held.per_vm[rows], held.slots[rows])
            found.append(Held(held.vm, held.spot, *columns, held.vectors))
    return found


def sizes_of(held: Held) -> tuple[list[Size], list[int]]:
    """Return the sizes of slots, by how many of them a VM hosts, and how many slots there are of each."""
    sizes, place = np.unique(held.per_vm, return_inverse=True)
    demand = np.bincount(place, weights=held.slots, minlength=len(sizes)).astype(np.int64)
    return [held.size(key) for key in sizes.tolist()], demand.tolist()


def joined(lanes: Sequence[PackedLane]) -> Packing:
    """Return the packings of all lanes as one."""
    columns: list[list[Any]] = [[] for _ in range(7)]
    before = 0
    for lane in lanes:
        for counts, of_pattern, entries in lane.patterns:
            rows, slots = entries
            columns[0].append(np.full(len(counts), lane.held.vm))
            columns[1].append(np.full(len(counts), lane.held.spot))
            columns[2].append(counts)
            columns[3].append(of_pattern + before)
            columns[4].append(lane.held.of_class[rows])
            columns[5].append(lane.held.reduces[rows])
            columns[6].append(slots)
            before += len(counts)
    kinds = (np.int64, bool, np.int64, np.int64, np.int64, bool, np.int64)
    return Packing(
        *(np.concatenate([np.zeros(0, kind), *each]).astype(kind) for kind, each in zip(kinds, columns, strict=True))
    )


def assigned(held: Held, found: Packed) -> tuple[Part, ...]:
    """Give the patterns of sizes, in the order of :func:`sizes_of`, the slots of classes."""
    return tuple(_assigned(held, found.patterns))


def _assigned(held: Held, patterns: Sequence[tuple[int, Sequence[int]]]) -> Iterator[Part]:
    keys, place = np.unique(held.per_vm, return_inverse=True)
    sizes = np.array(units_of([held.size(key) for key in keys.tolist()]).alone, dtype=np.int64)
    left = held.slots.copy()
    alone = np.zeros(len(sizes), dtype=np.int64)
    shared: list[tuple[int, Sequence[int]]] = []
    for count, pattern in patterns:
        used = [k for k, slots in enumerate(pattern) if slots]
        if len(used) == 1 and pattern[used[0]] == sizes[used[0]]:
            alone[used[0]] += count
        else:
            shared.append((count, pattern))
    for k in range(len(sizes)):
        rows = np.flatnonzero(place == k)
        own = left[rows] // sizes[k]
        before = np.cumsum(own) - own
        own = np.clip(alone[k] - before, 0, own)
        left[rows] -= own * sizes[k]
        rows, own = rows[own > 0], own[own > 0]
        shared.append((int(alone[k] - own.sum()), [int(sizes[k]) if other == k else 0 for other in range(len(sizes))]))
        yield own, np.arange(len(own)), (rows, np.full(len(own), sizes[k]))
    yield alike(_shared(left.tolist(), place, shared))


def _shared(left: list[int], place: Places, patterns: Sequence[tuple[int, Sequence[int]]]) -> Iterator[Alike]:
    """Yield VMs that hold slots of several rows, the rows of each size one after another; ``left`` gets empty."""
    rows_of = [np.flatnonzero(place == k).tolist()[::-1] for k in range(len(patterns[0][1]) if patterns else 0)]
    for count, pattern in patterns:
        while count:
            content = []
            for rows, room in zip(rows_of, pattern, strict=True):
                for row in reversed(rows):
                    taken = min(room, left[row])
                    room -= taken
                    content += [(row, taken)] if taken else []
                    if not room:
                        break
            if not content:
                break
            times = min(count, *(left[row] // slots for row, slots in content))
            for row, slots in content:
                left[row] -= times * slots
            for rows in rows_of:
                while rows and not left[rows[-1]]:
                    rows.pop()
            count -= times
            yield times, tuple(content)


def alike(vms: Iterable[Alike]) -> Part:
    """Return the VMs that hold the same as one pattern."""
    counts: dict[Content, int] = {}
    for count, content in vms:
        counts[content] = counts.get(content, 0) + count
    entries = [(place, *entry) for place, content in enumerate(counts) for entry in content]
    columns = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    return np.array(list(counts.values()), dtype=np.int64), columns[0], (columns[1], columns[2])
