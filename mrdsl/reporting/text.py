"""Tables and results as text for people: plain columns, or rules and colors on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from mrdsl.core.diagnostics import printable, shortened
from mrdsl.core.result import Objective, Result, SolutionStatus, Table, Termination
from mrdsl.core.rounding import PROVEN, SAME_SUM
from mrdsl.core.units import show

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable


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


def table_text(table: Table) -> str:
    """Return a table in aligned columns, with numbers to the right."""
    rows = [[cell_text(cell) for cell in row] for row in table.rows]
    heads = [printable(head) for head in table.columns]
    widths = [max([len(head), *(len(row[i]) for row in rows)]) for i, head in enumerate(heads)]
    right = [is_numeric(table, i) for i in range(len(table.columns))]
    lines = [printable(table.title)] if table.title else []
    lines.append(_line(heads, widths, right))
    lines.append("  " + "  ".join("-" * width for width in widths))
    lines += [_line(row, widths, right) for row in rows]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    parts = (cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(cells, widths, right, strict=True))
    return ("  " + "  ".join(parts)).rstrip()


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


def result_text(result: Result) -> str:
    """Return the whole result for a reader."""
    head = f"{printable(shortened(result.title or result.problem, TITLE))}\n"
    return "\n".join([head, *(table_text(table) for table in result.tables()), status_text(result)])


def print_tables(tables: Iterable[Table | str]) -> str:
    """Return tables and sentences one below the other; the last line ends, whichever it is of."""
    text = "\n".join(part if isinstance(part, str) else table_text(part) for part in tables)
    return text if text.endswith("\n") or not text else text + "\n"


def print_result(result: Result, console: Console) -> None:
    """Print a result with ruled tables."""
    from rich.text import Text

    console.print(Text(printable(shortened(result.title or result.problem, TITLE)), style="bold"))
    for table in result.tables():
        console.print(rich_table(table))
    good = result.solution is not SolutionStatus.NONE
    console.print(Text(status_text(result).rstrip(), style="green" if good else "red"))


def rich_table(table: Table) -> RichTable:
    """Return a table as rich draws it."""
    from rich.table import Table as RichTable
    from rich.text import Text

    title = Text(printable(table.title)) if table.title else None
    drawn = RichTable(title=title, title_justify="left", header_style="bold")
    rows = [[cell_text(cell) for cell in row] for row in table.rows]
    for index, head in enumerate(table.columns):
        numeric = all(isinstance(row[index], int | float) or row[index] is None for row in table.rows)
        drawn.add_column(Text(printable(head)), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))
    return drawn
