"""One linear program in arrays and one solver: its reply, and its checked answer.

Pyomo is loaded only for solvers that it calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, inf
from typing import Any, Protocol

import numpy as np

from mrdsl.contracts.family import Needs
from mrdsl.core import watching
from mrdsl.core.answer import Answer, Reply
from mrdsl.core.diagnostics import MrdslError, Span, error
from mrdsl.core.guarded import scratch_folder
from mrdsl.core.linear_program import WORST, Array, LinearProgram
from mrdsl.core.result import CUT_SHORT, Limits, SolutionStatus, Termination
from mrdsl.core.rounding import FEASIBILITY
from mrdsl.core.watching import shared_time
from mrdsl.solving import registry
from mrdsl.solving.backends.program import solve_with_command
from mrdsl.solving.claims import Point, answer_of
from mrdsl.solving.declaration import SolverFile
from mrdsl.solving.pipelines import loaded, unloaded
from mrdsl.solving.registry import require, version
from mrdsl.solving.request import DEFAULT_GAP, Request
from mrdsl.solving.worker import run_in_worker

_TOO_LARGE = 1e15
LEAST_TIME = 0.01
_NEARLY = 0.95
"""Share of a time limit after which a program that stopped has reached it, by its own clock."""


@dataclass(frozen=True)
class Optimum:
    """A solution of a linear program that holds, and the least (or largest) value of its goal."""

    values: Array
    value: float


class UnsolvedError(Exception):
    """An error if neither an optimum nor infeasibility was proven, with the reply of the solver."""


def optimum(program: LinearProgram, limits: Limits) -> Optimum | None:
    """Return the optimum of a linear program by the embedded solver, None where it is proven that there is no solution.

    Raises UnsolvedError for every other end: a limit, a failure, an unbounded goal, a point that breaks the program.
    """
    return _optimum(program, solve_program(_embedded(program.kind), program, limits))


def optima(programs: Sequence[LinearProgram], limits: Limits) -> list[Optimum | UnsolvedError | None]:
    """Return the optima of several programs in one request, since every request costs time to reach the solver.

    An UnsolvedError replaces the optimum of a program; the time limit is for all together.
    """
    ends = inf if limits.time is None else time.monotonic() + limits.time
    trivial = [_trivial(program) for program in programs]
    replies = iter(_together([p for p, known in zip(programs, trivial, strict=True) if known is None], limits))
    ended: list[Optimum | UnsolvedError | None] = []
    for program, known in zip(programs, trivial, strict=True):
        reply = known or next(replies)
        if reply is None or reply.undecided:
            left = None if ends == inf else max(ends - time.monotonic(), LEAST_TIME)
            reply = solve_program(_embedded(program.kind), program, replace(limits, time=left))
        try:
            ended.append(_optimum(program, reply))
        except UnsolvedError as cause:
            ended.append(cause)
    return ended


def _together(programs: Sequence[LinearProgram], limits: Limits) -> Sequence[Reply | None]:
    """Return the embedded solver's replies for programs of one kind, or None for those without an answer before it
    ended.
    """
    if not programs:
        return ()
    solver, factors = _embedded(programs[0].kind), [program.natural_scale() for program in programs]
    assert solver.worker is not None
    assert all(program.kind == programs[0].kind for program in programs)
    first, *others = (p.minimized().scaled(factor) for p, factor in zip(programs, factors, strict=True))
    request = Request(program=first, options=options_of(solver, limits), beside=tuple(others))
    reply = in_worker(solver, request, limits)
    if reply.termination is Termination.INTERRUPTED:
        raise KeyboardInterrupt
    replies = [] if reply.termination is Termination.ERROR else [reply, *reply.beside]
    senses = [-1.0 if program.maximize else 1.0 for program in programs]
    owned = [_decided(one).times(sense / factor) for one, sense, factor in zip(replies, senses, factors, strict=False)]
    return [*owned, *[None] * (len(programs) - len(owned))]


def _optimum(program: LinearProgram, reply: Reply) -> Optimum | None:
    if reply.termination is Termination.INFEASIBLE:
        return None
    if reply.termination is Termination.INTERRUPTED:
        raise KeyboardInterrupt
    if reply.termination is not Termination.OPTIMAL or reply.values is None or reply.value is None:
        raise UnsolvedError("; ".join(filter(None, [str(reply.termination), reply.message])))
    worst, _ = program.violation(reply.values)
    if worst > WORST:
        raise UnsolvedError(f"its solution violates the program by {worst:.2g} (relative)")
    return Optimum(reply.values, reply.value)


@cache
def _embedded(kind: str) -> SolverFile:
    solver = registry.find(registry.EMBEDDED)
    return solver.careful(version(solver), kind)


def solve_program(
    solver: SolverFile, program: LinearProgram, limits: Limits, want_duals: bool = False, start: Array | None = None
) -> Reply:
    """Return the solver's reply for a linear program, in the program's own sense; unbounded and infeasible are settled.

    The solver gets the objective minimized, at its natural size, and without its fixed part, which gaps leave out.
    Value, bound and duals are converted back.
    """
    if (settled := _trivial(program)) is not None:
        return settled
    factor = program.natural_scale()
    asked = program.without_fixed().minimized().scaled(factor)
    own = (-1.0 if program.maximize else 1.0) / factor
    begun = time.monotonic()
    with watching.times(own, program.fixed):
        reply = _ask(solver, asked, limits, want_duals, start)
    reply = _decided(without_relaxed_point(reply, asked, _is_late(begun, limits)))
    if reply.undecided:
        reply = _settle(solver, asked, limits)
    return reply.times(own).plus(program.fixed)


class Model(Protocol):
    """A model that recognizes the points of its relaxation."""

    def is_only_fractional(self, x: Array) -> bool: ...


def without_relaxed_point(reply: Reply, model: Model, late: bool = False) -> Reply:
    """Remove the point of the relaxation from the reply of a search that was cut short.

    If its limit stops CBC before it branches, it writes such a point and calls it optimal.

    Args:
        late: True if the time limit has passed, whatever the solver reports.
    """
    claimed = late and reply.termination in (Termination.OPTIMAL, Termination.COMPLETED)
    if reply.values is None or not (claimed or reply.termination in CUT_SHORT):
        return reply
    if not model.is_only_fractional(reply.values):
        return reply
    if claimed:
        return Reply(Termination.TIME_LIMIT)
    return replace(reply, values=None, value=None)


def _decided(reply: Reply) -> Reply:
    """Return the reply, undecided if its values are beyond those of any bounded program."""
    if reply.values is not None and float(np.abs(reply.values).max(initial=0.0)) >= _TOO_LARGE:
        return Reply(Termination.INFEASIBLE, undecided=True)
    return reply


def _ask(solver: SolverFile, program: LinearProgram, limits: Limits, want_duals: bool, start: Array | None) -> Reply:
    if solver.command is not None:
        return solve_with_command(solver, program, limits, start)
    if solver.pyomo is not None:
        return through_pyomo(solver, limits, program=program)
    assert solver.worker is not None
    request = Request(program=program, options=options_of(solver, limits), start=start, want_duals=want_duals)
    return in_worker(solver, request, limits)


def in_worker(solver: SolverFile, request: Request, limits: Limits) -> Reply:
    """Return the reply of the function that a solver file names."""
    assert solver.worker is not None
    try:
        call, _ = loaded(solver, solver.worker.call)
    except (ImportError, AttributeError, MrdslError) as cause:
        return Reply(Termination.ERROR, message=unloaded("a function", cause))
    return run_in_worker(call, request, limits.time)


def _settle(solver: SolverFile, program: LinearProgram, limits: Limits) -> Reply:
    """Decides between infeasible and unbounded: a program with any solution that has no optimum is unbounded."""
    if not program.may_be_unbounded():
        return Reply(Termination.INFEASIBLE)
    reply = _ask(solver, program.without_goal(), limits, False, None)
    if reply.termination is Termination.OPTIMAL or reply.values is not None:
        return Reply(Termination.UNBOUNDED)
    return replace(reply, undecided=False)


def _trivial(program: LinearProgram) -> Reply | None:
    """Return the reply without a solver for a row without columns that cannot hold, or a program without columns."""
    empty = np.diff(program.starts) == 0
    if np.any(empty & ((program.row_lower > FEASIBILITY) | (program.row_upper < -FEASIBILITY))):
        return Reply(Termination.INFEASIBLE)
    if np.any(program.lower > program.upper):
        return Reply(Termination.INFEASIBLE)
    if len(program.costs) == 0:
        return Reply(Termination.OPTIMAL, np.zeros(0), program.offset, program.offset)
    return None


def options_of(solver: SolverFile, limits: Limits) -> Mapping[str, Any]:
    """Return a solver's options in its own names: those of its file, and the limits."""
    options = dict(solver.options)
    for name in ("time", "gap", "nodes", "threads", "seed"):
        value = getattr(limits, name)
        if value is not None and name in solver.limits:
            own = solver.limits[name]
            if isinstance(own, Mapping):
                options[own["name"]] = max(1, ceil(value))
            else:
                options[own] = float(value) if name in ("time", "gap") else int(value)
    return options


def through_pyomo(solver: SolverFile, limits: Limits, **what: Any) -> Reply:
    """Return the reply of a solver that Pyomo calls; ``what`` is the program or model of the request.

    Pyomo does not always report the limit at which GLPK and CBC stopped: it is the time limit if that has passed.
    """
    from mrdsl.solving.backends.pyomo import solve

    assert solver.pyomo is not None
    begun = time.monotonic()
    with scratch_folder() as folder:
        request = Request(factory=solver.pyomo.factory, options=options_of(solver, limits), folder=str(folder), **what)
        reply = run_in_worker(solve, request, limits.time)
    if _is_late(begun, limits) and reply.termination in (Termination.COMPLETED, Termination.NODE_LIMIT):
        return replace(reply, termination=Termination.TIME_LIMIT)
    return reply


def _is_late(begun: float, limits: Limits) -> bool:
    return limits.time is not None and time.monotonic() - begun >= _NEARLY * limits.time


RowName = Callable[[int], str]


def solve_arrays(
    program: LinearProgram,
    row_name: RowName,
    solver: SolverFile,
    limits: Limits,
    span: Span | None = None,
    start: Array | None = None,
) -> tuple[Answer, Array | None]:
    """Return the answer to a linear program and its point, or None if there is no valid one.

    ``start`` is a point of the program: the solver starts from it if it can, and a search that is cut short returns
    nothing worse. Raises MrdslError for a solver that cannot solve the program (exit code 2) or a missing one (exit
    code 3).
    """
    refuse_unsupported(solver, Needs(program.kind), span)
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
    """Return the reply of a search that was cut short, with its starting point if it found no better one."""
    if start is None or reply.termination not in CUT_SHORT:
        return reply
    value, sign = program.objective(start), -1.0 if program.maximize else 1.0
    if reply.values is not None and sign * program.objective(reply.values) <= sign * value:
        return reply
    return replace(reply, values=start, value=value)


def checked_point(
    solver: str, solver_version: str | None, reply: Reply, program: LinearProgram, row_name: RowName
) -> tuple[Point | None, Answer | None]:
    """Return the point of a reply, made exact, or the answer that refuses one that breaks the program."""
    reply = without_relaxed_point(reply, program)
    if reply.values is None:
        return None, None
    worst, row = program.violation(reply.values)
    if worst > WORST:
        return None, refused_point(solver, solver_version, worst, None if row is None else row_name(row))
    values = program.with_whole_numbers(np.clip(reply.values, program.lower, program.upper))
    return Point(values, program.objective(values), program.goal_size(values), program.fixed), None


def refused_point(solver: str, solver_version: str | None, worst: float, row: str | None) -> Answer:
    """Return the answer of a solver whose solution breaks the model."""
    where = f"the constraint {row}" if row else "a bound or a whole number"
    message = f"its solution violates {where} by {worst:.2g} (relative)"
    return Answer(Termination.ERROR, SolutionStatus.NONE, None, None, solver, solver_version, message)


def refuse_unsupported(solver: SolverFile, needs: Needs, span: Span | None = None) -> None:
    """Raise MrdslError ``unable-solver`` if the needs exceed the features in the solver's file."""
    lacks = "" if needs.kind in solver.solves else f"cannot solve a model of kind {needs.kind}"
    if needs.duals and "duals" not in solver.offers:
        lacks = lacks or "gives no shadow prices"
    if lacks:
        others = ", ".join(registry.solving(needs.kind, needs.duals)) or "none of the known solvers"
        hint = f"these can: {others}"
        raise MrdslError([error("unable-solver", f"{solver.title or solver.name} {lacks}", span, hint)], exit_code=2)


def of_one_solve(limits: Limits) -> Limits:
    """Return the limits of one solve: the usual gap without one, and within the time that solves share."""
    seconds = shared_time(limits.time)
    if seconds is not None and seconds != limits.time:
        least = LEAST_TIME if limits.time is None else min(limits.time, LEAST_TIME)
        limits = replace(limits, time=max(seconds, least))
    return replace(limits, gap=DEFAULT_GAP) if limits.gap is None else limits
