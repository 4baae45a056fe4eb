"""Replies of solvers, and the answers that remain after checks.

Every backend and every reader of solution files gives a :class:`Reply`. :mod:`mrdsl.solving.claims` checks it against
the model and makes an :class:`Answer`; there is no other way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mrdsl.core.result import SolutionStatus, Termination

if TYPE_CHECKING:
    from mrdsl.core.linear_program import Array


@dataclass(frozen=True)
class Reply:
    """Claims of a solver or of its solution file, not checked yet.

    ``values`` are in the order of the columns, or ``named`` has them by column name, with 0 for missing ones. ``duals``
    are in the order of the rows. ``value`` is the objective as the solver states it, in the sense of the program that
    it was given. ``undecided`` marks "infeasible or unbounded", which the caller settles with a second question.
    ``within_gap`` marks an optimum whose bound was printed too coarsely, but is known to lie within the requested gap.
    ``beside`` are the replies for the programs that were solved in the same call.
    """

    termination: Termination
    values: Array | None = None
    value: float | None = None
    bound: float | None = None
    duals: Array | None = None
    message: str = ""
    undecided: bool = False
    within_gap: bool = False
    named: Mapping[str, float] | None = None
    beside: tuple[Reply, ...] = ()

    @property
    def solution(self) -> SolutionStatus:
        if self.values is None:
            return SolutionStatus.NONE
        return SolutionStatus.OPTIMAL if self.termination is Termination.OPTIMAL else SolutionStatus.FEASIBLE

    def times(self, factor: float) -> Reply:
        """Return the same reply for the goal multiplied by ``factor``, which may be negative."""
        if factor == 1.0:
            return self
        return replace(
            self,
            value=None if self.value is None else self.value * factor,
            bound=None if self.bound is None else self.bound * factor,
            duals=None if self.duals is None else self.duals * factor,
        )

    def plus(self, amount: float) -> Reply:
        """Return the same reply for the goal with ``amount`` added to it."""
        if amount == 0.0:
            return self
        return replace(
            self,
            value=None if self.value is None else self.value + amount,
            bound=None if self.bound is None else self.bound + amount,
        )


def reply_mistake(value: object) -> str:
    """Return the mistake in a value that a solver's function or reader returned, or "" for a valid reply."""
    return "" if isinstance(value, Reply) else f"returned a {type(value).__name__} instead of a Reply"


@dataclass(frozen=True)
class Answer:
    """The checked part of a solver's reply to a Pyomo model, whose variables hold the incumbent, if there is one.

    ``value`` is the objective of the incumbent as the solver computed it, and ``bound`` its proven bound; both can be
    None. ``duals`` maps constraint names to shadow prices, for LPs only. ``message`` is the output of a solver that
    failed. ``doubts`` are the claims that were withdrawn, with reasons. ``size`` is the size of the largest term of the
    objective: tolerances are relative to it if the objective is a small difference of large terms. ``fixed`` is the
    part of the objective that every solution has; gaps leave it out.
    """

    termination: Termination
    solution: SolutionStatus
    value: float | None = None
    bound: float | None = None
    solver: str = ""
    version: str | None = None
    message: str = ""
    duals: Mapping[str, float] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
    size: float = 0.0
    fixed: float = 0.0
