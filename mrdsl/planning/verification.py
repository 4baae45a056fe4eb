"""A plan held against its spec: what it breaks, what it is worth, and what may still be claimed of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from mrdsl.contracts.family import Family
from mrdsl.core.diagnostics import Diagnostic, has_errors, warning
from mrdsl.core.finiteness import finite
from mrdsl.core.result import Plan, Result, SolutionStatus, Termination, relative_gap
from mrdsl.planning.ended_results import goal_of
from mrdsl.solving.agreement import AGREE, TOLERANCE, drawn_back
from mrdsl.spec.spec import Spec


def verified(spec: Spec, family: Family, result: Result, relax: bool) -> Result:
    """The result with its plan checked and valued from the facts alone; no plan where a promise is broken."""
    result = finite(result)
    if result.plan is None:
        return result
    problems = tuple(violations(spec, family, result.plan, relax))
    if has_errors(problems):
        return Result(Termination.ERROR, diagnostics=result.diagnostics + problems, bound=result.bound)
    result = replace(result, diagnostics=result.diagnostics + problems)
    return result if family.measure is None else finite(_valued(spec, family, family.measure, result), searched=True)


def _valued(spec: Spec, family: Family, measure: Callable[[Spec, Any], float | None], result: Result) -> Result:
    measured = measure(spec, result.plan)
    if measured is None:
        return replace(result, value=None)
    value = float(measured)
    claimed = result.value
    if claimed is not None and not abs(value - claimed) <= TOLERANCE * max(abs(value), abs(claimed), result.size):
        message = f"the plan is worth {value:g}, the solver's model says {claimed:g}; its bound is left out"
        diagnostics = (*result.diagnostics, warning("objective-differs", message, spec.span))
        return replace(unproven(result), value=value, bound=None, diagnostics=diagnostics)
    bound = drawn_back(result.bound, value, goal_of(spec, family).sense == "maximize")
    gaps = [relative_gap(*each, result.fixed) or 0.0 for each in ((value, bound), (claimed, result.bound))]
    if gaps[0] > gaps[1] + 2.0 * AGREE:
        result = unproven(result)
    return replace(result, value=value, bound=bound)


def unproven(result: Result) -> Result:
    """The result with a plan that is no longer called optimal."""
    stopped = Termination.COMPLETED if result.termination is Termination.OPTIMAL else result.termination
    return replace(result, solution=SolutionStatus.FEASIBLE, termination=stopped)


def violations(spec: Spec, family: Family, plan: Plan, relax: bool) -> Iterable[Diagnostic]:
    """Every promise of the spec that the plan breaks, ``subject to`` included, from the facts alone."""
    from mrdsl.contracts.subject_to import broken

    if family.verify is not None:
        yield from family.verify(spec, plan, relax)
    if spec.constraints and family.quantity is not None:
        yield from broken(spec, partial(family.quantity, spec, plan))
