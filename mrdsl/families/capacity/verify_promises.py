"""Promises about runs, compared with what a plan's evidence says of them; nothing is run anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.source import Span
from mrdsl.core.tolerances import FEASIBILITY, ROUNDING, SAME_SUM
from mrdsl.core.whole_numbers import ceiling, floor
from mrdsl.families.capacity.evidence import Evidence
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.verify_shares import Shares
from mrdsl.spec.columns import names_of, words
from mrdsl.spec.comparisons import bounds_in
from mrdsl.spec.schema import PERCENTILES
from mrdsl.spec.simulated_plan import Simulation
from mrdsl.spec.spec import Spec

LENT = 2.0
"""The fewest slots of a job beside others for which Proposition 2.5 bounds its phases."""


@dataclass(frozen=True)
class Promised:
    """Of the jobs of class number ``index`` the share ``level`` ends within ``limit`` seconds."""

    index: int
    name: str
    level: float
    limit: float
    span: Span | None


def verify_promises(spec: Spec, plan: CapacityPlan, shares: Shares) -> Iterator[Diagnostic]:
    """Find promises about runs for which a plan has no evidence, or too little.

    A deadline that the upper estimate keeps on the plan's slots needs none where that is a bound.
    """
    for promise in promised(spec):
        found = evidence_of(plan, promise)
        if plan.admitted[promise.index] <= 0.0 or (found is None and _by_estimate(spec, shares, promise)):
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


def promised(spec: Spec) -> tuple[Promised, ...]:
    """Read what a spec promises about runs: ``guarantee = p95`` of the deadline, ``kept(c) >= share``."""
    classes = spec.facts.classes
    guarantee = words(classes, "guarantee")
    percents = np.flatnonzero(np.isin(guarantee, list(PERCENTILES))).tolist()
    if not percents and not spec.constraints:
        return ()
    places = {name: index for index, name in enumerate(names_of(classes))}
    bounds = [each for constraint in spec.constraints for each in bounds_in(constraint) if each is not None]
    found = []
    for index in percents:
        node = classes[index]
        wanted = ("completion", node.name, "<=")
        limits = [each.value for each in bounds if (each.quantity, each.name, each.comparison) == wanted]
        level = PERCENTILES[str(node.guarantee)] / 100.0
        found.append(Promised(index, node.name, level, min([node.deadline, *limits]), node.span_of("guarantee")))
    for each in bounds:
        if each.quantity == "kept" and each.comparison == ">=":
            index = places[each.name]
            found.append(Promised(index, each.name, each.value, classes[index].deadline, each.span))
    return tuple(found)


def about_runs_alone(spec: Spec) -> NDArray[np.bool_]:
    """Find the classes that promise about runs, and not by an estimate in addition."""
    found = promised(spec)
    flags = np.zeros(len(spec.facts.classes), dtype=bool)
    if found:
        guarantee = words(spec.facts.classes, "guarantee")
        bounds = [each for constraint in spec.constraints for each in bounds_in(constraint) if each is not None]
        limited = {each.name for each in bounds if (each.quantity, each.comparison) == ("completion", "<=")}
        for each in found:
            unsaid = guarantee[each.index] == "" and each.name not in limited
            flags[each.index] = unsaid or guarantee[each.index] in PERCENTILES
    return flags


def evidence_of(plan: CapacityPlan, promise: Promised) -> Evidence | None:
    """Find what the plan says that runs showed of a promise."""
    if plan.calibration is None:
        return None
    wanted = promise.name, promise.level, promise.limit
    return next((e for e in plan.calibration.promises if (e.name, e.level, e.limit) == wanted), None)


def share_kept(spec: Spec, plan: CapacityPlan, shares: Shares, name: str) -> float:
    """Compute the share of a class's jobs that end in time as far as evidence shows; NaN where none is admitted."""
    mine = [promise for promise in promised(spec) if promise.name == name]
    if not mine or plan.admitted[mine[0].index] <= 0.0:
        return float("nan")
    if all(_by_estimate(spec, shares, promise) for promise in mine):
        return 1.0
    shown = [found.low for promise in mine if (found := evidence_of(plan, promise)) is not None]
    return max(shown, default=0.0)


def shown_limits(spec: Spec, plan: CapacityPlan) -> Iterator[tuple[int, float]]:
    """List classes and the limits [s] within which the plan's evidence shows the percentile that they guarantee."""
    for promise in promised(spec):
        if spec.facts.classes[promise.index].guarantee in PERCENTILES:
            shown = evidence_of(plan, promise)
            if shown is not None and shown.low >= promise.level:
                yield promise.index, promise.limit


def _by_estimate(spec: Spec, shares: Shares, promise: Promised) -> bool:
    """Return True if the upper estimate keeps a promise and is a bound.

    No more jobs run at once than it counts on, which users see to who submit each after the one before, and nothing
    goes wrong that it does not know.
    """
    node, mine = spec.facts.classes[promise.index], shares.rows.of_class == promise.index
    upper = shares.times(shares.rows.estimates["upper"])[mine]
    if not bool((upper <= promise.limit * (1.0 + FEASIBILITY)).all()) or bool(shares.spot[mine].any()):
        return False
    if node.arrivals is not None or node.submissions is not None or _disturbed(spec.facts.simulation):
        return False
    several = len(node.stages) > 1
    for slots in shares.slots:
        jobs = shares.jobs[mine]
        part, fewest = slots[mine] / jobs, floor(ceiling(slots[mine]) / jobs)  # whole slots, shared as a scheduler does
        lent = (part >= LENT * (1.0 - SAME_SUM)) & (fewest >= part * (1.0 - SAME_SUM))
        bounded = (jobs <= 1.0) | (slots[mine] == 0.0) | (lent & (not several))
        if not bool(bounded.all()):
            return False
    return True


def _disturbed(rules: Simulation | None) -> bool:
    """Return True if tasks may take longer, run twice or wait for those of other classes."""
    if rules is None:
        return False
    return rules.lending == "yes" or any((rules.stragglers, rules.failures, rules.speculation, rules.losses))


def _doubt_about(found: Evidence) -> str:
    """Say why evidence that somebody wrote cannot be what runs show; nothing where it may.

    The bound is at most Clopper's and Pearson's of that many independent jobs: jobs of one run are less than that.
    """
    from scipy.stats import beta

    if not 0.5 < found.confidence < 1.0 or not 0 < found.runs <= found.jobs:
        return "rests on numbers that no runs give"
    if not 0.0 <= found.low <= found.share * (1.0 + ROUNDING) or not found.share <= 1.0:
        return "has bounds on one side of what was seen"
    late = (1.0 - found.share) * found.jobs
    most = float(beta.ppf(1.0 - found.confidence, found.share * found.jobs, late + 1.0)) if found.share > 0.0 else 0.0
    return "has bounds closer than so many jobs allow" if found.low > most + ROUNDING else ""
