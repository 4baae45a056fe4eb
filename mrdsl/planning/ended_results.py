"""What a solve found, with what was solved, for what goal and by whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import isfinite

from mrdsl.contracts.family import Family, GoalKind
from mrdsl.core.diagnostics import Diagnostic, MrdslError, error, has_errors, impossible, warning
from mrdsl.core.result import Amount, Plan, Result, SolutionStatus, Termination
from mrdsl.planning.choice import Choice
from mrdsl.solving.installed import version
from mrdsl.spec.expression import value_of
from mrdsl.spec.spec import Spec


def goal_of(spec: Spec, family: Family) -> GoalKind:
    """The goal that the spec names, by default the family's first."""
    wanted = spec.goal
    for kind in family.goals:
        if wanted is None or (kind.sense, kind.quantity) == (wanted.sense, wanted.quantity):
            return kind
    assert wanted is not None
    known = ", ".join(f"{kind.sense} {kind.quantity}" for kind in family.goals)
    message = f"{family.name} does not know the goal `{wanted.sense} {wanted.quantity}`"
    raise MrdslError([error("unknown-goal", message, wanted.span, f"write one of: {known}")])


_STOPS = {
    Termination.TIME_LIMIT: "the time limit was reached",
    Termination.NODE_LIMIT: "the node limit was reached",
    Termination.INTERRUPTED: "the run was interrupted",
}


def ended(
    spec: Spec,
    family: Family,
    choice: Choice | None,
    result: Result,
    before: tuple[Diagnostic, ...],
    seconds: Mapping[str, float],
) -> Result:
    """The result for its user: what was found, and what is to be said where nothing was."""
    diagnostics = before + result.diagnostics
    if result.termination is Termination.INFEASIBLE and not has_errors(diagnostics):
        diagnostics += (
            impossible(
                "no-plan",
                "no plan keeps every promise of this spec",
                spec.span,
                "mrdsl why says which promises exclude each other",
            ),
        )
    if result.plan is None and result.termination in _STOPS and not diagnostics:
        diagnostics = (
            warning(
                "stopped-early",
                f"{_STOPS[result.termination]} before a plan was found",
                spec.span,
                "give it more, or take a heuristic: `mrdsl solvers` lists them",
            ),
        )
    result = replace(
        result,
        solution=result.solution if result.plan is not None else SolutionStatus.NONE,
        value=result.value if result.plan is not None else None,
        diagnostics=diagnostics,
        seconds=seconds,
        formulation=choice.formulation.name if choice and choice.formulation else None,
    )
    return labelled(spec, family, result, _solver_entry(choice), spec.seed)


def labelled(spec: Spec, family: Family, result: Result, solver: Mapping[str, str | None], seed: int | None) -> Result:
    """The result with what was solved, for what goal and by whom."""
    goal = goal_of(spec, family)
    unit = spec.currency if goal.unit == "currency" else goal.unit
    return replace(
        result,
        problem=spec.problem,
        title=spec.title,
        solver=solver,
        seed=seed,
        sense=goal.sense,
        quantity=goal.quantity,
        unit=unit,
        period=period_of(spec, family, unit),
        currency=spec.currency,
        quantities=amounts(spec, family, result.plan),
        spec=spec,
    )


def period_of(spec: Spec, family: Family, unit: str) -> float | None:
    """The time that a goal in money is the cost of [s]; None of other goals, and where the spec does not choose it."""
    return float(family.paid_for(spec)) if family.paid_for is not None and unit == spec.currency else None


def amounts(spec: Spec, family: Family, plan: Plan | None) -> dict[str, Amount]:
    """What the plan has of each quantity that the spec names with ``let``; nothing without a plan."""
    if plan is None or family.quantity is None:
        return {}
    values = {let.name: value_of(let.expression, partial(family.quantity, spec, plan)) for let in spec.lets}
    return {let.name: Amount(_known(values[let.name]), let.unit) for let in spec.lets}


def _known(value: float) -> float | None:
    return value if isfinite(value) else None


def _solver_entry(choice: Choice | None) -> dict[str, str | None]:
    from mrdsl.core.version import __version__

    if choice is None or choice.solver is None:
        return {"name": "mrdsl", "version": __version__, "file": None}
    declared = choice.solver
    return {"name": declared.name, "version": version(declared), "file": declared.foreign_file}
