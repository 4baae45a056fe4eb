"""The one question that every explanation is made of: has this spec a plan?"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import Limits, Result, Termination
from mrdsl.planning.solve_spec import solve
from mrdsl.spec.spec import Spec

ANY_PLAN = 0.99
QUESTIONS = 500
"""So many solves at most for one explanation, whatever the time."""

Each = TypeVar("Each")


class OutOfTimeError(Exception):
    """The seconds or the questions for an explanation are used up, or a solver could not decide."""


@dataclass
class Oracle:
    """Whether a spec has a plan, asked of the same solver as the spec itself; counts what it was asked.

    ``until`` is on the clock of ``time.monotonic``.
    """

    solver: str = "auto"
    formulation: str | None = None
    relax: bool = False
    until: float = float("inf")
    most: int = QUESTIONS
    asked: int = field(default=0)

    def has_plan(self, spec: Spec) -> bool:
        """True where a plan was found, False where none exists; OutOfTimeError where neither is known in time."""
        result = self._solved(spec, ANY_PLAN)
        if result is None or result.termination is Termination.INFEASIBLE:
            return False
        if result.plan is not None or result.termination is Termination.UNBOUNDED:
            return True
        raise OutOfTimeError

    def best(self, spec: Spec) -> Result | None:
        """The result of a spec, its plan as good as the solver's own gap asks, in the time that is left; None where the
        spec is refused."""
        return self._solved(spec, None)

    def _solved(self, spec: Spec, gap: float | None) -> Result | None:
        left = self.until - time.monotonic()
        if left <= 0 or self.asked >= self.most:
            raise OutOfTimeError
        self.asked += 1
        limits = Limits(time=None if left == float("inf") else left, gap=gap)
        try:
            return solve(spec, self.solver, self.formulation, self.relax, limits)
        except MrdslError as refusal:
            if refusal.exit_code == 3:
                raise
            return None


def irreducible(items: tuple[Each, ...], enough: Callable[[tuple[Each, ...]], bool]) -> tuple[Each, ...]:
    """A part of ``items`` that is enough and of which nothing can be left out (QuickXplain, Junker 2004).

    ``enough`` holds of all items, and of every set that has a part of which it holds; that all are enough is not asked.
    """
    needed = set(_divided((), items, False, enough))
    return tuple(item for item in items if item in needed)


def _divided(
    kept: tuple[Each, ...], items: tuple[Each, ...], just_added: bool, enough: Callable[[tuple[Each, ...]], bool]
) -> tuple[Each, ...]:
    """The part of ``items`` that is needed beside what is kept."""
    if just_added and enough(kept):
        return ()
    if len(items) <= 1:
        return items
    half = len(items) // 2
    first, second = items[:half], items[half:]
    in_second = _divided(kept + first, second, bool(first), enough)
    in_first = _divided(kept + in_second, first, bool(in_second), enough)
    return in_first + in_second
