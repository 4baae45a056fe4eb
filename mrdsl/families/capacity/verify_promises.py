"""Promises about runs, held against what a plan's evidence says of them; nothing is run anew."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.tolerances import FEASIBILITY
from mrdsl.families.capacity.evidence import Evidence
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.promises import Promise, promises_of
from mrdsl.spec.spec import Spec


def verify_promises(spec: Spec, plan: CapacityPlan) -> Iterator[Diagnostic]:
    """Promises about runs for which a plan has no evidence, or too little.

    A deadline that the upper estimate keeps on the plan's slots needs none.
    """
    for promise in promises_of(spec):
        if plan.admitted[promise.index] <= 0.0 or _by_estimate(plan, promise):
            continue
        found = evidence_of(plan, promise)
        if found is None:
            message = f"the plan does not say what runs showed of class {promise.name}, which it promises about"
        elif found.low >= promise.level:
            continue
        else:
            message = (
                f"at least {100.0 * found.low:.4g} % of the jobs of class {promise.name} were shown to end in time, "
                f"{100.0 * promise.level:.4g} % are promised"
            )
        yield error("broken-plan", message, promise.span)


def about_runs_alone(spec: Spec) -> NDArray[np.bool_]:
    """Which classes promise about runs, and not by an estimate besides."""
    flags = np.zeros(len(spec.facts.classes), dtype=bool)
    flags[[promise.index for promise in promises_of(spec) if not promise.beside]] = True
    return flags


def evidence_of(plan: CapacityPlan, promise: Promise) -> Evidence | None:
    """What the plan says of a promise."""
    if plan.calibration is None:
        return None
    wanted = promise.name, promise.level, promise.limit
    return next((e for e in plan.calibration.promises if (e.name, e.level, e.limit) == wanted), None)


def share_kept(spec: Spec, plan: CapacityPlan, name: str) -> float:
    """The share of a class's jobs that end in time, as far as the plan's evidence shows; NaN where none is admitted."""
    mine = [promise for promise in promises_of(spec) if promise.name == name]
    if not mine or plan.admitted[mine[0].index] <= 0.0:
        return float("nan")
    if all(_by_estimate(plan, promise) for promise in mine):
        return 1.0
    shown = [found.low for promise in mine if (found := evidence_of(plan, promise)) is not None]
    return max(shown, default=0.0)


def _by_estimate(plan: CapacityPlan, promise: Promise) -> bool:
    return bool(plan.completion_upper[promise.index] <= promise.limit * (1.0 + FEASIBILITY))
