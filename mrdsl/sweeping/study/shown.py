"""The tables of a study's folder, as they were written: only its manifest and the files that it names are read."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from mrdsl.core import budgets
from mrdsl.core.csv_rows import csv_rows
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.regular_files import UnreadableError, read_bytes
from mrdsl.core.result import Table
from mrdsl.exchange.text import decode
from mrdsl.reporting.study_folder import MANIFEST


def tables_in(folder: Path) -> tuple[Table, ...]:
    """What the runs of a study said together. Raises MrdslError ``unreadable-file`` for any other folder."""
    named = _json(folder / MANIFEST).get("tables")
    if not isinstance(named, list):
        raise _unreadable(folder / MANIFEST, "it is no manifest of a study")
    return tuple(_table(folder, each) for each in named)


def _table(folder: Path, entry: Any) -> Table:
    title, name = (entry.get(key) if isinstance(entry, dict) else None for key in ("title", "file"))
    if not isinstance(title, str) or not isinstance(name, str) or Path(name).name != name:
        raise _unreadable(folder / MANIFEST, "it names a table without a title, or a file that is not beside it")
    path = folder / name
    try:
        heads, *rows = (row for _, row in csv_rows(io.StringIO(_text(path), newline="")))
    except ValueError:
        raise _unreadable(path, "it is no table") from None
    if any(len(row) != len(heads) for row in rows):
        raise _unreadable(path, "its rows differ in length")
    return Table(title, tuple(heads), [tuple(_cell(cell) for cell in row) for row in rows])


def _cell(text: str) -> Any:
    try:
        return float(text) if text else None
    except ValueError:
        return text


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(_text(path))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _unreadable(path, "it is no JSON object")
    return found


def _text(path: Path) -> str:
    try:
        text, problem = decode(read_bytes(path, budgets.DOCUMENT_BYTES))
    except UnreadableError as refused:
        text, problem = None, str(refused)
    if text is None:
        raise _unreadable(path, problem)
    return text


def _unreadable(path: Path, problem: str) -> MrdslError:
    hint = "a study's folder has a manifest.json; give the study's file to run it"
    return MrdslError([error("unreadable-file", f"`{path}` cannot be read: {problem}", None, hint)])
