"""Tables of studies as CSV files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mrdsl.core.csv_text import csv_text
from mrdsl.core.result import Table, plain
from mrdsl.core.writer import write_text


def written(output: Path, name: str, table: Table) -> Table:
    """The table with plain numbers, after writing it to ``output/name.csv``."""
    table = Table(table.title, table.columns, [tuple(plain(cell) for cell in row) for row in table.rows])
    write_csv(output / f"{name}.csv", table.columns, table.rows)
    return table


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table as a file of the study's own folder; None is an empty cell."""
    write_text(path, csv_text(columns, rows))
