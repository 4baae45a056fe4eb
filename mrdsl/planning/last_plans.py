"""The plan that a solve began at, kept where it is as good as the one that was found: it takes no changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mrdsl.contracts.family import Family
from mrdsl.core.result import Limits, Result, SolutionStatus, relative_gap
from mrdsl.planning.ended_results import goal_of
from mrdsl.solving.agreement import AGREE
from mrdsl.spec.spec import Spec


def last_kept(
    spec: Spec, family: Family, result: Result, start: Result, limits: Limits, verified: Callable[[Result], Result]
) -> Result | None:
    """The result with the plan of ``start`` if that keeps the spec and is as good; None if not.

    ``verified`` checks and values a result's plan by the spec.
    """
    again = getattr(start.plan, "again", None)
    if again is None or result.plan is None or result.value is None or start.problem != spec.problem:
        return None
    plan = again(result.plan)
    value = None if plan is None or family.measure is None else family.measure(spec, plan)
    if plan is None or value is None:
        return None
    worse = (result.value - value) if goal_of(spec, family).sense == "maximize" else (value - result.value)
    gap = relative_gap(value, result.bound, result.fixed)
    within = result.solution is SolutionStatus.OPTIMAL and gap is not None and gap <= (limits.gap or 0.0) + AGREE
    if worse > AGREE * max(abs(value), abs(result.value)) and not within:
        return None
    claims = (result.termination, result.solution, plan, float(value), result.bound)
    held = verified(Result(*claims, size=result.size, fixed=result.fixed))
    if held.plan is None or held.solution is not result.solution:
        return None
    doubts = tuple(each for each in result.diagnostics if each.code == "contradicted-claim")
    return replace(held, diagnostics=(*held.diagnostics, *doubts))
