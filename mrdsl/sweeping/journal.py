"""The journal of a sweep, ``OUT.part``: a JSON line that describes it, then one per run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from mrdsl.core.diagnostics import MrdslError, one_error
from mrdsl.core.writer import locked_file, refusals_of


def journal_of(output: Path) -> Path:
    """Return the path of the journal of a table, next to it."""
    return output.with_name(output.name + ".part")


@contextmanager
def opened(
    journal: Path, output: Path, head: Mapping[str, Any], check: Callable[[bool], None]
) -> Iterator[tuple[IO[str], dict[Any, dict[str, Any]]]]:
    """Yield the journal, ready for new rows, and its rows; only this run has it open until the end.

    Args:
        head: Its first line.
        check: Called with True if runs of an interrupted sweep exist; it can raise, and a new journal is then removed.

    Raises:
        MrdslError: ``other-sweep`` for a file of something else, ``busy-output``, ``unwritable-file``.
    """
    with (
        _held(journal, output) as handle,
        os.fdopen(os.dup(handle), "r+", encoding="utf-8", newline="", errors="replace") as stream,
    ):
        fresh = _is_fresh(stream, head)
        try:
            rows, end = ({}, 0) if fresh else _resumed(stream, journal, head)
            check(bool(rows))
            stream.seek(end)
            stream.truncate()
            if fresh:
                append(stream, head)
        except BaseException:
            if fresh:
                journal.unlink(missing_ok=True)
            raise
        yield stream, rows


@contextmanager
def _held(journal: Path, output: Path) -> Iterator[int]:
    with ExitStack() as until_the_end:
        with refusals_of(journal):
            handle = until_the_end.enter_context(locked_file(journal, output))
        yield handle


def _is_fresh(stream: IO[str], head: Mapping[str, Any]) -> bool:
    """Return True if the file is empty, or was cut off within the first line."""
    first = stream.readline()
    stream.seek(0)
    return first != _line(head) and _line(head).startswith(first)


def _line(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry) + "\n"


def append(stream: IO[str], row: Mapping[str, Any]) -> None:
    """Write a line, and hand it to the system at once."""
    stream.write(_line(row))
    stream.flush()


def _resumed(stream: IO[str], journal: Path, head: Mapping[str, Any]) -> tuple[dict[Any, dict[str, Any]], int]:
    """Return the rows of an interrupted sweep, and their end; a row that was cut off is left out."""
    rows: dict[Any, dict[str, Any]] = {}
    end = 0
    for number, line in enumerate(iter(stream.readline, "")):
        entry = _parsed(line)
        if number == 0:
            if entry != head:
                raise _other(journal)
        elif entry is None or not isinstance(entry.get("run"), int):
            break
        else:
            rows[entry["run"]] = entry
        end = stream.tell()
    return rows, end


def _other(journal: Path) -> MrdslError:
    message = f"`{journal}` belongs to another sweep: the spec, the options or the values differ"
    return one_error("other-sweep", message, hint=f"remove `{journal}`, or choose another output")


def _parsed(line: str) -> dict[str, Any] | None:
    """Return the object of a whole line, or None."""
    try:
        entry = json.loads(line) if line.endswith("\n") else None
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None
