"""Results as files: ``mrdsl solve -o`` writes them, and every command that reads a spec reads them.

The object is that of ``mrdsl solve --json`` plus the resolved ``spec``, its input ``files``, the fields of the plan as
``state`` (``plan`` is a view of them), and a ``fingerprint`` of the whole.

Their JSON Schema is made from the field types that the decoder uses.
"""

from __future__ import annotations

import hashlib
import json
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, is_dataclass
from enum import Enum
from typing import Any, Union, get_args, get_origin

from mrdsl.contracts.family import Family
from mrdsl.core.diagnostics import Diagnostic, Related, Severity, Span, one_error
from mrdsl.core.result import Amount, Plan, Result, SolutionStatus, Termination
from mrdsl.families import family, family_names
from mrdsl.families.diagnosis import find_family
from mrdsl.planning.results import period_of, today_of
from mrdsl.planning.saved_specs import (
    PLAIN,
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
from mrdsl.spec.encoding import COLUMNS, IS, PARTS, Decoder, MalformedError, hints_of, saved_fields
from mrdsl.spec.schema import PERCENTILES, Item, Node, Source, declarations
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


Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NUMBER: Schema = {"type": ["number", "null"]}
_TEXT: Schema = {"type": "string"}
_PLACE: Schema = {"type": "string", "pattern": r":\d+:\d+-\d+:\d+$"}
_NUMBERS: Schema = {
    "description": "an array of any number of dimensions; null stands for a number that there is not",
    "type": "array",
    "items": {"anyOf": [{"type": ["number", "boolean", "null"]}, {"$ref": "#/$defs/numbers"}]},
}
_SIMPLE: Mapping[Any, Schema] = {
    str: _TEXT,
    int: {"type": "integer"},
    float: _NUMBER,
    bool: {"type": "boolean"},
    Span: {"$ref": "#/$defs/place"},
    Source: {"$ref": "#/$defs/source"},
    type(None): {"type": "null"},
}


@dataclass
class _Definitions:
    """Schemas of dataclasses by name, each made once."""

    known: dict[str, Schema] = field(default_factory=dict)

    def of(self, hint: Any) -> Schema:
        """Return the schema of a type of the decoder's."""
        if hint is Any:
            return {}
        if isinstance(hint, type) and hint in _SIMPLE:
            return _SIMPLE[hint]
        origin = get_origin(hint)
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.of(one) for one in get_args(hint)]}
        if origin in (tuple, list, Sequence):
            return self._many(origin, get_args(hint))
        if origin is Mapping:
            return {"type": "object", "additionalProperties": self.of(get_args(hint)[1])}
        if origin is not None and hasattr(origin, "dtype"):
            return {"$ref": "#/$defs/numbers"}
        if isinstance(hint, type) and issubclass(hint, Enum):
            return {"enum": [str(one) for one in hint]}
        return self._reference(hint)

    def _many(self, origin: Any, kinds: Sequence[Any]) -> Schema:
        if origin is tuple and not (len(kinds) == 2 and kinds[1] is Ellipsis):
            return {"type": "array", "prefixItems": [self.of(kind) for kind in kinds], "items": False}
        listed: Schema = {"type": "array", "items": self.of(kinds[0])}
        if isinstance(kinds[0], type) and issubclass(kinds[0], Node):
            return {"anyOf": [listed, {"$ref": "#/$defs/columns"}, {"$ref": "#/$defs/parts"}]}
        return listed

    def _reference(self, kind: type[Any]) -> Schema:
        name = f"{kind.__module__.removeprefix('mrdsl.')}.{kind.__name__}"
        if name not in self.known:
            self.known[name] = {}
            self.known[name] = self._object(kind)
        return {"$ref": f"#/$defs/{name}"}

    def _object(self, kind: type[Any]) -> Schema:
        assert is_dataclass(kind), kind
        hints = hints_of(kind)
        declared = declarations(kind) if issubclass(kind, Node) else {}
        kept = [each for each in saved_fields(kind) if _is_saved(hints[each.name])]
        return {
            "description": (kind.__doc__ or "").partition("\n")[0],
            "type": "object",
            "properties": {
                IS: {"const": kind.__name__},
                **{each.name: _documented(self.of(hints[each.name]), declared.get(each.name)) for each in kept},
            },
            "required": [each.name for each in kept if each.default is each.default_factory is MISSING],
            "additionalProperties": False,
        }


def _is_saved(hint: Any) -> bool:
    """Return True if values of a type are saved; functions are not."""
    return not any(get_origin(one) is not None and "Callable" in str(one) for one in (hint, *get_args(hint)))


def _documented(schema: Schema, declared: Any) -> Schema:
    """Return the schema with a word about an item or a block, and an item's limits."""
    if declared is None:
        return schema
    form = {**schema, "description": declared.doc}
    if isinstance(declared, Item) and declared.form == "quantity":
        limits = {
            "minimum": declared.at_least,
            "exclusiveMinimum": declared.above,
            "maximum": declared.at_most,
            "exclusiveMaximum": declared.below,
        }
        form |= {key: limit for key, limit in limits.items() if limit is not None}
    if isinstance(declared, Item) and declared.form == "choice":
        form = {
            "enum": [
                *declared.choices,
                *(PERCENTILES if declared.percentiles else []),
                *([None] if declared.default is None else []),
            ],
            "description": declared.doc,
        }
    return form


def plan_schema(kinds: Iterable[str] | None = None) -> Schema:
    """Return the JSON Schema of saved plans of these families, by default of all installed ones.

    The output of `mrdsl solve --json` follows it too: parts that it lacks are not required.
    """
    definitions = _Definitions()
    names = tuple(kinds) if kinds is not None else family_names()
    parts = [_of_family(one, definitions) for name in names if (one := family(name)) is not None]
    return {
        "$schema": DIALECT,
        "$id": f"https://mrdsl.invalid/plan-{FORMAT}.json",
        "title": f"a saved plan of mrdsl, version {FORMAT}",
        "type": "object",
        "properties": _properties(definitions, names),
        "required": ["format", "mrdsl", "problem", "termination", "solution", "objective", "plan", "diagnostics"],
        "additionalProperties": False,
        "allOf": parts,
        "$defs": {"numbers": _NUMBERS, "place": _PLACE, **_shared(), **definitions.known},
    }


def _of_family(one: Family, definitions: _Definitions) -> Schema:
    spec = {
        "type": "object",
        "properties": {
            "problem": {"const": one.name},
            "facts": definitions.of(one.facts),
            **{key: definitions.of(hint) for key, hint in PLAIN.items()},
        },
        "required": ["problem", "facts"],
        "additionalProperties": False,
    }
    plans = [definitions.of(kind) for kind in (one.plans() if one.plans is not None else ())]
    return {
        "if": {"properties": {"problem": {"const": one.name}}, "required": ["problem"]},
        "then": {"properties": {"spec": spec, "state": {"anyOf": [{"type": "null"}, *plans]}}},
    }


def _properties(definitions: _Definitions, names: Sequence[str]) -> Schema:
    text_or_none: Schema = {"type": ["string", "null"]}
    objective = {
        "sense": text_or_none,
        "quantity": text_or_none,
        "value": _NUMBER,
        "unit": _TEXT,
        "bound": {**_NUMBER, "description": "a proven bound on the best possible value"},
        "gap": {**_NUMBER, "description": "between value and bound, relative to the value less `fixed`"},
        "period": {**_NUMBER, "description": "the time in seconds that the value is the cost of"},
    }
    return {
        "format": {"const": FORMAT, "description": "the version of this form"},
        "mrdsl": {**_TEXT, "description": "the version of mrdsl that wrote it"},
        "problem": {"enum": [*names, None]},
        "title": _TEXT,
        "formulation": text_or_none,
        "solver": {"type": "object", "additionalProperties": text_or_none},
        "seed": {"type": ["integer", "null"]},
        "termination": definitions.of(Termination),
        "solution": definitions.of(SolutionStatus),
        "objective": _closed(objective),
        "quantities": {
            "description": "what `let` names, in SI units",
            "type": "object",
            "additionalProperties": _closed({"value": _NUMBER, "unit": _TEXT}),
        },
        "plan": {"type": ["object", "null"], "description": "the plan as people and programs read it"},
        "today": {"type": "object", "description": "the observed cluster of the spec next to the plan"},
        "diagnostics": {"type": "array", "items": {"$ref": "#/$defs/diagnostic"}},
        "seconds": {"type": "object", "additionalProperties": {"type": "number"}},
        "relaxed": {"type": "boolean", "description": "whether whole numbers might be fractions"},
        "size": {"type": "number", "description": "not used any more"},
        "fixed": {"type": "number", "description": "the part of the goal that every plan has, default 0"},
        "spec": {"type": "object", "description": "the resolved spec in SI units"},
        "files": {"type": "array", "items": {"$ref": "#/$defs/file"}},
        "state": {"type": ["object", "null"], "description": "the plan's own fields, which `plan` is a view of"},
        "fingerprint": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
    }


def _shared() -> Schema:
    place = {"file": {"type": ["string", "null"]}, "range": {"type": ["object", "null"]}}
    return {
        "source": _closed({"reader": _TEXT, "written": _TEXT, "file": {"type": "integer"}, "span": _PLACE}, ("span",)),
        "columns": _closed({COLUMNS: {"type": "object"}, "names": {"type": "array", "items": _TEXT}, "group": _TEXT}),
        "parts": _closed({PARTS: {"type": "array"}}),
        "file": _closed(
            {
                "name": {**_TEXT, "description": "as the spec's folder sees it"},
                "path": _TEXT,
                "bytes": {"type": ["integer", "null"]},
                "sha256": {"type": ["string", "null"], "description": "null where it changed while the plan was made"},
                "content": {**_TEXT, "description": "its bytes, compressed by zlib, in base64"},
            },
            ("content",),
        ),
        "diagnostic": _closed(
            {
                "code": _TEXT,
                "severity": {"enum": [str(one) for one in Severity]},
                "message": _TEXT,
                "hint": _TEXT,
                **place,
                "related": {"type": "array", "items": _closed({"message": _TEXT, **place})},
                "impossible": {"type": "boolean"},
                "path": _TEXT,
            }
        ),
    }


def _closed(properties: Schema, optional: Sequence[str] = ()) -> Schema:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
