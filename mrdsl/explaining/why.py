"""Explanations in words: why a plan is as it is, or which constraints conflict and what resolves them (`mrdsl why`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isfinite
from typing import Any

from mrdsl.core.diagnostics import Diagnostic, Related, impossible
from mrdsl.core.result import Limits, Result, SolutionStatus, Table, Termination
from mrdsl.core.tables import Readable
from mrdsl.core.watching import sharing
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

PATIENCE = 30.0
"""Seconds that reasons are sought for where no limit is given."""


@dataclass(frozen=True)
class Explained(Readable):
    """A result and its explanation: tables, and sentences between them, in order."""

    result: Result
    parts: tuple[Table | str, ...]

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables alone."""
        return tuple(part for part in self.parts if isinstance(part, Table))

    @property
    def charts(self) -> Sequence[Any]:
        """The charts of the result."""
        return self.result.charts

    def readable(self) -> tuple[Table | str, ...]:
        """Return tables and sentences in order."""
        return self.parts


def why(
    plan: Spec | Result, solver: str, formulation: str | None, relax: bool, limits: Limits, worth: bool
) -> Explained:
    """Return the explanation of a plan and the worth of its constraints; without a plan, the conflicting constraints.

    A spec is solved; a result is used unchanged, with its own formulation. ``worth`` changes every constraint by a
    step. ``limits.time`` is for the solve and the explanation together. Raises MrdslError as solving does, and
    KeyboardInterrupt if the explanation is interrupted.
    """
    began = time.monotonic()
    from mrdsl.planning.solve_spec import solve
    from mrdsl.solving.processes import passed_on

    if isinstance(plan, Result):
        result, formulation, relax = plan, plan.formulation, plan.relaxed
    else:
        result = solve(plan, solver, formulation, relax, limits)
    left = None if limits.time is None else max(0.0, began + limits.time - time.monotonic())
    left = PATIENCE if left is None else left
    with passed_on(), sharing(left):
        return _explained(result, (solver, formulation, relax), left, worth)


def _explained(result: Result, method: tuple[str, str | None, bool], patience: float, worth: bool) -> Explained:
    spec: Spec = result.spec
    if result.termination is Termination.INFEASIBLE:
        return Explained(result, tuple(as_tables(spec, explain(spec, *method, seconds=patience))))
    return Explained(result, tuple(_of_plan(spec, result, method, worth)))


def _of_plan(spec: Spec, result: Result, method: tuple[str, str | None, bool], worth: bool) -> Iterator[Table | str]:
    from mrdsl.explaining.sensitivity import effects, shadow_prices, steps

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
        yield from effects(spec, result, tuple(steps(spec, result, *method)))


def as_diagnostic(spec: Spec, explanation: Explanation) -> Diagnostic:
    """Return the explanation as one diagnostic: the conflicts, and all changes that resolve them."""
    if not explanation.conflict:
        message = "no plan meets all constraints of this spec"
        return impossible("no-plan", message, spec.span, "run `mrdsl why` for details")
    message = "; ".join(_excluded(conflict) for conflict in explanation.conflicts)
    related = [Related(f"{line.label}: {line.shown}", line.span) for line in explanation.in_conflict]
    return impossible("no-plan", message, explanation.conflict[0].span, _hint(explanation), *related)


def _excluded(conflict: tuple[Line, ...]) -> str:
    names = ", ".join(line.label for line in conflict)
    return f"these constraints conflict: {names}" if len(conflict) > 1 else f"no plan meets {names}"


def _hint(explanation: Explanation) -> str:
    repair = explanation.repair
    if explanation.relaxations:
        hint = f"change {'one' if len(explanation.relaxations) > 1 else 'it'}: {explanation.short()}"
        alone = min(
            (r.value - r.line.value) * r.line.direction / (abs(r.line.value) or 1.0) for r in explanation.relaxations
        )
        if repair is not None and len(repair.changes) > 1 and repair.size < 0.95 * alone:
            hint += f"; or, less in all, change together: {repair.short()}"
        return hint
    if repair is not None:
        alone_not = "no single change is enough; " if explanation.not_alone else ""
        together = "together" if len(repair.changes) > 1 else "it"
        return f"{alone_not}change {together}: {repair.short()}"
    if explanation.complete and any(not line.direction for line in explanation.in_conflict):
        told = _no_repair(explanation)
        return told[0].lower() + told[1:].rstrip(".")
    if explanation.complete and explanation.not_alone:
        return "no values of these constraints are enough; run `mrdsl why` for details"
    return "run `mrdsl why`, which searches longer for what to change"


def as_tables(spec: Spec, explanation: Explanation, option: str = "--time-limit") -> Iterator[Table | str]:
    """Yield the explanation for a reader of ``mrdsl why``; ``option`` sets its time limit."""
    yield from (reason.message + (f" ({reason.hint})" if reason.hint else "") for reason in explanation.reasons)
    if not explanation.conflict:
        if not explanation.reasons:
            yield (
                "There is no plan, even if every constraint that can be relaxed is dropped."
                if explanation.complete
                else _unfinished(explanation, option)
            )
        return
    for conflict in explanation.conflicts:
        yield Table(
            "Conflicting constraints (drop any one, and a plan exists for the rest)"
            if len(explanation.conflicts) == 1
            else "Conflicting constraints (at least one of them must change)",
            ("constraint", "now", "line"),
            [(line.label, _now(line, spec), str(line.span or "")) for line in conflict],
        )
    yield from _alone(spec, explanation)
    yield from _repair(spec, explanation)
    if explanation.relaxations:
        yield Table(
            "Any one of these changes is enough (each verified by solving again)",
            ("constraint", "now", "change to", *_priced(explanation)),
            [
                (change.line.label, *_now_and(change, spec), *_price(explanation, i))
                for i, change in enumerate(explanation.relaxations)
            ],
        )
    moved = [line for line in explanation.not_alone if line.direction]
    if moved:
        names = ", ".join(line.label for line in moved)
        yield f"Not enough alone, whatever its value: {names}. There is another conflict."
    if not explanation.complete:
        yield _unfinished(explanation, option)


def _unfinished(explanation: Explanation, option: str) -> str:
    if explanation.undecided:
        return "The search ended early: for a changed spec, the method found no plan and excluded none."
    return f"The time limit was reached: raise `{option}`."


def _alone(spec: Spec, explanation: Explanation) -> Iterator[Table]:
    if not explanation.alone:
        return
    needed = {change.line: change.shown for change in explanation.relaxations}
    absent = "no value" if explanation.complete else "not known"
    yield Table(
        "Constraints that no plan meets, even if all others are dropped",
        ("constraint", "now", "nearest value, all others dropped", "with all others met"),
        [(change.line.label, *_now_and(change, spec), needed.get(change.line, absent)) for change in explanation.alone],
    )


def _repair(spec: Spec, explanation: Explanation) -> Iterator[Table | str]:
    repair = explanation.repair
    if repair is None:
        if explanation.complete and not explanation.relaxations:
            yield _no_repair(explanation)
        return
    yield Table(
        "The smallest combined change that gives a plan (verified by solving again)",
        ("constraint", "now", "change to", "by"),
        [(c.line.label, *_now_and(c, spec), _by(c)) for c in repair.changes],
    )
    yield _claim(repair) + (f" {_sentence(explanation.prices[0])}" if explanation.prices else "")


def _no_repair(explanation: Explanation) -> str:
    """Return the sentence that no change was found, with the range of the tried values."""
    fixed = ", ".join(line.label for line in explanation.in_conflict if not line.direction)
    if not fixed:
        return "No values of these constraints are enough: a constraint without a number must be removed."
    return (
        f"No other value of {fixed} is known at which there is a plan: "
        "write a range, with <= and >=, to see what is near."
    )


def _claim(repair: Repair) -> str:
    sum_of = f"The relative changes add up to {100 * repair.size:.3g} %"
    if repair.proven:
        return f"{sum_of}; no combination of changes has a noticeably smaller sum."
    return f"{sum_of}; every combination needs at least {100 * repair.least:.3g} %, and a smaller sum may exist."


def _sentence(result: Result | None) -> str:
    if result is None or result.plan is None:
        return "The value of its plan is not known: the time limit was reached."
    value = result.objective.value
    if value is None:
        return "A plan then exists."
    amount = f"{value:.6g} {result.objective.unit}".strip()
    proven = "optimal" if result.solution is SolutionStatus.OPTIMAL else "the best found"
    return f"With it, {result.objective.quantity} is {amount} ({proven})."


def _by(change: Change) -> str:
    return f"{(change.value - change.line.value) / (abs(change.line.value) or 1.0):+.1%}"


def _now(line: Line, spec: Spec) -> str:
    return line.told(line.value, spec.currency)


def _now_and(change: Change, spec: Spec) -> tuple[str, str]:
    """Return the value of a constraint and the one to change it to, in one unit."""
    both = (change.line.value, change.value)
    now, then = (change.line.told(value, spec.currency, both) for value in both)
    return now, then


def _prices_alone(explanation: Explanation) -> tuple[Result | None, ...]:
    """Return the prices of the changes that are enough alone, without that of the repair."""
    return explanation.prices[0 if explanation.repair is None else 1 :]


def _priced(explanation: Explanation) -> tuple[str, ...]:
    known = next((price for price in _prices_alone(explanation) if price is not None and price.plan is not None), None)
    if known is None or known.objective.value is None:
        return ()
    return (
        f"{known.objective.quantity} [{known.objective.unit}]" if known.objective.unit else known.objective.quantity,
    )


def _price(explanation: Explanation, index: int) -> tuple[str, ...]:
    if not _priced(explanation):
        return ()
    price = _prices_alone(explanation)[index]
    value = None if price is None else price.objective.value
    return ("not known" if value is None else f"{value:.6g}",)


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
