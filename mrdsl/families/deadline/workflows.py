"""The tasks that a DAG takes from a file."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from mrdsl.exchange.registry import WORKFLOWS, named
from mrdsl.exchange.text import FormatError
from mrdsl.exchange.workflows import Workflow
from mrdsl.spec.schema import Source

_NOTHING = Workflow((), (), ())


def imported(source: Source | None) -> Workflow:
    """The tasks of the file that a DAG names; none where it names no file. Raises FormatError."""
    if source is None:
        return _NOTHING
    try:
        status = Path(source.path).stat()
    except OSError as problem:
        raise FormatError(f"it cannot be opened: {problem.strerror}") from None
    return _read(source.reader, source.path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=8)
def _read(reader: str, path: str, modified: int, size: int) -> Workflow:
    workflows = named(WORKFLOWS, reader)
    assert workflows is not None, reader
    return workflows.read(path, [])
