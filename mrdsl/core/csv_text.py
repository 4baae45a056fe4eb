"""CSV reader, which keeps the line of every row, and CSV writer."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mrdsl.core import budgets
from mrdsl.core.diagnostics import printable

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table as text with a header line; None is an empty cell.

    Text that a spreadsheet would take for a formula, ``=HYPERLINK(...)``, gets a ``'`` before it; numbers stay as they
    are, and so does text that reads as a number.
    """
    return exact_text([_cell(column) for column in columns], ([_cell(cell) for cell in row] for row in rows))


def exact_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table with its cells as they are, for mrdsl itself to read again."""
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


_QUOTED = re.compile(r'"(?:[^"]|"")*"')


class CsvError(ValueError):
    """Text that is not CSV: the reason, and the line and the column (both from 1) of the cell."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.line, self.column = line, column


def csv_rows(lines: Iterable[str], delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the number of its first line, blank lines left out.

    Args:
        lines: Lines with or without their ends; a line break within quotes is kept as a newline.
        delimiter: One character between cells.

    Raises:
        CsvError: A quote is not closed, text follows a closing quote, or a cell is too long.
    """
    taken: list[str] = []
    reader = csv.reader(_kept(lines, taken, delimiter), delimiter=delimiter, strict=True)
    begins = 1
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            raise _csv_error(problem, "".join(taken), begins, delimiter) from None
        if row and any(cell.strip() for cell in row):
            yield begins, row
        taken.clear()
        begins = reader.line_num + 1


def cell_starts(text: str, delimiter: str = ",") -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each cell of a row's text, quotes included; an open quote lasts to the end."""
    start = 0
    while True:
        quoted = _QUOTED.match(text, start)
        if quoted is None and text.startswith('"', start):
            yield start, len(text)
            return
        end = text.find(delimiter, start if quoted is None else quoted.end())
        yield start, len(text) if end < 0 else end
        if end < 0:
            return
        start = end + 1


def _kept(lines: Iterable[str], taken: list[str], delimiter: str) -> Iterator[str]:
    for line in lines:
        if line.count(delimiter) > budgets.CELLS:  # before the library makes a list of them
            raise csv.Error(f"a line has more than {budgets.CELLS:,} cells")
        ended = line if line.endswith(("\n", "\r")) else line + "\n"
        taken.append(ended)
        yield ended


def _csv_error(problem: csv.Error, text: str, line: int, delimiter: str) -> CsvError:
    """Build the error at the first cell that is wrong in the lines of a row."""
    for start, end in cell_starts(text, delimiter):
        quoted = _QUOTED.match(text, start)
        if text.startswith('"', start) and (quoted is None or text[quoted.end() : end].rstrip("\r\n")):
            message = (
                f"the quote that opens this cell is {'never closed' if quoted is None else 'not closed at its end'}"
            )
            break
    else:
        start, message = 0, str(problem)
    before = text[:start]
    return CsvError(message, line + before.count("\n"), start - before.rfind("\n"))
