"""The table of a sweep: CSV, JSON lines or Parquet, one row per run, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from mrdsl.core.csv_text import csv_text
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.writer import Together, write_text

ENDINGS = (".csv", ".jsonl", ".parquet")
_LAST = ("seconds", "message")


def check_ending(path: Path) -> None:
    """Raises MrdslError ``wrong-option`` for an ending that no table has, or Parquet without pyarrow."""
    if path.suffix not in ENDINGS:
        hint = "end it in " + ", ".join(ENDINGS)
        raise MrdslError([error("wrong-option", f"`{path.name}` does not say what kind of table to write", None, hint)])
    if path.suffix == ".parquet" and find_spec("pyarrow") is None:
        hint = "pip install pyarrow, or write .csv or .jsonl"
        raise MrdslError([error("missing-solver", "Parquet needs the package pyarrow", None, hint)], exit_code=3)


def write_table(path: Path, rows: Sequence[Mapping[str, Any]], *, force: bool = False) -> None:
    """Writes the rows; a column that some rows lack is empty there. Raises MrdslError."""
    columns = _columns(rows)
    if path.suffix == ".parquet":
        with Together(force=force) as files, files.binary(path) as stream:
            _write_parquet(stream, columns, rows)
        return
    text = _csv(columns, rows) if path.suffix == ".csv" else "".join(json.dumps(row) + "\n" for row in rows)
    write_text(path, text, force=force)


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """All columns in the order of the fullest row, time and message last."""
    seen = dict.fromkeys(key for row in sorted(rows, key=len, reverse=True) for key in row)
    return [key for key in seen if key not in _LAST] + [key for key in _LAST if key in seen]


def _csv(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    return csv_text(columns, ([row.get(c) for c in columns] for row in rows))


def _write_parquet(stream: IO[bytes], columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({c: [row.get(c) for row in rows] for c in columns})
    pyarrow.parquet.write_table(table, stream)
