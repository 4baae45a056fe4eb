"""Explanation of a plan over several periods: how often each contract is used, and what other commitments cost."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mrdsl.core.result import Result, Table
from mrdsl.core.units import HOUR
from mrdsl.families.capacity.facts import CapacityFacts
from mrdsl.families.capacity.market import ON_DEMAND, RESERVED
from mrdsl.families.capacity.methods.direct import direct
from mrdsl.families.capacity.periods.comparisons import of_sums
from mrdsl.families.capacity.periods.demand import Contract, commitments_of, spec_of_period
from mrdsl.families.capacity.periods.plan import Commitment, PeriodsPlan, bought, plan_of_periods
from mrdsl.families.capacity.periods.table import mean_prices
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.spec.spec import Spec

PARTS = (0.0, 0.5, 1.0, 1.5)
"""Parts of the committed VMs of which the cost is shown."""
MOST_PLANS = 400
"""Most plans of periods that are made again for each part."""


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """Return how often the last committed VM is used and the next one would be, and the cost of other commitments."""
    plan = result.plan
    if not isinstance(plan, PeriodsPlan):
        return ()
    return (*([_use(spec, plan)] if plan.committed else []), *_others(spec, plan))


def _use(spec: Spec, plan: PeriodsPlan) -> Table:
    facts: CapacityFacts = spec.facts
    prices = {vm.name: vm.on_demand.price for vm in facts.vms} | mean_prices(spec)
    rows = []
    for each in plan.committed:
        price = prices[each.vm]
        least = 100.0 * each.price / price if price else None
        rows.append((each.name, each.vms, least, _last(plan, each), _next(plan, each)))
    heads = ("contract", "VMs", "pays above [% of time]", "last one used [%]", "next one would be used [%]")
    return Table("Use of the commitments", heads, rows)


def _last(plan: PeriodsPlan, each: Commitment) -> float | None:
    if not each.vms:
        return None
    return _part(plan, [bought(one, RESERVED, each.vm, each.term) > each.vms - 1.0 for one in plan.plans])


def _next(plan: PeriodsPlan, each: Commitment) -> float:
    return _part(plan, [bought(one, ON_DEMAND, each.vm) >= 1.0 for one in plan.plans])


def _part(plan: PeriodsPlan, flags: list[bool]) -> float:
    """Return the part of the time, in percent, in which a flag of the plan is set."""
    return 100.0 * float(np.array(flags)[plan.plan_of] @ plan.weight / plan.weight.sum())


def _others(spec: Spec, plan: PeriodsPlan) -> tuple[Table | str, ...]:
    if not plan.committed and not plan.savings:
        return ()
    if not any(each.vms for each in plan.committed) and not any(each.cost for each in plan.savings):
        return ("No contract pays: everything is rented by the period.",)
    if len(plan.plans) > MOST_PLANS or not plan.whole or of_sums(spec):
        return ()
    terms = commitments_of(spec.facts)
    rows = []
    for part in PARTS:
        counts = {
            (each.vm, each.term): min(float(np.rint(part * each.vms)), terms[each.vm, each.term].available)
            for each in plan.committed
        }
        money = {("", each.name): part * each.cost * plan.period for each in plan.savings}
        rows.append(
            (
                f"{part:.0%}",
                *map(int, counts.values()),
                *(amount / plan.period * HOUR for amount in money.values()),
                plan.total if part == 1.0 else _cost(spec, plan, {**counts, **money}),
            )
        )
    if all(row[-1] is None for part, row in zip(PARTS, rows, strict=True) if part != 1.0):
        return ()
    heads = (
        "commitments",
        *(each.name for each in plan.committed),
        *(f"{each.name} [{spec.currency}/h]" for each in plan.savings),
        f"cost [{spec.currency}]",
    )
    return (Table("Cost of other commitments", heads, rows),)


def _cost(spec: Spec, plan: PeriodsPlan, counts: Mapping[Contract, float]) -> float | None:
    """Return the cost of the periods for given commitments, each planned by ``direct``; None if one has no plan."""
    plans = []
    for number in range(len(plan.plans)):
        found = direct(spec_of_period(spec, number, counts), relax=False)
        if found is None or not isinstance(found.plan, CapacityPlan):
            return None
        plans.append(found.plan)
    return plan_of_periods(spec, counts, tuple(plans)).total
