"""The JSON Schema of saved plans, made from the field types of specs and plans that the decoder uses."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, is_dataclass
from enum import Enum
from typing import Any, Union, get_args, get_origin

from mrdsl.contracts.family import Family
from mrdsl.core.diagnostics import Severity, Span
from mrdsl.core.result import SolutionStatus, Termination
from mrdsl.families import family, family_names
from mrdsl.planning.saved_specs import FORMAT, PLAIN
from mrdsl.spec.encoding import COLUMNS, IS, PARTS, hints_of, saved_fields
from mrdsl.spec.schema import PERCENTILES, Item, Node, Source, declarations

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
