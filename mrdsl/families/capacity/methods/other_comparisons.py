"""A plan and a bound for large specs with comparisons that ``direct`` does not know: its results without them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mrdsl.checking.comparisons import broken
from mrdsl.core.result import Limits, Result, SolutionStatus, Termination
from mrdsl.families.capacity.constraints import class_bounds_of, quotas_in
from mrdsl.families.capacity.forms import has_closed_form
from mrdsl.families.capacity.methods.direct import direct
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.verify import quantity
from mrdsl.spec.columns import Columns, Joined, column, parts_of
from mrdsl.spec.spec import Spec

LESS_SPOT = (0.5, 0.25, 0.1, 0.0)
"""Parts of VMs on spot that are tried, since many comparisons limit spot."""


def without_others(spec: Spec, relax: bool, limits: Limits) -> Result | None:
    """Return the result of ``direct`` without the other comparisons: its bound, and its plan if that keeps them.

    None if there are none: then ``direct`` does not know the spec itself. A plan that keeps the comparisons costs at
    least the least cost without them. If the plan breaks them, plans with fewer classes on spot are tried.
    """
    others = class_bounds_of(spec).others
    others = others if has_closed_form(spec.facts) else quotas_in(others)[1]
    if not others:
        return None
    free = replace(spec, constraints=tuple(each for each in spec.constraints if each not in others))
    until = None if limits.time is None else time.monotonic() + limits.time
    found = direct(free, relax, limits)
    if found is None or not isinstance(found.plan, CapacityPlan) or _keeps(spec, found.plan):
        return found
    ended = Termination.COMPLETED if found.termination is Termination.OPTIMAL else found.termination
    none = replace(found, termination=ended, solution=SolutionStatus.NONE, plan=None, value=None)
    if not any(vm.spot is not None for vm in spec.facts.vms):
        return none
    for part in LESS_SPOT:
        if until is not None and until <= time.monotonic():
            break
        limits = limits if until is None else replace(limits, time=until - time.monotonic())
        classes = _less_spot(spec, found.plan, part)
        tried = direct(replace(free, facts=replace(spec.facts, classes=classes)), relax, limits)
        if tried is not None and isinstance(tried.plan, CapacityPlan) and _keeps(spec, tried.plan):
            solution = SolutionStatus.FEASIBLE
            return replace(tried, termination=ended, solution=solution, bound=found.bound, fixed=found.fixed)
    return none


def _keeps(spec: Spec, plan: CapacityPlan) -> bool:
    return not any(broken(spec, partial(quantity, spec, plan)))


def _less_spot(spec: Spec, plan: CapacityPlan, most: float) -> Sequence[Any]:
    """Return the classes of which only those with few VMs on spot may have some: at most a part of all VMs."""
    mixture = plan.mixture
    held = np.bincount(mixture.of_class, np.where(mixture.spot, mixture.vms, 0.0), minlength=len(plan.names))
    order = np.argsort(held, kind="stable")
    kept = np.zeros(len(held), dtype=bool)
    kept[order] = np.cumsum(held[order]) <= most * float(mixture.vms.sum())
    found: list[Sequence[Any]] = []
    before = 0
    for part in parts_of(spec.facts.classes):
        stays = kept[before : before + len(part)]
        before += len(part)
        if isinstance(part, Columns):
            spot = np.where(stays, column(part, "spot", missing=1.0), 0.0)
            found.append(Columns(part.node_type, part.names, {**part.values, "spot": spot}, part.span_at, part.group))
        else:
            found.append(tuple(n if stay else replace(n, spot=0.0) for n, stay in zip(part, stays, strict=True)))
    return found[0] if len(found) == 1 else Joined(found)
