"""What a solver's answer means to a user: its result, and the claims of it that were withdrawn."""

from __future__ import annotations

from typing import Any

from mrdsl.contracts.family import Formulation, SolveModel
from mrdsl.core.answer import Answer
from mrdsl.core.diagnostics import Diagnostic, MrdslError, error, warning
from mrdsl.core.result import Limits, Plan, Result, SolutionStatus, Termination
from mrdsl.core.source import Span
from mrdsl.families.diagnosis import find_family
from mrdsl.planning.choice import formulation_named
from mrdsl.solving.claims import failure
from mrdsl.spec.spec import Spec


def doubts_of(answer: Answer, span: Span | None) -> tuple[Diagnostic, ...]:
    """The claims of a solver that were withdrawn, as warnings."""
    hint = "the plan was checked and stands, that it is the best is not known; compare with another solver"
    return tuple(
        warning("contradicted-claim", f"{answer.solver} {answer.version or ''}: {doubt}", span, hint)
        for doubt in answer.doubts
    )


def result_of(answer: Answer, plan: Plan | None, span: Span | None) -> Result:
    """The answer with the plan that was read from it, and a diagnostic where the solver failed."""
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
    """The answer with the plan that a solver left in the model."""
    plan = None
    if answer.solution is not SolutionStatus.NONE:
        if formulation.decode is None:
            message = f"{formulation.name} does not say how a plan is read from its model"
            raise MrdslError([error("unknown-formulation", message, span, "take a formulation that is a single model")])
        plan = formulation.decode(spec, model, relax)
    return result_of(answer, plan, span)


def refined(
    spec: Spec, formulation: Formulation, result: Result, relax: bool, limits: Limits, solve: SolveModel | None
) -> Result:
    """The result with what the model leaves out done to its plan."""
    if formulation.refine is None or result.plan is None:
        return result
    return formulation.refine(spec, relax, limits, result, solve)


def decoded(spec: Spec, model: Any, answer: Answer, formulation: str | None, relax: bool) -> Result:
    """What an answer to the model of ``formulation`` means in the spec's own words, not yet verified."""
    chosen = formulation_named(find_family(spec), formulation)
    return refined(spec, chosen, plan_in(spec, chosen, model, answer, relax, None), relax, Limits(), None)
