"""The journal of a sweep, ``OUT.part``: a JSON line that says which sweep it is, then one for each run that ended."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.writer import locked_file, refusals_of


def journal_of(output: Path) -> Path:
    """Where the journal of a table stands: beside it."""
    return output.with_name(output.name + ".part")


@contextmanager
def opened(
    journal: Path, output: Path, digest: str, check: Callable[[bool], None]
) -> Iterator[tuple[IO[str], dict[int, dict[str, Any]]]]:
    """The journal, ready for more, and the rows that it holds; held by this run alone until the end.

    ``check`` is told whether an interrupted sweep goes on and may raise; a new journal is then not left behind. Raises
    MrdslError ``other-sweep`` where the file is something else, ``busy-output``, ``unwritable-file``.
    """
    with (
        _held(journal, output) as handle,
        os.fdopen(os.dup(handle), "r+", encoding="utf-8", newline="", errors="replace") as stream,
    ):
        fresh = not os.fstat(handle).st_size
        try:
            rows, end = ({}, 0) if fresh else _resumed(stream, journal, digest)
            check(not fresh)
            stream.seek(end)
            stream.truncate()
            if fresh:
                stream.write(json.dumps({"sweep": digest}) + "\n")
                stream.flush()
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


def _resumed(stream: IO[str], journal: Path, digest: str) -> tuple[dict[int, dict[str, Any]], int]:
    """The rows of an interrupted sweep, and where they end; what was cut off is left out."""
    rows: dict[int, dict[str, Any]] = {}
    end = 0
    for number, line in enumerate(iter(stream.readline, "")):
        entry = _parsed(line)
        if number == 0:
            if entry is None or entry.get("sweep") != digest:
                message = f"{journal} holds the runs of another sweep: the spec, its options or the values differ"
                raise MrdslError([error("other-sweep", message, hint=f"remove {journal}, or write to another file")])
        elif entry is None or not isinstance(entry.get("run"), int):
            break
        else:
            rows[entry["run"]] = entry
        end = stream.tell()
    return rows, end


def _parsed(line: str) -> dict[str, Any] | None:
    """The object of a whole line, or None."""
    try:
        entry = json.loads(line) if line.endswith("\n") else None
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None
