"""Conflicting constraints of a spec without a plan, and the smallest changes that resolve them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isfinite

from mrdsl.core.diagnostics import Diagnostic
from mrdsl.core.result import Result
from mrdsl.explaining.promises import (
    FARTHEST,
    QUESTIONS,
    Line,
    Oracle,
    OutOfTimeError,
    given_up,
    irreducible,
    lines_of,
    moved,
)
from mrdsl.explaining.repair import Axis, Change, Repair, Search, axes_of, boundary, change_of, edge_of, price_of
from mrdsl.families.diagnosis import find_family
from mrdsl.spec.expression import Constant, Expression, value_of
from mrdsl.spec.spec import Constraint, Spec


def is_equality(spec: Spec, line: Line) -> bool:
    """Return True if a constraint sets a quantity of the plan equal to a number."""
    if line.constraint is None or spec.constraints[line.constraint].comparison != "=":
        return False
    each = spec.constraints[line.constraint]
    return isinstance(each.left, Constant) or isinstance(each.right, Constant)


def nearest_met(spec: Spec, line: Line, oracle: Oracle) -> Iterator[Change]:
    """Yield the nearest feasible value below and above, if there is one.

    Ranges grow until one has a plan and are halved again, so each value is the nearest to within 1 % of the change.
    Each is verified by a solve of the spec with that value.
    """
    assert line.constraint is not None
    each = spec.constraints[line.constraint]
    body = each.right if isinstance(each.left, Constant) else each.left
    scale = abs(line.value) or 1.0
    for direction, most in ((-1, 1.0 if line.value > 0.0 else FARTHEST), (1, FARTHEST)):
        within = partial(_within, spec, line, body, direction * scale)
        edge = boundary(partial(_has_plan, oracle, within), most)
        best = None if edge is None else oracle.best(within(edge[1]))
        measure = find_family(spec).quantity
        if best is None or best.plan is None or measure is None:
            continue
        found = value_of(body, partial(measure, spec, best.plan))
        for value in (float(f"{found:.6g}"), found) if isfinite(found) else ():
            if value != line.value and oracle.has_plan(moved(spec, {line: value})):
                yield change_of(spec, line, value)
                break


def _has_plan(oracle: Oracle, within: Callable[[float], Spec], by: float) -> bool:
    return oracle.has_plan(within(by))


def _within(spec: Spec, line: Line, body: Expression, reach: float, by: float) -> Spec:
    """Return the spec with the equality as a range, from its value to one that is ``by`` times ``reach`` away."""
    ends = sorted((line.value, line.value + reach * by))
    rows = (Constraint(body, ">=", Constant(ends[0])), Constraint(body, "<=", Constant(ends[1])))
    others = [each for at, each in enumerate(spec.constraints) if at != line.constraint]
    return replace(spec, constraints=(*others, *rows))


MOST_CONFLICTS = 12
FOR_REASONS = 0.8
"""Of the time: the rest is for what the changed specs cost."""


@dataclass(frozen=True)
class Explanation:
    """The explanation of a spec without a plan.

    ``reasons`` need no solver. Each of ``conflicts`` is irreducible: its constraints exclude each other, and giving up
    any one of them resolves it. Conflicts have no constraint in common, and every one needs a change. ``alone`` are the
    constraints that no plan meets even without all others, at the nearest feasible value. ``repair`` is the cheapest
    combination of changes that was found. Each of ``relaxations`` is enough alone; ``not_alone`` are constraints of a
    conflict that are not enough alone because there is another conflict. ``prices`` are the results of the changed
    specs, first of the repair and then of each relaxation, or None after the time limit. ``complete``: the time was
    enough. ``undecided``: it was not, because a method ended without a plan or a proof.
    """

    reasons: tuple[Diagnostic, ...] = ()
    conflicts: tuple[tuple[Line, ...], ...] = ()
    alone: tuple[Change, ...] = ()
    repair: Repair | None = None
    relaxations: tuple[Change, ...] = ()
    not_alone: tuple[Line, ...] = ()
    prices: tuple[Result | None, ...] = ()
    complete: bool = False
    undecided: bool = False

    @property
    def conflict(self) -> tuple[Line, ...]:
        """The first set of promises that exclude each other."""
        return self.conflicts[0] if self.conflicts else ()

    @property
    def in_conflict(self) -> tuple[Line, ...]:
        """Every constraint of a conflict."""
        return tuple(line for conflict in self.conflicts for line in conflict)

    def short(self) -> str:
        """Return the changes in a line: ``deadline of sort to 21.4 min, or size of cluster to 225``; "" if none is
        known.
        """
        return ", or ".join(f"{change.line.label} to {change.shown}" for change in self.relaxations)


def explain(
    spec: Spec,
    solver: str = "auto",
    formulation: str | None = None,
    relax: bool = False,
    seconds: float | None = None,
    questions: int = QUESTIONS,
) -> Explanation:
    """Return the explanation of a spec that has no plan, as far as ``seconds`` and that number of questions allow."""
    family = find_family(spec)
    explanation = Explanation(tuple(d for d in family.impossible(spec) if d.impossible))
    now, method = time.monotonic(), (solver, formulation, relax)
    oracle = Oracle(*method, now + FOR_REASONS * seconds if seconds is not None else inf, questions)
    lines = lines_of(spec, family)
    try:
        explanation = replace(explanation, conflicts=_conflicts(spec, lines, oracle))
    except OutOfTimeError:
        return replace(explanation, undecided=oracle.undecided)
    if not explanation.conflicts:
        return replace(explanation, complete=True)
    search = Search(spec, lines, oracle)
    complete = True
    try:
        repairable = search.start()
        for change in _enough_alone(spec, explanation.conflicts, oracle):
            explanation = replace(explanation, relaxations=(*explanation.relaxations, change))
            if change.line.direction:
                search.note((change,))
        enough = {change.line for change in explanation.relaxations}
        explanation = replace(
            explanation, not_alone=tuple(line for line in explanation.in_conflict if line not in enough)
        )
        if repairable:
            search.run()
    except OutOfTimeError:
        complete = False
    alone = tuple(change_of(spec, line, value) for line, value in search.alone.items())
    explanation = replace(explanation, repair=search.repair(), alone=alone, undecided=oracle.undecided)
    pricing = Oracle(*method, now + seconds if seconds is not None else inf)
    return replace(explanation, prices=_prices(spec, explanation, pricing), complete=complete)


def _conflicts(spec: Spec, lines: Sequence[Line], oracle: Oracle) -> tuple[tuple[Line, ...], ...]:
    """Return irreducible sets of conflicting lines, disjoint, until the remaining lines have a plan.

    The result is empty if the spec has no plan even without all of them.
    """
    everything = tuple(lines)
    if not everything or not oracle.has_plan(given_up(spec, everything)):
        return ()

    def excluded(kept: tuple[Line, ...]) -> bool:
        chosen = set(kept)
        return not oracle.has_plan(given_up(spec, [line for line in everything if line not in chosen]))

    conflicts: list[tuple[Line, ...]] = []
    left = everything
    while len(conflicts) < MOST_CONFLICTS and left and (not conflicts or excluded(left)):
        conflict = irreducible(left, excluded)
        conflicts.append(conflict)
        left = tuple(line for line in left if line not in set(conflict))
    return tuple(conflicts)


def _enough_alone(spec: Spec, conflicts: tuple[tuple[Line, ...], ...], oracle: Oracle) -> Iterator[Change]:
    """Yield the smallest change of each constraint in a conflict that is enough alone: none if there is a second
    conflict.
    """
    for line in conflicts[0] if len(conflicts) == 1 else ():
        if is_equality(spec, line):
            yield from nearest_met(spec, line, oracle)
            continue
        change = _smallest_change(spec, line, oracle)
        if change is not None:
            yield change


def _smallest_change(spec: Spec, line: Line, oracle: Oracle) -> Change | None:
    """Return the nearest value of one constraint at which the spec has a plan, with few digits, or None."""
    for axis in axes_of((line,)):
        edge = edge_of(axis, partial(_moved_has_plan, spec, oracle, axis))
        if edge is None:
            return None
        near = axis.snapped(edge[1])
        for by in (axis.shown(near), near):
            if _moved_has_plan(spec, oracle, axis, by):
                return change_of(spec, line, axis.value(by))
    return None


def _moved_has_plan(spec: Spec, oracle: Oracle, axis: Axis, by: float) -> bool:
    return oracle.has_plan(moved(spec, {axis.line: axis.value(by)}))


def _prices(spec: Spec, explanation: Explanation, oracle: Oracle) -> tuple[Result | None, ...]:
    changes = [explanation.repair.changes] if explanation.repair is not None else []
    changes += [(change,) for change in explanation.relaxations]
    return tuple(price_of(spec, each, oracle) for each in changes)
