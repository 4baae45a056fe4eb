"""An external solver's solution file, turned into the same checked result as one of mrdsl's own runs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mrdsl.diagnostics import MrdslError, error
from mrdsl.outcome import Limits, Outcome, Result, SolutionStatus
from mrdsl.solving.answer import Answer
from mrdsl.solving.choice import asked
from mrdsl.solving.compile import column_and_row_names
from mrdsl.solving.dispatch import judge
from mrdsl.solving.extract import fill_the_unused, linear_program
from mrdsl.solving.program import LinearProgram
from mrdsl.solving.readers.status import Found, UnreadableError
from mrdsl.solving.request import Reply
from mrdsl.solving.run import build_model, decoded_outcome, finish
from mrdsl.solving.worker import function
from mrdsl.source import Span
from mrdsl.spec.spec import Spec

FORMATS = ("cbc", "glpk", "highs", "scip")
_SIGNS = (
    ("glpk", re.compile(r"\A(c .*\n|c\n)*s (bas|mip|ipt) ")),
    ("highs", re.compile(r"\AModel status")),
    ("scip", re.compile(r"\A(solution status:|objective value:|no solution available)")),
    ("cbc", re.compile(r"\A.* - objective value")),
)


def read_solution(
    spec: Spec, path: str | Path, form: str | None = None, formulation: str | None = None, relax: bool = False
) -> Result:
    """The plan that a solution file holds for the model that ``compile`` wrote of this spec, checked like any other.

    ``form`` is one of cbc, glpk, highs, scip; without it the file's own look decides. The bound is the file's where it
    holds one; "optimal" in it is the external solver's word. Raises MrdslError ``unreadable-solution`` (exit code 2).
    """
    text = _read(Path(path))
    formulation, relax = asked(spec, formulation, relax)
    form = form or next((name for name, sign in _SIGNS if sign.match(text)), None)
    if form not in FORMATS:
        raise _unreadable(path, "its format is not known", f"say --format, one of {', '.join(FORMATS)}")
    model = build_model(spec, formulation, relax)
    extracted = linear_program(model)
    if extracted is None:
        raise _unreadable(path, "this formulation is not linear", "solution files are read back for linear ones")
    program, names = extracted
    columns, _ = column_and_row_names(program, names)
    try:
        found: Found = function(f"mrdsl.solving.readers.{form}:read")(text)
        values = _values(found, columns, program)
    except UnreadableError as cause:
        raise _unreadable(path, str(cause), "") from None
    reply = Reply(found.termination, values, bound=_signed(found.bound, values, program), message=found.message,
                  within_gap=found.within_gap)
    answer = replace(judge(form, None, reply, program, names, Limits()), solver=form, version=None)
    return _as_result(spec, model, answer, formulation, relax)


def _as_result(spec: Spec, model: Any, answer: Answer, formulation: str | None, relax: bool) -> Result:
    if answer.solution is not SolutionStatus.NONE:
        fill_the_unused(model)
    outcome: Outcome = decoded_outcome(spec, model, answer, formulation, relax)
    return finish(spec, outcome, formulation, relax, {"name": answer.solver, "version": None})


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        reason = cause.strerror if isinstance(cause, OSError) else "it is no text"
        raise _unreadable(path, str(reason), "") from None


def _unreadable(path: str | Path, reason: str, hint: str) -> MrdslError:
    place = Span(str(path), 1, 1, 1, 1)
    return MrdslError([error("unreadable-solution", f"{path} cannot be read as a solution: {reason}", place, hint)])


def _values(found: Found, columns: list[str], program: LinearProgram) -> Any:
    if found.by_position is not None:
        expected = len(columns) + (program.offset != 0.0)
        if len(found.by_position) != expected:
            message = f"it has {len(found.by_position)} columns, this model {expected}: compile and solve again"
            raise UnreadableError(message)
        return np.array(found.by_position[: len(columns)])
    if found.values is None:
        return None
    strange = sorted(set(found.values) - {*columns, "objective_constant"})
    if strange:
        raise UnreadableError(f"it names {strange[0]}, which this model has not: compile and solve again")
    return np.array([found.values.get(name, 0.0) for name in columns])


def _signed(bound: float | None, values: Any, program: LinearProgram) -> float | None:
    """The bound in the goal's own sense: MPS files are written to be minimized, whatever the goal."""
    if bound is None or not program.maximize or values is None:
        return bound
    value = program.objective(values)
    return bound if abs(bound - value) <= abs(-bound - value) else -bound
