"""Prices and numbers of VMs, read from the input data for verification."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import translate
from math import inf

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.lazy import kept
from mrdsl.core.rounding import FEASIBILITY
from mrdsl.families.capacity.facts import CapacityFacts, Quota
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.spec.columns import column, names_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Way = tuple[str, str, str]
"""A VM type, a way of buying, and the name of the contract, if it has one."""


@dataclass(frozen=True)
class Offered:
    """The price of one VM for a period, fee included, and how many there are."""

    price: float
    available: float = inf


def offered(facts: CapacityFacts) -> Mapping[Way, Offered]:
    """Read every way of buying a VM: a contract that is paid in any case costs the fee alone."""
    return kept(facts, "offered", lambda: _offered(facts))


def _offered(facts: CapacityFacts) -> Mapping[Way, Offered]:
    found: dict[Way, Offered] = {}
    for vm in facts.vms:
        more = vm.fee if vm.disk is None else vm.fee + vm.disk.price * vm.disk.size
        found[vm.name, "on_demand", ""] = Offered(facts.period * (vm.on_demand.price + more))
        if vm.spot is not None:
            found[vm.name, "spot", ""] = Offered(facts.period * (vm.spot.price + more))
        contracts = [("", vm.reserved)] if vm.reserved is not None else []
        for name, contract in (*contracts, *((term.name, term) for term in vm.terms)):
            price = more if contract.prepaid == "yes" else contract.price + more
            found[vm.name, "reserved", name] = Offered(facts.period * price, float(contract.available))
    return found


def masters(facts: CapacityFacts) -> list[int]:
    """Count the masters of each VM type."""
    named = {} if facts.master is None else {facts.master.vm: facts.master.count}
    return [vm.masters + named.get(vm.name, 0) for vm in facts.vms]


def cost_of_masters(facts: CapacityFacts, plan: CapacityPlan) -> float:
    """Compute the cost of the masters, the cheapest firm VMs of their types in the plan, for one period."""
    cost, offers, bought = 0.0, offered(facts), vms_of(plan)
    for vm, number in zip(facts.vms, masters(facts), strict=True):
        left = float(number)
        firm = [way for way in offers if way[0] == vm.name and way[1] != "spot"]
        for way in sorted(firm, key=lambda way: offers[way].price):
            count = min(left, bought.get(way, 0.0))
            cost, left = cost + count * offers[way].price, left - count
    return cost


def lacking_disks(facts: CapacityFacts, plan: CapacityPlan) -> tuple[float, float] | None:
    """Return the data that the disks of firm VMs hold, masters left out, and that of HDFS [B]; None if it fits."""
    if facts.hdfs is None:
        return None
    wanted, bought = facts.hdfs.data * facts.hdfs.replication, vms_of(plan)
    held = 0.0
    for vm, count in zip(facts.vms, masters(facts), strict=True):
        firm = sum(number for way, number in bought.items() if way[0] == vm.name and way[1] != "spot")
        held += 0.0 if vm.disk is None else vm.disk.size * (firm - count)
    return None if held >= wanted * (1.0 - FEASIBILITY) else (held, wanted)


def beyond_core_quotas(facts: CapacityFacts, plan: CapacityPlan) -> Iterator[tuple[Quota, float]]:
    """Yield the quotas of which a plan rents more cores, with these cores."""
    cores = {vm.name: vm.cores or 0.0 for vm in facts.vms} if len(facts.quotas) else {}
    for quota in facts.quotas:
        patterns = [re.compile(translate(each)) for each in quota.types]
        used = 0.0
        for (vm, way, _), count in vms_of(plan).items():
            named = not (patterns or quota.families) or vm in quota.types or any(each.match(vm) for each in patterns)
            named = named or any(re.fullmatch(f"{re.escape(each)}([\\W\\d_].*)?", vm) for each in quota.families)
            if named and (way == "spot") == (quota.spot == "yes"):
                used += count * cores[vm]
        if used > quota.cores + FEASIBILITY * max(1.0, quota.cores):
            yield quota, used


def cost_of_disks(facts: CapacityFacts, plan: CapacityPlan) -> float:
    """Compute the cost of the disks of all rented VMs for one period."""
    priced = {vm.name: vm.disk.price * vm.disk.size for vm in facts.vms if vm.disk is not None}
    return facts.period * sum(count * priced.get(way[0], 0.0) for way, count in vms_of(plan).items())


def cost_of_transfer(facts: CapacityFacts, plan: CapacityPlan) -> float:
    """Compute the cost of the data that admitted jobs move."""
    if facts.transfer is None:
        return 0.0
    each = [np.nan_to_num(column(facts.classes, f"transfer.{way}")) for way in ("input", "output")]
    prices = facts.transfer.input or 0.0, facts.transfer.output or 0.0
    return float((each[0] * prices[0] + each[1] * prices[1]) @ plan.admitted)


def paid_in_any_case(facts: CapacityFacts) -> float:
    """Compute the cost of prepaid contracts, whether or not their VMs are used."""
    contracts = [each for vm in facts.vms for each in ((vm.reserved, *vm.terms) if vm.reserved else vm.terms)]
    return facts.period * sum(each.price * each.available for each in contracts if each.prepaid == "yes")


def vms_of(plan: CapacityPlan) -> Mapping[Way, float]:
    """Count the VMs of a plan by type and way of buying."""
    return {(each.vm, each.way, each.term): each.vms for each in plan.mixture.bought}


def vm_cost(facts: CapacityFacts, plan: CapacityPlan, vm: str | None = None) -> float:
    """Compute the cost of the VMs of a plan, or those of one type, for one period; without VMs that are not offered."""
    bought = vms_of(plan)
    return sum(bought.get(way, 0.0) * offer.price for way, offer in offered(facts).items() if vm in (None, way[0]))


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
