"""Tables and results as text for people: columns that fit the width of a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

from mrdsl.core.diagnostics import printable, shortened
from mrdsl.core.result import Objective, Result, SolutionStatus, Table, Termination
from mrdsl.core.rounding import PROVEN, SAME_SUM
from mrdsl.core.units import show
from mrdsl.reporting.wrapping import broken, display_width, wrapped

_STOPS = {
    Termination.OPTIMAL: "optimal",
    Termination.COMPLETED: "completed",
    Termination.INFEASIBLE: "infeasible: no plan meets all constraints",
    Termination.UNBOUNDED: "unbounded: the goal has no best value",
    Termination.TIME_LIMIT: "stopped at the time limit",
    Termination.NODE_LIMIT: "stopped at the node limit",
    Termination.INTERRUPTED: "interrupted",
    Termination.ERROR: "failed",
}


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
    rows = [[cell_text(cell) for cell in row] for row in table.rows]
    columns = [
        _Column(printable(head), [row[i] for row in rows], is_numeric(table, i)) for i, head in enumerate(table.columns)
    ]
    parts = [columns] if width is None else list(_parts(columns, _key_columns(rows), width))
    texts = []
    for number, part in enumerate(parts):
        title = printable(table.title) + (" (continued)" if number else "")
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


def is_numeric(table: Table, column: int) -> bool:
    """Return True if a column holds numbers, and at least one."""
    cells = [row[column] for row in table.rows if row[column] is not None]
    return bool(cells) and all(isinstance(cell, int | float) or hasattr(cell, "dtype") for cell in cells)


def status_text(result: Result) -> str:
    """Return one or two lines: the ending, the objective and its bound, the solver."""
    objective = result.objective
    lines = [_STOPS[result.termination]]
    if objective.value is not None:
        lines[0] += f": {objective.quantity} {value_text(objective)}"
        lines[0] += _proof(result)
    elif result.solution is SolutionStatus.NONE and result.termination not in (
        Termination.INFEASIBLE,
        Termination.UNBOUNDED,
    ):
        lines[0] += ", no plan"
    solver = " ".join(filter(None, (result.solver.get("name"), result.solver.get("version"))))
    if solver:
        form = f", formulation {result.formulation}" if result.formulation else ""
        source = f", declared in {result.solver['file']}" if result.solver.get("file") else ""
        lines.append(f"solved by {solver}{form}{source}")
    return "\n".join(lines) + "\n"


def value_text(objective: Objective) -> str:
    """Return the goal's value with its unit, and the time that it is the cost of."""
    period = f"for {show(objective.period, 'time')}" if objective.period is not None else ""
    return " ".join(filter(None, (cell_text(objective.value), objective.unit, period)))


def _proof(result: Result) -> str:
    objective = result.objective
    if objective.bound is None:
        return " (no bound is known)"
    bound = f"bound {cell_text(objective.bound)}, gap {_gap_text(objective.gap or 0.0)}"
    if result.fixed:
        bound += f" beside the {cell_text(result.fixed)} {objective.unit} of every plan"
    return f" ({'proven: ' if result.solution is SolutionStatus.OPTIMAL else ''}{bound})"


def _gap_text(gap: float) -> str:
    """Return a relative gap in percent; differences of rounding count as 0."""
    if gap <= SAME_SUM:
        return "0 %"
    return f"{gap * 100.0:.4g} %" if gap >= PROVEN else f"below {PROVEN * 100.0:.4f} %"


def result_text(result: Result, width: int | None = None, bold: Style = str, ending: Style = str) -> str:
    """Return the whole result for a reader, styled for a terminal if ``bold`` and ``ending`` are given."""
    head = f"{bold(printable(shortened(result.title or result.problem, TITLE)))}\n"
    status = ending(wrapped(status_text(result).rstrip("\n"), width)) + "\n"
    return "\n".join([head, *(table_text(table, width, bold) for table in result.tables()), status])


def print_tables(tables: Iterable[Table | str], width: int | None = None) -> str:
    """Return tables and sentences one below the other, at most ``width`` wide; the last line ends."""
    text = "\n".join(wrapped(part, width) if isinstance(part, str) else table_text(part, width) for part in tables)
    return text if text.endswith("\n") or not text else text + "\n"
