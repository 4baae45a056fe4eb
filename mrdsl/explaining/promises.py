"""Constraints of a spec that can be relaxed, and the oracle for the existence of a plan."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, floor, log10
from typing import TypeVar

from mrdsl.contracts.family import Family, Promise
from mrdsl.core import units
from mrdsl.core.diagnostics import MrdslError, Span
from mrdsl.core.result import CUT_SHORT, Limits, Result, Termination
from mrdsl.core.rounding import ROUNDING
from mrdsl.planning.solve_spec import solve
from mrdsl.spec.changing import FactNumber, declared_number, label_of, numbers_at, span_at, with_values
from mrdsl.spec.expression import Constant, PlanQuantity
from mrdsl.spec.schema import Item
from mrdsl.spec.spec import Spec

FARTHEST = 1000.0
_LITERAL = re.compile(r"(-?[0-9_]+(?:\.[0-9_]+)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z%/][^\s()+*-]*)")
SWITCH = "switch"
"""The kind of a block or a list, which is there (1) or left out (0)."""
_UNITS = (1.0, units.MINUTE, units.HOUR, units.DAY, 1e-3, 0.01, 1 / units.HOUR, 1e3, 1e6, 1e9, 1e12, 1e15)


@dataclass(frozen=True)
class Line:
    """One constraint of the spec: a number of its facts, or one comparison of ``subject to``.

    ``direction`` is +1 if a larger number is easier, -1 if a smaller one is, and 0 if there is no number to change.
    ``limit`` is the easiest value that the language allows. ``unit`` is the written unit of an expression's number,
    with ``factor`` in SI; "" if the kind determines it.
    """

    label: str
    value: float
    direction: int
    kind: str
    whole: bool
    limit: float
    span: Span | None
    number: FactNumber | None = None
    constraint: int | None = None
    unit: str = ""
    factor: float = 1.0

    @cached_property
    def shown(self) -> str:
        return self.told(self.value)

    def told(self, value: float, currency: str = units.DEFAULT_CURRENCY, beside: Sequence[float] = ()) -> str:
        """Return a value of this constraint as a person writes it, in one unit with the values ``beside``."""
        if self.kind == SWITCH:
            return "as written" if value else "left out"
        if self.unit:
            return f"{units.show(units.unscaled(value, self.factor), 'number')} {self.unit}".replace(" %", "%")
        return units.show(value, self.kind, currency, beside)

    def rounded(self, value: float) -> float:
        """Return the value, moved in the easy direction to the fewest digits (three at least) that change it but
        little.
        """
        toward = ceil if self.direction > 0 else floor
        if self.whole:
            return float(toward(value - self.direction * ROUNDING))
        unit = self.factor if self.unit else _unit(value, self.kind)
        scaled = value / unit
        if scaled == 0.0:
            return 0.0
        short = value
        for digits in (2, 3, 4, 5):
            step = 10.0 ** (floor(log10(abs(scaled))) - digits)
            short = float(f"{toward(scaled / step - self.direction * ROUNDING) * step:.12g}") * unit
            if abs(short - value) <= 0.01 * abs(value - self.value):
                break
        return short

    def between(self, low: float, high: float) -> float:
        """Return a value between two others with the fewest digits in the unit that is shown."""
        unit = self.factor if self.unit else _unit(high, self.kind)
        middle = (low + high) / 2.0 / unit
        for digits in range(12):
            step = 10.0 ** (floor(log10(max(abs(low), abs(high)) / unit)) - digits)
            short = float(f"{round(middle / step) * step:.12g}") * unit
            if min(low, high) < short < max(low, high):
                return short
        return middle * unit


def _unit(value: float, kind: str) -> float:
    """Return the size in SI of the unit that ``units.show`` picks for a value."""
    number = float(units.show(value, kind).partition(" ")[0].rstrip("%").partition("/")[0] or 0)
    ratio = value / number if number else 1.0
    return min(_UNITS, key=lambda unit: abs(ratio / unit - 1.0))


def lines_of(spec: Spec, family: Family) -> tuple[Line, ...]:
    """Return every promise of the spec that its family lists, then the comparisons of ``subject to``."""
    lines = [
        _line(spec, number, value, promise)
        for promise in family.promises
        for number, value in numbers_at(spec.facts, promise.path)
    ]
    labels = Counter(line.label for line in lines)
    told = [line if labels[line.label] == 1 else _told_apart(line) for line in lines]
    return tuple(
        line for line in told if line.kind == SWITCH or line.value * line.direction < line.limit * line.direction
    ) + tuple(_comparison(spec, family, index) for index in range(len(spec.constraints)))


def _told_apart(line: Line) -> Line:
    """Return a number with the word of its inner block, such as ``reserved available of m5``."""
    inner = line.number.path.split(".")[1:-1] if line.number is not None else []
    return replace(line, label=" ".join((*inner, line.label)))


def _line(spec: Spec, number: FactNumber, value: float, promise: Promise) -> Line:
    declared = declared_number(spec.facts, promise.path)
    kind, whole, limit = SWITCH, True, max(float(promise.direction), 0.0)
    if declared is not None:
        kind, limit = declared.kind, _limit(declared, promise.direction)
        whole = declared.whole or (declared.form == "range" and kind in ("jobs", "vms") and value == int(value))
    return Line(
        label=label_of(spec.facts, number),
        value=value,
        direction=promise.direction,
        kind=kind,
        whole=whole,
        limit=limit,
        span=span_at(spec.facts, number) or spec.span,
        number=number,
    )


def _limit(declared: Item, direction: int) -> float:
    if direction > 0:
        upper = [bound for bound in (declared.at_most, declared.below) if bound is not None]
        return min(upper, default=float("inf"))
    return max((bound for bound in (declared.at_least, declared.above) if bound is not None), default=0.0)


def _comparison(spec: Spec, family: Family, index: int) -> Line:
    constraint = spec.constraints[index]
    if isinstance(constraint.right, Constant):
        value, other, sign = constraint.right.value, constraint.left, 1
    elif isinstance(constraint.left, Constant):
        value, other, sign = constraint.left.value, constraint.right, -1
    else:
        value, other, sign = 0.0, constraint.left, 0
    direction = {"<=": sign, ">=": -sign}.get(constraint.comparison, 0)
    kinds = {kind.name: kind.kind for kind in family.quantities}
    kind = kinds.get(other.name, "number") if isinstance(other, PlanQuantity) else "number"
    unit, factor = ("", 1.0) if isinstance(other, PlanQuantity) or not sign else _written(constraint.text, value, sign)
    return Line(
        label=f"`{constraint.text}`" if constraint.text else f"comparison {index + 1} of subject to",
        value=value,
        direction=direction,
        kind=kind,
        whole=kind in ("vms", "jobs") and value == int(value),
        limit=float("inf") if direction > 0 else 0.0,
        span=constraint.span,
        constraint=index,
        unit=unit,
        factor=factor,
    )


def _written(text: str, value: float, sign: int) -> tuple[str, float]:
    """Return the written unit of the number in a comparison, and its SI size; "" if it is not a number with a unit."""
    side = re.split(r"<=|>=|==?", text)[-1 if sign > 0 else 0]
    found = _LITERAL.fullmatch(side.strip())
    number = float(found[1].replace("_", "")) if found else 0.0
    return (found[2], value / number) if found and number and value else ("", 1.0)


def moved(spec: Spec, changes: Mapping[Line, float]) -> Spec:
    """Return the spec with some promises at other values."""
    values = {line.number: value for line, value in changes.items() if line.number is not None}
    constraints = list(spec.constraints)
    for line, value in changes.items():
        if line.constraint is not None:
            old = constraints[line.constraint]
            right = isinstance(old.right, Constant)
            constraints[line.constraint] = (
                replace(old, right=Constant(value)) if right else replace(old, left=Constant(value))
            )
    facts = with_values(spec.facts, values) if values else spec.facts
    return replace(spec, facts=facts, constraints=tuple(constraints))


def given_up(spec: Spec, lines: Iterable[Line], factor: float = FARTHEST) -> Spec:
    """Return the spec without these promises: numbers as easy as can be, comparisons left out."""
    dropped = {line.constraint for line in lines if line.constraint is not None}
    numbers = {line: easiest(line, factor) for line in lines if line.number is not None}
    kept = tuple(c for i, c in enumerate(spec.constraints) if i not in dropped)
    return replace(moved(spec, numbers), constraints=kept)


def easiest(line: Line, factor: float = FARTHEST) -> float:
    """Return the value at which a constraint requires almost nothing."""
    if line.direction > 0:
        return min(line.limit, max(abs(line.value), 1.0) * factor)
    return max(line.limit, min(line.value, 0.0) if line.limit == 0.0 else line.limit)


ANY_PLAN = 0.99
QUESTIONS = 500
"""Most solves for one explanation."""

Each = TypeVar("Each")


class OutOfTimeError(Exception):
    """The seconds or the questions for an explanation are used up, or a solver could not decide."""


@dataclass
class Oracle:
    """The oracle for the existence of a plan, which uses the solver of the spec and counts its questions.

    ``until`` is on the clock of ``time.monotonic``. ``undecided``: a method ended by itself without a plan or a proof.
    """

    solver: str = "auto"
    formulation: str | None = None
    relax: bool = False
    until: float = float("inf")
    most: int = QUESTIONS
    asked: int = field(default=0)
    undecided: bool = field(default=False)

    def has_plan(self, spec: Spec) -> bool:
        """Return True if a plan was found and False if none exists. Raises OutOfTimeError if the time is not enough."""
        result = self._solved(spec, ANY_PLAN)
        if result is None or result.termination is Termination.INFEASIBLE:
            return False
        if result.plan is not None or result.termination is Termination.UNBOUNDED:
            return True
        self.undecided = result.termination not in CUT_SHORT
        raise OutOfTimeError

    def best(self, spec: Spec) -> Result | None:
        """Return the result of a spec within the solver's own gap and the remaining time, or None if the spec is
        rejected.
        """
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
    """Return a part of ``items`` that is enough and irreducible (QuickXplain, Junker 2004).

    ``enough`` is monotone and true for all items, which is not tested.
    """
    needed = set(_divided((), items, False, enough))
    return tuple(item for item in items if item in needed)


def _divided(
    kept: tuple[Each, ...], items: tuple[Each, ...], just_added: bool, enough: Callable[[tuple[Each, ...]], bool]
) -> tuple[Each, ...]:
    """Return the part of ``items`` that is needed in addition to the fixed ones."""
    if just_added and enough(kept):
        return ()
    if len(items) <= 1:
        return items
    half = len(items) // 2
    first, second = items[:half], items[half:]
    in_second = _divided(kept + first, second, bool(first), enough)
    in_first = _divided(kept + in_second, first, bool(in_second), enough)
    return in_first + in_second
