"""The same tables with rules and colour, for a terminal only."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from mrdsl.core.printable import printable, shortened
from mrdsl.core.result import Result, SolutionStatus, Table
from mrdsl.reporting.text import TITLE, cell_text, status_text


def print_result(result: Result, console: Console) -> None:
    """Prints a result with ruled tables."""
    console.print(Text(printable(shortened(result.title or result.problem, TITLE)), style="bold"))
    for table in result.tables():
        console.print(rich_table(table))
    good = result.solution is not SolutionStatus.NONE
    console.print(Text(status_text(result).rstrip(), style="green" if good else "red"))


def rich_table(table: Table) -> RichTable:
    """One table as rich draws it."""
    title = Text(printable(table.title)) if table.title else None
    drawn = RichTable(title=title, title_justify="left", header_style="bold")
    rows = [[cell_text(cell) for cell in row] for row in table.rows]
    for index, head in enumerate(table.columns):
        numeric = all(isinstance(row[index], int | float) or row[index] is None for row in table.rows)
        drawn.add_column(Text(printable(head)), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))
    return drawn
