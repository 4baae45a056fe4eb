"""The demand of a capacity spec in each of its periods, and the spec of one period.

Periods with the same numbers of jobs and the same prices have the same plan, so they are planned once. ``weight`` is
how often a row of the demand occurs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.lazy import kept
from mrdsl.families.capacity.facts import CapacityFacts, SavingsPlan, VmType
from mrdsl.families.capacity.market import ON_DEMAND, market_of
from mrdsl.families.capacity.periods.comparisons import of_each_period, of_sums
from mrdsl.families.capacity.periods.table import demand_of, prices_by_period, with_prices_of
from mrdsl.formulas.pairs import slot_sizes
from mrdsl.model.market import contracts_of
from mrdsl.spec.blocks import Reserved
from mrdsl.spec.schema import Range
from mrdsl.spec.spec import Spec

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Periods:
    """The periods of a spec.

    Attributes:
        low: Least whole jobs of each class, shape (plans, classes).
        expected: Expected whole jobs of each class, shape (plans, classes).
        plan_of: The plan of each period, shape (periods,).
        weight: How often each period occurs, shape (periods,).
        first: The first period of each plan, counted from 0, shape (plans,).
    """

    low: Floats
    expected: Floats
    plan_of: Ints
    weight: Floats
    first: Ints

    @property
    def weights(self) -> Floats:
        """How often each plan is used, shape (plans,)."""
        return np.asarray(np.bincount(self.plan_of, weights=self.weight, minlength=len(self.low)), dtype=np.float64)


def periods_of(spec: Spec) -> Periods:
    """Return the periods of a spec that has passed its checks."""
    return kept(spec, "periods", lambda: _periods_of(spec))


def _periods_of(spec: Spec) -> Periods:
    low, expected, weight = demand_of(spec)
    prices = [each[:, None] for each in prices_by_period(spec).values()]
    rows = np.hstack([low, expected, *prices])
    if of_sums(spec):  # equal periods may differ in their parts of a sum
        first = plan_of = np.arange(len(rows), dtype=np.int64)
    else:
        _, first, plan_of = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return Periods(low[first], expected[first], np.asarray(plan_of, dtype=np.int64).reshape(-1), weight, first)


Contract = tuple[str, str]
"""The names of a VM type and of one of its contracts, which is empty for the one without a name; "" and a savings plan.
"""


@dataclass(frozen=True)
class Committable:
    """A contract or savings plan of which the plan chooses how much to commit to.

    Attributes:
        price: The price of one VM [money/s]; of a savings plan, that of one unit of money per period.
        available: The most VMs, or money per period.
        whole: The number is whole.
    """

    price: float
    available: float
    whole: bool = True


def commitments_of(facts: CapacityFacts) -> dict[Contract, Committable]:
    """Return what can be committed to: all contracts but those that are prepaid, and savings plans."""
    terms = [(vm.name, term) for vm in facts.vms for term in contracts_of(vm) if term.prepaid == "no"]
    found = {(vm, term.name): Committable(term.price, float(term.available)) for vm, term in terms}
    for each in facts.savings_plans:
        most = np.inf if each.available is None else each.available * facts.period
        found["", each.name] = Committable(1.0 / facts.period, most, whole=False)
    return found


@dataclass(frozen=True)
class Covered:
    """A VM type that a savings plan pays for: the price of one VM for a period, on demand and discounted."""

    plan: str
    vm: str
    price: float
    discounted: float


Prices = Mapping[tuple[str, str], float]
"""Prices of a period by VM type and way of renting [money/s]; the others are those of the spec."""


def prices_of(spec: Spec, number: int) -> Prices:
    """Return the prices that a plan has from the table."""
    first = int(periods_of(spec).first[number])
    return {key: float(values[first]) for key, values in prices_by_period(spec).items()}


def covered_types(facts: CapacityFacts, prices: Prices) -> tuple[Covered, ...]:
    """Return the VM types of all savings plans in the order of the bill.

    Of plans that share types, the one with fewer types pays first, then the one that the spec has first. A plan pays
    for the types with its largest discount first. A type that a narrower plan does not pay for in full is left to a
    wider one. Checks make sure that no other order is cheaper.
    """
    found = []
    for number, each in enumerate(facts.savings_plans):
        own, types = {on.name: on.discount for on in each.on}, types_of(facts, each)
        for vm in facts.vms:
            if vm.name in types:
                now = prices.get((vm.name, ON_DEMAND), vm.on_demand.price)
                off, price = own.get(vm.name, each.discount), now * facts.period
                covered = Covered(each.name, vm.name, price, (1.0 - off) * price)
                found.append(((len(types), number, -off), covered))
    return tuple(covered for _, covered in sorted(found, key=lambda each: each[0]))


def types_of(facts: CapacityFacts, plan: SavingsPlan) -> tuple[str, ...]:
    """Return the names of the VM types of a savings plan."""
    return plan.types or tuple(vm.name for vm in facts.vms)


def spec_of_period(spec: Spec, number: int, committed: Mapping[Contract, float] | None = None) -> Spec:
    """Return the spec of one period, in which committed VMs cost nothing but their fee.

    Args:
        spec: The spec with a demand.
        number: The number of the plan.
        committed: The VMs of each contract; by default as many as there can be.

    Returns:
        A spec without a demand.
    """
    periods = periods_of(spec)
    base = rented(with_prices_of(spec, int(periods.first[number])) if prices_by_period(spec) else spec, committed)
    low, expected = periods.low[number].tolist(), periods.expected[number].tolist()
    classes = tuple(
        replace(node, jobs=Range(least, most))
        for node, least, most in zip(base.facts.classes, low, expected, strict=True)
    )
    facts = replace(base.facts, classes=classes)
    kept(facts, "slot_sizes", lambda: slot_sizes(base.facts))  # which do not depend on jobs
    kept(facts, "market", lambda: market_of(base.facts))
    return replace(base, facts=facts)


def rented(spec: Spec, committed: Mapping[Contract, float] | None = None) -> Spec:
    """Return the spec without its demand, in which committed VMs cost nothing but their fee."""
    return kept(
        spec, f"rented {None if committed is None else sorted(committed.items())}", lambda: _rented(spec, committed)
    )


def _rented(spec: Spec, committed: Mapping[Contract, float] | None) -> Spec:
    facts: CapacityFacts = spec.facts

    def free(vm: VmType, term: Reserved | None) -> Reserved | None:
        if term is None or term.prepaid == "yes":
            return term
        count = term.available if committed is None else int(committed.get((vm.name, term.name), 0))
        return replace(term, price=0.0, available=count)

    vms = tuple(
        replace(vm, reserved=free(vm, vm.reserved), terms=tuple(filter(None, (free(vm, term) for term in vm.terms))))
        for vm in facts.vms
    )
    facts = replace(facts, vms=vms, demand=None, savings_plans=())
    return replace(spec, facts=facts, constraints=of_each_period(spec))
