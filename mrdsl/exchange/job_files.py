"""Errors of a file of jobs in a spec, whichever family reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrdsl.core.diagnostics import Diagnostic, error, has_errors
from mrdsl.exchange.registry import BYTE_TRACES, JOBS, RUN_TABLES, named
from mrdsl.exchange.text import EmptyFileError, FormatError
from mrdsl.spec.blocks import JobFile

SPEEDS = {
    "block": "128 MB",
    "map_speed": "20 MB/s",
    "reduce_input": "512 MB",
    "shuffle_speed": "10 MB/s",
    "reduce_speed": "20 MB/s",
}


def check_job_file(file: JobFile, jobs: str = "jobs", rows: list[Any] | None = None) -> Iterator[Diagnostic]:
    """Yield the errors of a file and of its block.

    Args:
        file: The block.
        jobs: Name of the rows in messages.
        rows: Receives the rows between `begin` and `end`, if it is given.
    """
    if file.source is None:
        yield error("missing-item", "arrivals name no file", file.span, 'write arrivals from jobs("jobs.csv") { ... }')
        return
    if file.end is not None and file.end <= file.begin:
        yield error(
            "empty-range",
            f"the {jobs} begin at {file.begin:g} s and end at {file.end:g} s",
            file.span_of("end"),
            "write an `end` after `begin`",
        )
        return
    if named(BYTE_TRACES, file.source.reader) is not None:
        for item, example in SPEEDS.items():
            if getattr(file, item) is None:
                yield error(
                    "missing-item",
                    f"a SWIM trace contains bytes: tasks and times need `{item}`",
                    file.span,
                    f"add {item} = {example}",
                )
    mistakes: list[Diagnostic] = []
    there = False
    for row in rows_of(file, mistakes):
        if file.begin <= row.submit < (float("inf") if file.end is None else file.end):
            there = True
            if rows is not None:
                rows.append(row)
    yield from mistakes
    if not there and not has_errors(mistakes):
        between = " between `begin` and `end`" if file.begin or file.end else ""
        yield error(
            "empty-trace",
            f"{file.source.written} has no {jobs}{between}",
            file.source.span or file.span,
            f"name a file with {jobs}",
        )


def rows_of(file: JobFile, mistakes: list[Diagnostic]) -> Iterator[Any]:
    """Yield all rows of a file in their order, by submit time; add its errors to ``mistakes``."""
    assert file.source is not None
    reader = named((*RUN_TABLES, *JOBS), file.source.reader)
    assert reader is not None, file.source.reader
    try:
        yield from reader.read(file.source.path, mistakes)
    except EmptyFileError:
        return
    except FormatError as cause:
        mistakes.append(
            error(
                "missing-file",
                f"{file.source.written} cannot be read: {cause}",
                file.source.span or file.span,
                "check the file; its path is relative to the spec",
            )
        )
