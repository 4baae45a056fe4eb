"""Tables and wrapped text, and how they read: aligned columns in the width of a terminal, or HTML in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Any, overload
from unicodedata import combining, east_asian_width

from mrdsl.core import lazy
from mrdsl.core.diagnostics import one_error, printable, shortened

if TYPE_CHECKING:
    import altair
    import pandas


def display_width(text: str) -> int:
    """Return the columns that a text takes: two for a wide character, none for one that joins the one before it."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def broken(line: str, width: int) -> list[str]:
    """Return a line as lines of at most ``width`` columns, broken at spaces; a longer word has a line of its own."""
    lines: list[str] = []
    taken = ""
    for word in line.split(" "):
        if taken and display_width(taken) + 1 + display_width(word) > width:
            lines.append(taken)
            taken = word
        else:
            taken = f"{taken} {word}" if taken else word
    return [*lines, taken]


def wrapped(text: str, width: int | None, hanging: int = 0) -> str:
    """Return a text with long lines broken at spaces; the rest of a line keeps its indent, and ``hanging`` more.

    Args:
        text: Lines of any length.
        width: Columns of the terminal; None leaves the text as it is.
        hanging: Further columns before the rest of a broken line.
    """
    if width is None:
        return text
    return "\n".join(part for line in text.split("\n") for part in _hung(line, width, hanging))


def _hung(line: str, width: int, hanging: int) -> list[str]:
    if display_width(line) <= width:
        return [line]
    text = line.lstrip(" ")
    indent = min(len(line) - len(text), width // 2)
    first, *rest = broken(text, width - indent)
    below = broken(" ".join(rest), max(1, width - indent - hanging)) if rest else []
    return [" " * indent + first, *(" " * (indent + hanging) + part for part in below)]


def unfolded(text: str) -> str:
    """Return Markdown with one line per paragraph and per item of a list; code and tables stay."""
    lines: list[str] = []
    code, joins = False, False
    for line in text.split("\n"):
        code ^= line.startswith("```")
        if joins and line.strip() and not code and not line.startswith(_STARTS):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
        joins = bool(line.strip()) and not code and not line.startswith(_STARTS[2:])
    return "\n".join(lines)


_STARTS = ("- ", "* ", "#", "|", "```", "    ", "> ")


class Readable:
    """Base of values that print as the command does, and that a notebook shows as HTML."""

    def readable(self) -> Iterable[Table | str]:
        """Return tables and sentences in order."""
        raise NotImplementedError

    def __str__(self) -> str:
        """Return the text that the command prints."""
        return print_tables(self.readable())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the text in IPython and in notebooks without HTML."""
        printer.text(str(self))

    @property
    def charts(self) -> Sequence[Any]:
        """The charts of the value."""
        return ()

    def to_dataframe(self, title: str = "") -> pandas.DataFrame:
        """Return the table with that title, or the main one, as a pandas frame.

        Raises:
            MrdslError: `unknown-name` if there is no such table; `missing-extra` if pandas is not installed.
        """
        return frame_of(*self._table(title))

    def _table(self, title: str) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        found: Table = with_title(title, [part for part in self.readable() if isinstance(part, Table)], "table")
        return found.columns, found.rows

    def plot(self, title: str = "") -> altair.TopLevelMixin:
        """Return the chart with that title, or the first one, as an Altair chart.

        Raises:
            MrdslError: `unknown-name` if there is no such chart; `missing-extra` if Altair is not installed.
        """
        return lazy.of_charts()(with_title(title, self.charts, "chart"))

    def _repr_html_(self) -> str:
        return "\n".join(part.html() if isinstance(part, Table) else _paragraph(part) for part in self.readable())


def with_title(title: str, values: Sequence[Any], what: str) -> Any:
    """Return the first value whose title begins with a text. Raises MrdslError ``unknown-name`` with all titles."""
    found = next((each for each in values if each.title.startswith(title)), None)
    if found is None:
        message = f"there is no {what} `{title}`" if title else f"there is no {what}"
        hint = f"{what}s: {', '.join(each.title for each in values)}" if values else ""
        raise one_error("unknown-name", message, None, hint)
    return found


def _paragraph(text: str) -> str:
    return f'<p style="white-space: pre-line">{escape(printable_lines(text))}</p>'


def printable_lines(text: str) -> str:
    """Return a text with hidden characters as escapes; line breaks stay."""
    return "\n".join(printable(line) for line in text.rstrip("\n").split("\n"))


@dataclass(frozen=True)
class Table(Readable):
    """One table of a plan: ``rows`` of cells (str, int, float or None), units in the column heads.

    The first ``keys`` cells identify a row in a comparison; if it is 0, all words of the row do. A reader is shown the
    first ``most`` rows and the number of the others; frames, comparisons and files have all.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    keys: int = 0
    most: int | None = None

    @property
    def shown(self) -> Sequence[Sequence[Any]]:
        """The rows that a reader is shown, the last with the number of those left out."""
        left = 0 if self.most is None else len(self.rows) - self.most
        if left <= 0:
            return self.rows
        return [*self.rows[: self.most], (f"... and {left:,} more", *[None] * (len(self.columns) - 1))]

    def readable(self) -> Iterable[Table | str]:
        """Return the table alone."""
        return (self,)

    def html(self) -> str:
        """Return the table as HTML, with the cells of the text."""
        align = ["right" if numeric else "left" for numeric in numeric_columns(self)]
        title = f"<caption>{escape(printable(self.title))}</caption>" if self.title else ""
        heads = _html_row("th", (printable(head) for head in self.columns), align)
        rows = "\n".join(_html_row("td", map(cell_text, row), align) for row in self.shown)
        return f"<table>{title}<thead>{heads}</thead><tbody>\n{rows}\n</tbody></table>"


class Rows(Sequence[Sequence[Any]]):
    """Rows of a long table, made when they are read.

    Args:
        number: Number of rows.
        make: Returns the rows of a slice with a start and a stop.
    """

    def __init__(self, number: int, make: Callable[[slice], Iterable[Sequence[Any]]]) -> None:
        self.number, self.make = number, make

    def __len__(self) -> int:
        return self.number

    @overload
    def __getitem__(self, index: int) -> Sequence[Any]: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Sequence[Any]]: ...

    def __getitem__(self, index: int | slice) -> Sequence[Any]:
        """Return one row, or those of a slice."""
        found = range(self.number)[index]
        if isinstance(found, int):
            return next(iter(self.make(slice(found, found + 1))))
        return list(self.make(slice(found.start, found.stop))) if found.step == 1 else [self[i] for i in found]

    def __iter__(self) -> Iterator[Sequence[Any]]:
        """Yield all rows."""
        return iter(self.make(slice(0, self.number)))

    def __eq__(self, other: object) -> bool:
        """Return True for the same rows in any sequence."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def _html_row(tag: str, cells: Iterable[str], align: Sequence[str]) -> str:
    inner = (
        f'<{tag} style="text-align: {side}">{escape(cell)}</{tag}>' for cell, side in zip(cells, align, strict=True)
    )
    return f"<tr>{''.join(inner)}</tr>"


def frame_of(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> pandas.DataFrame:
    """Return rows and their column names as a pandas frame. Raises MrdslError ``missing-extra`` if pandas is not
    installed.
    """
    try:
        import pandas
    except ImportError:
        hint = "pip install pandas, or mrdsl with its extra `tables`"
        raise one_error(
            "missing-extra", "frames need pandas, which is not installed", None, hint, exit_code=3
        ) from None
    return pandas.DataFrame([list(row) for row in rows], columns=list(columns))


def cell_text(value: Any) -> str:
    """Return one cell: six significant digits for a float, a dash for None, a long text in short."""
    if value is None or (isinstance(value, float) and value != value):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) or (hasattr(value, "dtype") and value.dtype.kind == "f"):
        number = float(value)
        return f"{int(number)}" if abs(number) < 1e15 and number == int(number) else f"{number:.6g}"
    return printable(shortened(str(value), TITLE))


TITLE = 200
"""Characters of a title, or of a cell, that tables show; JSON has it whole."""


def table_text(table: Table, width: int | None = None, bold: Style = str) -> str:
    """Return a table in aligned columns, with numbers to the right.

    Args:
        table: The table.
        width: Columns of the terminal; None for a table of any width. Heads, and then long texts, are wrapped at
            spaces to fit, names and numbers never; columns that still have no room follow in a second table.
        bold: Style of the title and the heads.
    """
    rows = [[cell_text(cell) for cell in row] for row in table.shown]
    numeric = numeric_columns(table)
    columns = [_Column(printable(head), [row[i] for row in rows], numeric[i]) for i, head in enumerate(table.columns)]
    parts = [columns] if width is None else list(_parts(columns, _key_columns(rows), width))
    texts = []
    for number, part in enumerate(parts):
        title = wrapped(printable(table.title) + (" (continued)" if number else ""), width)
        texts.append("\n".join([*([bold(title)] if table.title else []), *_lines(part, bold)]) + "\n")
    return "\n".join(texts)


Style = Callable[[str], str]


@dataclass(frozen=True)
class _Column:
    """A column to print, with the widths at which its head and its cells are broken."""

    head: str
    cells: Sequence[str]
    right: bool
    head_width: int | None = None
    cell_width: int | None = None

    @cached_property
    def head_lines(self) -> list[str]:
        return [self.head] if self.head_width is None else broken(self.head, self.head_width)

    @cached_property
    def cell_lines(self) -> Sequence[Sequence[str]] | None:
        """The lines of each cell, None if each is one line."""
        return None if self.cell_width is None else [broken(cell, self.cell_width) for cell in self.cells]

    @cached_property
    def cells_width(self) -> int:
        lines = self.cells if self.cell_lines is None else [line for lines in self.cell_lines for line in lines]
        return max(map(display_width, lines), default=0)

    @cached_property
    def width(self) -> int:
        return max(self.cells_width, *map(display_width, self.head_lines))

    def aligned(self, text: str) -> str:
        blank = " " * (self.width - display_width(text))
        return blank + text if self.right else text + blank


SHORT = 24
"""Columns that a text has at least if it is wrapped."""


def _key_columns(rows: Sequence[Sequence[str]]) -> int:
    """Return how many of the first columns distinguish all rows; 1 if three do not."""
    for count in range(1, min(4, len(rows[0]) if rows else 0)):
        if len({tuple(row[:count]) for row in rows}) == len(rows):
            return count
    return 1


def _parts(columns: list[_Column], keys: int, width: int) -> Iterator[list[_Column]]:
    """Yield the columns of each table to print, the key columns first in each."""
    if _total(columns) > width:
        columns = [replace(column, head_width=column.cells_width) for column in columns]
    while columns:
        count = len(columns)
        while count > keys + 1 and _total([_narrowed(column, SHORT) for column in columns[:count]]) > width:
            count -= 1
        part = columns[:count]
        for index in sorted(range(count), key=lambda i: -part[i].width):
            part[index] = _narrowed(part[index], max(SHORT, part[index].width + width - _total(part)))
        yield part
        columns = [*columns[:keys], *columns[count:]] if count < len(columns) else []


def _narrowed(column: _Column, width: int) -> _Column:
    return column if column.right or column.width <= width else replace(column, head_width=width, cell_width=width)


def _total(columns: Sequence[_Column]) -> int:
    return sum(column.width + 2 for column in columns)


def _lines(columns: Sequence[_Column], bold: Style) -> Iterator[str]:
    height = max(len(column.head_lines) for column in columns)
    heads = [[""] * (height - len(column.head_lines)) + column.head_lines for column in columns]
    yield from (bold(_line(columns, line)) for line in zip(*heads, strict=True))
    yield "  " + "  ".join("-" * column.width for column in columns)
    if all(column.cell_lines is None for column in columns):
        yield from (_line(columns, row) for row in zip(*(column.cells for column in columns), strict=True))
        return
    split = [column.cell_lines or [[cell] for cell in column.cells] for column in columns]
    for cells in zip(*split, strict=True):
        yield from (_line(columns, line) for line in zip_longest(*cells, fillvalue=""))


def _line(columns: Sequence[_Column], texts: Sequence[str]) -> str:
    return ("  " + "  ".join(c.aligned(text) for c, text in zip(columns, texts, strict=True))).rstrip()


def numeric_columns(table: Table) -> list[bool]:
    """Return for each column True if the rows that a reader is shown have numbers in it, and at least one."""
    shown = table.rows[: table.most]
    return [_is_numeric([row[column] for row in shown]) for column in range(len(table.columns))]


def _is_numeric(column: Sequence[Any]) -> bool:
    cells = [cell for cell in column if cell is not None]
    return bool(cells) and all(isinstance(cell, int | float) or hasattr(cell, "dtype") for cell in cells)


def print_tables(tables: Iterable[Table | str], width: int | None = None) -> str:
    """Return tables and sentences one below the other, at most ``width`` wide, with an empty line around each table."""
    parts = list(tables)
    shown = [wrapped(part, width) if isinstance(part, str) else table_text(part, width) for part in parts]
    for place, (part, after) in enumerate(pairwise(parts)):
        if isinstance(part, str) and not (isinstance(after, str) or shown[place].endswith("\n")):
            shown[place] += "\n"
    text = "\n".join(shown)
    return text if text.endswith("\n") or not text else text + "\n"
