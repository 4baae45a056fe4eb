"""An explanation in words: in short for ``mrdsl solve``, in full for ``mrdsl why``."""

from __future__ import annotations

from collections.abc import Iterator

from mrdsl.core.diagnostics import Diagnostic, Related, impossible
from mrdsl.core.result import Result, SolutionStatus, Table
from mrdsl.explaining.infeasibility import Explanation
from mrdsl.explaining.promises import Line
from mrdsl.explaining.repair import Change, Repair
from mrdsl.spec.spec import Spec


def as_diagnostic(spec: Spec, explanation: Explanation) -> Diagnostic:
    """The explanation as one diagnostic: what excludes what, and what to change, all of it together."""
    if not explanation.conflict:
        message = "no plan keeps every promise of this spec"
        return impossible("no-plan", message, spec.span, "mrdsl why says more")
    message = "; ".join(_excluded(conflict) for conflict in explanation.conflicts)
    related = [Related(f"{line.label}: {line.shown}", line.span) for line in explanation.in_conflict]
    return impossible("no-plan", message, explanation.conflict[0].span, _hint(explanation), *related)


def _excluded(conflict: tuple[Line, ...]) -> str:
    names = ", ".join(line.label for line in conflict)
    return f"these promises exclude each other: {names}" if len(conflict) > 1 else f"no plan keeps {names}"


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
        return "no values of these promises are enough; mrdsl why says more"
    return "mrdsl why looks longer for what to change"


def as_tables(spec: Spec, explanation: Explanation) -> Iterator[Table | str]:
    """The explanation for a reader of ``mrdsl why``."""
    yield from (reason.message + (f" ({reason.hint})" if reason.hint else "") for reason in explanation.reasons)
    if not explanation.conflict:
        if not explanation.reasons:
            yield (
                "There is no plan, even with every promise given up that this family can give up."
                if explanation.complete
                else "Time ran out before it was known which promises exclude each other."
            )
        return
    for conflict in explanation.conflicts:
        yield Table(
            "Promises that exclude each other (give up any one, and a plan exists for the rest)"
            if len(explanation.conflicts) == 1
            else "Promises that exclude each other (one of them must change, whatever is done to others)",
            ("promise", "now", "line"),
            [(line.label, _now(line, spec), str(line.span or "")) for line in conflict],
        )
    yield from _alone(spec, explanation)
    yield from _repair(spec, explanation)
    if explanation.relaxations:
        yield Table(
            "Any one of these changes is enough (each verified by solving again)",
            ("promise", "now", "change to", *_priced(explanation)),
            [
                (change.line.label, _now(change.line, spec), change.shown, *_price(explanation, i))
                for i, change in enumerate(explanation.relaxations)
            ],
        )
    moved = [line for line in explanation.not_alone if line.direction]
    if moved:
        names = ", ".join(line.label for line in moved)
        yield f"Not enough alone, whatever its value: {names}. Another conflict lies beside this one."
    if not explanation.complete:
        yield "Time ran out: --time-limit gives it more."


def _alone(spec: Spec, explanation: Explanation) -> Iterator[Table]:
    if not explanation.alone:
        return
    needed = {change.line: change.shown for change in explanation.relaxations}
    yield Table(
        "Promises that no plan keeps, even with all others given up",
        ("promise", "now", "nearest value, all others given up", "with all others kept"),
        [
            (change.line.label, _now(change.line, spec), change.shown, needed.get(change.line, "no value"))
            if explanation.complete or change.line in needed
            else (change.line.label, _now(change.line, spec), change.shown, "not known")
            for change in explanation.alone
        ],
    )


def _repair(spec: Spec, explanation: Explanation) -> Iterator[Table | str]:
    repair = explanation.repair
    if repair is None:
        if explanation.complete and not explanation.relaxations:
            yield _no_repair(explanation)
        return
    yield Table(
        "The least change after which there is a plan (all of it together; verified by solving again)",
        ("promise", "now", "change to", "by"),
        [(c.line.label, _now(c.line, spec), c.shown, _by(c)) for c in repair.changes],
    )
    yield _claim(repair) + (f" {_sentence(explanation.prices[0])}" if explanation.prices else "")


def _no_repair(explanation: Explanation) -> str:
    """That no change was found, no further than values were tried."""
    fixed = ", ".join(line.label for line in explanation.in_conflict if not line.direction)
    if not fixed:
        return "No values of these promises are enough: one that has no number to move must go."
    return (
        f"No other value of {fixed} is known at which there is a plan: "
        "write a range, with <= and >=, to see what is near."
    )


def _claim(repair: Repair) -> str:
    sum_of = f"The changes add up to {repair.size:.3g} times what is written"
    if repair.proven:
        return f"{sum_of}; no combination does with noticeably less."
    return (
        f"{sum_of}; every combination needs {repair.least:.3g} at least, and whether a smaller one does is not known."
    )


def _sentence(result: Result | None) -> str:
    if result is None or result.plan is None:
        return "What its plan is worth is not known: time ran out."
    value = result.objective.value
    if value is None:
        return "There is a plan then."
    amount = f"{value:.6g} {result.objective.unit}".strip()
    proven = "optimal" if result.solution is SolutionStatus.OPTIMAL else "the best found"
    return f"With it, {result.objective.quantity} is {amount} ({proven})."


def _by(change: Change) -> str:
    return f"{(change.value - change.line.value) / (abs(change.line.value) or 1.0):+.1%}"


def _now(line: Line, spec: Spec) -> str:
    return line.told(line.value, spec.currency)


def _prices_alone(explanation: Explanation) -> tuple[Result | None, ...]:
    """The prices of the changes that are enough alone: behind that of the repair, where there is one."""
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
