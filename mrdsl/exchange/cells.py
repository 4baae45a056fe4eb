"""Cells of a delimited text file: read as arrays if the file is plain, one by one otherwise.

Columns of plain decimal numbers, ``12`` or ``87.125``, become arrays straight from the bytes. Digits of up to fifteen
places are an exact integer, and so is the power of ten that divides it. IEEE 754 rounds the quotient once, so each
number equals ``float`` of its text (Clinger, How to read floating point numbers accurately, PLDI 1990, section 4).
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from mrdsl.core import budgets
from mrdsl.core.arguments import written_number
from mrdsl.core.csv_text import CsvError, cell_starts, csv_rows
from mrdsl.core.diagnostics import Diagnostic, Span, error
from mrdsl.core.reading import UnreadableError, read_bytes
from mrdsl.exchange.text import FormatError, decode, head_of, plain_table
from mrdsl.spec.schema import Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MAX_REPORTED_CELLS = 20
CLOSE_QUOTES = 'close the quote, and write a quote within a cell twice, as in `"5"" disk"`'


class Report(Protocol):
    """A collector of mistakes."""

    found: list[Diagnostic]

    def add(self, diagnostic: Diagnostic | None) -> None: ...


@dataclass(frozen=True)
class RawTable:
    """A table's text: its header cells, the number of data rows and the delimiter.

    ``plain``: every line has the header's number of cells, none is quoted, none is blank; ``cells`` has their places.
    """

    file: str
    text: str
    header: tuple[str, ...]
    delimiter: str
    rows: int
    plain: bool
    cells: Cells | None = None

    def shown_only(self) -> RawTable:
        """Return the part that places of rows need, without the places of cells."""
        return replace(self, cells=None)

    @cached_property
    def lines(self) -> list[str]:
        """As tables count them: a form feed or a line separator within a cell ends none."""
        lines = _LINE_END.split(self.text) if "\r" in self.text else self.text.split("\n")
        return lines if lines[-1] else lines[:-1]

    @cached_property
    def records(self) -> list[tuple[int, list[str]]]:
        """Every data row with the number of its first line, blank lines left out."""
        return list(csv_rows(self.lines, self.delimiter))[1:]

    @cached_property
    def _starts(self) -> array[int]:
        """The places of its first lines in the text, up to the last one that was needed."""
        return array("q", [0])

    def _line_at(self, number: int) -> str:
        """Return a line of the text, counted from 1."""
        if not self.plain:
            return self.lines[number - 1]
        starts = self._starts
        while len(starts) < number:
            starts.append(self.text.index("\n", starts[-1]) + 1)
        start = starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start:] if end < 0 else self.text[start:end]

    def line(self, row: int) -> int:
        """Return the file's line of a data row; row -1 is the header."""
        if row < 0 and not self.plain:
            return next(i for i, line in enumerate(self.lines, 1) if line.strip())
        return row + 2 if self.plain else self.records[row][0]

    def span(self, row: int) -> Span:
        """Return the place of a whole row."""
        line = self.line(row)
        return Span(self.file, line, 1, line, len(self._line_at(line)) + 1)

    def header_span(self) -> Span:
        return self.span(-1)

    def cell_span(self, row: int, index: int) -> Span:
        """Return the place of one cell."""
        line = self.line(row)
        text = self._line_at(line)
        start, end = next(islice(cell_starts(text, self.delimiter), index, None), (-1, -1))
        if start < 0:
            return self.span(row)
        stripped = text[start:end]
        lead = len(stripped) - len(stripped.lstrip())
        return Span(self.file, line, start + lead + 1, line, max(start + lead + 2, start + len(stripped.rstrip()) + 1))


_LINE_END = re.compile(r"\r\n|\r|\n")


def unreadable(source: Source, problem: Exception, shown: str = "") -> Diagnostic:
    """Build the error for a table that :func:`read_raw` refuses: at its place in the table if it has one."""
    if isinstance(problem, FormatError) and problem.hint:
        return problem.diagnostic("unreadable-table", shown or source.written)
    message = f"`{source.written}` cannot be read: {problem}"
    return error("unreadable-table", message, source.span, "save it as UTF-8 text with a header line")


def read_raw(source: Source, shown: str) -> RawTable:
    """Read a table's text; ``shown`` is its name in messages. Raises FormatError if it is not a table."""
    try:
        data = read_bytes(source.path)
    except UnreadableError as unread:
        raise FormatError(str(unread)) from None
    decoded, problem = decode(data)
    if decoded is None:
        raise FormatError(problem)
    text, delimiter = plain_table(decoded, source.path)
    head = head_of(text)
    if not head:
        raise FormatError("it is empty")
    if text is not decoded or len(text) != len(data):
        data = text.encode()
    header = tuple(_cells(head.strip("\r").split("\r")[0], delimiter, 1 + text.count("\n", 0, text.find(head))))
    if len(header) > budgets.COLUMNS:
        raise FormatError(f"it has {len(header)} columns, more than the {budgets.COLUMNS} that are read")
    if text.count("\n") > budgets.ROWS:
        raise FormatError(f"it has more than the {budgets.ROWS} rows that are read")
    cells = _plain_cells(data, text, len(header), delimiter)
    if cells is not None:
        return RawTable(shown, text, header, delimiter, cells.rows, True, cells)
    table = RawTable(shown, text, header, delimiter, 0, False)
    try:
        return replace(table, rows=len(table.records))
    except CsvError as problem:
        raise _not_csv(problem) from None


def _cells(text: str, delimiter: str, line: int) -> list[str]:
    try:
        return next(csv_rows([text], delimiter), (line, [""]))[1]
    except CsvError as problem:
        raise _not_csv(problem, line - 1) from None


def _not_csv(problem: CsvError, lines_before: int = 0) -> FormatError:
    return FormatError(str(problem), CLOSE_QUOTES, problem.line + lines_before, problem.column)


def _plain_cells(data: bytes, text: str, columns: int, delimiter: str) -> Cells | None:
    """Return the cells of a table in which every line has the same number of unquoted ones; None of another, or of no
    rows.
    """
    if '"' in text or data.startswith(b"\n") or b"\n\n" in data or b"\r" in data:
        return None

    cells = cells_of(data if data.endswith(b"\n") else data + b"\n", columns, delimiter)
    return cells if cells is not None and cells.rows else None


class CellReader:
    """Reads columns of a raw table and reports the cells that are wrong."""

    def __init__(self, raw: RawTable, report: Report) -> None:
        self.raw = raw
        self.report = report
        self._ragged = False
        self._left_out: NDArray[np.bool_] | None = None
        if not raw.plain:
            self._check_rows()

    def leave_out(self, rows: NDArray[np.bool_]) -> None:
        """Read these rows as empty from now on, without messages."""
        self._left_out = rows

    def texts(self, index: int) -> Sequence[str]:
        """Return one column as text."""
        raw = self.raw
        if raw.cells is not None:
            return raw.cells.texts(index)
        return [record[index].strip() if index < len(record) else "" for _, record in raw.records]

    def numbers(self, indices: Sequence[int], required: Sequence[bool]) -> Sequence[NDArray[np.float64]]:
        """Columns as float arrays; an empty optional cell is NaN."""
        import numpy as np

        raw = self.raw
        found = {index: raw.cells.column(index) for index in indices} if raw.cells is not None else {}
        others = [index for index in indices if found.get(index) is None]
        if raw.plain and others:
            try:
                values = np.loadtxt(
                    raw.lines[1:],
                    dtype=np.float64,
                    delimiter=raw.delimiter,
                    usecols=others,
                    comments=None,
                    ndmin=2,
                    unpack=True,
                )
            except ValueError:
                values = None
            if values is not None and np.isfinite(values).all():
                found.update(zip(others, map(np.ascontiguousarray, values), strict=True))
        if self._left_out is not None:
            found = {index: np.where(self._left_out, np.nan, v) for index, v in found.items() if v is not None}
        read = [found.get(index) for index in indices]
        return [
            self._slow(index, must) if column is None else column
            for index, must, column in zip(indices, required, read, strict=True)
        ]

    def _slow(self, index: int, required: bool) -> NDArray[np.float64]:
        import numpy as np

        out = np.full(self.raw.rows, np.nan)
        if self._ragged:
            return out
        for row, cell in enumerate(self.texts(index)):
            if self._left_out is not None and self._left_out[row]:
                continue
            if not cell:
                if required:
                    self._report("empty-cell", f"this cell of `{self._head(index)}` is empty", row, index, "fill it in")
                continue
            try:
                number = written_number(cell)
            except ValueError:
                self._report(
                    "not-a-number",
                    f"`{cell}` is not a number",
                    row,
                    index,
                    self._instead(cell, index),
                )
                continue
            if not isfinite(number):
                self._report("not-a-number", f"`{cell}` is not a number to plan with", row, index, "write a number")
            out[row] = number
        return out

    def _instead(self, cell: str, index: int) -> str:
        """Return the hint for a cell that is not a number."""
        head = self._head(index)
        if ".." in cell:
            return f"a range has a column for each end: `{head}.low` and `{head}.high`"
        whole = self.raw.header[index].strip()
        return "write a plain number" + (f"; its unit is in the header, `{whole}`" if "[" in whole else "")

    def _head(self, index: int) -> str:
        return self.raw.header[index].split("[")[0].strip()

    def _check_rows(self) -> None:
        wanted = len(self.raw.header)
        if not self.raw.records:
            self.report.add(
                error(
                    "empty-table",
                    "the table has no rows",
                    self.raw.header_span(),
                    "add at least one row below the header",
                )
            )
        for row, (_, record) in enumerate(self.raw.records):
            for index, cell in enumerate(record):
                if "\n" in cell:
                    hint = "write the cell on one line; if it is several rows, delete its quotes"
                    self._report("control-character", "this cell has a line break", row, index, hint)
            if len(record) != wanted:
                self._ragged = True
                if not self._report(
                    "ragged-row",
                    f"this row has {len(record)} cells, the header {wanted}",
                    row,
                    -1,
                    "give every row the header's number of cells",
                ):
                    return

    def _report(self, code: str, message: str, row: int, index: int, hint: str) -> bool:
        if len(self.report.found) >= MAX_REPORTED_CELLS:
            return False
        span = self.raw.span(row) if index < 0 else self.raw.cell_span(row, index)
        self.report.add(error(code, message, span, hint))
        return True


LONGEST = 15
"""Characters of a number: its digits, read as one integer, stay below 2^53."""
_POWERS = 10.0 ** np.arange(LONGEST + 1)


@dataclass(frozen=True)
class Cells:
    """The places of a table's cells in its bytes: a row per line, header first, each with the same number of cells.

    Cell ``i`` of a line is between the separators ``edges[i]`` and ``edges[i + 1]``.
    """

    data: bytes
    edges: NDArray[np.integer]

    @property
    def rows(self) -> int:
        """The number of lines after the header."""
        return int(self.edges.shape[1]) - 1

    def column(self, index: int) -> NDArray[np.float64] | None:
        """Return the numbers of a column without its header, or None if a cell is not digits with at most one point."""
        characters, numbers = np.frombuffer(self.data, dtype=np.uint8), np.empty(self.rows)
        for low in range(0, self.rows, AT_ONCE):
            high = min(low + AT_ONCE, self.rows)
            starts, ends = self.edges[index, low + 1 : high + 1] + 1, self.edges[index + 1, low + 1 : high + 1]
            part = _decimals(characters, starts, ends)
            if part is None:
                return None
            numbers[low:high] = part
        return numbers

    def texts(self, index: int) -> list[str]:
        """Return the texts of a column without its header."""
        data = self.data
        starts, ends = (self.edges[index, 1:] + 1).tolist(), self.edges[index + 1, 1:].tolist()
        return [data[start:end].decode().strip() for start, end in zip(starts, ends, strict=True)]


AT_ONCE = 1 << 16
"""Rows that are read at once, few enough for their arrays to stay in the processor's cache."""


def cells_of(data: bytes, columns: int, delimiter: str) -> Cells | None:
    """Return the cells of lines that end with a newline, or None if lines have different numbers of them."""
    characters = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(characters == ord("\n")).astype(np.int32 if len(data) < 2**31 else np.int64)
    edges = np.empty((columns + 1, len(ends)), dtype=ends.dtype)
    edges[0, 0], edges[0, 1:], edges[-1] = -1, ends[:-1], ends
    for low in range(0, len(ends), AT_ONCE):
        high = min(low + AT_ONCE, len(ends))
        first = int(edges[0, low]) + 1
        between = np.flatnonzero(characters[first : int(ends[high - 1])] == ord(delimiter)) + first
        if (np.diff(np.searchsorted(between, ends[low:high]), prepend=0) != columns - 1).any():
            return None
        edges[1:-1, low:high] = between.reshape(high - low, columns - 1).T
    return Cells(data, edges)


def _decimals(
    data: NDArray[np.uint8], starts: NDArray[np.integer], ends: NDArray[np.integer]
) -> NDArray[np.float64] | None:
    length = ends - starts
    width = int(length.max(initial=0))
    if width > LONGEST or int(length.min(initial=1)) < 1:
        return None
    whole = np.zeros(len(starts), dtype=np.int64)
    behind = np.zeros(len(starts), dtype=np.int64)
    points = np.zeros(len(starts), dtype=np.int64)
    for place in range(width):
        character = data.take(starts + place, mode="clip")
        within = length > place
        digit = character - np.uint8(ord("0"))
        is_digit = (digit < 10) & within
        np.copyto(whole, whole * 10 + digit, where=is_digit)
        is_point = (character == ord(".")) & within
        points += is_point
        np.copyto(behind, length - (place + 1), where=is_point)
        if not (is_digit | is_point | ~within).all():
            return None
    if (points > 1).any() or (points == length).any():
        return None
    return np.asarray(whole / _POWERS[behind], dtype=np.float64)
