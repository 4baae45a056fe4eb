"""What a solver is asked and what it says, as it crosses from one process to another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Protocol

from mrdsl.core.linear_program import Array, LinearProgram
from mrdsl.core.result import SolutionStatus, Termination

DEFAULT_GAP = 1e-6


@dataclass(frozen=True)
class Request:
    """One model for one solver.

    A linear model comes as ``program``; one that is not linear as the AMPL file ``nl`` (beside it a ``.col`` file with
    the columns' names); one for a solver that Pyomo itself calls as ``model``, with that solver's name in ``factory``
    and a folder for its temporary files in ``folder``.
    ``options`` are in the solver's own names and hold the limits already. ``start`` is a point to begin with,
    ``want_duals`` asks for shadow prices.
    """

    program: LinearProgram | None = None
    nl: str | None = None
    model: Any = None
    factory: str = ""
    folder: str = ""
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    start: Array | None = None
    want_duals: bool = False


@dataclass(frozen=True)
class Reply:
    """What a solver says: ``values`` in the order of the columns, ``duals`` in the order of the rows.

    ``undecided`` marks "infeasible or unbounded", which the caller then settles by a second question;
    ``within_gap`` an optimum whose bound was printed too coarsely, and is known to lie within the gap asked for.
    """

    termination: Termination
    values: Array | None = None
    value: float | None = None
    bound: float | None = None
    duals: Array | None = None
    message: str = ""
    undecided: bool = False
    within_gap: bool = False

    @property
    def solution(self) -> SolutionStatus:
        if self.values is None:
            return SolutionStatus.NONE
        return SolutionStatus.OPTIMAL if self.termination is Termination.OPTIMAL else SolutionStatus.FEASIBLE

    def times(self, factor: float) -> Reply:
        """The same reply for the goal multiplied by ``factor``, which may be negative."""
        if factor == 1.0:
            return self
        return replace(
            self,
            value=None if self.value is None else self.value * factor,
            bound=None if self.bound is None else self.bound * factor,
            duals=None if self.duals is None else self.duals * factor,
        )


class Solve(Protocol):
    """The function behind ``[worker] call``: it runs in a process of its own and may report incumbents as they come.

    ``report(values, value, bound)`` may be called any number of times; what it said last survives if the process has
    to be ended.
    """

    def __call__(self, request: Request, report: Callable[[Array, float, float | None], None]) -> Reply: ...
