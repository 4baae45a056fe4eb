"""Specs and plans as plain JSON values, by the declarations of their dataclasses alone; see :mod:`mrdsl.spec.decoding`.

An array is a list with null for NaN; a number is itself, null for NaN; a dataclass is an object of its fields; one of
several that a field may hold says by ``is`` which. Columns say what stands in each row and what all rows share.
Functions, such as what runs a simulation again, are left out, and so are fields that have their default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from typing import Any

from mrdsl.core.source import Span
from mrdsl.spec.columns import Columns, Joined
from mrdsl.spec.schema import Source

IS, COLUMNS, PARTS, EACH, EVERY, DTYPE = "is", "columns", "parts", "each", "all", "dtype"
DERIVED = "derived"
"""The metadata of a field that is worked out anew when it is read, and not saved."""

SourceNumber = Callable[[Source], int]
"""Gives the number under which a file of data is saved."""


def encoded(value: Any, number_of: SourceNumber | None = None) -> Any:
    """The value as JSON knows it. A :class:`Source` is ``{"file": number}`` besides what was written.

    Raises TypeError for what is no value of a spec or a plan.
    """
    if value is None or isinstance(value, str | bool | int):
        return str(value) if isinstance(value, Enum) else value
    if isinstance(value, float):
        return None if value != value else value
    if isinstance(value, Span):
        return span_text(value)
    if isinstance(value, Source):
        return _source(value, number_of)
    if isinstance(value, Columns):
        return _columns(value, number_of)
    if isinstance(value, Joined):
        return {PARTS: [encoded(part, number_of) for part in value.parts]}
    if is_dataclass(value) and not isinstance(value, type):
        return _object(value, number_of)
    if isinstance(value, Mapping):
        return {str(key): encoded(item, number_of) for key, item in value.items()}
    if hasattr(value, "dtype"):
        return _array(value)
    if isinstance(value, Sequence):
        return [encoded(item, number_of) for item in value]
    raise TypeError(f"{type(value).__name__} is no value of a spec or a plan")


def span_text(span: Span) -> str:
    """``night.mrspec:3:1-3:20``."""
    return f"{span.file}:{span.line}:{span.column}-{span.end_line}:{span.end_column}"


def saved_fields(kind: type[Any]) -> list[Field[Any]]:
    """The fields of a dataclass that are saved."""
    return [field for field in fields(kind) if field.init and not field.metadata.get(DERIVED)]


def _object(value: Any, number_of: SourceNumber | None) -> dict[str, Any]:
    found: dict[str, Any] = {IS: type(value).__name__}
    for field in saved_fields(type(value)):
        item = getattr(value, field.name)
        if callable(item) or _is_default(field, item):
            continue
        found[field.name] = encoded(item, number_of)
    return found


def _is_default(field: Field[Any], item: Any) -> bool:
    """Whether a field has its default, which is not written; arrays are."""
    if hasattr(item, "dtype") or isinstance(item, Columns | Joined):
        return False
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    return default is not MISSING and type(item) is type(default) and bool(item == default)


def _source(source: Source, number_of: SourceNumber | None) -> dict[str, Any]:
    found = {"reader": source.reader, "written": source.written}
    found |= {"path": source.path} if number_of is None else {"file": number_of(source)}  # type: ignore[dict-item]
    return found if source.span is None else {**found, "span": span_text(source.span)}


def _columns(columns: Columns[Any], number_of: SourceNumber | None) -> dict[str, Any]:
    values = {path: _column(value, number_of) for path, value in columns.values.items()}
    return {COLUMNS: values, "names": list(columns.names), "group": columns.group}


def _column(value: Any, number_of: SourceNumber | None) -> dict[str, Any]:
    if getattr(value, "ndim", 0):
        if value.dtype == object:
            return {EACH: [encoded(item, number_of) for item in value.tolist()], DTYPE: "object"}
        return {EACH: _array(value), DTYPE: "text" if value.dtype.kind == "U" else value.dtype.name}
    return {EVERY: encoded(value, number_of)}


def _array(value: Any) -> Any:
    import numpy as np

    if value.dtype.kind == "f" and np.isnan(value).any():
        return _without_nan(value.tolist())
    return value.tolist()


def _without_nan(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if value != value else value
