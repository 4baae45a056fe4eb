"""Tables of finished sweeps, read again to draw them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mrdsl.core.csv_text import csv_rows
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.exchange.text import FormatError, read_text
from mrdsl.sweeping.report import GOAL

Rows = list[dict[str, Any]]


def rows_in(path: Path) -> Rows:
    """Return the runs in a table that ``mrdsl sweep`` wrote.

    Raises:
        MrdslError: ``unreadable-file`` for any other file; ``missing-extra`` for Parquet without pyarrow.
    """
    try:
        rows = _READERS[path.suffix.lower()](path)
        if not rows or not all({"run", "termination"} <= set(row) for row in rows):
            raise FormatError("it has no columns `run` and `termination`")
        return [_checked(row) for row in rows]
    except (ValueError, OSError) as problem:  # of CSV, JSON and Parquet
        reason = str(problem) if isinstance(problem, FormatError) else "it is not a table"
        hint = "pass the table that `mrdsl sweep -o` wrote"
        raise MrdslError([error("unreadable-file", f"`{path}` cannot be read: {reason}", None, hint)]) from None


def _checked(row: Mapping[str, Any]) -> dict[str, Any]:
    if row.get(GOAL) is not None and not isinstance(row[GOAL], int | float):
        raise FormatError(f"run {row['run']} has a value that is not a number")
    return dict(row)


def _csv(path: Path) -> Rows:
    lines = [row for _, row in csv_rows(read_text(path).splitlines())]
    heads, rows = (lines[0], lines[1:]) if lines else ([], [])
    return [dict(zip(heads, map(_cell, row), strict=True)) for row in rows]


def _cell(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or None


def _json_lines(path: Path) -> Rows:
    return [dict(json.loads(line)) for line in read_text(path).splitlines()]


def _parquet(path: Path) -> Rows:
    try:
        from pyarrow import parquet
    except ImportError:
        hint = "pip install pyarrow, or pass a table in .csv or .jsonl"
        raise MrdslError([error("missing-extra", "Parquet needs the package pyarrow", None, hint)], 3) from None
    rows: Rows = parquet.read_table(path).to_pylist()
    return rows


_READERS: Mapping[str, Callable[[Path], Rows]] = {".csv": _csv, ".jsonl": _json_lines, ".parquet": _parquet}
