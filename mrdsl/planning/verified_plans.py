"""Verification of saved plans against their own spec: the recomputed parts, and the parts that are taken on trust."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from mrdsl.contracts.family import Family
from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic, MrdslError, error, has_errors, one_error, warning
from mrdsl.core.reading import UnreadableError, read_bytes
from mrdsl.core.result import Limits, Result, SolutionStatus, Table, Termination, plain, unfinite
from mrdsl.core.version import __version__
from mrdsl.families.diagnosis import diagnose, find_family
from mrdsl.planning.claims import unproven, violations
from mrdsl.planning.results import goal_of, labelled
from mrdsl.planning.saved_plans import Saved, read_saved
from mrdsl.planning.saved_specs import CHANGED, FORMAT, MISSING, SAME, UNKNOWN, is_own, migrated
from mrdsl.planning.simulate_spec import doubts, evidence_of, repeated_runs, verdict_word
from mrdsl.planning.spec_again import LACKS, OTHER, UNKNOWN_PART, by_content, differences, plain_spec, resolved_again
from mrdsl.reporting.diagnostics import as_document
from mrdsl.reporting.document import result_document
from mrdsl.simulation.observed import Observed
from mrdsl.simulation.settings import TOLD_OF_RUNS
from mrdsl.solving.claims import AGREE, TOLERANCE, contradicts
from mrdsl.spec.encoding import encoded
from mrdsl.spec.spec import Spec

SECONDS = 2.0
"""Time limit of a method that computes another bound [s]."""


ENDED, RUNS = "how the solve ended", "what runs showed"
ALWAYS = {
    "termination": ENDED,
    "solution": ENDED,
    "solver": "the solver",
    "formulation": "its formulation",
    "seconds": "its seconds",
    "mrdsl": "the version of mrdsl",
}
"""Parts of a saved plan that nothing shows to be true, in words."""


@dataclass(frozen=True)
class Trust:
    """The claims of a file: ``parts`` are those that were not confirmed, by their paths, in words.

    ``method`` recomputed the ``bound``, or is "". ``better`` is the value of a plan beyond the claimed bound, or None.
    """

    parts: Mapping[str, str] = field(default_factory=dict)
    method: str = ""
    bound: float | None = None
    better: float | None = None

    @property
    def taken(self) -> tuple[str, ...]:
        """The parts that were not confirmed, in words, each once."""
        return tuple(dict.fromkeys(self.parts.values()))


def trust_in(result: Result, family: Family, again: bool = False, known: Mapping[str, str] = ALWAYS) -> Trust:
    """Recompute the cheap claims, and name the others.

    Args:
        result: The result in a saved file, with its plan checked.
        family: The family of its spec.
        again: True if its runs were repeated with the same outcome.
        known: The parts that are known not to be covered.
    """
    claims = result.bound is not None if result.plan is not None else result.termination is Termination.INFEASIBLE
    found = _found_anew(result, family) if claims else Trust()
    confirmed = result.bound is None or (found.bound is not None and not _is_beyond(result.bound, found.bound, result))
    taken = {} if confirmed else {"objective.bound": "the bound", "objective.gap": "the gap"}
    if result.solution is SolutionStatus.OPTIMAL and (not confirmed or (result.objective.gap or 0.0) > AGREE):
        taken["solution"] = "that the plan is the best"
    if result.plan is None:
        taken["plan"] = "that there is no plan"
    if result.plan is not None:
        taken |= {f"state.{name}": words for name, words in result.plan.on_trust.items()}
    taken |= {path: words for path, words in (ALWAYS | dict(known)).items() if not again or words != RUNS}
    return Trust(taken, found.method, found.bound, found.better)


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
        if has_errors(tuple(violations(result.spec, family, known.plan, result.relaxed))) or family.measure is None:
            continue
        value = family.measure(result.spec, known.plan)
        better = None
        maximize, bound = result.sense == "maximize", result.bound or 0.0
        if value is not None and (result.plan is None or contradicts(bound, value, maximize)):
            better = float(value)
        alike = result.plan is None or _wholeness(known.plan) == _wholeness(result.plan)
        return Trust({}, method_of(formulation), known.bound if alike else None, better)
    return Trust()


def _wholeness(plan: object) -> object:
    return getattr(plan, "wholeness", None)


def _is_beyond(claimed: float, proven: float, result: Result) -> bool:
    """Return True if a claimed bound is tighter than one that was proven."""
    slack = TOLERANCE * max(abs(claimed), abs(proven))
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
    trust: Trust = Trust()

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
    taken: dict[str, str] = {}
    try:
        found, result = _checked(saved, result, taken)
    except MrdslError as wrong:
        found = wrong.diagnostics
    except _MISFITS as misfit:
        message = f"the parts of its plan contradict each other ({misfit})"
        found = (_told(saved, error("malformed-plan", message, None, "solve the spec again")),)
    trust = Trust(taken)
    if all(each.code == "edited-plan" for each in found if each.severity == "error"):
        trust = trust_in(result, find_family(result.spec), known=taken)
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
    result = verified.result
    before, now = result.plan, repeated_runs(result, processes).plan
    assert before is not None
    assert now is not None
    differing = next(differences(plain(before.document()), plain(now.document()), "plan"), None)
    if differing is None:
        trust = trust_in(result, find_family(result.spec), True, verified.trust.parts)
        return replace(verified, again=True, trust=trust)
    hint = f"mrdsl {saved.document.get('mrdsl')} wrote the file; run `mrdsl simulate` for new results"
    wrong = _told(saved, error("other-runs", f"repeating the same runs gives another `{differing[0]}`", None, hint))
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


def _checked(saved: Saved, result: Result, taken: dict[str, str]) -> tuple[tuple[Diagnostic, ...], Result]:
    """Return the errors of the file, and the result as it follows from the text and the state of the plan.

    Parts that do not follow are added to ``taken``.
    """
    spec, plan = _spec(saved, taken), result.plan
    family = find_family(spec)
    known = diagnose(spec)
    if has_errors(each for each in known if not each.impossible):
        return tuple(each for each in known if each.severity == "error"), result
    if result.relaxed:
        taken["relaxed"] = "that numbers may be fractions (`relaxed`)"
    if result.fixed:
        taken["fixed"] = "the part of the objective that every plan has (`fixed`)"
    if plan is not None and (lacking := unfinite(plan)):
        return (_differs(saved, f"state.{lacking}", "is not a number"),), result
    found = [*_file_mistakes(saved, taken), *_contradictions(saved, result)]
    following = known
    if plan is not None and family.simulate is not None and result.solver.get("name") == "simulation":
        taken |= {"plan": RUNS, "state": RUNS, "objective.value": RUNS}
    elif plan is not None:
        following, value = _held(saved, spec, family, result, known, found)
        result = replace(result, value=value)
    if plan is not None:
        of_runs = (name for name, value in vars(plan).items() if name in _OF_RUNS or isinstance(value, Observed))
        taken |= {f"state.{name}": RUNS for name in of_runs if _is_said(getattr(plan, name))}
        taken |= {"diagnostics": "the warnings of runs"} if evidence_of(plan) is not None else {}
        found += [_differs(saved, path, doubt) for path, doubt in doubts(plan)]
    simulated = evidence_of(plan)
    seed = spec.seed if simulated is None else simulated.seed
    if simulated is None and result.seed != seed:
        seed, taken["seed"] = result.seed, "the seed of its runs"
    shown = labelled(spec, family, replace(result, bound=None), result.solver, seed)
    shown = replace(shown, bound=saved.result.bound)
    result = replace(shown, bound=result.bound, spec=saved.result.spec)
    found += _diagnostic_mistakes(saved, following, taken)
    found += _document_mistakes(saved, shown, taken)
    return tuple(found), result


def _spec(saved: Saved, taken: dict[str, str]) -> Spec:
    """Return the spec as its text and data give it. Raises MrdslError if the facts of the file are others."""
    spec: Spec = saved.result.spec
    if saved.format != FORMAT:
        taken["format"] = f"what a file of format {saved.format} means"
    if spec.given:
        taken["spec.given"] = "that the command set " + ", ".join(f"`{name}`" for name in spec.given)
    if not spec.text:
        taken["spec"] = "the spec, which has no text"
        return spec
    again, told = resolved_again(spec, saved.files)
    if again is None:
        taken["spec"] = f"that the spec is that of its text, which needs `{told}`"
        return spec
    now = migrated({**saved.written, "spec": plain_spec(again)})["spec"]
    now |= {"file": spec.file, "given": encoded(spec.given)}
    wrong = next(differences(plain_spec(spec), now, "spec"), None)
    if wrong is not None:
        raise MrdslError([_differs(saved, wrong[0], "differs from the text of the spec")])
    if spec.seed != told:
        taken["seed"] = taken["spec.seed"] = "that the command set the seed"
    return spec if saved.format != FORMAT else replace(again, given=spec.given)


def _file_mistakes(saved: Saved, taken: dict[str, str]) -> Iterator[Diagnostic]:
    """Yield files whose name, size or content is not what the file says."""
    spec: Spec = saved.result.spec
    own = next((each for each in saved.files if is_own(each.name, spec.file)), None)
    hashes = {sha256(bom + spec.text.encode()).hexdigest() for bom in _BOMS}
    if own is not None and spec.text and own.sha256 not in ("", *hashes):
        yield _differs(saved, "spec.text", f"is not that of `{own.name}`, by its fingerprint")
    if own is None and not spec.file.startswith("<"):
        taken |= {"spec.file": "the file of the spec", "files": "the file of the spec"}
    twice = [{**each, "content": ""} for each in saved.document.get("files", ())]
    for number, each in enumerate(saved.files):
        if twice[number] in twice[:number] or not twice[number].keys() <= _OF_A_FILE:
            yield _differs(saved, f"files[{number}]", "is there twice, or has unknown parts")
        seen = each.path if own is None else os.path.normpath(Path(own.path).parent / each.name)
        if seen != each.path or Path(each.name).name != Path(each.path).name:
            yield _differs(saved, f"files[{number}].name", "differs from its path")
        data = (spec.text.encode() or None) if each is own else each.content
        if data is None or each.size is None:
            taken[f"files[{number}]"] = f"the content of `{each.name}`"
        elif each.size not in (len(data), len(data) + len(_BOMS[1])):
            yield _differs(saved, f"files[{number}].bytes", f"is {each.size:,}, but there are {len(data):,}")


_OF_A_FILE = {"name", "path", "bytes", "sha256", "content"}
_BOMS = (b"", b"\xef\xbb\xbf")


def _contradictions(saved: Saved, result: Result) -> Iterator[Diagnostic]:
    """Yield claims about the end of the solve that exclude each other."""
    none = result.solution is SolutionStatus.NONE
    if result.plan is None:
        if not none:
            yield _differs(saved, "solution", f"is {result.solution}, but there is no plan")
    elif none or result.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
        path = "solution" if none else "termination"
        yield _differs(saved, path, f"is {getattr(result, path)}, but there is a plan")
    elif result.solution is SolutionStatus.OPTIMAL and saved.result.bound is None:
        yield _differs(saved, "solution", "is optimal, but there is no bound")


def _held(
    saved: Saved, spec: Spec, family: Family, result: Result, known: tuple[Diagnostic, ...], found: list[Diagnostic]
) -> tuple[tuple[Diagnostic, ...], float | None]:
    """Add the errors of the plan to those found; return the diagnostics that follow from it, and its value."""
    assert result.plan is not None
    broken = tuple(violations(spec, family, result.plan, result.relaxed))
    found += [each for each in broken if each.severity == "error"]
    if family.measure is None:
        return (*known, *broken), result.value
    measured, claimed = family.measure(spec, result.plan), result.value
    if measured is None:
        return (*known, *broken), None
    value, bound = float(measured), result.bound
    if claimed is None or not abs(value - claimed) <= TOLERANCE * max(abs(value), abs(claimed)):
        found.append(
            _differs(saved, "objective.value", f"is {_number(claimed)}, but the plan evaluates to {value:.10g}")
        )
    elif bound is not None and contradicts(bound, value, goal_of(spec, family).sense == "maximize"):
        what = f"is {_number(bound)}, better than the value of the plan, {value:.10g}"
        found.append(_differs(saved, "objective.bound", what))
    return (*known, *broken), value


_OF_RUNS = ("simulated", "observed", "hourly", "bills", "bill", "of_runs", "in_time", "shown", "factors")
"""Fields of plans that hold what runs showed."""


def _is_said(value: Any) -> bool:
    """Return True if a field has a value: an empty one says nothing."""
    return value is not None and not (hasattr(value, "__len__") and not len(value))


def _diagnostic_mistakes(
    saved: Saved, following: tuple[Diagnostic, ...], taken: dict[str, str]
) -> Iterator[Diagnostic]:
    """Yield an error if the file lacks a warning that follows from the spec and the plan; others are on trust."""
    lost = "spec" in taken  # and with it the places of rows of tables
    stated = [_placed(as_document(each), lost) for each in saved.result.diagnostics]
    expected = [_placed(as_document(each), lost) for each in following if not each.impossible]
    if saved.document.get("mrdsl") != __version__ or saved.format != FORMAT:
        taken["diagnostics"] = "the warnings of another version"
        return
    for each in expected:
        if each not in stated and each["code"] not in TOLD_OF_RUNS:
            yield _differs(
                saved, "diagnostics", f"lacks `{each['code']}` as it follows from the spec: {each['message']}"
            )
            return
    for number, one in enumerate(stated):
        if one not in expected or one in stated[:number]:
            taken[f"diagnostics[{number}]"] = f"the warning `{one['code']}`"


def _placed(document: dict[str, Any], lost: bool) -> dict[str, Any]:
    """Return a diagnostic with the names of files without their folders, or without its place if that was lost."""
    place = {"file": document["file"] and Path(document["file"]).name} if not lost else {"file": None, "range": None}
    return {**document, **place, "related": [{**each, "file": None} for each in document["related"]]}


def _document_mistakes(saved: Saved, result: Result, taken: dict[str, str]) -> Iterator[Diagnostic]:
    """Yield differences between the file and the result as it was recomputed, the first of each part.

    Parts that an unchanged file lacks, such as those that its version did not know, are on trust.
    """
    plan = None if result.plan is None else result.plan.derived(result.spec)
    expected = {
        **result_document(result),
        "relaxed": result.relaxed,
        "spec": plain_spec(result.spec),
        "state": by_content(plan),
        "files": saved.document.get("files", []),
    }
    compared = ("spec", "state")  # by their contents; here, only what is there or not
    raw = differences(saved.document.get("state"), expected["state"], "state")
    lacks = {path for path, how in raw if how == LACKS}
    for path, _ in differences(by_content(result.plan), expected["state"], "state"):
        if path not in lacks:
            yield _differs(saved, path, "differs from the spec")
            break
    for key in dict.fromkeys((*saved.document, *expected)):
        if key in _APART:
            continue
        words = {"plan": "`state`", "quantities": "the plan"}.get(key, "the spec")
        if key in saved.document and key not in expected:
            taken |= {key: f"`{key}`, which is not used"} if key in _FORMER else {}
            if key not in _FORMER:
                yield _differs(saved, key, "is unknown")
            continue
        stated = {key: saved.document[key]} if key in saved.document else {}
        for path, how in differences(stated, {key: expected[key]}, ""):
            path = ".".join(path.split(".")[:2]) if key == "quantities" else path
            if how == LACKS and saved.intact:
                taken[path] = f"`{path}`, which the file lacks"
            elif key not in ALWAYS and not (key in compared and how == OTHER):
                yield _differs(saved, path, how if how == UNKNOWN_PART else f"differs from {words}")
                break


_APART = ("format", "fingerprint", "fixed", "seconds")
"""Parts of a saved plan that are checked apart."""
_FORMER = ("size",)


def _differs(saved: Saved, path: str, what: str) -> Diagnostic:
    return _told(saved, error("edited-plan", f"`{path}` {what}", None, "solve the spec again"))


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.10g}"


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
        "not_covered": sorted(verified.trust.parts),
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
