"""Rows with named values as CSV, JSON lines or Parquet."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import IO, Any

from mrdsl.core.csv_text import csv_text

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
