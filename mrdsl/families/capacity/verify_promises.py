"""Promises about runs, held against what a plan's evidence says of them; nothing is run anew."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.result import Outcome
from mrdsl.core.tolerances import FEASIBILITY
from mrdsl.families.capacity.evidence import Evidence
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.promises import Promise, promises_of, users_submit
from mrdsl.simulation.kept import Verdict
from mrdsl.spec.simulated_plan import Simulation
from mrdsl.spec.spec import Spec


def verify_promises(spec: Spec, plan: CapacityPlan) -> Iterator[Diagnostic]:
    """Promises about runs for which a plan has no evidence, or too little.

    A deadline that the upper estimate keeps on the plan's slots needs none where that is a bound.
    """
    for promise in promises_of(spec):
        found = evidence_of(plan, promise)
        if plan.admitted[promise.index] <= 0.0 or (found is None and by_estimate(spec, plan, promise)):
            continue
        if found is None:
            message = f"the plan does not say what runs showed of class {promise.name}, which it promises about"
        elif doubt := _doubt_about(found):
            message = f"what the plan says that runs showed of class {promise.name} {doubt}"
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
    if all(by_estimate(spec, plan, promise) for promise in mine):
        return 1.0
    shown = [found.low for promise in mine if (found := evidence_of(plan, promise)) is not None]
    return max(shown, default=0.0)


def by_estimate(spec: Spec, plan: CapacityPlan, promise: Promise) -> bool:
    """Whether the upper estimate keeps a promise, and is a bound: no more jobs are there at once than it knows of, and
    nothing that it does not know goes wrong."""
    kept = bool(plan.completion_upper[promise.index] <= promise.limit * (1.0 + FEASIBILITY))
    if not kept or not users_submit(spec, promise.index):
        return False
    return plan.upper_is_bound(promise.index) and not _disturbed(spec.facts.simulation)


def _disturbed(rules: Simulation | None) -> bool:
    """Whether tasks may take longer, run twice or wait for those of other classes."""
    if rules is None:
        return False
    return rules.lending == "yes" or any((rules.stragglers, rules.failures, rules.speculation, rules.losses))


def _doubt_about(found: Evidence) -> str:
    """Why evidence that somebody wrote cannot be what runs show; nothing where it may."""
    from mrdsl.simulation.verdicts import doubt_about

    outcome = Outcome.KEPT if found.low >= found.level else Outcome.UNDECIDED
    said = (found.level, found.share, found.low, 1.0, found.confidence, found.runs, found.jobs)
    return doubt_about(Verdict(outcome, "share", *said))
