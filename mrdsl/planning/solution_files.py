"""An external solver's solution file, turned into the same checked result as one of mrdsl's own runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mrdsl.core.answer import Answer, Reply
from mrdsl.core.diagnostics import MrdslError, error, warning
from mrdsl.core.linear_program import LinearProgram
from mrdsl.core.result import Limits, Result, SolutionStatus, Termination
from mrdsl.core.source import Span
from mrdsl.exchange.mistakes import FormatError
from mrdsl.exchange.models.linear import column_and_row_names
from mrdsl.exchange.registry import SOLUTIONS, listed, named, recognized
from mrdsl.planning.answers import decoded, doubts_of
from mrdsl.planning.choice import asked
from mrdsl.planning.solve_spec import build_model, finish
from mrdsl.solving.agreement import AGREE
from mrdsl.solving.arrays import fill_the_unused, linear_program
from mrdsl.solving.checked_answer import judge
from mrdsl.solving.fingerprint import require_match
from mrdsl.spec.spec import Spec


@dataclass(frozen=True)
class Proof:
    """What the user says of the solver's run: ``names`` is the model's names.json, ``gap`` the relative gap and
    ``bound`` the bound, in the goal's own sense and unit, that the solver proved."""

    names: Path | None = None
    gap: float | None = None
    bound: float | None = None


NOTHING = Proof()


def read_solution(
    spec: Spec,
    path: str | Path,
    form: str | None = None,
    formulation: str | None = None,
    relax: bool = False,
    proof: Proof = NOTHING,
) -> Result:
    """The plan that a solution file holds for the model that ``compile`` wrote of this spec, checked like any other.

    ``form`` is a format of ``exchange.registry.SOLUTIONS``; without it the file's own look decides. "Optimal" in a file
    is no bound: one is claimed where shadow prices in the file prove it, or where ``proof`` gives it; either only where
    its names are those of this very model. Raises MrdslError ``unreadable-solution``, ``unreadable-names`` or
    ``stale-model`` (exit code 2).
    """
    text = _read(Path(path))
    formulation, relax = asked(spec, formulation, relax)
    reader = named(SOLUTIONS, form) if form else recognized(SOLUTIONS, text)
    if reader is None:
        raise _unreadable(path, "its format is not known", f"say --format; {listed(SOLUTIONS)}")
    model = build_model(spec, formulation, relax)
    extracted = linear_program(model)
    if extracted is None:
        raise _unreadable(path, "this formulation is not linear", "solution files are read back for linear ones")
    program, names = extracted
    columns, _ = column_and_row_names(program, names)
    if proof.names is not None:
        require_match(proof.names, program, columns)
    try:
        solution = reader.read(path, [])
        values = _values(solution, columns, program)
    except (FormatError, ValueError, IndexError) as cause:
        raise _unreadable(path, str(cause), "") from None
    bound, why_not = _bound(solution, values, program, proof)
    ended = solution.termination
    if proof.names is None and values is None and ended in (Termination.INFEASIBLE, Termination.UNBOUNDED):
        ended = Termination.COMPLETED
    reply = Reply(ended, values, bound=bound, message=solution.message)
    answer = replace(
        judge(reader.name, None, reply, program, names, Limits(gap=proof.gap)), solver=reader.name, version=None
    )
    result = _as_result(spec, model, answer, formulation, relax)
    result = replace(result, diagnostics=(*result.diagnostics, *doubts_of(answer, None)))
    if why_not and answer.termination is not Termination.ERROR:
        told = warning("unproven-solution", f"{path} gives a plan without a proof: {why_not[0]}", None, why_not[1])
        result = replace(result, diagnostics=(*result.diagnostics, told))
    return result


def _bound(
    reply: Reply, values: Any, program: LinearProgram, proof: Proof
) -> tuple[float | None, tuple[str, str] | None]:
    """The bound that is known, in the goal's own sense; or why none is, and what would give one."""
    if proof.names is None:
        return None, (
            "nothing says that it was solved from this very model",
            "give the model's own names.json as --names, and the solver's --gap or --bound",
        )
    if values is None:
        return None, None
    value = program.objective(values)
    size = max(program.goal_size(values), abs(value))
    if reply.value is not None and not min(abs(reply.value - value), abs(reply.value + value)) <= AGREE * size:
        return None, (
            f"it states {reply.value:g} as the goal's value, its columns are worth {value:g} in this model",
            "compile and solve again",
        )
    if proof.bound is not None:
        return proof.bound, None
    if proof.gap is not None:
        away = proof.gap * abs(value)
        return (value + away if program.maximize else value - away), None
    proven = program.dual_bound(reply.duals.tolist()) if reply.duals is not None else None
    if proven is not None:
        return proven, None
    return None, (
        "it holds no bound, and 'optimal' is within whatever gap the solver was given",
        "say which: --gap 0.0001 (HiGHS stops there by default), --gap 0, or the --bound that it printed",
    )


def _as_result(spec: Spec, model: Any, answer: Answer, formulation: str | None, relax: bool) -> Result:
    if answer.solution is not SolutionStatus.NONE:
        fill_the_unused(model)
    result: Result = decoded(spec, model, answer, formulation, relax)
    return finish(spec, result, formulation, relax, {"name": answer.solver, "version": None})


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        reason = cause.strerror if isinstance(cause, OSError) else "it is no text"
        raise _unreadable(path, str(reason), "") from None


def _unreadable(path: str | Path, reason: str, hint: str) -> MrdslError:
    place = Span(str(path), 1, 1, 1, 1)
    return MrdslError([error("unreadable-solution", f"{path} cannot be read as a solution: {reason}", place, hint)])


def _values(reply: Reply, columns: list[str], program: LinearProgram) -> Any:
    if reply.values is not None:
        expected = len(columns) + (program.offset != 0.0)
        if len(reply.values) != expected:
            message = f"it has {len(reply.values)} columns, this model {expected}: compile and solve again"
            raise FormatError(message)
        return reply.values[: len(columns)]
    if reply.named is None:
        return None
    strange = sorted(set(reply.named) - {*columns, "objective_constant"})
    if strange:
        raise FormatError(f"it names {strange[0]}, which this model has not: compile and solve again")
    return np.array([reply.named.get(name, 0.0) for name in columns])
