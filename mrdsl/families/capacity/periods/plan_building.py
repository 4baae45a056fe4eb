"""The plan for given commitments and plans of single periods."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mrdsl.families.capacity.facts import CapacityFacts
from mrdsl.families.capacity.market import ON_DEMAND
from mrdsl.families.capacity.periods.demand import Contract, commitments_of, covered_types, periods_of
from mrdsl.families.capacity.periods.plan import Commitment, PeriodsPlan, Savings, bought
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.spec.spec import Spec


def plan_of_periods(spec: Spec, committed: Mapping[Contract, float], plans: tuple[CapacityPlan, ...]) -> PeriodsPlan:
    """Return the plan with these commitments and these plans of periods.

    Args:
        spec: The spec.
        committed: The VMs of each contract, and the money per period of each savings plan.
        plans: The plans of the different periods.
    """
    facts: CapacityFacts = spec.facts
    periods = periods_of(spec)
    terms = commitments_of(facts)
    return PeriodsPlan(
        committed=tuple(
            Commitment(vm, name, committed[vm, name], term.price) for (vm, name), term in terms.items() if term.whole
        ),
        savings=tuple(
            Savings(name, committed[vm, name] / facts.period) for (vm, name), term in terms.items() if not term.whole
        ),
        plans=plans,
        discounts=np.array([_discount(facts, committed, each) for each in plans]),
        plan_of=periods.plan_of,
        weight=periods.weight,
        period=facts.period,
        whole=plans[0].whole,
    )


def _discount(facts: CapacityFacts, committed: Mapping[Contract, float], plan: CapacityPlan) -> float:
    """Return the price on demand of the VMs that savings plans pay for in a period, largest discounts first."""
    left, total = dict(committed), 0.0
    for each in covered_types(facts):
        vms = bought(plan, ON_DEMAND, each.vm)
        vms = min(vms, left["", each.plan] / each.discounted) if each.discounted else vms
        left["", each.plan] -= vms * each.discounted
        total += vms * each.price
    return total
