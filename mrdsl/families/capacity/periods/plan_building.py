"""The plan for given commitments and plans of single periods."""

from __future__ import annotations

from collections.abc import Mapping

from mrdsl.families.capacity.facts import CapacityFacts
from mrdsl.families.capacity.periods.demand import Contract, commitments_of, periods_of
from mrdsl.families.capacity.periods.plan import Commitment, PeriodsPlan
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.spec.spec import Spec


def plan_of_periods(spec: Spec, committed: Mapping[Contract, float], plans: tuple[CapacityPlan, ...]) -> PeriodsPlan:
    """Return the plan with these numbers of committed VMs and these plans of periods."""
    facts: CapacityFacts = spec.facts
    periods = periods_of(spec)
    return PeriodsPlan(
        committed=tuple(
            Commitment(vm, name, committed[vm, name], term.price) for (vm, name), term in commitments_of(facts).items()
        ),
        plans=plans,
        plan_of=periods.plan_of,
        weight=periods.weight,
        period=facts.period,
        whole=plans[0].whole,
    )
