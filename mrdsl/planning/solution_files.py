"""An external solver's solution file, turned into the same checked result as one of mrdsl's own runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from mrdsl.contracts.family import Family, Formulation
from mrdsl.core.answer import Answer, Reply
from mrdsl.core.diagnostics import MrdslError, error, warning
from mrdsl.core.linear_program import LinearProgram
from mrdsl.core.result import Limits, Result, SolutionStatus, Termination
from mrdsl.core.source import Span
from mrdsl.exchange.mistakes import FormatError
from mrdsl.exchange.models.linear import column_and_row_names
from mrdsl.exchange.registry import SOLUTIONS, listed, named, recognized
from mrdsl.families.diagnosis import find_family
from mrdsl.planning.answers import decoded, doubts_of
from mrdsl.planning.choice import asked, formulation_named
from mrdsl.planning.ended_results import goal_of
from mrdsl.planning.known_bounds import compared, method_of
from mrdsl.planning.solve_spec import build_model, finish
from mrdsl.planning.verification import verified
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
KNOWN_SECONDS = 10.0
"""Time limit of the method that claims of a file are compared with [s]."""
CLAIMS = MappingProxyType({Termination.INFEASIBLE: "no plan exists", Termination.UNBOUNDED: "the goal has no bound"})
"""Claims about the model that no point in a file shows."""


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
    its names are those of this very model. "Infeasible" in a file is an error if the family knows a plan, and else a
    claim that a warning reports: the termination is then ``completed``.

    Raises MrdslError ``unreadable-solution``, ``unreadable-names`` or ``stale-model`` (exit code 2).
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
        line, hint = (cause.line, cause.hint) if isinstance(cause, FormatError) else (1, "")
        raise _unreadable(path, str(cause), hint, line) from None
    bound, why_not = _bound(solution, values, program, proof)
    limits = Limits(gap=proof.gap)
    reply = Reply(solution.termination, values, bound=bound, message=solution.message)
    answer = replace(judge(reader.name, None, reply, program, names, limits), solver=reader.name, version=None)
    family = find_family(spec)
    chosen = formulation_named(family, formulation)
    known = _known(spec, family, chosen, relax)
    if known is not None:
        maximize = goal_of(spec, family).sense == "maximize"
        answer = compared(answer, known, limits, maximize, method_of(chosen))
    if answer.solution is SolutionStatus.NONE:
        why_not = None
    if answer.termination in CLAIMS and (known is None or known.termination is not answer.termination):
        words = CLAIMS[answer.termination]
        why_not = f"its claim that {words} was not checked", "solve the spec with mrdsl: `mrdsl solve`"
        answer = replace(answer, termination=Termination.COMPLETED)
    result = _as_result(spec, model, answer, formulation, relax)
    result = replace(result, diagnostics=(*result.diagnostics, *doubts_of(answer, None)))
    if why_not and answer.termination is not Termination.ERROR:
        gives = "no plan" if answer.solution is SolutionStatus.NONE else "a plan without a proof"
        told = warning("unproven-solution", f"{path} gives {gives}: {why_not[0]}", None, why_not[1])
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


def _known(spec: Spec, family: Family, chosen: Formulation, relax: bool) -> Result | None:
    """Return a verified plan and a bound that the family finds without a solver, None if it has no such method."""
    if chosen.known is None:
        return None
    known = chosen.known(spec, relax, Limits(time=KNOWN_SECONDS))
    return None if known is None else verified(spec, family, known, relax)


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


def _unreadable(path: str | Path, reason: str, hint: str, line: int = 1) -> MrdslError:
    place = Span(str(path), line, 1, line, 1)
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
