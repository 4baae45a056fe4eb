"""One linear program in arrays, one solver, one checked answer: what a Pyomo model comes to, without Pyomo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mrdsl.contracts.family import Needs
from mrdsl.core.answer import Answer, Reply
from mrdsl.core.diagnostics import MrdslError, Span, error
from mrdsl.core.linear_program import WORST, Array, LinearProgram
from mrdsl.core.result import CUT_SHORT, Limits, SolutionStatus, Termination
from mrdsl.core.watching import shared_time
from mrdsl.solving import registry
from mrdsl.solving.claims import Point, answer_of
from mrdsl.solving.declaration import SolverFile
from mrdsl.solving.installed import require, version
from mrdsl.solving.programs import LEAST_TIME, solve_program, without_relaxed_point
from mrdsl.solving.request import DEFAULT_GAP

RowName = Callable[[int], str]


def solve_arrays(
    program: LinearProgram,
    row_name: RowName,
    solver: SolverFile,
    limits: Limits,
    span: Span | None = None,
    start: Array | None = None,
) -> tuple[Answer, Array | None]:
    """The answer to a linear program and its point; None where there is none that holds.

    ``start`` is a point of the program: the solver begins there where it can, and a search that is cut short has
    nothing worse.

    Raises MrdslError for a solver that cannot do the program (exit code 2) or a missing one (exit code 3).
    """
    refuse_what_it_cannot(solver, Needs(program.kind), span)
    require(solver, span)
    careful = solver.careful(version(solver), program.kind)
    limits = of_one_solve(limits)
    reply = solve_program(careful, program, limits, start=start if "start" in careful.offers else None)
    reply = _no_worse(reply, program, start)
    point, refused = checked_point(careful.name, version(careful), reply, program, row_name)
    if refused is not None:
        return refused, None
    answer = answer_of(careful.name, version(careful), reply, point, limits, program.maximize, {})
    return answer, None if point is None or answer.solution is SolutionStatus.NONE else point.values


def _no_worse(reply: Reply, program: LinearProgram, start: Array | None) -> Reply:
    """The reply of a search that was cut short, with the point that it began at where it has none as good."""
    if start is None or reply.termination not in CUT_SHORT:
        return reply
    value, sign = program.objective(start), -1.0 if program.maximize else 1.0
    if reply.values is not None and sign * program.objective(reply.values) <= sign * value:
        return reply
    return replace(reply, values=start, value=value)


def checked_point(
    solver: str, solver_version: str | None, reply: Reply, program: LinearProgram, row_name: RowName
) -> tuple[Point | None, Answer | None]:
    """The point of a reply, made exact, or the answer that refuses one that breaks the program."""
    reply = without_relaxed_point(reply, program)
    if reply.values is None:
        return None, None
    worst, row = program.violation(reply.values)
    if worst > WORST:
        return None, refused_point(solver, solver_version, worst, None if row is None else row_name(row))
    values = program.with_whole_numbers(np.clip(reply.values, program.lower, program.upper))
    return Point(values, program.objective(values), program.goal_size(values), program.fixed), None


def refused_point(solver: str, solver_version: str | None, worst: float, row: str | None) -> Answer:
    """The answer of a solver whose solution breaks the model."""
    where = f"the constraint {row}" if row else "a bound or a whole number"
    message = f"its solution violates {where} by {worst:.2g} (relative)"
    return Answer(Termination.ERROR, SolutionStatus.NONE, None, None, solver, solver_version, message)


def refuse_what_it_cannot(solver: SolverFile, needs: Needs, span: Span | None = None) -> None:
    """Raises MrdslError ``unable-solver`` where the needs exceed what the solver's file states."""
    lacks = "" if needs.kind in solver.solves else f"cannot solve a model of kind {needs.kind}"
    if needs.duals and "duals" not in solver.offers:
        lacks = lacks or "gives no shadow prices"
    if lacks:
        others = ", ".join(registry.solving(needs.kind, needs.duals)) or "none of the known solvers"
        hint = f"these can: {others}"
        raise MrdslError([error("unable-solver", f"{solver.title or solver.name} {lacks}", span, hint)], exit_code=2)


def of_one_solve(limits: Limits) -> Limits:
    """The limits of one solve: the usual gap without one, and within the time that solves share."""
    seconds = shared_time(limits.time)
    if seconds is not None and seconds != limits.time:
        limits = replace(limits, time=max(seconds, LEAST_TIME))
    return replace(limits, gap=DEFAULT_GAP) if limits.gap is None else limits
