"""Specs and plans as plain JSON values, and back."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from mrdsl.core.diagnostics import Span, did_you_mean
from mrdsl.spec.columns import Columns, Joined
from mrdsl.spec.schema import Node, Range, Source

IS, COLUMNS, PARTS, EACH, EVERY, DTYPE = "is", "columns", "parts", "each", "all", "dtype"
DERIVED = "derived"
"""The metadata of a field that is worked out anew when it is read, and not saved."""

SourceNumber = Callable[[Source], int]
"""Gives the number under which a file of data is saved."""


def encoded(value: Any, number_of: SourceNumber | None = None) -> Any:
    """Return the value as plain JSON values. A :class:`Source` has ``{"file": number}`` in addition to its written
    form.

    Raises TypeError for objects that are not values of a spec or a plan.
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
    raise TypeError(f"{type(value).__name__} is not a value of a spec or a plan")


def span_text(span: Span) -> str:
    """``night.mrspec:3:1-3:20``."""
    return f"{span.file}:{span.line}:{span.column}-{span.end_line}:{span.end_column}"


def saved_fields(kind: type[Any]) -> list[Field[Any]]:
    """Return the fields of a dataclass that are saved."""
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
    """Return True if a field has its default, which is not written; arrays are."""
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


SourceOf = Callable[[int], str]
"""Gives the path of the file of data with a number; raises ValueError where there is none."""

_DTYPES = ("float64", "int64", "bool", "text", "object")
_SHOWN = 40


class MalformedError(ValueError):
    """A wrong value in JSON: the value, the expected kind, and the ``path`` of the object."""

    def __init__(self, path: str, message: str, hint: str = "") -> None:
        super().__init__(f"{path}: {message}")
        self.path, self.message, self.hint = path, message, hint


@dataclass(frozen=True)
class Decoder:
    """Reads values of declared types; ``source_of`` finds the files of data."""

    source_of: SourceOf

    def value(self, hint: Any, value: Any, path: str) -> Any:
        """Return the value of a type. Raises MalformedError."""
        if hint is Any:
            return _frozen(value, path)
        if isinstance(hint, type):
            return self._of_class(hint, value, path)
        origin = get_origin(hint)
        if origin in (Union, types.UnionType):
            return self._one_of(get_args(hint), value, path)
        if origin in (tuple, list, Sequence):
            return self._many(origin, get_args(hint), value, path)
        if origin is Mapping:
            entries = _decoded_object(value, path).items()
            return {key: self.value(get_args(hint)[1], item, f"{path}.{key}") for key, item in entries}
        if origin is not None and hasattr(origin, "dtype"):
            return _decoded_array(get_args(get_args(hint)[1])[0], value, path)
        raise MalformedError(path, "is of a kind that is not saved")

    def instance(self, kind: type[Any], value: Any, path: str) -> Any:
        """Return the dataclass with the fields of an object; unknown fields are a mistake, missing ones have their
        default.
        """
        given = dict(_decoded_object(value, path))
        said = given.pop(IS, kind.__name__)
        if said != kind.__name__:
            raise MalformedError(f"{path}.{IS}", f"is {_shown(said)}, not {kind.__name__}")
        known, needed = _known_and_needed(kind)
        for key in given:
            if key not in known:
                raise MalformedError(f"{path}.{key}", "is unknown", did_you_mean(key, known, "known: "))
        for name in needed:
            if name not in given:
                raise MalformedError(path, f"has no `{name}`")
        hints = hints_of(kind)
        return kind(**{name: self.value(hints[name], item, f"{path}.{name}") for name, item in given.items()})

    def _of_class(self, kind: type[Any], value: Any, path: str) -> Any:
        if kind in _WORDS:
            return _simple(kind, value, path)
        if kind is Span:
            return _span(value, path)
        if kind is Source:
            return self._source(value, path)
        if is_dataclass(kind):
            return self.instance(kind, value, path)
        if issubclass(kind, Enum):
            if value not in [str(one) for one in kind]:
                raise MalformedError(path, f"is {_shown(value)}", "one of " + ", ".join(str(one) for one in kind))
            return kind(value)
        return _simple(kind, value, path)

    def _one_of(self, kinds: Sequence[Any], value: Any, path: str) -> Any:
        if value is None:
            if type(None) in kinds:
                return None
            raise MalformedError(path, "is missing")
        classes = {kind.__name__: kind for kind in kinds if _is_object(kind)}
        if isinstance(value, Mapping) and classes:
            said = value.get(IS, next(iter(classes)) if len(classes) == 1 else None)
            if not isinstance(said, str) or said not in classes:
                raise MalformedError(f"{path}.{IS}", f"is {_shown(said)}", "one of " + ", ".join(classes))
            return self._of_class(classes[said], value, path)
        others = [kind for kind in kinds if kind is not type(None) and kind not in classes.values()]
        for position, kind in enumerate(others):
            try:
                return self.value(kind, value, path)
            except MalformedError:
                if position == len(others) - 1:
                    raise
        raise MalformedError(path, f"is {_shown(value)}, not an object")

    def _many(self, origin: Any, kinds: Sequence[Any], value: Any, path: str) -> Any:
        if isinstance(value, Mapping) and kinds and isinstance(kinds[0], type) and issubclass(kinds[0], Node):
            return self._repeated(kinds[0], value, path)
        if not isinstance(value, list):
            raise MalformedError(path, f"is {_shown(value)}, not a list")
        if origin is tuple and not (len(kinds) == 2 and kinds[1] is Ellipsis):
            if len(kinds) != len(value):
                raise MalformedError(path, f"has {len(value)} values, not {len(kinds)}")
            wanted = list(kinds)
        else:
            wanted = [kinds[0]] * len(value)
        return tuple(
            self.value(kind, item, f"{path}[{i}]") for i, (kind, item) in enumerate(zip(wanted, value, strict=True))
        )

    def _repeated(self, node_type: type[Node], value: Mapping[str, Any], path: str) -> Sequence[Node]:
        if PARTS in value:
            parts = value[PARTS]
            if not isinstance(parts, list):
                raise MalformedError(f"{path}.{PARTS}", "is not a list")
            hint: Any = Sequence[node_type]  # type: ignore[valid-type]
            return Joined(tuple(self.value(hint, part, f"{path}.{PARTS}[{i}]") for i, part in enumerate(parts)))
        given = _decoded_object(value.get(COLUMNS), f"{path}.{COLUMNS}")
        names = self.value(Sequence[str], value.get("names"), f"{path}.names")
        group = self.value(str, value.get("group", ""), f"{path}.group")
        columns = {
            dotted: self._column(hint_at(node_type, dotted, f"{path}.{COLUMNS}"), item, f"{path}.{COLUMNS}.{dotted}")
            for dotted, item in given.items()
        }
        for dotted, column in columns.items():
            if getattr(column, "ndim", 0) and len(column) != len(names):
                message = f"has {len(column)} values for {len(names)} names"
                raise MalformedError(f"{path}.{COLUMNS}.{dotted}", message)
        return Columns(node_type, names, columns, group=group)

    def _column(self, hint: Any, value: Any, path: str) -> Any:
        import numpy as np

        given = _decoded_object(value, path)
        if EVERY in given:
            return self.value(hint, given[EVERY], f"{path}.{EVERY}")
        dtype = given.get(DTYPE)
        if dtype not in _DTYPES:
            raise MalformedError(f"{path}.{DTYPE}", f"is {_shown(dtype)}", "one of " + ", ".join(_DTYPES))
        if dtype == "text":
            return np.array(self.value(Sequence[str], given.get(EACH), f"{path}.{EACH}"), dtype=np.str_)
        if dtype == "object":
            array = np.empty(len(given.get(EACH) or ()), dtype=object)
            array[:] = list(self.value(Sequence[hint], given.get(EACH), f"{path}.{EACH}"))
            return array
        return _decoded_array(getattr(np, "bool_" if dtype == "bool" else dtype), given.get(EACH), f"{path}.{EACH}", 1)

    def _source(self, value: Any, path: str) -> Source:
        given = _decoded_object(value, path)
        number = given.get("file")
        if not isinstance(number, int) or isinstance(number, bool):
            raise MalformedError(f"{path}.file", f"is {_shown(number)}, not the number of a file")
        try:
            found = self.source_of(number)
        except ValueError as problem:
            raise MalformedError(f"{path}.file", str(problem)) from None
        reader, written = (_simple(str, given.get(key), f"{path}.{key}") for key in ("reader", "written"))
        span = given.get("span")
        return Source(reader, found, written, None if span is None else _span(span, f"{path}.span"))


def _is_object(kind: Any) -> bool:
    """Return True if values of a type are objects; a place is a text."""
    return is_dataclass(kind) and isinstance(kind, type) and kind is not Span


def _known_and_needed(kind: type[Any]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the names of the saved fields of a dataclass, and of those without a default."""
    key: Any = kind
    found: tuple[Sequence[str], Sequence[str]] = _cached_names(key)
    return found


@cache
def _cached_names(kind: Any) -> tuple[Sequence[str], Sequence[str]]:
    saved = saved_fields(kind)
    needed = [each.name for each in saved if each.default is MISSING and each.default_factory is MISSING]
    return [each.name for each in saved], needed


def hints_of(kind: type[Any]) -> Mapping[str, Any]:
    """Return the types of a dataclass's fields."""
    key: Any = kind
    return _hints_of(key)


_hints_of: Callable[[Any], Mapping[str, Any]] = cache(get_type_hints)


def hint_at(node_type: type[Node], dotted: str, path: str) -> Any:
    """Return the type of a column's path. Raises MalformedError for an unknown one."""
    hint: Any = node_type
    for word in dotted.split("."):
        kinds = [each for each in (get_args(hint) or (hint,)) if isinstance(each, type) and is_dataclass(each)]
        hints = hints_of(kinds[0]) if kinds and (issubclass(kinds[0], Node) or kinds[0] is Range) else {}
        if word not in hints or word in ("span", "spans"):
            raise MalformedError(f"{path}.{dotted}", "is unknown", did_you_mean(word, hints, "known: "))
        hint = hints[word]
    return hint


def _simple(kind: type[Any], value: Any, path: str) -> Any:
    if kind is float:
        if value is None:
            return math.nan
        right = isinstance(value, int | float) and not isinstance(value, bool) and _is_finite(value)
    elif kind is int:
        right = isinstance(value, int) and not isinstance(value, bool)
    else:
        right = isinstance(value, kind)
    if not right:
        raise MalformedError(path, f"is {_shown(value)}, not {_WORDS.get(kind, kind.__name__)}")
    return value


_WORDS = {float: "a number", int: "a whole number", str: "a text", bool: "true or false"}


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _decoded_array(dtype: Any, value: Any, path: str, dimensions: int | None = None) -> Any:
    import numpy as np

    try:
        array = np.array(value, dtype=np.float64 if dtype is np.float64 else None)
    except (TypeError, ValueError, OverflowError):
        raise MalformedError(path, "is not an array of numbers") from None
    kinds = {np.float64: "f", np.int64: "i", np.bool_: "b"}
    right = isinstance(value, list) and (array.dtype.kind == kinds.get(dtype) or not array.size)
    if (
        not right
        or (dimensions is not None and array.ndim != dimensions)
        or (array.dtype.kind == "f" and _infinite(array))
    ):
        raise MalformedError(path, "is not an array of numbers")
    return array.astype(dtype)


def _infinite(array: Any) -> bool:
    import numpy as np

    return bool(np.isinf(array).any())


def _span(value: Any, path: str) -> Span:
    text = _simple(str, value, path)
    try:
        rest, column, end_line, end_column = _split_span(text)
        file, line = rest.rsplit(":", 1)
        return Span(file, int(line), int(column), int(end_line), int(end_column))
    except ValueError:
        raise MalformedError(path, f"is {_shown(text)}, not a place such as `night.mrspec:3:1-3:20`") from None


def _split_span(text: str) -> tuple[str, str, str, str]:
    rest, column_and_line, end_column = text.rsplit(":", 2)
    column, end_line = column_and_line.split("-")
    return rest, column, end_line, end_column


def _decoded_object(value: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise MalformedError(path, f"is {_shown(value)}, not an object")
    return value


def _frozen(value: Any, path: str) -> Any:
    """Return any JSON value, lists as tuples."""
    if isinstance(value, list):
        return tuple(_frozen(item, f"{path}[{i}]") for i, item in enumerate(value))
    if isinstance(value, Mapping):
        return {key: _frozen(item, f"{path}.{key}") for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        raise MalformedError(path, "is not a finite number")
    return value


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, Mapping) else "an object"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
