"""Tables of other libraries, through the Arrow PyCapsule interface (``__arrow_c_stream__``): polars, pyarrow, pandas.

nanoarrow reads them, whatever library they come from. Their values, and those of rows of a program, become the text
that mrdsl reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeGuard, runtime_checkable

from mrdsl.core.csv_text import exact_text
from mrdsl.core.diagnostics import one_error
from mrdsl.exchange.text import FormatError


@runtime_checkable
class Arrow(Protocol):
    """An object that offers its rows through the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


def is_arrow(table: object) -> TypeGuard[Arrow]:
    """Return True if an object offers its rows so."""
    return isinstance(table, Arrow)


def rows_of(table: Arrow) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Return the heads and the rows of a table as Python values, with None for empty cells.

    pandas offers its frames through Arrow only with pyarrow, so its own iterator is used.
    It reads row by row: nanoarrow 0.9 makes an array of a column alone anew, and fails on long texts of polars. Raises
    MrdslError ``missing-extra`` without nanoarrow, and FormatError for objects that are not tables of named columns.
    """
    if type(table).__module__.partition(".")[0] == "pandas":
        frame: Any = table
        return tuple(map(str, frame.columns)), list(frame.itertuples(index=False, name=None))
    try:
        import nanoarrow
    except ImportError:
        hint = "pip install nanoarrow, or mrdsl with its extra `tables`"
        message = "tables of other libraries need nanoarrow, which is not installed"
        raise one_error("missing-extra", message, None, hint, exit_code=3) from None
    try:
        stream = nanoarrow.ArrayStream(table)
        heads = tuple(str(field.name) for field in stream.schema.fields)
        return heads, list(stream.iter_tuples())
    except (ValueError, TypeError, NotImplementedError, RuntimeError, KeyError, ImportError) as refused:
        raise FormatError(f"its columns cannot be read: {refused}") from None


def as_csv(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> tuple[str, list[int]]:
    """Return rows of Python values as the text of a CSV file for mrdsl itself, and the line on which each of them
    begins.

    A list is written as its words; empty cells, and NaN, which pandas has for them, stay empty.
    """
    cells = [[_cell(value) for value in values] for values in rows]
    line, starts = 1 + sum(head.count("\n") for head in heads), []
    for row in cells:
        starts.append(line + 1)
        line += 1 + sum(cell.count("\n") for cell in row)
    return exact_text(heads, cells), starts


def _cell(value: Any) -> str:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, list | tuple):
        return ";".join(map(_cell, value))
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if isinstance(value, float) and value != value else str(value)
