"""How a solve ended, and its objective: termination and solution are separate facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from mrdsl.core.rounding import PROVEN, ROUNDING, SAME_SUM
from mrdsl.core.tables import cell_text
from mrdsl.core.units import show


class Termination(StrEnum):
    """The reason why the solver or pipeline stopped."""

    OPTIMAL = "optimal"
    COMPLETED = "completed"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    TIME_LIMIT = "time_limit"
    NODE_LIMIT = "node_limit"
    INTERRUPTED = "interrupted"
    ERROR = "error"


CUT_SHORT = (Termination.TIME_LIMIT, Termination.NODE_LIMIT, Termination.INTERRUPTED)
"""The ends of a search that was stopped before its own end."""


class SolutionStatus(StrEnum):
    """The state of the solution."""

    NONE = "none"
    FEASIBLE = "feasible"
    OPTIMAL = "optimal"


class Outcome(StrEnum):
    """The verdict of simulation runs on a constraint."""

    KEPT = "kept"
    BROKEN = "broken"
    UNDECIDED = "undecided"

    @property
    def shown(self) -> str:
        """The word for people: met, missed or inconclusive."""
        return {"kept": "met", "broken": "missed", "undecided": "inconclusive"}[self]


@dataclass(frozen=True)
class Objective:
    """The objective, its value and its bound.

    ``gap`` is relative to ``value`` minus the part that every plan costs. ``period`` is the time [s] that a value in
    money pays for, if the spec chooses it.
    """

    sense: str
    quantity: str
    value: float | None
    unit: str
    bound: float | None
    gap: float | None
    period: float | None = None


LEAST_VALUE = 1e-9
"""Least value to which a gap is relative, so that a value of 0 has a gap."""


def relative_gap(value: float | None, bound: float | None, fixed: float = 0.0) -> float | None:
    """Return ``|value - bound|`` relative to the larger of LEAST_VALUE and ``|value - fixed|``, or None if either is
    unknown.

    The difference keeps the last digits of a large ``fixed`` part: no gap is relative to less than those.
    """
    if value is None or bound is None:
        return None
    return abs(value - bound) / max(abs(value - fixed), LEAST_VALUE, ROUNDING * abs(fixed))


_STOPS = {
    Termination.OPTIMAL: "optimal",
    Termination.COMPLETED: "completed",
    Termination.INFEASIBLE: "infeasible: no plan meets all constraints",
    Termination.UNBOUNDED: "unbounded: the goal has no best value",
    Termination.TIME_LIMIT: "stopped at the time limit",
    Termination.NODE_LIMIT: "stopped at the node limit",
    Termination.INTERRUPTED: "interrupted",
    Termination.ERROR: "failed",
}


def status_text(
    termination: Termination,
    solution: SolutionStatus,
    objective: Objective,
    fixed: float,
    formulation: str | None,
    solver: Mapping[str, str | None],
) -> str:
    """Return one or two lines: the ending, the objective and its bound, the solver.

    ``fixed`` is the part of the objective that every plan has.
    """
    line = _STOPS[termination]
    if objective.value is not None:
        line += f": {objective.quantity} {value_text(objective)}{_proof(solution, objective, fixed)}"
    elif solution is SolutionStatus.NONE and termination not in (Termination.INFEASIBLE, Termination.UNBOUNDED):
        line += ", no plan"
    name = " ".join(filter(None, (solver.get("name"), solver.get("version"))))
    if not name:
        return f"{line}\n"
    form = f", formulation {formulation}" if formulation else ""
    source = f", declared in {solver['file']}" if solver.get("file") else ""
    return f"{line}\nsolved by {name}{form}{source}\n"


def value_text(objective: Objective) -> str:
    """Return the goal's value with its unit, and the time that it is the cost of."""
    period = f"for {show(objective.period, 'time')}" if objective.period is not None else ""
    return " ".join(filter(None, (cell_text(objective.value), objective.unit, period)))


def _proof(solution: SolutionStatus, objective: Objective, fixed: float) -> str:
    if objective.bound is None:
        return " (no bound is known)"
    bound = f"bound {cell_text(objective.bound)}, gap {_gap_text(objective.gap or 0.0)}"
    if fixed:
        bound += f" beside the {cell_text(fixed)} {objective.unit} of every plan"
    return f" ({'proven: ' if solution is SolutionStatus.OPTIMAL else ''}{bound})"


def _gap_text(gap: float) -> str:
    """Return a relative gap in percent; differences of rounding count as 0."""
    if gap <= SAME_SUM:
        return "0 %"
    return f"{gap * 100.0:.4g} %" if gap >= PROVEN else f"below {PROVEN * 100.0:.4f} %"
