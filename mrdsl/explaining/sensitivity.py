"""What each promise costs: shadow prices of linear programs, and for whole plans the effect of moving it one step.

A step is 5 % for a quantity and 1 for a count, once in the easy and once in the hard direction; each effect is measured
by solving again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

from mrdsl.contracts.family import Needs
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import Limits, Result, Table, Termination
from mrdsl.core.tolerances import PROVEN, ROUNDING
from mrdsl.core.watching import counted
from mrdsl.explaining.promises import Line, lines_of, moved
from mrdsl.families.diagnosis import find_family
from mrdsl.planning.choice import formulation_named
from mrdsl.planning.solve_spec import build_model, solve
from mrdsl.spec.spec import Spec

STEP = 0.05


@dataclass(frozen=True)
class Step:
    """A promise at another value: ``effect`` is the goal's change, None where no plan keeps it (``possible`` False)
    or where the solver did not prove its answer in time."""

    line: Line
    value: float
    effect: float | None
    possible: bool = True


def steps(
    spec: Spec,
    result: Result,
    solver: str = "auto",
    formulation: str | None = None,
    relax: bool = False,
    limits: Limits | None = None,
    seconds: float = float("inf"),
) -> Iterator[Step]:
    """Each promise one step easier and one step harder, and what that does to the goal; stops after ``seconds``.

    ``result`` is the proven result of the spec as it is.
    """
    until = time.monotonic() + seconds
    base = result.objective.value
    if base is None:
        return
    planned = [(line, value) for line in lines_of(spec, find_family(spec)) for value in _neighbours(line)]
    for line, value in counted("what promises are worth", planned):
        left = until - time.monotonic()
        if left <= 0.0:
            return
        yield _measured(spec, line, value, base, (solver, formulation, relax, _within(limits or Limits(), left)))


def _within(limits: Limits, left: float) -> Limits:
    """The limits of one solve, which ends with the time that is left of all."""
    return limits if left == inf else replace(limits, time=min(left, limits.time or inf))


def _neighbours(line: Line) -> Iterator[float]:
    if line.direction == 0:
        return
    for sign in (line.direction, -line.direction):
        value = line.value + sign if line.whole else line.value * (1 + sign * STEP)
        if value != line.value and value >= 0.0 and (line.limit - value) * line.direction >= 0.0:
            yield value


def _measured(
    spec: Spec, line: Line, value: float, base: float, how: tuple[str, str | None, bool, Limits | None]
) -> Step:
    try:
        result = solve(moved(spec, {line: value}), *how)
    except MrdslError:
        return Step(line, value, None, possible=False)
    if result.termination is Termination.INFEASIBLE:
        return Step(line, value, None, possible=False)
    reached = None if result.termination is Termination.TIME_LIMIT else result.objective.value
    return Step(line, value, None if reached is None else reached - base)


def table(spec: Spec, result: Result, steps: Sequence[Step]) -> Table:
    """The steps for a reader; those without any effect are left out."""
    unit = result.objective.unit
    rows = []
    for step in steps:
        if not step.possible:
            effect = "no plan"
        elif step.effect is None:
            effect = "not known"
        elif abs(step.effect) <= PROVEN * max(1.0, abs(result.objective.value or 0.0)):
            continue
        else:
            effect = f"{step.effect:+.4g} {unit}".strip()
        now = step.line.told(step.line.value, spec.currency)
        rows.append((step.line.label, now, step.line.told(step.value, spec.currency), effect))
    head = ("promise", "now", "step to", f"{result.objective.quantity} changes by")
    return Table("What each promise is worth (measured by solving again)", head, rows)


def shadow_prices(spec: Spec, formulation: str | None = None, solver: str = "highs") -> Table:
    """The shadow prices of the relaxation's constraints: what one unit more on the right side does to the goal.

    Raises MrdslError where the formulation is not linear or the solver gives none.
    """
    from mrdsl.planning.model_files import span_of
    from mrdsl.solving.checked_answer import solve_model

    model = build_model(spec, formulation_named(find_family(spec), formulation).name, relax=True)
    answer = solve_model(model, solver, Limits(), Needs("LP", duals=True))
    spans = getattr(model, "spans", None) or {}
    rows = []
    for name, price in answer.duals.items():
        if abs(price) > ROUNDING:
            span = span_of(model.find_component(name), spans)
            rows.append((name, price, str(span) if span else ""))
    return Table("Shadow prices of the relaxation", ("constraint", "goal per unit", "line"), rows)
