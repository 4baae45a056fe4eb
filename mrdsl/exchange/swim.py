"""SWIM workload traces: tab-separated lines without a header, one job each, read one at a time.

Columns: job id, submit time [s], gap to the previous job [s], map input [B], shuffle [B], reduce output [B]
(https://github.com/SWIMProjectUCB/SWIM/wiki/Workloads-repository). They carry bytes, neither tasks nor durations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.source import Span

COLUMNS = ("job id", "submit time [s]", "gap [s]", "map input [B]", "shuffle [B]", "reduce output [B]")


@dataclass(frozen=True, slots=True)
class SwimJob:
    """One line: submit time in seconds, sizes in bytes."""

    name: str
    submit: float
    input_bytes: float
    shuffle_bytes: float
    output_bytes: float


def read_swim(path: str | Path, mistakes: list[Diagnostic] | None = None, most: int = 20) -> Iterator[SwimJob]:
    """The jobs of a trace in the file's order; broken lines are left out and told in ``mistakes`` (at most ``most``).

    A broken line has not six fields, a number that is none or negative, or a submit time before the line above.
    Raises OSError where the file cannot be read.
    """
    problems = mistakes if mistakes is not None else []
    last = 0.0
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            text = line.rstrip("\r\n")
            if not text.strip():
                continue
            job = _parse(text, last)
            if isinstance(job, SwimJob):
                last = job.submit
                yield job
            elif len(problems) < most:
                problems.append(_mistake(str(path), number, text, *job))


def _parse(text: str, last: float) -> SwimJob | tuple[str, str]:
    """The job, or message and hint."""
    fields = text.split("\t")
    if len(fields) != len(COLUMNS):
        return (
            f"{len(fields)} fields where a SWIM trace has {len(COLUMNS)}",
            "separate by tabs: " + ", ".join(COLUMNS),
        )
    numbers = []
    for column, field in zip(COLUMNS[1:], fields[1:], strict=True):
        try:
            value = float(field)
        except ValueError:
            return f"{column} is {field!r}, not a number", "write a plain number, such as 4096"
        if not 0.0 <= value < float("inf"):
            return f"{column} is {field}: it cannot be negative or infinite", "write 0 or more"
        numbers.append(value)
    submit, _, input_bytes, shuffle_bytes, output_bytes = numbers
    if submit < last:
        return (
            f"{fields[0]} is submitted at {submit:g} s, before the job above it ({last:g} s)",
            "sort the trace by its second column: sort -t$'\\t' -k2,2n",
        )
    return SwimJob(fields[0], submit, input_bytes, shuffle_bytes, output_bytes)


def _mistake(path: str, number: int, text: str, message: str, hint: str) -> Diagnostic:
    return error("broken-trace", message, Span(path, number, 1, number, len(text) + 1), hint)
