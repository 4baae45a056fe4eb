"""Whole slots on whole VMs: a VM holds slots of several kinds whose parts of it are no more than 1 together.

A slot of which a VM hosts c takes 1/c of it; a container takes parts of its cores and of its memory, which both have
to fit (vector packing). Slots fall into *sizes*, by c or by these parts, and a VM's content is a *pattern*:
how many slots of each size. The fewest VMs for given numbers of slots are a cutting-stock problem (Gilmore and Gomory
1961, *A linear programming approach to the cutting-stock problem*). The sum of the parts, rounded up, is a lower bound
which is not always reached: 1/2 + 2/3 + 4/5 = 59/30 do not fit two VMs.

Where each c divides the next, filling VMs by the largest slots first always reaches it. Where it does not, VMs are
filled as far as they can be, one after another, and where that does not either, patterns are tried as whole numbers in
a small integer program, whose columns are all patterns to which no slot can be added, or where those are too many, what
:mod:`mrdsl.formulas.pattern_generation` finds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

from mrdsl.core.tolerances import FEASIBILITY
from mrdsl.formulas.pattern_generation import Room, Size, Units, fitting_in, generated_patterns, units_of, without

MOST_PATTERNS = 5_000
"""With more patterns than these the integer program has those that are generated, and proves nothing."""
MOST_NODES = 2_000

MOST_LOOKED_AT = 2_000
"""So many contents are looked at for the fullest VM."""

Counts = tuple[int, ...]
Fill = Callable[[Units, Sequence[int]], Counts]


@dataclass(frozen=True)
class Packed:
    """``patterns``: how many VMs hold how many slots of each size; no fewer than ``least`` VMs hold all slots."""

    patterns: tuple[tuple[int, Counts], ...]
    least: int

    @property
    def vms(self) -> int:
        """The VMs that are used."""
        return sum(count for count, _ in self.patterns)


def pack(sizes: Sequence[Size], slots: Sequence[int], enough: float = 0.0) -> Packed:
    """The fewest VMs for ``slots[k]`` slots of the size ``sizes[k]``, as far as can be proven; or ``enough`` VMs."""
    units = units_of(sizes)
    lower = units.least(slots)
    enough = max(lower, enough)
    found = Packed(_filled(units, slots, _largest_first), lower)
    if found.vms > enough:
        found = min(found, Packed(_filled(units, slots, _fullest), lower), key=lambda each: each.vms)
    if found.vms <= enough:
        return found
    patterns = maximal_patterns(sizes, MOST_PATTERNS)
    if patterns is not None:
        return _by_patterns(sizes, slots, patterns, found)
    generated = generated_patterns(sizes, slots)
    found = Packed(found.patterns, min(found.vms, max(lower, generated.least)))
    if found.vms == found.least:
        return found
    some = _by_patterns(sizes, slots, (*generated.patterns, *(pattern for _, pattern in found.patterns)), found)
    return Packed(some.patterns, found.least)


def of_one_class(slots: tuple[int, int], per_vm: tuple[int, int]) -> tuple[tuple[int, int, int], ...]:
    """The fewest VMs for the map and reduce slots of one class: how many, with how many of each.

    VMs full of either kind leave less than a VM of each; both together fit one VM, or take two and more than one. So
    there are as many VMs as the parts that slots take, rounded up: of one class alone nothing is lost by packing.
    """
    full = [count // size for count, size in zip(slots, per_vm, strict=True)]
    left = [count % size for count, size in zip(slots, per_vm, strict=True)]
    fits = units_of(per_vm).least(left) <= 1
    rest = [(1, left[0], left[1])] if fits else [(1, left[0], 0), (1, 0, left[1])]
    found = [(full[0], per_vm[0], 0), (full[1], 0, per_vm[1]), *rest]
    return tuple(each for each in found if each[0] and (each[1] or each[2]))


def maximal_patterns(sizes: Sequence[Size], most: int) -> tuple[Counts, ...] | None:
    """Every pattern to which no slot of any size can be added; None where there are more than ``most``."""
    units = units_of(sizes)
    order = units.by_size  # the smallest slots last: they fill what is left
    found: list[Counts] = []
    pattern = [0] * len(sizes)

    def fill(place: int, left: Room) -> bool:
        part = units.parts[order[place]]
        fitting = fitting_in(left, part)
        if place == len(order) - 1:
            pattern[order[place]] = fitting
            found.append(tuple(pattern))
            return len(found) <= most
        for count in range(fitting, -1, -1):
            pattern[order[place]] = count
            if not fill(place + 1, without(left, part, count)):
                return False
        return True

    return tuple(found) if fill(0, units.wholes) else None


def _filled(units: Units, slots: Sequence[int], fill: Fill) -> tuple[tuple[int, Counts], ...]:
    """VMs full of slots of one size; what is left over goes on VM after VM, each filled as ``fill`` has it."""
    found: list[tuple[int, Counts]] = []
    left = list(slots)
    if len(units.wholes) == 1:
        for place, size in enumerate(units.alone):
            if left[place] >= size and size * units.parts[place][0] == units.wholes[0]:
                alone = tuple(size if other == place else 0 for other in range(len(left)))
                found.append((left[place] // size, alone))
                left[place] %= size
    while any(left):
        pattern = fill(units, left)
        times = min(there // taken for there, taken in zip(left, pattern, strict=True) if taken)
        found.append((times, pattern))
        left = [there - times * taken for there, taken in zip(left, pattern, strict=True)]
    return tuple(found)


def _largest_first(units: Units, left: Sequence[int]) -> Counts:
    """The content of one VM: the largest slots first."""
    room, pattern = units.wholes, [0] * len(left)
    for place in units.by_size:
        pattern[place] = min(left[place], fitting_in(room, units.parts[place]))
        room = without(room, units.parts[place], pattern[place])
    return tuple(pattern)


def _fullest(units: Units, left: Sequence[int]) -> Counts:
    """The content of one VM that leaves least of it free, of those with the most of the largest slots.

    Of two resources, what is free of each counts by how much of it all that is left over asks for.
    """
    order = [place for place in units.by_size if left[place]]
    weights = units.weights(left)
    best = _largest_first(units, left)

    def free(room: Room) -> int:
        return sum(weight * each for weight, each in zip(weights, room, strict=True))

    least = free(units.wholes) - sum(n * free(units.parts[place]) for place, n in enumerate(best))
    pattern, looked = [0] * len(left), 0

    def look(depth: int, room: Room) -> None:
        nonlocal best, least, looked
        looked += 1
        if (now := free(room)) < least:
            best, least = tuple(pattern), now
        if depth == len(order) or not least or looked > MOST_LOOKED_AT:
            return
        place = order[depth]
        part = units.parts[place]
        for count in range(min(left[place], fitting_in(room, part)), -1, -1):
            pattern[place] = count
            look(depth + 1, without(room, part, count))
        pattern[place] = 0

    look(0, units.wholes)
    return best


def _by_patterns(sizes: Sequence[Size], slots: Sequence[int], patterns: Sequence[Counts], known: Packed) -> Packed:
    """The least number of VMs by the integer program over patterns; ``known`` where it finds none with fewer."""
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp

    found = milp(
        np.ones(len(patterns)),
        constraints=LinearConstraint(np.array(patterns, dtype=float).T, np.array(slots, dtype=float), np.inf),
        integrality=np.ones(len(patterns)),
        bounds=Bounds(0, float(known.vms)),
        options={"node_limit": MOST_NODES, "mip_rel_gap": 0.0},
    )
    bound = (
        known.least
        if found.mip_dual_bound is None
        else max(known.least, ceil(found.mip_dual_bound * (1.0 - FEASIBILITY)))
    )
    if found.x is None:
        return Packed(known.patterns, min(bound, known.vms))
    cut = without_surplus([(round(n), p) for n, p in zip(found.x.tolist(), patterns, strict=True) if round(n)], slots)
    best = min(cut or known.patterns, known.patterns, key=lambda each: sum(count for count, _ in each))
    return Packed(best, min(bound, sum(count for count, _ in best)))


def without_surplus(
    patterns: Sequence[tuple[int, Counts]], slots: Sequence[int]
) -> tuple[tuple[int, Counts], ...] | None:
    """The patterns with as many slots in all as there are, not more; None where they do not hold all."""
    left = list(slots)
    found: list[tuple[int, Counts]] = []
    for count, pattern in patterns:
        while count:
            used = tuple(min(each, there) for each, there in zip(pattern, left, strict=True))
            if not any(used):
                break
            times = min([count, *(there // each for each, there in zip(used, left, strict=True) if each)])
            found.append((times, used))
            left = [there - times * each for there, each in zip(left, used, strict=True)]
            count -= times
    return None if any(left) else tuple(found)
