"""The table of a sweep: one row per run, written whole or not at all, in a format that its ending says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.writer import Together
from mrdsl.exchange.registry import TABLES, TableWriter, Writer, by_ending, endings

_LAST = ("seconds", "message")


def check_ending(path: Path) -> Writer[TableWriter]:
    """Who writes such a file. Raises MrdslError ``wrong-option`` where nobody does, or the package for it lacks."""
    writer = by_ending(TABLES, path.suffix)
    if writer is None:
        hint = "end it in " + ", ".join(endings(TABLES))
        raise MrdslError([error("wrong-option", f"`{path.name}` does not say what kind of table to write", None, hint)])
    if writer.needs and find_spec(writer.needs) is None:
        free = " or ".join(ending for one in TABLES if not one.needs for ending in one.endings)
        message = f"{writer.name.capitalize()} needs the package {writer.needs}"
        raise MrdslError([error("missing-solver", message, None, f"pip install {writer.needs}, or write {free}")], 3)
    return writer


def write_table(path: Path, rows: Sequence[Mapping[str, Any]], *, force: bool = False) -> None:
    """Writes the rows; a column that some rows lack is empty there. Raises MrdslError."""
    write = check_ending(path).load()
    with Together(force=force) as files, files.binary(path) as stream:
        write(stream, _columns(rows), rows)


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """All columns in the order of the fullest row, time and message last."""
    seen = dict.fromkeys(key for row in sorted(rows, key=len, reverse=True) for key in row)
    return [key for key in seen if key not in _LAST] + [key for key in _LAST if key in seen]
