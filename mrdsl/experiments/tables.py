"""Tables of studies as CSV files."""

from __future__ import annotations

import csv
from pathlib import Path

from mrdsl.outcome import Table, plain


def written(output: Path, name: str, table: Table) -> Table:
    """The table with plain numbers, after writing it to ``output/name.csv``."""
    table = Table(table.title, table.columns, [tuple(plain(cell) for cell in row) for row in table.rows])
    with open(output / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(table.columns)
        lines.writerows(table.rows)
    return table
