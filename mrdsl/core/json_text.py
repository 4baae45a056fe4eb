"""JSON as mrdsl writes it: indented, in the order of the document, with numbers that are finite.

Also values of plans: as JSON knows them, equal or not, finite or not.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from math import isfinite
from typing import Any

from mrdsl.core import budgets
from mrdsl.core.diagnostics import json_printable


def json_text(document: Any) -> str:
    """Write plain values as JSON that a terminal can show.

    Args:
        document: Dictionaries, lists, texts, numbers, booleans and None.

    Returns:
        The text, indented by two spaces, with a line break at its end.

    Raises:
        ValueError: A number is NaN or infinite.
    """
    import msgspec

    with collection_paused():
        require_finite(document)
        try:
            text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
        except (TypeError, UnicodeEncodeError):  # numbers of numpy, and halves of surrogate pairs
            text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return (text if text.isascii() and "\x7f" not in text else json_printable(text)) + "\n"


def json_value(text: str | bytes, parse_constant: Any = None) -> Any:
    """Return the value of a JSON text that any program wrote; its size is limited before it is read.

    Raises ValueError, json.JSONDecodeError among them, and RecursionError for values inside too many others.
    """
    opening: Any = (b"{", b"[") if isinstance(text, bytes) else ("{", "[")
    if sum(map(text.count, opening)) > budgets.JSON_VALUES:
        raise ValueError(f"it has more than {budgets.JSON_VALUES:,} objects and lists, the most that is read")
    return json.loads(text, parse_constant=parse_constant)


def require_finite(value: Any) -> None:
    """Raise ValueError if a float within plain values is NaN or infinite."""
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else (value,):
        kind = each.__class__
        if kind is float:
            if each - each != 0.0:
                raise ValueError(f"{each} cannot be written as JSON")
        elif kind is dict or kind is list or kind is tuple:
            require_finite(each)


MANY = 100_000
"""New objects beyond which they move to the oldest generation: counting frozen objects takes time."""


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the search for cyclic garbage while millions of objects are made that hold no cycle."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if gc.get_count()[0] > MANY and not gc.get_freeze_count():  # a host that froze its objects keeps them so
                gc.freeze()
                gc.unfreeze()  # the new objects are now of the oldest generation, which is searched least often
            gc.enable()


LACKS = "lacks"


def lacking(why: str) -> Mapping[str, str]:
    """Return the metadata of a plan's field that can contain NaN.

    Args:
        why: Reason why a number can be missing.
    """
    return {LACKS: why}


def plain(value: Any) -> Any:
    """Return a value as JSON knows it: dataclasses and mappings as objects, arrays as lists, NaN as null."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value) if f.metadata.get("document", True)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "dtype"):
        return plain(value.tolist())
    if isinstance(value, float) and value != value:
        return None
    return value


_NUMBERLESS = frozenset((str, int, bool))
"""Types whose values are finite: a list of a hundred thousand names is passed over at once."""


def unfinite(plan: object) -> str:
    """Return the path of the first NaN or infinity in a plan, or ""."""
    return next(_search(plan, ""), "")


def _search(value: Any, path: str, lacks: bool = False) -> Iterator[str]:
    if isinstance(value, float):
        if not (isfinite(value) or (lacks and value != value)):
            yield path
    elif hasattr(value, "dtype"):
        yield from _search_array(value, path, lacks)
    elif is_dataclass(value):
        kind: Any = type(value)
        for name, may_lack in _fields(kind):
            inner = getattr(value, name)
            if not isinstance(inner, str | int):
                yield from _search(inner, f"{path}.{name}" if path else name, may_lack)
    elif isinstance(value, Mapping):
        if _NUMBERLESS.issuperset(map(type, value.values())):
            return
        for key, inner in value.items():
            yield from _search(inner, f"{path}[{key!r}]", lacks)
    elif isinstance(value, list | tuple):
        if _NUMBERLESS.issuperset(map(type, value)):
            return
        for index, inner in enumerate(value):
            if not isinstance(inner, str | int):
                yield from _search(inner, f"{path}[{index}]", lacks)


@cache
def _fields(kind: Any) -> tuple[tuple[str, bool], ...]:
    return tuple((field.name, LACKS in field.metadata) for field in fields(kind))


def _search_array(value: Any, path: str, lacks: bool) -> Iterator[str]:
    import numpy as np

    if value.dtype.kind == "f" and not np.isfinite(value).all():
        wrong = np.isinf(value) if lacks else ~np.isfinite(value)
        if wrong.any():
            yield f"{path}{[int(i) for i in np.argwhere(wrong)[0]]}"


def same(first: Any, second: Any) -> bool:
    """Dataclasses field by field, mappings and sequences item by item, arrays by their elements, NaN as NaN.

    Fields that take no part in comparisons are left out, and functions: they are never saved.
    """
    if first is second:
        return True
    if is_dataclass(first) and not isinstance(first, type):
        return type(first) is type(second) and all(
            same(getattr(first, f.name), getattr(second, f.name)) for f in fields(first) if f.compare
        )
    if hasattr(first, "dtype") or hasattr(second, "dtype"):
        return _same_arrays(first, second)
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return list(first) == list(second) and all(same(first[key], second[key]) for key in first)
    if isinstance(first, Sequence) and isinstance(second, Sequence) and not isinstance(first, str):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, float) and isinstance(second, float) and first != first:
        return second != second
    return callable(first) or callable(second) or bool(first == second)


def _same_arrays(first: Any, second: Any) -> bool:
    import numpy as np

    one, other = np.asarray(first), np.asarray(second)
    numbers = one.dtype.kind == other.dtype.kind == "f"
    return bool(np.array_equal(one, other, equal_nan=numbers))
