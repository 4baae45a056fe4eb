"""What a plan means, or why there is none: all that ``mrdsl why`` says."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from mrdsl.core.result import Limits, Result, Table, Termination
from mrdsl.families.diagnosis import find_family
from mrdsl.spec.spec import Spec

PATIENCE = 30.0
"""Seconds that reasons are sought for where no limit is given."""


@dataclass(frozen=True)
class Explained:
    """A result, and what there is to say of it: tables, and sentences between them, in order."""

    result: Result
    parts: tuple[Table | str, ...]

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables alone."""
        return tuple(part for part in self.parts if isinstance(part, Table))

    def __str__(self) -> str:
        """All of it as text, as the command prints it."""
        from mrdsl.reporting.text import print_tables

        return print_tables(self.parts)


def why(
    plan: Spec | Result, solver: str, formulation: str | None, relax: bool, limits: Limits, worth: bool
) -> Explained:
    """The plan's own story and what its promises are worth; without a plan, which promises exclude each other.

    A spec is solved; a result is taken as it is, with the formulation that it was made by. ``worth`` moves every
    promise a step. ``limits.time`` is for the solve and the reasons together. Raises MrdslError as solving does, and
    KeyboardInterrupt where reasons are interrupted.
    """
    began = time.monotonic()
    from mrdsl.planning.solve_spec import solve
    from mrdsl.solving.interruption import passed_on

    if isinstance(plan, Result):
        result, formulation, relax = plan, plan.formulation, plan.relaxed
    else:
        result = solve(plan, solver, formulation, relax, limits)
    with passed_on():
        left = PATIENCE if limits.time is None else max(0.0, began + limits.time - time.monotonic())
        return _explained(result, (solver, formulation, relax), left, worth)


def _explained(result: Result, method: tuple[str, str | None, bool], patience: float, worth: bool) -> Explained:
    spec: Spec = result.spec
    if result.termination is Termination.INFEASIBLE:
        from mrdsl.explaining.infeasibility import explain
        from mrdsl.explaining.wording import as_tables

        return Explained(result, tuple(as_tables(spec, explain(spec, *method, seconds=patience))))
    return Explained(result, tuple(_of_plan(spec, result, method, worth, patience)))


def _of_plan(
    spec: Spec, result: Result, method: tuple[str, str | None, bool], worth: bool, patience: float
) -> Iterator[Table | str]:
    from mrdsl.explaining.sensitivity import shadow_prices, steps, table

    family = find_family(spec)
    told = tuple(family.why(spec, result)) if family.why is not None else ()
    yield from told
    if result.plan is None:
        if not told:
            yield "There is no plan to explain."
        return
    if method[2] and family.formulations:
        yield shadow_prices(spec, method[1])
    if worth and family.promises and result.objective.value is not None:
        measured = table(spec, result, tuple(steps(spec, result, *method, seconds=patience)))
        yield measured if measured.rows else "Every promise could move a step without any effect on the goal."
