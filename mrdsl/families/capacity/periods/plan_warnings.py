"""Warnings about a plan over several periods."""

from __future__ import annotations

from collections.abc import Iterator

from mrdsl.core.diagnostics import Diagnostic
from mrdsl.families.capacity.periods.plan import PeriodsPlan
from mrdsl.families.capacity.periods.verify import specs_of_periods
from mrdsl.families.capacity.periods.verify import verify as broken
from mrdsl.families.capacity.plan_warnings import warnings_of
from mrdsl.spec.spec import Spec


def verify(spec: Spec, plan: PeriodsPlan, relax: bool) -> Iterator[Diagnostic]:
    """Find the violations of a spec by a plan, then warnings about its busiest period."""
    found = tuple(broken(spec, plan, relax))
    yield from found
    if not found:
        busiest, period = max(
            zip(plan.plans, specs_of_periods(spec, plan), strict=True), key=lambda each: each[0].rented
        )
        yield from warnings_of(period, busiest, relax, True)
