"""A plan over several periods, checked and valued from the facts as they are written, period by period."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from mrdsl.checking.comparisons import broken as compared
from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.rounding import FEASIBILITY
from mrdsl.families.capacity import verify as one_period
from mrdsl.families.capacity.facts import CapacityFacts
from mrdsl.families.capacity.periods.plan import PeriodsPlan
from mrdsl.families.capacity.periods.table import demand_of, prices_by_period, with_prices_of
from mrdsl.model.check import check_commitments, claimed, committed_cost, contracts_of, with_commitments
from mrdsl.spec.expression import quantities_in
from mrdsl.spec.schema import Range
from mrdsl.spec.spec import Constraint, Spec


def verify(spec: Spec, plan: PeriodsPlan, relax: bool) -> Iterator[Diagnostic]:
    """Find the violations: the commitments, the numbers of jobs in each period, its plan, and the cost."""
    committed = tuple(_commitments(spec, plan, relax))
    if committed:
        yield from committed
        return
    misfit = _misfit(spec, plan)
    if misfit:
        yield error("broken-plan", misfit, spec.facts.demand.span)
        return
    low, expected, _ = demand_of(spec)
    jobs = np.hstack([low, expected, *(each[:, None] for each in prices_by_period(spec).values())])
    for number in range(len(plan.plans)):
        rows = np.flatnonzero(plan.plan_of == number)
        if not len(rows):
            yield error("broken-plan", f"no period has plan {number + 1}", spec.facts.demand.span)
            return
        if (jobs[rows] != jobs[rows[0]]).any():
            yield error(
                "broken-plan", f"plan {number + 1} is of periods of other jobs or prices", spec.facts.demand.span
            )
    for period, each in zip(specs_of_periods(spec, plan), plan.plans, strict=True):
        yield from one_period.verify(period, each, relax)
        yield from compared(period, partial(one_period.quantity, period, each))
    yield from compared(replace(spec, constraints=_split(spec)[1]), partial(quantity, spec, plan))
    for number, (said, paid) in enumerate(zip(plan.discounts.tolist(), _discounts(spec, plan), strict=True)):
        yield from claimed(f"VMs that savings plans pay for in plan {number + 1}", said, paid, spec.span)
    yield from claimed("all periods", plan.total, measure(spec, plan), spec.span)


def _commitments(spec: Spec, plan: PeriodsPlan, relax: bool) -> Iterator[Diagnostic]:
    """Check that the contracts are those of the spec, with their prices, and that there are so many VMs."""
    facts: CapacityFacts = spec.facts
    terms = {(vm.name, term.name): term for vm in facts.vms for term in contracts_of(vm) if term.prepaid != "yes"}
    if [(each.vm, each.term) for each in plan.committed] != list(terms):
        yield error("broken-plan", "the plan is of other contracts", facts.vms[0].span)
        return
    yield from check_commitments(facts, _counts(plan), relax)
    for each in plan.committed:
        if each.price != (term := terms[each.vm, each.term]).price:
            yield error("broken-plan", f"the price of {each.name} is not that of the spec", term.span_of("price"))
    if [each.name for each in plan.savings] != [each.name for each in spec.facts.savings_plans]:
        yield error("broken-plan", "the plan is of other savings plans", spec.span)
        return
    for money, node in zip(plan.savings, spec.facts.savings_plans, strict=True):
        most = np.inf if node.available is None else node.available
        if not -FEASIBILITY <= money.cost <= most * (1.0 + FEASIBILITY):
            message = f"{money.cost:g} is committed to savings plan {money.name} of {most:g}"
            yield error("broken-plan", message, node.span_of("available"))


def _counts(plan: PeriodsPlan) -> dict[tuple[str, str], float]:
    """Return the committed VMs of each contract."""
    return {(each.vm, each.term): each.vms for each in plan.committed}


def _misfit(spec: Spec, plan: PeriodsPlan) -> str:
    """Explain why the plan does not have the periods of the spec; return an empty text if it does."""
    weight = demand_of(spec)[2]
    if len(plan.plan_of) != len(weight) or not np.array_equal(plan.weight, weight):
        return "the plan is of other periods"
    if len(plan.discounts) != len(plan.plans):
        return "the plan does not have a discount for each period"
    if plan.period != spec.facts.period:
        return "the plan is of periods of another length"
    if len(plan.plan_of) and not 0 <= int(plan.plan_of.min()) <= int(plan.plan_of.max()) < len(plan.plans):
        return "the plan has no plan of some period"
    if len({(each.wholeness, each.whole) for each in plan.plans} | {(plan.wholeness, plan.whole)}) > 1:
        return "the plans of single periods do not belong together"
    return ""


def measure(spec: Spec, plan: PeriodsPlan) -> float:
    """Compute the cost of all periods, from the prices of the spec and the VMs and jobs of each period."""
    facts: CapacityFacts = spec.facts
    _, _, weight = demand_of(spec)
    committed = committed_cost(facts, _counts(plan)) * facts.period
    costs = [
        one_period.measure(period, each) for period, each in zip(specs_of_periods(spec, plan), plan.plans, strict=True)
    ]
    committed += sum(each.cost for each in plan.savings) * facts.period
    costs = [cost - paid for cost, paid in zip(costs, _discounts(spec, plan), strict=True)]
    return float(sum(w * (committed + costs[n]) for w, n in zip(weight.tolist(), plan.plan_of.tolist(), strict=True)))


def _discounts(spec: Spec, plan: PeriodsPlan) -> list[float]:
    """Compute the price on demand of the VMs that savings plans pay for, for each plan.

    A savings plan pays for whole VMs and parts of VMs, those with its largest discount first. If plans share a VM type,
    the one with fewer types pays first, and of equally many the first one in the spec.
    """
    facts: CapacityFacts = spec.facts
    every = [vm.name for vm in facts.vms]
    both = list(zip(facts.savings_plans, plan.savings, strict=True))
    both.sort(key=lambda each: len(each[0].types or every))
    found = []
    _, rows = np.unique(plan.plan_of, return_index=True)
    for each, row in zip(plan.plans, rows.tolist(), strict=True):
        counts = {part.vm: part.vms for part in each.mixture.bought if part.way == "on_demand"}
        unpaid = {vm.name: counts.get(vm.name, 0.0) * vm.on_demand.price for vm in with_prices_of(spec, row).facts.vms}
        total = 0.0
        for node, money in both:
            discounts = {on.name: on.discount for on in node.on}
            left = money.cost
            for vm in sorted(node.types or every, key=lambda name: -discounts.get(name, node.discount)):
                rate = 1.0 - discounts.get(vm, node.discount)
                paid = min(unpaid[vm] * rate, left)
                left -= paid
                unpaid[vm] -= paid / rate
                total += paid / rate
        found.append(total * facts.period)
    return found


def _split(spec: Spec) -> tuple[tuple[Constraint, ...], tuple[Constraint, ...]]:
    """Return the comparisons of each period, and those with a cost or admitted jobs, which are sums of all periods."""
    each: list[Constraint] = []
    total: list[Constraint] = []
    for constraint in spec.constraints:
        named = {one.name for side in (constraint.left, constraint.right) for one in quantities_in(side)}
        (total if "cost" in named or "admitted" in named else each).append(constraint)
    return tuple(each), tuple(total)


def _base(spec: Spec, plan: PeriodsPlan) -> Spec:
    """Return the spec without its demand, with as many VMs of each contract as the plan commits, which cost nothing."""
    facts = replace(with_commitments(spec.facts, _counts(plan)), demand=None, savings_plans=())
    return replace(spec, facts=facts, constraints=_split(spec)[0])


def specs_of_periods(spec: Spec, plan: PeriodsPlan) -> Iterator[Spec]:
    """Yield the spec of the first period of each plan."""
    low, expected, _ = demand_of(spec)
    base, priced = _base(spec, plan), len(prices_by_period(spec)) > 0
    _, rows = np.unique(plan.plan_of, return_index=True)
    for row in rows.tolist():
        base = _base(with_prices_of(spec, row), plan) if priced else base
        classes = tuple(
            replace(node, jobs=Range(*ends))
            for node, *ends in zip(base.facts.classes, low[row].tolist(), expected[row].tolist(), strict=True)
        )
        yield replace(base, facts=replace(base.facts, classes=classes))


def quantity(spec: Spec, plan: PeriodsPlan, name: str, argument: str) -> float:
    """Compute a quantity of the plan: sums of costs and jobs; of VMs, shares and times those of the worst period."""
    both = zip(specs_of_periods(spec, plan), plan.plans, strict=True)
    parts = [float(one_period.quantity(period, each, name, argument)) for period, each in both]
    if name == "cost":
        price = sum(each.cost for each in plan.committed if argument in ("", each.vm)) * plan.horizon
        if not argument:
            return measure(spec, plan)
        return price + _sum(plan, parts)
    if name == "admitted":
        return _sum(plan, parts)
    known = [part for part in parts if not np.isnan(part)]
    return max(known, default=float("nan"))


def _sum(plan: PeriodsPlan, parts: list[float]) -> float:
    return float(np.array(parts)[plan.plan_of] @ plan.weight)
