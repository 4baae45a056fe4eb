"""Sensitivity of a plan: shadow prices, the effect of one step, and curves over deadlines, prices and task times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from math import isfinite
from typing import Any

from mrdsl.contracts.family import Needs
from mrdsl.core.charts import LineChart, Series
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import Limits, Result, Table, Termination
from mrdsl.core.rounding import PROVEN, ROUNDING
from mrdsl.core.watching import counted, is_late
from mrdsl.explaining.promises import SWITCH, Line, lines_of, moved
from mrdsl.families.diagnosis import find_family
from mrdsl.planning.choice import formulation_named
from mrdsl.planning.solve_spec import build_model, solve
from mrdsl.spec.changing import FactNumber, label_of, numbers_at, with_values
from mrdsl.spec.scaling import TASK_TIMES, blocks_with_task_times, scaled
from mrdsl.spec.schema import Block, Item, Node, declarations
from mrdsl.spec.spec import Spec

STEP = 0.05


@dataclass(frozen=True)
class Step:
    """A constraint at another value, and the change of the objective, ``effect``.

    It is None if no plan meets the constraint (``possible`` False), if the solver did not prove its answer in time, or
    if it ended without an answer (``ended``).
    If ``bound`` is known, the effect is that on the family's bound, of which it is the value without the step.
    """

    line: Line
    value: float
    effect: float | None
    possible: bool = True
    bound: float | None = None
    ended: bool = False


def steps(
    spec: Spec,
    result: Result,
    solver: str = "auto",
    formulation: str | None = None,
    relax: bool = False,
    limits: Limits | None = None,
) -> Iterator[Step]:
    """Yield each constraint one step easier and one step harder, with the effect on the goal, in the shared time.

    ``result`` is that of the spec as it is. The bounds of large specs are compared if the family offers them, and no
    solver is named. Nothing is yielded if there are more than ``MOST`` steps.
    """
    base, family = result.objective.value, find_family(spec)
    if base is None:
        return
    planned = [(line, value) for line in lines_of(spec, family) for value in _neighbours(line)]
    if len(planned) > MOST:
        return
    quick = family.bound if solver == "auto" and not relax else None
    least = None if quick is None else quick(spec)
    for line, value in counted("sensitivity", planned):
        if is_late():
            return
        if quick is not None and least is not None:
            yield _compared(quick(moved(spec, {line: value}), spec), Step(line, value, None, bound=least))
            continue
        yield _measured(spec, line, value, base, (solver, formulation, relax, limits))


def _compared(found: float | None, step: Step) -> Step:
    """Return a step with its effect on the bound, of a spec that has a plan."""
    if found is None or step.bound is None:
        return replace(step, ended=True)
    return replace(step, effect=found - step.bound) if isfinite(found) else replace(step, possible=False)


def _neighbours(line: Line) -> Iterator[float]:
    if line.direction == 0:
        return
    if line.kind == SWITCH:
        yield 0.0
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
    late = result.termination is Termination.TIME_LIMIT
    reached = None if late else result.objective.value
    return Step(line, value, None if reached is None else reached - base, ended=reached is None and not late)


NAMED = 10
"""Most constraints in a sentence."""
MOST = 2_000
"""Most steps that are measured, each with a solve of its own."""


def effects(spec: Spec, result: Result, steps: Sequence[Step], option: str = "--time-limit") -> Iterator[Table | str]:
    """Yield the steps for a reader, and the constraints without a measured step; ``option`` sets the time for them."""
    measured = {(step.line, step.value) for step in steps if step.effect is not None or not step.possible}
    lines = lines_of(spec, find_family(spec))
    planned = sum(1 for line in lines for _ in _neighbours(line))
    if planned > MOST:
        yield (
            f"The effect of each constraint is not measured: {len(lines):,} constraints need {planned:,} solves, and"
            f" {MOST:,} are the most. Move all constraints of a kind, as in `mrdsl solve --scale deadline=1.1`."
        )
        return
    ended = {(step.line, step.value) for step in steps if step.ended}
    undecided, left = (
        [line.label for line in lines if any((line, value) in among for value in _neighbours(line))]
        for among in (ended, {(line, value) for line in lines for value in _neighbours(line)} - measured - ended)
    )
    shown = table(spec, result, steps)
    if shown.rows:
        yield shown
        if steps[0].bound is not None:
            yield _of_bound(result, steps[0].bound)
    elif not (left or undecided):
        goal = "bound" if any(step.bound is not None for step in steps) else "objective"
        yield f"No constraint affects the {goal}: moving any of them by one step changes nothing."
    if undecided:
        yield f"mrdsl found neither a plan nor a proof that there is none for a step of: {_named(undecided)}."
    if left:
        yield f"Time ran out before every step of these constraints was measured: {_named(left)}. Raise `{option}`."


def _named(labels: Sequence[str]) -> str:
    return ", ".join(labels[:NAMED]) + (f", and {len(labels) - NAMED:,} more" if len(labels) > NAMED else "")


def _of_bound(result: Result, bound: float) -> str:
    """Return what the steps on a bound prove of plans, which cost at least it."""
    text = "The changes are those of a bound, which allows parts of jobs and VMs"
    value = result.objective.value
    if value is None or result.sense == "maximize":
        return f"{text}."
    away = f"{value - bound:.4g} {result.objective.unit}".strip()
    return f"{text}: no step saves more than its number plus {away}, the distance of this plan to that bound."


def table(spec: Spec, result: Result, steps: Sequence[Step]) -> Table:
    """Return the steps for a reader; those without any effect are left out."""
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
        both = (step.line.value, step.value)
        rows.append((step.line.label, *(step.line.told(value, spec.currency, both) for value in both), effect))
    of_bound = any(step.bound is not None for step in steps)
    changed = f"{'least ' if of_bound else ''}{result.objective.quantity} changes by"
    how = "by a bound" if of_bound else "measured by solving again"
    return Table(f"Sensitivity to each constraint ({how})", ("constraint", "now", "step to", changed), rows)


def shadow_prices(spec: Spec, formulation: str | None = None, solver: str = "highs") -> Table:
    """Return the shadow prices of the relaxation: the change of the objective per unit of the right side of each
    constraint.

    Raises MrdslError if the formulation is not linear or the solver gives no prices.
    """
    from mrdsl.planning.solver_files import span_of
    from mrdsl.solving.checked_answer import solve_model

    model = build_model(spec, formulation_named(find_family(spec), formulation).name, relax=True)
    answer = solve_model(model, solver, Limits(), Needs("LP", duals=True))
    spans = getattr(model, "spans", None) or {}
    rows = []
    for name, price in answer.duals.items():
        if abs(price) > ROUNDING:
            span = span_of(model.find_component(name), spans)
            rows.append((name, price, str(span) if span else ""))
    return Table("Shadow prices of the relaxation", ("constraint", "objective per unit", "line"), rows)


WRITTEN = 1.0
FACTORS = (0.7, 0.85, WRITTEN, 1.15, 1.3, 1.6)
"""The points of a curve, relative to the number in the spec."""
Point = tuple[str, str, float]
"""Kind of the numbers that change, their names, and the factor."""
Moves = Mapping[str, Callable[[float], Any]]
"""The facts with some numbers multiplied by a factor, by the names of the numbers."""
ALONE = 3
"""Most numbers of a kind that change alone; another curve changes all of them together."""


@dataclass(frozen=True)
class How:
    """The solver of the changed specs, and the time limit of all of them together [s]."""

    solver: str = "auto"
    formulation: str | None = None
    relax: bool = False
    limits: Limits = Limits()
    seconds: float = 30.0


@dataclass(frozen=True)
class Curves:
    """The charts, and how many of their points were computed before time ran out."""

    charts: tuple[LineChart, ...]
    computed: int
    planned: int


def curves(spec: Spec, result: Result, how: How) -> Curves:
    """Return the objective over deadlines, prices and task times, in the shared time.

    Points without a plan, or without time for them, are holes. ``result`` is that of the unchanged spec. Watchers get
    every point. There are no charts if the objective has no value.
    """
    if result.objective.value is None or not how.seconds:
        return Curves((), 0, 0)
    kinds = {"deadline": _deadlines(spec), "price": _prices(spec)}
    moves: dict[str, Moves] = {kind: dict(_moves(spec, kind, numbers)) for kind, numbers in kinds.items() if numbers}
    moves |= {"task time": times} if (times := _task_times(spec)) else {}
    planned = [
        (kind, name, factor)
        for kind, named in moves.items()
        for name in named
        for factor in FACTORS
        if factor != WRITTEN
    ]
    found: dict[Point, float | None] = {}
    for kind, name, factor in counted("what-if curves", planned):
        if is_late():
            break
        found[kind, name, factor] = _value(spec, moves[kind][name], factor, how)
    charts = tuple(_chart(result, kind, tuple(named), found) for kind, named in moves.items())
    return Curves(charts, len(found), len(planned))


def _chart(result: Result, kind: str, names: tuple[str, ...], found: Mapping[Point, float | None]) -> LineChart:
    goal = result.objective
    series = (
        Series(
            name,
            [100.0 * factor for factor in FACTORS],
            [goal.value if factor == WRITTEN else found.get((kind, name, factor)) for factor in FACTORS],
        )
        for name in names
    )
    return LineChart(
        f"{goal.quantity.capitalize()} over {kind}s",
        f"{kind}, in % of the spec's value",
        f"{goal.quantity} [{goal.unit}]" if goal.unit else goal.quantity,
        tuple(series),
        slider=100.0,
    )


def _moves(spec: Spec, kind: str, numbers: Mapping[FactNumber, float]) -> Iterator[tuple[str, Callable[[float], Any]]]:
    """Yield the numbers to change: all together if there are several, then the first ones alone."""
    if len(numbers) > 1:
        yield f"all {kind}s", partial(_multiplied, spec, numbers)
    labels = [label_of(spec.facts, number) for number in numbers]
    for (number, value), label in list(zip(numbers.items(), labels, strict=True))[:ALONE]:
        inner = number.path.split(".")[-2]
        yield label if labels.count(label) == 1 else f"{inner} {label}", partial(_multiplied, spec, {number: value})


def _multiplied(spec: Spec, numbers: Mapping[FactNumber, float], factor: float) -> Any:
    return with_values(spec.facts, {number: value * factor for number, value in numbers.items()})


def _task_times(spec: Spec) -> Moves:
    """Return the task times to change: of all blocks together if there are several, then of the first ones alone."""
    named = tuple(islice(blocks_with_task_times(spec.facts), ALONE + 1))
    together = {"all task times": TASK_TIMES} if len(named) > 1 else {}
    names = {**together, **{f"task times of {name}": f"{name}.{TASK_TIMES}" for name in named[:ALONE]}}
    return {shown: partial(_scaled, spec, name) for shown, name in names.items()}


def _scaled(spec: Spec, name: str, factor: float) -> Any:
    return scaled(spec.facts, {name: factor})[0]


def _deadlines(spec: Spec) -> dict[FactNumber, float]:
    """Return the promised times that the family lists."""
    lines = lines_of(spec, find_family(spec))
    return {line.number: line.value for line in lines if line.number is not None and line.kind == "time"}


def _prices(spec: Spec) -> dict[FactNumber, float]:
    """Return the prices per time, or else the prices per piece."""
    for kind in ("price", "money"):
        paths = _paths(type(spec.facts), kind, "", False)
        numbers = (each for path in paths for each in numbers_at(spec.facts, path))
        found = {number: value for number, value in numbers if value > 0.0}
        if found:
            return found
    return {}


def _paths(node: type[Node], kind: str, before: str, repeated: bool) -> Iterator[str]:
    """Yield the items of a kind, through at most one repeated block."""
    for name, declared in declarations(node).items():
        if isinstance(declared, Item) and declared.kind == kind and declared.form == "quantity":
            yield f"{before}{name}"
        elif isinstance(declared, Block) and not (declared.repeated and (repeated or before)):
            yield from _paths(declared.node, kind, f"{before}{name}.", repeated or declared.repeated)


def _value(spec: Spec, move: Callable[[float], Any], factor: float, how: How) -> float | None:
    """Return the objective with numbers times ``factor``, or None without a finished plan."""
    try:
        result = solve(replace(spec, facts=move(factor)), how.solver, how.formulation, how.relax, how.limits)
    except MrdslError:
        return None
    return None if result.termination is Termination.TIME_LIMIT else result.objective.value
