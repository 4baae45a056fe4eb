"""Ways of buying VMs and their prices, for every family that rents."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

from mrdsl.model.ledger import ON_DEMAND, RESERVED, SPOT
from mrdsl.spec.blocks import Reserved
from mrdsl.spec.columns import column, names_of
from mrdsl.spec.rented import RentedVm


@dataclass(frozen=True)
class Offer:
    """A way of buying VMs of a type: the price of one, with its fee and its disk [1/s], and how many there are.

    ``term`` names one of several contracts.
    """

    way: str
    price: float
    available: float = inf
    term: str = ""


def offers_of(vm: RentedVm) -> list[Offer]:
    """Return the ways of buying a VM type: on demand, contracts, and spot; prepaid VMs cost the fee and the disk."""
    added = added_price(vm)
    found = [Offer(ON_DEMAND, vm.on_demand.price + added)]
    for term in contracts_of(vm):
        price = (0.0 if term.prepaid == "yes" else term.price) + added
        found.append(Offer(RESERVED, price, float(term.available), term.name))
    return found if vm.spot is None else [*found, Offer(SPOT, vm.spot.price + added)]


def added_price(vm: RentedVm) -> float:
    """Return what each VM of a type costs beyond its own price [1/s]: the fee and its disk."""
    return vm.fee + (0.0 if vm.disk is None else vm.disk.size * vm.disk.price)


def contracts_of(vm: RentedVm) -> tuple[Reserved, ...]:
    """Return every long contract of a type."""
    return (*(() if vm.reserved is None else (vm.reserved,)), *vm.terms)


def prepaid_price(vm: RentedVm) -> float:
    """Return the price of all prepaid VMs of a type, used or not [1/s]."""
    return sum(term.price * term.available for term in contracts_of(vm) if term.prepaid == "yes")


def masters_of(facts: Any) -> list[float]:
    """Return the number of masters of each VM type."""
    found: list[float] = column(facts.vms, "masters", missing=0.0).tolist()
    own = getattr(facts, "master", None)
    if own is not None:
        found[list(names_of(facts.vms)).index(own.vm)] += own.count
    return found
