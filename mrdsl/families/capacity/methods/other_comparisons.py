"""A bound for specs with comparisons that ``direct`` does not know: its result without them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from mrdsl.contracts.subject_to import broken
from mrdsl.core.result import Limits, Result, SolutionStatus, Termination
from mrdsl.families.capacity.constraints import class_bounds_of, quotas_in
from mrdsl.families.capacity.forms import has_closed_form
from mrdsl.families.capacity.methods.direct import direct
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.verify import quantity
from mrdsl.spec.spec import Spec


def without_others(spec: Spec, relax: bool, limits: Limits) -> Result | None:
    """Return the result of ``direct`` without the other comparisons: its plan if it keeps them, and its bound anyhow.

    A plan that keeps the comparisons costs at least the least cost without them.
    """
    others = class_bounds_of(spec).others
    others = others if has_closed_form(spec.facts) else quotas_in(others)[1]
    kept = tuple(each for each in spec.constraints if each not in others)
    found = direct(replace(spec, constraints=kept), relax, limits)
    if found is None or not isinstance(found.plan, CapacityPlan):
        return found
    if any(broken(spec, partial(quantity, spec, found.plan))):
        ended = Termination.COMPLETED if found.termination is Termination.OPTIMAL else found.termination
        return replace(found, termination=ended, solution=SolutionStatus.NONE, plan=None, value=None)
    return found
