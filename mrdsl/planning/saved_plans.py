"""Results as files: ``mrdsl solve -o`` writes them, and every command that reads a spec reads them.

The object is that of ``mrdsl solve --json`` plus the resolved ``spec``, its input ``files``, the fields of the plan as
``state`` (``plan`` is a view of them), and a ``fingerprint`` of the whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mrdsl.core.diagnostics import Diagnostic, Related, Severity, Span, one_error
from mrdsl.core.result import Amount, Plan, Result, SolutionStatus, Termination
from mrdsl.families.diagnosis import find_family
from mrdsl.planning.results import period_of, today_of
from mrdsl.planning.saved_specs import (
    SavedFile,
    finder,
    malformed,
    migrated,
    parsed,
    saved_files,
    seen_from,
    spec_document,
    spec_of,
)
from mrdsl.reporting.document import FORMAT, result_document, to_json
from mrdsl.spec.encoding import IS, Decoder, MalformedError
from mrdsl.spec.spec import Spec

UNSEALED = ("fingerprint", "seconds")
"""Parts that the fingerprint does not cover."""


@dataclass(frozen=True)
class Saved:
    """A saved plan as read: the result, its input files, and the other contents of the file.

    ``intact``: the fingerprint shows that the file is unchanged. ``document`` is the JSON object.
    """

    result: Result
    files: tuple[SavedFile, ...]
    intact: bool
    document: Mapping[str, Any]
    name: str = ""
    written: Mapping[str, Any] = field(default_factory=dict)

    @property
    def format(self) -> int:
        """The version of the form in which the file was written; ``document`` is in the present one."""
        return int(self.written.get("format", FORMAT))


def saved_document(result: Result, folder: str | None = None) -> dict[str, Any]:
    """Return the saved plan as plain JSON values, with names of files relative to ``folder`` if it is given.

    Raises MrdslError if the result has no spec.
    """
    spec = result.spec
    if not isinstance(spec, Spec):
        message = "the result has no spec, so it could not be read back"
        raise one_error("nothing-to-write", message, None, "save a result of `mrdsl.solve` or `mrdsl.simulate`")
    resolved, state, files = spec_document(spec, result.plan, folder)
    document = {
        **seen_from(folder, spec, result_document(result)),
        "relaxed": result.relaxed,
        **({"fixed": result.fixed} if result.fixed else {}),
        "seconds": dict(result.seconds),
        "spec": resolved,
        "files": files,
        "state": state,
    }
    return {**document, "fingerprint": fingerprint(document)}


def fingerprint(document: Mapping[str, Any]) -> str:
    """SHA-256 of the object without its times, in one way of writing JSON."""
    sealed = {key: value for key, value in document.items() if key not in UNSEALED}
    text = json.dumps(sealed, sort_keys=True, separators=(",", ":"))  # of any file, also one with 1e999 in it
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def read_saved(text: str, name: str = "") -> Saved:
    """Read the saved plan in a text, without verification (see :mod:`mrdsl.planning.verified_plans`).

    Raises MrdslError ``malformed-plan`` with the place for anything else.
    """
    written = parsed(text, name)
    try:
        document = migrated(written)
        if "spec" not in document or "termination" not in document:
            message = "it contains neither a spec nor a plan; save one with `mrdsl solve SPEC -o plan.json`"
            raise malformed(name, "", message)
        files = saved_files(document.get("files", ()), "files", name)
        result = _result(document, files)
    except MalformedError as problem:
        raise malformed(name, problem.path, problem.message, problem.hint) from None
    except RecursionError:
        raise malformed(name, "", "it is nested too deeply") from None
    return Saved(result, files, written.get("fingerprint") == fingerprint(written), document, name, written)


def _result(document: Mapping[str, Any], files: tuple[SavedFile, ...]) -> Result:
    spec = spec_of(document["spec"], files, "spec")
    decoder = Decoder(finder(files, {}))

    def of(kind: Any, key: str, default: Any = None) -> Any:
        return decoder.value(kind, document.get(key, default), key)

    objective = _object(document.get("objective"), "objective")
    number, text = float | None, str | None
    unit = decoder.value(str, objective.get("unit"), "objective.unit")
    plan = _plan(spec, document, decoder)
    return Result(
        termination=of(Termination, "termination"),
        solution=of(SolutionStatus, "solution"),
        plan=plan,
        value=decoder.value(number, objective.get("value"), "objective.value"),
        bound=decoder.value(number, objective.get("bound"), "objective.bound"),
        diagnostics=_diagnostics(document.get("diagnostics", []), decoder),
        fixed=of(float, "fixed", 0.0),
        problem=spec.problem,
        title=of(str, "title", ""),
        formulation=of(text, "formulation"),
        solver=of(Mapping[str, str | None], "solver", {}),
        seed=of(int | None, "seed"),
        sense=decoder.value(str, objective.get("sense"), "objective.sense"),
        quantity=decoder.value(str, objective.get("quantity"), "objective.quantity"),
        unit=unit,
        period=period_of(spec, find_family(spec), unit),
        seconds=of(Mapping[str, float], "seconds", {}),
        currency=spec.currency,
        relaxed=of(bool, "relaxed", False),
        quantities=of(Mapping[str, Amount], "quantities", {}),
        today=today_of(spec, find_family(spec), plan),
        spec=spec,
    )


def _plan(spec: Spec, document: Mapping[str, Any], decoder: Decoder) -> Plan | None:
    state = document.get("state")
    if state is None:
        if document.get("plan") is not None:
            raise MalformedError("state", "is missing, although `plan`, which is derived from it, is there")
        return None
    family = find_family(spec)
    kinds = {kind.__name__: kind for kind in (family.plans() if family.plans is not None else ())}
    said = _object(state, "state").get(IS)
    if not isinstance(said, str) or said not in kinds:
        hint = "one of " + ", ".join(kinds) if kinds else f"`{spec.problem}` does not name the class of its plans"
        raise MalformedError(f"state.{IS}", "is not a class of plans of the family", hint)
    plan: Plan = decoder.instance(kinds[said], state, "state")
    return plan


def _diagnostics(documents: Any, decoder: Decoder) -> tuple[Diagnostic, ...]:
    if not isinstance(documents, list):
        raise MalformedError("diagnostics", "is not a list")
    return tuple(
        _diagnostic(_object(one, f"diagnostics[{i}]"), f"diagnostics[{i}]", decoder) for i, one in enumerate(documents)
    )


def _diagnostic(document: Mapping[str, Any], path: str, decoder: Decoder) -> Diagnostic:
    def of(kind: Any, key: str, default: Any = None) -> Any:
        return decoder.value(kind, document.get(key, default), f"{path}.{key}")

    related = document.get("related", [])
    if not isinstance(related, list):
        raise MalformedError(f"{path}.related", "is not a list")
    places = [(_object(one, f"{path}.related[{i}]"), f"{path}.related[{i}]") for i, one in enumerate(related)]
    return Diagnostic(
        code=of(str, "code"),
        severity=of(Severity, "severity"),
        message=of(str, "message"),
        span=_place(document, path, decoder),
        hint=of(str, "hint", ""),
        related=tuple(
            Related(decoder.value(str, one.get("message"), f"{at}.message"), _place(one, at, decoder))
            for one, at in places
        ),
        impossible=of(bool, "impossible", False),
        path=of(str, "path", ""),
    )


def _place(document: Mapping[str, Any], path: str, decoder: Decoder) -> Span | None:
    if document.get("range") is None:
        return None
    ends = _object(document["range"], f"{path}.range")
    numbers = [
        decoder.value(int, _object(ends.get(end), f"{path}.range.{end}").get(key), f"{path}.range.{end}.{key}")
        for end in ("start", "end")
        for key in ("line", "column")
    ]
    return Span(decoder.value(str, document.get("file"), f"{path}.file"), *numbers)


def _object(value: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise MalformedError(path, "is not an object")
    return value


class ResultForm:
    """Results as JSON text; see :meth:`mrdsl.core.result.Result.to_json`."""

    def write(self, result: Result, folder: str | None = None) -> str:
        return to_json(saved_document(result, folder))

    def read(self, text: str, name: str = "") -> Result:
        return read_saved(text, name).result
