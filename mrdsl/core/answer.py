"""What a solver says, and what of it stands.

A :class:`Reply` is what every backend and every reader of solution files gives. Checked against the model it becomes an
:class:`Answer`; there is no other way from one to the other than :mod:`mrdsl.solving.claims`.
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
    """What a solver says, or its solution file: claims, of which nothing has been checked.

    ``values`` are in the order of the columns, or ``named`` has them by the columns' names, missing ones zero;
    ``duals`` are in the order of the rows. ``value`` is the goal's as the solver states it, in the sense of what it was
    given.
    ``undecided`` marks "infeasible or unbounded", which the caller then settles by a second question;
    ``within_gap`` an optimum whose bound was printed too coarsely, and is known to lie within the gap asked for.
    ``beside`` are the replies for the programs that were asked beside this one.
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
    """What is wrong with what a solver's function or reader returned, in words; "" where it is a reply."""
    return "" if isinstance(value, Reply) else f"returned a {type(value).__name__} instead of a Reply"


@dataclass(frozen=True)
class Answer:
    """What stands of a solver's reply to a Pyomo model; its incumbent, if any, is loaded into the model's variables.

    ``value`` is the incumbent's objective as the solver computed it and ``bound`` the solver's proven bound, both
    None where there is none. ``duals`` maps constraint names to shadow prices (LPs only). ``message`` is for people:
    what the solver printed where it failed. ``doubts`` say which of its claims were withdrawn and why. ``size`` is that
    of the goal's largest term, to which tolerances are relative where the goal is a small difference of large terms;
    ``fixed`` the part of the goal that every solution has, which gaps are not measured on.
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
