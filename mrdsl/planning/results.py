"""Results of solves: raw solver results decoded, refined and labelled; results of plug-in pipelines checked.

The cluster of the logs is shown next to a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any

from mrdsl.contracts.family import Family, Formulation, GoalKind, SolveModel
from mrdsl.core.answer import Answer
from mrdsl.core.diagnostics import (
    Diagnostic,
    Span,
    described,
    error,
    has_errors,
    impossible,
    one_error,
    warning,
)
from mrdsl.core.plugins import PluginError
from mrdsl.core.result import Amount, Limits, Plan, Result, SolutionStatus, Termination
from mrdsl.families.diagnosis import find_family
from mrdsl.planning.choice import Choice, formulation_named
from mrdsl.solving.claims import failure
from mrdsl.solving.declaration import SolverFile
from mrdsl.solving.pipelines import last_plugin
from mrdsl.solving.registry import version
from mrdsl.spec.expression import value_of
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from mrdsl.contracts.pipeline import Draft
    from mrdsl.core.charts import Series, Today


def goal_of(spec: Spec, family: Family) -> GoalKind:
    """Return the goal that the spec names, by default the family's first."""
    wanted = spec.goal
    for kind in family.goals:
        if wanted is None or (kind.sense, kind.quantity) == (wanted.sense, wanted.quantity):
            return kind
    assert wanted is not None
    known = ", ".join(f"{kind.sense} {kind.quantity}" for kind in family.goals)
    message = f"{family.name} does not support the objective `{wanted.sense} {wanted.quantity}`"
    raise one_error("unknown-goal", message, wanted.span, f"write one of: {known}")


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
    """Return the result for the user, with a diagnostic if there is no plan."""
    diagnostics = before + result.diagnostics
    if result.termination is Termination.INFEASIBLE and not has_errors(diagnostics):
        diagnostics += (
            impossible(
                "no-plan",
                "no plan meets all constraints of this spec",
                spec.span,
                "run `mrdsl why` to see which constraints conflict and how to relax them",
            ),
        )
    if result.plan is None and result.termination in _STOPS and not diagnostics:
        more = "wait longer" if result.termination is Termination.INTERRUPTED else "raise the limit"
        diagnostics = (
            warning(
                "stopped-early",
                f"{_STOPS[result.termination]} before a plan was found",
                spec.span,
                f"{more}, or use a heuristic: `mrdsl solvers` lists them",
            ),
        )
    asked = choice is not None and choice.solver is not None
    if asked and result.plan is None and result.termination is Termination.COMPLETED and not diagnostics:
        name = _solver_entry(choice)["name"]
        message = f"{name} ended without a plan, and has not proven that there is none"
        diagnostics = (error("solver-failed", message, spec.span, "take another solver: `mrdsl solvers` lists them"),)
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
    """Return the result with the names of its spec, objective and solver."""
    goal = goal_of(spec, family)
    unit = spec.currency if goal.unit == "currency" else goal.unit
    if goal.least is not None and result.bound is not None:  # relaxations of a stopped solver can be below it
        result = replace(result, bound=max(result.bound, goal.least))
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
        today=today_of(spec, family, result.plan),
        spec=spec,
    )


def period_of(spec: Spec, family: Family, unit: str) -> float | None:
    """Return the time [s] that an objective in money pays for, or None for other objectives and fixed periods."""
    return float(family.paid_for(spec)) if family.paid_for is not None and unit == spec.currency else None


def amounts(spec: Spec, family: Family, plan: Plan | None) -> dict[str, Amount]:
    """Return the value in the plan of each quantity of ``let``; empty without a plan."""
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


def doubts_of(answer: Answer, span: Span | None) -> tuple[Diagnostic, ...]:
    """Return the claims of a solver that were withdrawn, as warnings."""
    hint = "the plan was checked and is valid, but its optimality is not proven; compare with another solver"
    return tuple(
        warning("contradicted-claim", f"{answer.solver} {answer.version or ''}: {doubt}", span, hint)
        for doubt in answer.doubts
    )


def result_of(answer: Answer, plan: Plan | None, span: Span | None) -> Result:
    """Return the answer with the plan that was read from it, and a diagnostic if the solver failed."""
    diagnostics: tuple[Diagnostic, ...] = ()
    if answer.termination is Termination.ERROR or (answer.message and answer.solution is SolutionStatus.NONE):
        diagnostics = (failure(answer.solver, answer.message, span),)
    return Result(
        answer.termination,
        answer.solution,
        plan,
        answer.value,
        answer.bound,
        diagnostics,
        answer.size,
        answer.fixed,
    )


def plan_in(spec: Spec, formulation: Formulation, model: Any, answer: Answer, relax: bool, span: Span | None) -> Result:
    """Return the answer with the plan that a solver left in the model."""
    plan = None
    if answer.solution is not SolutionStatus.NONE:
        if formulation.decode is None:
            message = f"{formulation.name} does not support reading a plan from its model"
            raise one_error("unknown-formulation", message, span, "choose another formulation")
        try:
            plan = formulation.decode(spec, model, relax)
        except (ArithmeticError, LookupError, ValueError):
            if not getattr(model, "of_caller", False):
                raise
            message = "the values of the changed model do not describe a plan"
            told = error("broken-plan", message, span, "keep the constraints that mrdsl compiled")
            return Result(Termination.ERROR, diagnostics=(told,), bound=answer.bound, size=answer.size)
    return result_of(answer, plan, span)


def refined(
    spec: Spec, formulation: Formulation, result: Result, relax: bool, limits: Limits, solve: SolveModel | None
) -> Result:
    """Return the result after the steps on its plan that the model leaves out."""
    if formulation.refine is None or result.plan is None:
        return result
    return formulation.refine(spec, relax, limits, result, solve)


def decoded(spec: Spec, model: Any, answer: Answer, formulation: str | None, relax: bool) -> Result:
    """Return an answer to the model of ``formulation`` in the terms of the spec, not verified yet."""
    chosen = formulation_named(find_family(spec), formulation)
    return refined(spec, chosen, plan_in(spec, chosen, model, answer, relax, None), relax, Limits(), None)


def made_by_pipeline(solver: SolverFile, family: Family, given: Mapping[str, Any], draft: Draft) -> Result:
    """Return the result of a pipeline. Raises PluginError if a plug-in's plan is not one of the family."""
    from mrdsl.solving.pipelines import run_pipeline

    result = run_pipeline(solver, family.name, given, draft)
    found = last_plugin(solver, family.name) if solver.foreign_file is not None else None
    known = tuple(family.plans()) if found is not None and family.plans is not None else ()
    if found is not None and result.plan is not None and known and not isinstance(result.plan, known):
        names = " or ".join(kind.__name__ for kind in known)
        plugin, place = found
        raise PluginError([plugin.told(f"made {described(result.plan)}, no {names}", place)])
    return result


def checked_against_spec(
    solver: SolverFile, family: Family, result: Result, verified: Callable[[Result], Result]
) -> Result:
    """Return the verified result of a plug-in's pipeline: a plan that breaks the spec, or cannot be read, is
    its fault.
    """
    found = last_plugin(solver, family.name)
    if found is None:
        return verified(result)
    plugin, place = found
    with plugin.blamed("when its plan was held to the spec", place):
        checked = verified(result)
    if result.plan is None or checked.plan is not None or not has_errors(checked.diagnostics):
        return checked
    told = plugin.told("made a plan that violates the spec", place)
    return replace(checked, diagnostics=(*checked.diagnostics, told))


def today_of(spec: Spec, family: Family, plan: Plan | None) -> Today | None:
    """Return the observed cluster and the plan; None without a plan, or without `observed` in the spec."""
    node = getattr(spec.facts, "observed", None)
    if node is None or plan is None or family.today is None:
        return None
    from mrdsl.core.charts import Today, Use
    from mrdsl.spec.rented import Billing

    vm = next(iter(spec.facts.vms))
    price = node.price if node.price is not None else vm.on_demand.price + vm.fee
    held = node.held or (node.time,) * int(node.vms)
    billing = getattr(vm, "billing", None) or getattr(spec.facts, "billing", None)
    if billing is None and hasattr(spec.facts, "billing"):
        billing = Billing()
    paid = sum(held) if billing is None else sum(map(billing.paid, held))
    slots, busy = (_steps(values, node.time) for values in (node.slots, node.busy))
    return Today(
        Use(node.vms, sum(held), paid * price, node.used, late(spec.facts.classes), slots, busy),
        family.today(spec, plan),
    )


def late(classes: Sequence[Any]) -> float | None:
    """Return the part of the recorded runs that took longer than the deadline of their class; None without any."""
    runs = [(took, node.deadline) for node in classes if node.deadline is not None for took in node.took]
    return sum(took > deadline for took, deadline in runs) / len(runs) if runs else None


def _steps(values: Sequence[float], time: float) -> Series | None:
    """Return values of equal parts of a time as steps, the last one until its end."""
    if not values:
        return None
    from mrdsl.core.charts import Series

    times = [time * place / len(values) for place in range(len(values) + 1)]
    return Series("", times, [*values, values[-1]])
