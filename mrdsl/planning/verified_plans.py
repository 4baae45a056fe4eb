"""Verification of saved plans against their own spec: the recomputed parts, and the parts that are taken on trust."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mrdsl.contracts.family import Family
from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic, MrdslError, error, has_errors, one_error, warning
from mrdsl.core.reading import UnreadableError, read_bytes
from mrdsl.core.result import Amount, Limits, Result, SolutionStatus, Table, Termination, plain, unfinite
from mrdsl.families.diagnosis import diagnose, find_family
from mrdsl.planning.claims import unproven, violations
from mrdsl.planning.results import amounts, goal_of
from mrdsl.planning.saved_plans import Saved, read_saved
from mrdsl.planning.saved_specs import CHANGED, MISSING, SAME, UNKNOWN
from mrdsl.planning.simulate_spec import doubts, evidence_of, repeated_runs, verdict_word
from mrdsl.reporting.diagnostics import as_document
from mrdsl.solving.claims import AGREE, TOLERANCE, contradicts

SECONDS = 2.0
"""Time limit of a method that computes another bound [s]."""


@dataclass(frozen=True)
class Trust:
    """The claims of a file: ``taken`` are the claims that were not confirmed, in words.

    ``method`` recomputed the ``bound``, or is "". ``better`` is the value of a plan beyond the claimed bound, or None.
    """

    taken: tuple[str, ...]
    method: str = ""
    bound: float | None = None
    better: float | None = None


def trust_in(result: Result, family: Family, again: bool = False) -> Trust:
    """Recompute the cheap claims, and name the others.

    Args:
        result: The result in a saved file, with its plan checked.
        family: The family of its spec.
        again: True if its runs were repeated with the same outcome.
    """
    claims = result.bound is not None if result.plan is not None else result.termination is Termination.INFEASIBLE
    found = _found_anew(result, family) if claims else Trust(())
    confirmed = result.bound is None or (found.bound is not None and not _is_beyond(result.bound, found.bound, result))
    taken = [] if confirmed else ["the bound", "the gap"]
    if result.solution is SolutionStatus.OPTIMAL and not confirmed:
        taken.append("that the plan is the best")
    if result.plan is None:
        taken.append("that there is no plan")
    taken.append("how the solve ended")
    if evidence_of(result.plan) is not None and not again:
        taken.append("what runs showed")
    if result.plan is not None:
        taken += result.plan.on_trust
    return Trust(tuple(taken), found.method, found.bound, found.better)


def _found_anew(result: Result, family: Family) -> Trust:
    """Look for a plan and a bound by the family's own methods, of the same wholeness as the plan."""
    from mrdsl.planning.claims import method_of

    for formulation in family.formulations:  # the first that knows a plan like this one
        if formulation.known is None:
            continue
        try:
            known = formulation.known(result.spec, result.relaxed, Limits(time=SECONDS))
        except MrdslError:  # a comparison that the method does not know
            continue
        if known is None or known.plan is None:
            continue
        if result.plan is not None and _wholeness(known.plan) != _wholeness(result.plan):
            continue
        if has_errors(tuple(violations(result.spec, family, known.plan, result.relaxed))) or family.measure is None:
            continue
        value = family.measure(result.spec, known.plan)
        better = None
        maximize, bound = result.sense == "maximize", result.bound or 0.0
        if value is not None and (result.plan is None or contradicts(bound, value, maximize, result.size)):
            better = float(value)
        return Trust((), method_of(formulation), known.bound, better)
    return Trust(())


def _wholeness(plan: object) -> object:
    return getattr(plan, "wholeness", None)


def _is_beyond(claimed: float, proven: float, result: Result) -> bool:
    """Return True if a claimed bound is tighter than one that was proven."""
    slack = TOLERANCE * max(abs(claimed), abs(proven), result.size)
    return claimed < proven - slack if result.sense == "maximize" else claimed > proven + slack


_MISFITS = (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, AssertionError)
"""Exceptions if the parts of a plan do not match: arrays of other lengths, unknown names."""


@dataclass(frozen=True)
class Verified:
    """The verified part of a saved plan.

    ``result`` is that of the file, without bound and claim of optimality if the file was changed. ``found`` has errors
    if the plan does not belong to its spec, and warnings. ``again``: the same runs were repeated with the same outcome.
    ``trust``: the claims that were not confirmed.
    """

    result: Result
    found: tuple[Diagnostic, ...]
    files: tuple[tuple[str, str], ...]
    again: bool = False
    trust: Trust = Trust(())

    @property
    def kept(self) -> bool:
        """True if the plan meets every constraint and has the value in the file."""
        return not has_errors(self.found)

    def require(self) -> Result:
        """Return the result. Raises MrdslError if the plan does not belong to its spec."""
        if not self.kept:
            raise MrdslError(self.found)
        return self.result


def verify(saved: Saved) -> Verified:
    """Hold the plan of a file against the spec in it."""
    states = tuple((file, file.state()) for file in saved.files)
    told = [_changed(saved, file.name, state) for file, state in states if state != SAME]
    result = saved.result
    if not saved.intact:
        message = "this file was modified after mrdsl wrote it, so its bound and its claim of optimality are ignored"
        told.append(_told(saved, warning("edited-plan", message, None, "solve the spec again to get a bound")))
        result = unproven(replace(result, bound=None))
    try:
        found = tuple(_mistakes(saved))
    except MrdslError as wrong:
        found = wrong.diagnostics
    except _MISFITS as misfit:
        message = f"the parts of its plan contradict each other ({misfit})"
        found = (_told(saved, error("malformed-plan", message, None, "solve the spec again")),)
    trust = Trust(())
    if not has_errors(found):
        trust = trust_in(result, find_family(result.spec))
        if trust.better is not None:
            has = f"but {trust.method} has a plan worth {trust.better:.10g}"
            claim = ("termination", f"is {result.termination}, {has}")
            if result.plan is not None:
                claim = ("objective.bound", f"is {_number(result.bound)}, {has}")
            found = (*found, _differs(saved, *claim))
    return Verified(result, (*found, *told), tuple((file.path, state) for file, state in states), False, trust)


def run_again(saved: Saved, verified: Verified, processes: int = 1) -> Verified:
    """Repeat the runs in the file, and report an error if their outcome differs.

    Raises MrdslError if the plan was not run. A rejected plan is not run.
    """
    if not verified.kept:
        return verified
    before, now = saved.result.plan, repeated_runs(saved.result, processes).plan
    assert before is not None
    assert now is not None
    path = next(_differences(plain(before.document()), plain(now.document()), "plan", lacking=True), None)
    if path is None:
        return replace(verified, again=True, trust=trust_in(verified.result, find_family(saved.result.spec), True))
    hint = f"mrdsl {saved.document.get('mrdsl')} wrote the file; run `mrdsl simulate` for new results"
    wrong = _told(saved, error("other-runs", f"repeating the same runs gives another `{path}`", None, hint))
    return replace(verified, found=(*verified.found, wrong))


def _changed(saved: Saved, name: str, state: str) -> Diagnostic:
    words = {
        CHANGED: "has changed since the plan was saved",
        MISSING: "no longer exists",
        UNKNOWN: "changed or was missing while the plan was made",
    }
    hint = "the plan belongs to the old file; solve again to use the new one"
    if state == MISSING:
        hint = f"the plan contains its spec and data; to compare the file, copy it to `{name}` in the plan's folder"
    return _told(saved, warning("file-changed", f"`{name}` {words[state]}", None, hint))


def _told(saved: Saved, diagnostic: Diagnostic) -> Diagnostic:
    return replace(diagnostic, path=saved.name or "saved plan")


def _mistakes(saved: Saved) -> Iterator[Diagnostic]:
    """Yield the errors of the plan: its spec, constraints and value, and the view of it in the file."""
    result = saved.result
    spec, plan = result.spec, result.plan
    family = find_family(spec)
    wrong = tuple(d for d in diagnose(spec) if d.severity == "error" and not d.impossible)
    if wrong:
        yield from wrong
        return
    goal = goal_of(spec, family)
    unit = spec.currency if goal.unit == "currency" else goal.unit
    if (result.sense, result.quantity, result.unit) != (goal.sense, goal.quantity, unit):
        yield _differs(saved, "objective", "differs from the spec")
    if plan is None:
        return
    if result.solution is SolutionStatus.NONE or result.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
        path = "solution" if result.solution is SolutionStatus.NONE else "termination"
        yield _differs(saved, path, f"is {getattr(result, path)}, but there is a plan")
    lacking = unfinite(plan)
    if lacking:
        yield _differs(saved, f"state.{lacking}", "is not a number")
        return
    found = amounts(spec, family, plan)
    for name in dict.fromkeys((*found, *result.quantities)):
        if not _same(result.quantities.get(name), found.get(name)):
            yield _differs(saved, f"quantities.{name}", "differs from the plan")
    checked = _is_of_solve(result)
    if checked:
        yield from (d for d in violations(spec, family, plan, result.relaxed) if d.severity == "error")
    yield from _view_mistakes(saved, plan)
    for path, doubt in doubts(plan):
        yield _differs(saved, path, doubt)
    measured = family.measure(spec, plan) if family.measure is not None and checked else None
    if measured is None:
        return
    value, claimed = float(measured), result.value
    if claimed is None or not abs(value - claimed) <= TOLERANCE * max(abs(value), abs(claimed), result.size):
        yield _differs(saved, "objective.value", f"is {_number(claimed)}, but the plan evaluates to {value:.10g}")
    elif result.bound is not None and contradicts(result.bound, value, goal.sense == "maximize", result.size):
        yield _differs(
            saved, "objective.bound", f"is {_number(result.bound)}, better than the value of the plan, {value:.10g}"
        )


def _is_of_solve(result: Result) -> bool:
    """Return True if a plan makes promises; the result of a simulation in a family without plans does not."""
    return result.solver.get("name") != "simulation"


def _same(said: Amount | None, found: Amount | None) -> bool:
    if said is None or found is None or said.unit != found.unit or said.value is None or found.value is None:
        return said == found
    return abs(said.value - found.value) <= TOLERANCE * max(abs(said.value), abs(found.value))


def _differs(saved: Saved, path: str, what: str) -> Diagnostic:
    return _told(saved, error("edited-plan", f"`{path}` {what}", None, "solve the spec again"))


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.10g}"


def _view_mistakes(saved: Saved, plan: Any) -> Iterator[Diagnostic]:
    """Yield differences between ``plan`` in the file, which people and programs read, and its ``state``.

    A field that an unchanged file lacks was unknown to the version that wrote it.
    """
    plan.tables()
    for path in _differences(saved.document.get("plan"), plain(plan.document()), "plan", lacking=not saved.intact):
        yield _differs(saved, path, "differs from `state`")
        return


def _differences(stored: Any, shown: Any, path: str, *, lacking: bool) -> Iterator[str]:
    """Yield the paths at which two values differ; with ``lacking`` also those that only ``shown`` has."""
    if stored == shown:
        return
    if isinstance(stored, Mapping) and isinstance(shown, Mapping):
        for key in dict.fromkeys((*stored, *shown)):
            if key in stored and key in shown:
                yield from _differences(stored[key], shown[key], f"{path}.{key}", lacking=lacking)
            elif lacking or key in stored:
                yield f"{path}.{key}"
    elif _is_list(stored) and _is_list(shown):
        if len(stored) != len(shown):
            yield path
        for index, (one, other) in enumerate(zip(stored, shown, strict=False)):
            yield from _differences(one, other, f"{path}[{index}]", lacking=lacking)
    elif isinstance(stored, int | float) and isinstance(shown, int | float):
        if abs(stored - shown) > AGREE * max(1.0, abs(stored), abs(shown)):
            yield path
    else:
        yield path


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def tables(verified: Verified, saved: Saved) -> tuple[Table, ...]:
    """Return the tables of ``mrdsl verify``: the contents of the file, and its input files."""
    result = verified.result
    rows = [
        ("written by mrdsl", str(saved.document.get("mrdsl", ""))),
        ("format version", str(saved.document.get("format", ""))),
        ("unmodified", "yes" if saved.intact else "no"),
        ("solver", f"{result.solver.get('name')} {result.solver.get('version') or ''}".strip()),
        ("termination", str(result.termination)),
        ("solution", str(result.solution)),
        ("plan", "none" if result.plan is None else "meets its constraints" if verified.kept else "is refused"),
    ]
    if result.plan is not None:
        worth = f"{_number(result.value)} {result.unit}".strip()
        rows += [(result.quantity, worth), ("bound", _number(result.bound))]
    simulated = evidence_of(result.plan)
    if result.plan is not None and simulated is not None:
        rows.append(("runs", f"{simulated.runs:,} from seed {simulated.seed}"))
        rows += [("constraints in runs", said)] if (said := verdict_word(result.plan)) else []
    rows += [("runs repeated now", "same results")] if verified.again else []
    if verified.trust.bound is not None:
        rows.append((f"bound by {verified.trust.method}, now", _number(verified.trust.bound)))
    rows += [("not checked", ", ".join(verified.trust.taken))] if verified.trust.taken else []
    files = Table("Input files", ("file", "is now"), [(name, state) for name, state in verified.files])
    return (Table("Saved plan", ("what", "value"), rows), *((files,) if verified.files else ()))


def document(verified: Verified, saved: Saved) -> dict[str, Any]:
    """Return the object that ``mrdsl verify --json`` prints."""
    result = verified.result
    return {
        "format": 1,
        "kept": verified.kept if verified.result.plan is not None else None,
        "intact": saved.intact,
        "again": verified.again,
        "on_trust": list(verified.trust.taken),
        "bound_now": verified.trust.bound,
        "outcomes": {name: str(one) for name, one in result.plan.outcomes().items()} if result.plan is not None else {},
        "termination": str(verified.result.termination),
        "solution": str(verified.result.solution),
        "objective": plain(verified.result.objective),
        "files": [{"path": path, "state": state} for path, state in verified.files],
        "diagnostics": [as_document(d) for d in verified.found],
    }


def read_file(file: str | Path) -> Saved:
    """Read a saved plan without verification. Raises MrdslError."""
    try:
        text = read_bytes(file, budgets.PLAN_BYTES).decode("utf-8-sig")
    except (UnreadableError, UnicodeDecodeError) as problem:
        reason = str(problem) if isinstance(problem, UnreadableError) else "it is not UTF-8 text"
        raise one_error("unreadable-file", f"`{file}` cannot be read: {reason}") from None
    return read_saved(text, str(file))


def open_plan(file: str | Path) -> Verified:
    """Return a saved plan, verified against its spec. Raises MrdslError if the file is not a saved plan."""
    return verify(read_file(file))


def open_text(text: str, name: str) -> Verified:
    """Return a saved plan in a text; ``name`` is its file in messages. Raises MrdslError if it is not one."""
    return verify(read_saved(text, name))
