"""What a solver's answer means to a user: its result, and the claims of it that were withdrawn."""

from __future__ import annotations

from mrdsl.core.answer import Answer
from mrdsl.core.diagnostics import Diagnostic, warning
from mrdsl.core.result import Plan, Result, SolutionStatus, Termination
from mrdsl.core.source import Span
from mrdsl.solving.claims import failure


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
