"""What VMs cost and how many there are, read from the facts for verification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from mrdsl.families.capacity.facts import CapacityFacts
from mrdsl.families.capacity.plan import CapacityPlan

Way = tuple[str, str, str]
"""A VM type, a way of buying, and the name of the contract, if it has one."""


@dataclass(frozen=True)
class Offered:
    """The price of one VM for a period, fee included, and how many there are."""

    price: float
    available: float = inf


def offered(facts: CapacityFacts) -> Mapping[Way, Offered]:
    """Read every way of buying a VM: a contract that is paid in any case costs the fee alone."""
    found: dict[Way, Offered] = {}
    for vm in facts.vms:
        found[vm.name, "on_demand", ""] = Offered(facts.period * (vm.on_demand.price + vm.fee))
        if vm.spot is not None:
            found[vm.name, "spot", ""] = Offered(facts.period * (vm.spot.price + vm.fee))
        contracts = [("", vm.reserved)] if vm.reserved is not None else []
        for name, contract in (*contracts, *((term.name, term) for term in vm.terms)):
            price = vm.fee if contract.paid == "yes" else contract.price + vm.fee
            found[vm.name, "reserved", name] = Offered(facts.period * price, float(contract.available))
    return found


def paid_in_any_case(facts: CapacityFacts) -> float:
    """Compute what contracts cost that are paid whether or not their VMs are used."""
    contracts = [each for vm in facts.vms for each in ((vm.reserved, *vm.terms) if vm.reserved else vm.terms)]
    return facts.period * sum(each.price * each.available for each in contracts if each.paid == "yes")


def vms_of(facts: CapacityFacts, plan: CapacityPlan) -> Mapping[Way, float]:
    """Count the VMs of a plan by type and way of buying."""
    if plan.mix is None:
        name = facts.vms[0].name
        return {(name, "on_demand", ""): plan.on_demand, (name, "reserved", ""): plan.reserved}
    return {(each.vm, each.way, each.term): each.vms for each in plan.mix.bought}


def vm_cost(facts: CapacityFacts, plan: CapacityPlan, vm: str | None = None) -> float:
    """Compute what the VMs of a plan, or those of one type, cost for one period."""
    prices = offered(facts)
    return sum(
        count * prices[way].price for way, count in vms_of(facts, plan).items() if count and vm in (None, way[0])
    )
