"""JSON as mrdsl writes it: indented, in the order of the document, with numbers that are finite."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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


def require_finite(value: Any) -> None:
    """Raise ValueError if a float within plain values is NaN or infinite."""
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else (value,):
        kind = each.__class__
        if kind is float:
            if each - each != 0.0:
                raise ValueError(f"{each} cannot be written as JSON")
        elif kind is dict or kind is list or kind is tuple:
            require_finite(each)


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the search for cyclic garbage while millions of objects are made that hold no cycle."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.freeze()
            gc.unfreeze()  # the new objects are now of the oldest generation, which is searched least often
            gc.enable()
