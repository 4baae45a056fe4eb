"""Patterns of slots on a VM that are worth having, where there are too many to write all of them down.

Column generation of Gilmore and Gomory (1961, 1963): the linear program over the patterns known so far prices a slot of
each size; a VM whose slots are worth more than 1 at these prices is a pattern to add, found by a knapsack. Where there
is none, the program's value is that over all patterns, and rounded up a lower bound on the VMs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, lcm

from mrdsl.core.tolerances import FEASIBILITY, ROUNDING

ROUNDS = 200
MOST_LOOKED_AT = 20_000
"""So many contents are looked at for the one that is worth most; where that is not all, nothing is proven."""

Counts = tuple[int, ...]


@dataclass(frozen=True)
class Generated:
    """Patterns, and a lower bound on the VMs that hold the slots; 0 where none is known."""

    patterns: tuple[Counts, ...]
    least: int


def generated_patterns(sizes: Sequence[int], slots: Sequence[int]) -> Generated:
    """Those that the relaxed cutting-stock problem of these slots asks for, with VMs full of one size among them."""
    import numpy as np
    from scipy.optimize import linprog

    count = len(sizes)
    patterns: dict[Counts, None] = {
        tuple(size if other == place else 0 for other in range(count)): None for place, size in enumerate(sizes)
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


def dearest(sizes: Sequence[int], prices: Sequence[float]) -> tuple[Counts, float, bool]:
    """The content of a VM that is worth most where a slot of each size has a price; and whether that is proven.

    An integer knapsack, by depth first: sizes by what a whole VM of them is worth, which bounds what is left.
    """
    whole = lcm(*sizes)
    parts = [whole // size for size in sizes]
    order = sorted((k for k in range(len(sizes)) if prices[k] > 0.0), key=lambda k: -prices[k] * sizes[k])
    pattern, best, most, looked = [0] * len(sizes), (0,) * len(sizes), 0.0, 0

    def look(depth: int, room: int, worth: float) -> None:
        nonlocal best, most, looked
        looked += 1
        if worth > most:
            best, most = tuple(pattern), worth
        if depth == len(order) or looked > MOST_LOOKED_AT:
            return
        place = order[depth]
        if worth + room / whole * prices[place] * sizes[place] <= most * (1.0 + ROUNDING):
            return
        for count in range(room // parts[place], -1, -1):
            pattern[place] = count
            look(depth + 1, room - count * parts[place], worth + count * prices[place])
        pattern[place] = 0

    look(0, whole, 0.0)
    return best, most, looked <= MOST_LOOKED_AT
