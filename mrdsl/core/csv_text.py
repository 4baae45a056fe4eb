"""The one writer of CSV.

What :func:`csv_text` writes goes to others: no cell is a formula to a spreadsheet, and none breaks a terminal that
shows it. What :func:`exact_text` writes is read again by mrdsl: every cell is as it was.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from mrdsl.core.printable import printable

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as text with a header line; None is an empty cell.

    Text that a spreadsheet would take for a formula, ``=HYPERLINK(...)``, gets a ``'`` before it; numbers stay as they
    are, and so does text that reads as a number.
    """
    return exact_text([_cell(column) for column in columns], ([_cell(cell) for cell in row] for row in rows))


def exact_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table with its cells as they are, for mrdsl itself to read again."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(columns)
    lines.writerows(rows)
    return out.getvalue()


def _cell(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    if cell.startswith(_FORMULA) and not _is_number(cell):
        cell = "'" + cell
    return printable(cell)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
