"""The ledger of a plan of one period, and costs beside it, read from the input data for verification."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mrdsl.families.capacity.facts import CapacityFacts
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.model.check import masters_of, offers_of
from mrdsl.model.ledger import Ledger, Placements, Rental
from mrdsl.spec.columns import column, names_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def rentals_of(facts: CapacityFacts, plan: CapacityPlan) -> list[Rental]:
    """Return the VMs of a plan, for one period."""
    bought = plan.mixture.bought
    return [
        Rental(each.vm, each.vms, 0.0, facts.period, each.way, each.term)
        for each in bought
        if each.vms != 0.0 or each.term
    ]


def ledger_of(facts: CapacityFacts, plan: CapacityPlan) -> Ledger:
    """Return the ledger of a plan whose VMs are in the ways of the spec: masters are the cheapest firm ones."""
    mix, offers, left = plan.mixture, offers_of(facts), {name: float(n) for name, n in masters_of(facts).items()}
    rentals: list[Rental] = []
    for each in sorted(rentals_of(facts, plan), key=lambda each: offers[each.bought].price if left else 0.0):
        part = 0.0 if each.spot else max(0.0, min(left.get(each.vm, 0.0), each.count))
        if part > 0.0:
            left[each.vm] -= part
            rentals.append(each.of(part, master=True))
        rentals.append(each.of(each.count - part))
    managed = [(0.0, facts.period)] if left else []
    return Ledger(rentals, Placements(mix.of_class, mix.of_vm, mix.spot, mix.vms), managed=managed)


def cost_of_transfer(facts: CapacityFacts, plan: CapacityPlan) -> float:
    """Compute the cost of the data that admitted jobs move."""
    if facts.transfer is None:
        return 0.0
    each = [np.nan_to_num(column(facts.classes, f"transfer.{way}")) for way in ("input", "output")]
    prices = facts.transfer.input or 0.0, facts.transfer.output or 0.0
    return float((each[0] * prices[0] + each[1] * prices[1]) @ plan.admitted)


def at_most_one(facts: CapacityFacts, of_class: Ints, of_place: Ints, taken: Floats, places: int) -> Floats:
    """Add up what rows take at each place, shape (resources, places).

    Of the classes of a ``never_together`` block one runs at a time: the one that takes most there counts.

    Args:
        facts: The facts of the spec.
        of_class: The class of each row.
        of_place: The place of each row.
        taken: What each row takes, shape (resources, rows).
        places: The number of places.
    """
    names = list(names_of(facts.classes)) if len(facts.never_together) else []
    found, alone = np.zeros((len(taken), places)), np.ones(len(of_class), dtype=bool)
    for group in facts.never_together:
        most = np.zeros_like(found)
        for name in group.classes:
            mine = of_class == names.index(name)
            alone &= ~mine
            most = np.maximum(most, [np.bincount(of_place[mine], weights=row[mine], minlength=places) for row in taken])
        found += most
    return found + [np.bincount(of_place[alone], weights=row[alone], minlength=places) for row in taken]
