"""Jobs of a trace, read one at a time: tables of jobs, and of runs of classes; SWIM traces; their errors in a spec.

A table is CSV with a header that names each column and its unit. Cells are separated by commas, tabs or
semicolons; with semicolons, a number can have a decimal comma.

A SWIM trace is tab-separated lines without a header: job id, submit time [s], gap to the previous job [s], map input
[B], shuffle [B], reduce output [B] (https://github.com/SWIMProjectUCB/SWIM/wiki/Workloads-repository). It has bytes,
but neither tasks nor durations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from math import ceil
from pathlib import Path
from typing import Any, TextIO, TypeVar

from mrdsl.core.arguments import written_number
from mrdsl.core.csv_text import CsvError, csv_rows
from mrdsl.core.diagnostics import Diagnostic, Span, error, has_errors
from mrdsl.core.units import TIME, UNITS, scaled
from mrdsl.exchange.registry import BYTE_TRACES, JOBS, RUN_TABLES, named
from mrdsl.exchange.text import SEPARATOR_LINE, EmptyFileError, FormatError, delimiter_of, plain_table
from mrdsl.spec.blocks import JobFile

SECONDS = {name: unit.factor for name, unit in UNITS.items() if unit.dimension == TIME}


@dataclass(frozen=True)
class Form:
    """The columns of a table: the one with names, times, counts, and those that every row has."""

    what: str
    names: str
    times: tuple[str, ...]
    counts: tuple[str, ...]
    required: tuple[str, ...]
    example: str


JOB_FORM = Form(
    "jobs",
    "name",
    ("submit", "map.avg", "shuffle.avg", "reduce.avg", "deadline"),
    ("map.tasks", "reduce.tasks"),
    ("submit", "map.tasks", "map.avg"),
    "name,submit [s],map.tasks,map.avg [s],reduce.tasks,shuffle.avg [s],reduce.avg [s],deadline [s]",
)
RUN_FORM = Form("runs", "class", ("submit", "deadline"), (), ("class", "submit"), "class,submit [s],deadline [s]")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class TableJob:
    """One row; times in seconds, ``deadline`` from the submit time, None if the table has none."""

    name: str
    submit: float
    map_tasks: int
    map_time: float
    reduce_tasks: int
    shuffle_time: float
    reduce_time: float
    deadline: float | None


@dataclass(frozen=True, slots=True)
class TableRun:
    """One run of a class; times in seconds, ``deadline`` from the submit time, None if the table has none."""

    name: str
    submit: float
    deadline: float | None


def read_jobs(path: str | Path, mistakes: list[Diagnostic] | None = None, most: int = 20) -> Iterator[TableJob]:
    """Yield the jobs of a table in order; broken rows are left out and reported in ``mistakes`` (at most ``most``).

    Raises OSError if the file cannot be read.
    """
    return _read(path, JOB_FORM, _job, mistakes if mistakes is not None else [], most)


def read_runs(path: str | Path, mistakes: list[Diagnostic] | None = None, most: int = 20) -> Iterator[TableRun]:
    """Yield the runs of a table in order, as :func:`read_jobs` does."""
    return _read(path, RUN_FORM, _run, mistakes if mistakes is not None else [], most)


def _read(
    path: str | Path,
    form: Form,
    made: Callable[[str, Mapping[str, float]], R | str],
    problems: list[Diagnostic],
    most: int,
) -> Iterator[R]:
    last = 0.0
    with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
        try:
            lines, delimiter = _separated(file, str(path))
        except FormatError as wrong:
            problems.append(wrong.diagnostic("broken-table", str(path), "{reason}"))
            return
        rows = _rows(lines, delimiter, str(path), problems)
        _, header = next(rows, (0, None))
        if header is None:
            return
        units = _header(header, form)
        if isinstance(units, str):
            problems.append(
                error(
                    "broken-table",
                    units,
                    Span(str(path), 1, 1, 1, len(",".join(header)) + 1),
                    f"a table of {form.what} begins: {form.example}",
                )
            )
            return
        for line, row in rows:
            if any(cell.strip() for cell in row[len(header) :]):
                job: R | str = f"this row has {len(row)} cells, and there are {len(header)} columns"
            else:
                job = _row(row, units, line, last, form, made)
            if not isinstance(job, str):
                last = getattr(job, "submit")  # noqa: B009
                yield job
            elif len(problems) < most:
                problems.append(
                    error(
                        "broken-table",
                        job,
                        Span(str(path), line, 1, line, len(",".join(row)) + 1),
                        f"the columns are: {', '.join(header)}",
                    )
                )


def _separated(file: TextIO, path: str) -> tuple[Iterable[str], str]:
    """Return the lines and the separator of cells; with semicolons, decimal commas become points.

    Raises FormatError for numbers that can be read in two ways.
    """
    head = file.readline()
    named = SEPARATOR_LINE.match(head)
    delimiter = delimiter_of(head, path)
    file.seek(0)
    if delimiter != ";" and not named:
        return file, delimiter
    text, delimiter = plain_table(file.read(), path)
    return StringIO(text), delimiter


def _rows(file: Iterable[str], delimiter: str, path: str, found: list[Diagnostic]) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows with their lines up to the first that is not CSV, which ends the table with an error."""
    try:
        yield from csv_rows(file, delimiter)
    except CsvError as problem:
        place = Span(path, problem.line, problem.column, problem.line, problem.column + 1)
        found.append(error("broken-table", str(problem), place, "close every quote"))


def _header(header: list[str], form: Form) -> Mapping[str, tuple[int, float]] | str:
    """Return the column of each name with its factor to SI, or the mistake."""
    columns: dict[str, tuple[int, float]] = {}
    for index, cell in enumerate(header):
        name, _, unit = cell.strip().partition("[")
        name, unit = name.strip(), unit.rstrip("] ").strip()
        if name in columns:
            return f"there are two columns {name}"
        if name in form.times:
            if unit not in SECONDS:
                return f"column {name} needs a unit of time, such as `{name} [s]`"
            columns[name] = (index, SECONDS[unit])
        elif name in form.counts or name == form.names:
            columns[name] = (index, 1.0)
        else:
            return f"there is no column {name!r} in a table of {form.what}"
    missing = [name for name in form.required if name not in columns]
    return f"the table has no column {missing[0]!r}" if missing else columns


def _row(
    row: list[str],
    columns: Mapping[str, tuple[int, float]],
    line: int,
    last: float,
    form: Form,
    made: Callable[[str, Mapping[str, float]], R | str],
) -> R | str:
    values: dict[str, float] = {}
    if any("\n" in cell or "\r" in cell for cell in row):
        return "a cell of this row has a line break"
    cells = {name: row[index].strip() if index < len(row) else "" for name, (index, _) in columns.items()}
    called = cells.pop(form.names, f"{form.what[:-1]}{line}")
    for name, cell in cells.items():
        if not cell:
            continue
        try:
            value = scaled(written_number(cell), columns[name][1])
        except ValueError:
            return f"{name} is {cell!r}, not a number"
        if not 0.0 <= value < float("inf"):
            return f"{name} is {cell}: it cannot be negative or infinite"
        if name in form.counts and value != int(value):
            return f"{name} is {cell}: it counts tasks and must be whole"
        values[name] = value
    if not called and form.names in form.required:
        return f"this row has no {form.names}"
    missing = [column for column in form.required if column not in values and column != form.names]
    if missing:
        return f"{called} has no {missing[0]}"
    if values["submit"] < last:
        return (
            f"{called} is submitted at {values['submit']:g} s, before the {form.what[:-1]} above it ({last:g} s): "
            "sort by submit time"
        )
    return made(called, values)


def _run(name: str, values: Mapping[str, float]) -> TableRun | str:
    deadline = values.get("deadline")
    if deadline == 0.0:
        return f"{name} is due when it is submitted: write a deadline above 0, or leave the cell empty"
    return TableRun(name, values["submit"], deadline)


def _job(name: str, values: Mapping[str, float]) -> TableJob | str:
    job = TableJob(
        name,
        values["submit"],
        round(values["map.tasks"]),
        values["map.avg"],
        round(values.get("reduce.tasks", 0.0)),
        values.get("shuffle.avg", 0.0),
        values.get("reduce.avg", 0.0),
        values.get("deadline"),
    )
    if job.map_tasks < 1 or job.map_time <= 0.0:
        return f"{name} needs at least one map task that takes time"
    if job.reduce_tasks and job.shuffle_time + job.reduce_time <= 0.0:
        return f"{name} has reduce tasks that take no time"
    least = job.map_time + (job.shuffle_time + job.reduce_time if job.reduce_tasks else 0.0)
    if job.deadline is not None and job.deadline < least:
        return f"{name} is due {job.deadline:g} s after its submission; one wave of its tasks takes {least:g} s"
    return job


EMPTY_INPUT_SECONDS = 1.0
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
    """Yield the jobs of a trace in order; broken lines are left out and reported in ``mistakes`` (at most ``most``).

    A broken line does not have six fields, has a wrong or negative number, or a submit time before the line above.
    Raises OSError if the file cannot be read.
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
    """Return the job, or message and hint."""
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


def tasks_of_trace_job(line: SwimJob, how: JobFile) -> tuple[int, float, int, float, float]:
    """Compute the tasks of a SWIM job from its bytes.

    A phase's bytes are shared equally by its tasks: as few tasks as hold them in blocks. A job without input runs one
    map task of one second. A job without shuffle is map-only, for any output. The thesis does not define how it turned
    the trace's bytes into profiles.

    Returns:
        Map tasks, seconds per map task, reduce tasks, shuffle seconds and reduce seconds per reduce task.
    """
    size, speed = how.block or 1.0, how.map_speed or 1.0
    maps = max(1, ceil(line.input_bytes / size))
    map_time = line.input_bytes / maps / speed if line.input_bytes else EMPTY_INPUT_SECONDS
    reduces = ceil(line.shuffle_bytes / (how.reduce_input or 1.0))
    each = line.shuffle_bytes / reduces if reduces else 0.0
    shuffle, reduce = each / (how.shuffle_speed or 1.0), each / (how.reduce_speed or 1.0)
    overhead = how.task_overhead
    return maps, map_time + overhead, reduces, shuffle, reduce + overhead if reduces else 0.0


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
