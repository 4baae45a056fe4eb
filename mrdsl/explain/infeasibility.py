"""Why a spec has no plan: which of its lines exclude each other, and by how much each would have to give way.

Works on any family, by solving changed specs: first an irreducible set of promises (QuickXplain, Junker 2004, a divide
and conquer deletion filter), then for each promise in it the smallest change that makes the whole spec solvable, found
by bisection and verified by solving once more at the value that is shown.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from mrdsl.contracts.family import Family
from mrdsl.core import units
from mrdsl.core.diagnostics import Diagnostic, MrdslError, Related, impossible
from mrdsl.core.result import Limits, Table, Termination
from mrdsl.explain.promises import Line, easiest, given_up, lines_of, moved
from mrdsl.families.diagnosis import find_family
from mrdsl.planning.solve_spec import solve
from mrdsl.spec.spec import Spec

PRECISION = 0.01
ANY_PLAN = 0.99


@dataclass(frozen=True)
class Relaxation:
    """One promise at the nearest value, found by bisection, at which the whole spec has a plan (verified)."""

    line: Line
    value: float
    shown: str


@dataclass(frozen=True)
class Explanation:
    """Why there is no plan.

    ``reasons`` are the plain ones that need no solver. ``conflict`` is irreducible: all of it cannot be kept, any one
    given up can (``proven``; else time ran out first). ``relaxations`` would each do alone; ``not_alone`` are promises
    of the conflict whose giving up is not enough, as there is another conflict beside.
    """

    reasons: tuple[Diagnostic, ...] = ()
    conflict: tuple[Line, ...] = ()
    proven: bool = False
    relaxations: tuple[Relaxation, ...] = ()
    not_alone: tuple[Line, ...] = ()

    def short(self) -> str:
        """``deadline of sort to 21.4 min, or size of cluster to 225``; "" where nothing is known."""
        return ", or ".join(f"{found.line.label} to {found.shown}" for found in self.relaxations)


class OutOfTimeError(Exception):
    """The seconds for an explanation are used up."""


@dataclass
class Oracle:
    """Whether a spec has a plan, asked of the same solver as the spec itself; remembers what it was asked."""

    family: Family
    solver: str = "auto"
    formulation: str | None = None
    relax: bool = False
    until: float = float("inf")
    asked: int = field(default=0)

    def has_plan(self, spec: Spec) -> bool:
        """True where a plan was found, False where none exists; OutOfTimeError where neither is known in time."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise OutOfTimeError
        self.asked += 1
        limits = Limits(time=None if left == float("inf") else left, gap=ANY_PLAN)
        try:
            result = solve(spec, self.solver, self.formulation, self.relax, limits)
        except MrdslError as refusal:
            if refusal.exit_code == 3:
                raise
            return False
        if result.plan is not None or result.termination is Termination.UNBOUNDED:
            return True
        if result.termination is Termination.INFEASIBLE:
            return False
        raise OutOfTimeError


def explain(
    spec: Spec, solver: str = "auto", formulation: str | None = None, relax: bool = False, seconds: float | None = None
) -> Explanation:
    """The explanation of a spec that has no plan; what is not found out in ``seconds`` is left out."""
    family = find_family(spec)
    reasons = tuple(d for d in family.impossible(spec) if d.impossible)
    until = float("inf") if seconds is None else time.monotonic() + seconds
    oracle = Oracle(family, solver, formulation, relax, until)
    lines = lines_of(spec, family)
    try:
        conflict = _conflict(spec, lines, oracle)
    except OutOfTimeError:
        return Explanation(reasons)
    found = Explanation(reasons, conflict, proven=True)
    for line in conflict:
        try:
            change = _smallest_change(spec, line, oracle)
        except OutOfTimeError:
            return replace(found, proven=True)
        if change is None:
            found = replace(found, not_alone=(*found.not_alone, line))
        else:
            found = replace(found, relaxations=(*found.relaxations, change))
    return found


def _conflict(spec: Spec, lines: Sequence[Line], oracle: Oracle) -> tuple[Line, ...]:
    """An irreducible set of lines that cannot all be kept; () where the spec has no plan even without any of them."""
    if not lines or not oracle.has_plan(given_up(spec, lines)):
        return ()
    found = _quick_explain(spec, (), tuple(lines), tuple(lines), False, oracle)
    return tuple(line for line in lines if line in set(found))


def _quick_explain(
    spec: Spec,
    kept: tuple[Line, ...],
    lines: tuple[Line, ...],
    everything: tuple[Line, ...],
    just_added: bool,
    oracle: Oracle,
) -> tuple[Line, ...]:
    """The part of ``lines`` that conflicts, given that ``kept`` are kept and all others are given up."""
    if just_added and not _holds(spec, kept, everything, oracle):
        return ()
    if len(lines) == 1:
        return lines
    half = len(lines) // 2
    first, second = lines[:half], lines[half:]
    in_second = _quick_explain(spec, kept + first, second, everything, bool(first), oracle)
    in_first = _quick_explain(spec, kept + in_second, first, everything, bool(in_second), oracle)
    return in_first + in_second


def _holds(spec: Spec, kept: tuple[Line, ...], everything: tuple[Line, ...], oracle: Oracle) -> bool:
    chosen = set(kept)
    return oracle.has_plan(given_up(spec, [line for line in everything if line not in chosen]))


def _smallest_change(spec: Spec, line: Line, oracle: Oracle) -> Relaxation | None:
    """The nearest value of one promise at which the spec has a plan, shown with few digits; None where none does."""
    if line.direction == 0:
        return None
    bad, good = line.value, _first_good(spec, line, oracle)
    if good is None:
        return None
    while abs(good - bad) > (1.0 if line.whole else PRECISION * max(abs(good - line.value), 1e-12)):
        middle = (good + bad) / 2
        if line.whole:
            middle = float(round(middle))
            if middle in (good, bad):
                break
        if oracle.has_plan(moved(spec, {line: middle})):
            good = middle
        else:
            bad = middle
    shown = line.rounded(good)
    value = shown if oracle.has_plan(moved(spec, {line: shown})) else good
    return Relaxation(line, value, units.show(value, line.kind, spec.currency))


def _first_good(spec: Spec, line: Line, oracle: Oracle) -> float | None:
    """A value at which the spec has a plan, looked for in growing steps away from what was written."""
    farthest = easiest(line)
    step = max(1.0 if line.whole else 0.0, 0.05 * max(abs(line.value), 1e-9))
    while True:
        value = line.value + line.direction * step
        if (value - farthest) * line.direction >= 0:
            return farthest if oracle.has_plan(moved(spec, {line: farthest})) else None
        value = float(round(value)) if line.whole else value
        if oracle.has_plan(moved(spec, {line: value})):
            return value
        step *= 4.0


def as_diagnostic(spec: Spec, found: Explanation) -> Diagnostic:
    """The explanation as one diagnostic: what excludes what, and what would help."""
    if not found.conflict:
        message = "no plan keeps every promise of this spec"
        return impossible("no-plan", message, spec.span, "mrdsl why says more")
    names = [line.label for line in found.conflict]
    together = f"these promises exclude each other: {', '.join(names)}"
    message = together if len(names) > 1 else f"no plan keeps {names[0]}"
    related = [Related(f"{line.label}: {line.shown}", line.span) for line in found.conflict]
    hint = "mrdsl why looks longer for what to change"
    if found.relaxations:
        hint = f"change {'one' if len(found.relaxations) > 1 else 'it'}: {found.short()}"
    elif found.not_alone == found.conflict:
        hint = "no single change is enough; mrdsl why says more"
    return impossible("no-plan", message, found.conflict[0].span, hint, *related)


def as_tables(spec: Spec, found: Explanation) -> Iterator[Table | str]:
    """The explanation for a reader of ``mrdsl why``."""
    yield from (reason.message + (f" ({reason.hint})" if reason.hint else "") for reason in found.reasons)
    if not found.conflict:
        if not found.reasons:
            yield "There is no plan, even with every promise given up that this family can give up."
        return
    yield Table(
        "Promises that exclude each other (give up any one, and a plan exists for the rest)",
        ("promise", "now", "line"),
        [
            (line.label, units.show(line.value, line.kind, spec.currency), str(line.span or ""))
            for line in found.conflict
        ],
    )
    if found.relaxations:
        title = "Any one of these changes is enough (each verified by solving again)"
        yield Table(
            title,
            ("promise", "now", "change to"),
            [(r.line.label, units.show(r.line.value, r.line.kind, spec.currency), r.shown) for r in found.relaxations],
        )
    if found.not_alone:
        names = ", ".join(line.label for line in found.not_alone)
        yield f"Not enough alone, whatever its value: {names}. Another conflict lies beside this one."
