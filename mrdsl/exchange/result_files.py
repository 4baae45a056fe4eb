"""Files of results: plans as charts, runs event by event, and rows with named values as CSV, JSON lines or Parquet."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from mrdsl.core.charts import GanttChart
from mrdsl.core.csv_text import csv_text
from mrdsl.core.result import Result
from mrdsl.reporting.report_files import chart_bytes

Rows = Sequence[Mapping[str, Any]]


def as_csv(stream: IO[bytes], columns: Sequence[str], rows: Rows) -> None:
    """A value that a row lacks is an empty cell."""
    stream.write(csv_text(columns, ([row.get(c) for c in columns] for row in rows)).encode())


def as_json_lines(stream: IO[bytes], columns: Sequence[str], rows: Rows) -> None:
    """One object per row, with the values that it has."""
    stream.write("".join(json.dumps(row) + "\n" for row in rows).encode())


def as_parquet(stream: IO[bytes], columns: Sequence[str], rows: Rows) -> None:
    """A value that a row lacks is null; a column without values is one of numbers that are not there. Needs pyarrow."""
    import pyarrow
    import pyarrow.parquet

    made = {c: pyarrow.array([row.get(c) for row in rows]) for c in columns}
    empty = [c for c, column in made.items() if column.null_count == len(column)]
    made |= {c: made[c].cast(pyarrow.float64()) for c in empty}
    pyarrow.parquet.write_table(pyarrow.table(made), stream)


class NothingToWriteError(Exception):
    """An error for a plan without the contents of the file; ``what`` is missing, because it ``lacks`` that."""

    def __init__(self, what: str, lacks: str) -> None:
        super().__init__(f"{what}: the plan has {lacks}")
        self.what, self.lacks = what, lacks


def gantt_chart(result: Result, path: Path) -> bytes:
    """Return the plan's bars over time, drawn as the name of the file ends."""
    bars = result.plan.bars() if result.plan is not None else ()
    if not bars:
        raise NothingToWriteError("no Gantt chart", "the plan has no times to draw")
    return chart_bytes(path, GanttChart(result.title, bars))


def graph(result: Result, path: Path) -> bytes:
    """Return the plan's tasks and their order, drawn as the name of the file ends."""
    drawn = result.plan.graph(result.title) if result.plan is not None else None
    if drawn is None:
        raise NothingToWriteError("no graph", "no order of tasks to draw")
    return chart_bytes(path, drawn)


def trace(result: Result, path: Path) -> bytes:
    """Return the events of a run as CSV, whatever the name of the file."""
    events = result.plan.trace() if result.plan is not None else None
    rows = [] if events is None else list(events.rows)
    if events is None or not rows:
        raise NothingToWriteError("no trace", "no events")
    return csv_text(events.columns, rows).encode()
