"""Claims of a solver's reply: its bound counts only as far as it agrees with the known point.

A claim that contradicts a verified point or value is withdrawn, with a doubt that gives the reason. The point stays,
because it was checked against the model, and the proof is dropped. Tolerances define how closely a bound must agree
with a value, and a value with that of its plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mrdsl.core.answer import Answer, Reply
from mrdsl.core.diagnostics import Diagnostic, Span, error
from mrdsl.core.linear_program import Array
from mrdsl.core.result import Limits, SolutionStatus, Termination, relative_gap

TOLERANCE = 1e-5
"""Largest distance of a value beyond a true bound, relative to the size of the objective: points are exact to 1e-6 to
1e-5."""
AGREE = 1e-6
"""Excess of the gap between value and bound over the requested gap that counts as rounding."""


def contradicts(bound: float, value: float, maximize: bool, size: float = 0.0) -> bool:
    """Return True if a value that is attained lies beyond a bound by more than tolerances explain."""
    beyond = value - bound if maximize else bound - value
    return not beyond <= TOLERANCE * max(abs(value), size)


def drawn_back(bound: float | None, value: float, maximize: bool) -> float | None:
    """Return the bound, no further than the value."""
    if bound is None:
        return None
    return max(bound, value) if maximize else min(bound, value)


CRASHED = "it crashed"
"""Beginning of the message of a solver whose process died of a signal of its own."""


@dataclass(frozen=True)
class Point:
    """A checked point of a model: its value, the size of the largest term of the objective, and the fixed part."""

    values: Array
    value: float
    size: float = 0.0
    fixed: float = 0.0


def answer_of(
    solver: str,
    version: str | None,
    reply: Reply,
    point: Point | None,
    limits: Limits,
    maximize: bool,
    duals: Mapping[str, float],
) -> Answer:
    """Return the answer that a reply and its checked point come to; no more is called optimal than the bound proves."""
    doubts: tuple[str, ...] = ()
    if point is None:
        termination, message = reply.termination, reply.message
        if termination is Termination.OPTIMAL:
            termination, message = Termination.ERROR, "it reports an optimum without a solution"
        return Answer(termination, SolutionStatus.NONE, None, reply.bound, solver, version, message, duals)
    bound = _refined(reply, point.value - point.fixed, point.value, limits, maximize)
    if bound is not None and contradicts(bound, point.value, maximize, point.size):
        doubts = (
            f"it claims that no plan is {'above' if maximize else 'below'} {bound:g}, and gives one worth "
            f"{point.value:g}: its bound is left out",
        )
        bound = None
    answer = Answer(
        reply.termination,
        SolutionStatus.FEASIBLE,
        point.value,
        drawn_back(bound, point.value, maximize),
        solver,
        version,
        reply.message,
        duals,
        doubts,
        point.size,
        point.fixed,
    )
    return graded(answer, limits)


def failure(solver: str, message: str, span: Span | None = None) -> Diagnostic:
    """Return the diagnostic of a solver that ended without an answer; a crash is a fault of the solver, not of the
    spec.
    """
    own = f"this is a fault of {solver}, not of the spec; take another solver: `mrdsl solvers` lists them"
    return error("solver-failed", f"{solver}: {message}", span, own if message.startswith(CRASHED) else "")


def graded(answer: Answer, limits: Limits) -> Answer:
    """Return the answer, optimal if and only if its bound proves that."""
    if answer.solution is SolutionStatus.NONE:
        return answer
    gap = relative_gap(answer.value, answer.bound, answer.fixed)
    ended = answer.termination in (Termination.OPTIMAL, Termination.COMPLETED)
    if ended and gap is not None and gap <= (limits.gap or 0.0) + AGREE:
        return replace(answer, solution=SolutionStatus.OPTIMAL, termination=Termination.OPTIMAL)
    stopped = Termination.COMPLETED if ended else answer.termination
    return replace(answer, solution=SolutionStatus.FEASIBLE, termination=stopped)


def _refined(reply: Reply, measured: float, value: float, limits: Limits, maximize: bool) -> float | None:
    """Return the bound; a bound printed with few digits is no further from the value than the proven gap.

    The gap is relative to the ``measured`` part of the value.
    """
    if not reply.within_gap:
        return reply.bound
    proven = (limits.gap or 0.0) * abs(measured)
    candidate = value + proven if maximize else value - proven
    if reply.bound is None:
        return candidate
    return min(reply.bound, candidate) if maximize else max(reply.bound, candidate)
