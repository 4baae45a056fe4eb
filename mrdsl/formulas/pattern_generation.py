"""Patterns of slots on a VM that are worth having, where there are too many to write all of them down.

Column generation of Gilmore and Gomory (1961, 1963): the linear program over the patterns known so far prices a slot of
each size; a VM whose slots are worth more than 1 at these prices is a pattern to add, found by a knapsack. Where there
is none, the program's value is that over all patterns, and rounded up a lower bound on the VMs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, inf, lcm

from mrdsl.core.tolerances import FEASIBILITY, ROUNDING

ROUNDS = 200
MOST_LOOKED_AT = 20_000
"""So many contents are looked at for the one that is worth most; where that is not all, nothing is proven."""

Counts = tuple[int, ...]
Room = tuple[int, ...]
Size = int | tuple[Fraction, ...]
"""How many slots of the size a VM hosts, or the part of each of its resources that one takes."""


@dataclass(frozen=True)
class Units:
    """Sizes in whole units: a VM has ``wholes`` of each resource, of which a slot of the size k takes ``parts[k]``.

    A resource of which no slot takes more than of another is left out.
    """

    wholes: Room
    parts: tuple[Room, ...]

    @cached_property
    def alone(self) -> Counts:
        """How many slots of each size a VM hosts that hosts nothing else."""
        return tuple(fitting_in(self.wholes, part) for part in self.parts)

    @cached_property
    def by_size(self) -> list[int]:
        """The sizes, the largest first: those that take the most of the resource of which they take most."""
        largest = [max(Fraction(p, w) for p, w in zip(part, self.wholes, strict=True)) for part in self.parts]
        return sorted(range(len(self.parts)), key=lambda k: -largest[k])

    def least(self, slots: Sequence[int]) -> int:
        """The VMs that the parts of slots add up to, of the resource that they fill most."""
        return max(-(-each // whole) for each, whole in zip(self.taken(slots), self.wholes, strict=True))

    def taken(self, slots: Sequence[int]) -> Room:
        """The units that slots take."""
        rows = zip(*self.parts, strict=True)
        return tuple(sum(part * count for part, count in zip(row, slots, strict=True)) for row in rows)

    def weights(self, slots: Sequence[int]) -> Room:
        """What a unit of each resource counts where slots ask for so many of each."""
        if len(self.wholes) == 1:
            return (1,)
        taken, wholes = self.taken(slots), self.wholes
        return taken[0] * wholes[1] * wholes[1], taken[1] * wholes[0] * wholes[0]


def units_of(sizes: Sequence[Size]) -> Units:
    """Write sizes in whole units."""
    count = max((len(size) for size in sizes if not isinstance(size, int)), default=1)
    rows = [
        [Fraction(1, size) if isinstance(size, int) else size[resource] for size in sizes] for resource in range(count)
    ]
    kept = [
        row
        for place, row in enumerate(rows)
        if not any(
            all(a <= b for a, b in zip(row, other, strict=True)) and (row != other or there < place)
            for there, other in enumerate(rows)
            if there != place
        )
    ]
    wholes = tuple(lcm(*(part.denominator for part in row)) for row in kept)
    parts = [[int(part * whole) for part in row] for row, whole in zip(kept, wholes, strict=True)]
    return Units(wholes, tuple(zip(*parts, strict=True)))


def fitting_in(room: Room, part: Room) -> int:
    """How many slots fit what is free of each resource."""
    return min(free // each for free, each in zip(room, part, strict=True) if each)


def without(room: Room, part: Room, count: int) -> Room:
    """What so many slots leave free."""
    return tuple(free - count * each for free, each in zip(room, part, strict=True))


@dataclass(frozen=True)
class Generated:
    """Patterns, and a lower bound on the VMs that hold the slots; 0 where none is known."""

    patterns: tuple[Counts, ...]
    least: int


def generated_patterns(sizes: Sequence[Size], slots: Sequence[int]) -> Generated:
    """Those that the relaxed cutting-stock problem of these slots asks for, with VMs full of one size among them."""
    import numpy as np
    from scipy.optimize import linprog

    count = len(sizes)
    patterns: dict[Counts, None] = {
        tuple(size if other == place else 0 for other in range(count)): None
        for place, size in enumerate(units_of(sizes).alone)
    }
    for _ in range(ROUNDS):
        columns = np.array(list(patterns), dtype=float).T
        found = linprog(np.ones(len(patterns)), A_ub=-columns, b_ub=-np.array(slots, dtype=float), method="highs")
        prices = np.maximum(-found.ineqlin.marginals, 0.0)
        pattern, value, proven = dearest(sizes, prices.tolist())
        if value <= 1.0 + ROUNDING:
            least = ceil(float(found.fun) * (1.0 - FEASIBILITY)) if proven else 0
            return Generated(tuple(patterns), least)
        patterns[pattern] = None
    return Generated(tuple(patterns), 0)


def dearest(sizes: Sequence[Size], prices: Sequence[float]) -> tuple[Counts, float, bool]:
    """The content of a VM that is worth most where a slot of each size has a price; and whether that is proven.

    An integer knapsack of one or two resources, by depth first: sizes by what a whole VM of them is worth. What is left
    of any resource is worth no more than of the size whose slots are worth most for what they take of it.
    """
    units = units_of(sizes)
    wholes, parts = units.wholes, units.parts
    order = sorted((k for k in range(len(sizes)) if prices[k] > 0.0), key=lambda k: -prices[k] * units.alone[k])
    pattern, best, most, looked = [0] * len(sizes), (0,) * len(sizes), 0.0, 0
    dear = [
        [max((_worth(prices[k], parts[k][r]) for k in order[depth:]), default=0.0) for r in range(len(wholes))]
        for depth in range(len(order) + 1)
    ]

    def look(depth: int, room: Room, worth: float) -> None:
        nonlocal best, most, looked
        looked += 1
        if worth > most:
            best, most = tuple(pattern), worth
        if depth == len(order) or looked > MOST_LOOKED_AT:
            return
        place = order[depth]
        left = min(free * each if each < inf else inf for free, each in zip(room, dear[depth], strict=True))
        if worth + left <= most * (1.0 + ROUNDING):
            return
        for count in range(fitting_in(room, parts[place]), -1, -1):
            pattern[place] = count
            look(depth + 1, without(room, parts[place], count), worth + count * prices[place])
        pattern[place] = 0

    look(0, wholes, 0.0)
    return best, most, looked <= MOST_LOOKED_AT


def _worth(price: float, part: int) -> float:
    return price / part if part else inf
