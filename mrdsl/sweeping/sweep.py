"""Sweeps of one spec: every combination of parameter values, cases and seeds, written as one table, with a journal.

A case is a row of a table of parameters that belong together.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from mrdsl.core.charts import Chart
from mrdsl.core.diagnostics import Diagnostic, MrdslError, error, one_error
from mrdsl.core.result import Table
from mrdsl.core.tables import Readable
from mrdsl.core.writer import Together, locked_file, refusals, refusals_of
from mrdsl.exchange.cells import CellReader, RawTable, read_raw, unreadable
from mrdsl.exchange.registry import TABLES, TableWriter, Writer, by_ending, endings
from mrdsl.exchange.text import FormatError, Mistakes
from mrdsl.spec.schema import Source
from mrdsl.sweeping.cells import (
    Axis,
    Cell,
    Setting,
    SweepRun,
    cells,
    changed_columns,
    sweep_chart,
    sweep_table,
    value_text,
)


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


_HEAD = re.compile(r"\s*([^\W\d]\w*)\s*(?:\[\s*(.*?)\s*\])?\s*")


def cases_in(path: Path) -> tuple[Axis, ...]:
    """Return the columns of a table of cases: parameters, with an optional unit as in ``limit [min]``.

    Raises:
        MrdslError: The file is not a table of cases, or a cell is empty.
    """
    source = Source("table", str(path.absolute()), str(path))
    try:
        raw = read_raw(source, str(path))
    except FormatError as problem:
        raise MrdslError([unreadable(source, problem)]) from None
    report = Mistakes()
    reader = CellReader(raw, report)
    columns = [] if report.found else [_column(raw, reader, index, report) for index in range(len(raw.header))]
    if not report.found:
        _check_names([axis.name for axis in columns], f"`{path}`")
        return tuple(columns)
    raise MrdslError(report.found)


def _column(raw: RawTable, reader: CellReader, index: int, report: Mistakes) -> Axis:
    head = _HEAD.fullmatch(raw.header[index])
    if head is None:
        hint = "write the name of a param, with a unit in brackets if it has one, such as `limit [min]`"
        report.add(
            error("unknown-column", f"column `{raw.header[index]}` is not a param", raw.cell_span(-1, index), hint)
        )
        return Axis("", ())
    texts = reader.texts(index)
    for row, text in enumerate(texts):
        if not text and len(report.found) < 20:
            message = f"this cell of `{head[1]}` is empty"
            report.add(error("empty-cell", message, raw.cell_span(row, index), "every case has a value of every param"))
    values = tuple(f"{text} {head[2]}" if head[2] else text for text in texts)
    return Axis(head[1], values, raw.cell_span(-1, index))


def cases_of(rows: Iterable[Mapping[str, float | str]]) -> tuple[Axis, ...]:
    """Return the columns of cases from Python, all with the same parameters. Raises MrdslError ``wrong-option``."""
    listed = list(rows)
    names = list(listed[0]) if listed else []
    if not names or any(set(row) != set(names) or not all(_HEAD.fullmatch(name) for name in row) for row in listed):
        hint = 'for example, `cases=[{"peak": 1.0, "limit": "15 min"}, {"peak": 1.4, "limit": "20 min"}]`'
        raise one_error("wrong-option", "cases must have values of the same params", None, hint)
    return tuple(Axis(name, tuple(value_text(row[name]) for row in listed)) for name in names)


def check_apart(cases: Sequence[Axis], axes: Sequence[Axis]) -> None:
    """Raise MrdslError ``wrong-option`` if a parameter has values in the cases and in ``--over``."""
    _check_names([axis.name for axis in (*cases, *axes)], "cases and `--over`")


def _check_names(names: Sequence[str], where: str) -> None:
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            hint = "give it values once"
            raise one_error("wrong-option", f"param `{name}` is twice in {where}", None, hint)


_LAST = ("seconds", "message")


def check_ending(path: Path) -> Writer[TableWriter]:
    """Return the writer for an extension. Raises MrdslError ``wrong-option`` if there is none, or its package is
    missing.
    """
    writer = by_ending(TABLES, path.suffix)
    if writer is None:
        hint = "end it in " + ", ".join(endings(TABLES))
        raise one_error("wrong-option", f"cannot write a table to `{path.name}`: unknown file extension", None, hint)
    if writer.needs and find_spec(writer.needs) is None:
        free = " or ".join(ending for one in TABLES if not one.needs for ending in one.endings)
        message = f"{writer.name.capitalize()} needs the package {writer.needs}"
        raise one_error("missing-solver", message, None, f"pip install {writer.needs}, or write {free}", exit_code=3)
    return writer


def write_table(path: Path, rows: Sequence[Mapping[str, Any]], *, force: bool = False) -> None:
    """Write the rows; a column that some rows lack is empty there. Raises MrdslError."""
    write = check_ending(path).load()
    with Together(force=force) as files, files.binary(path) as stream:
        write(stream, _columns(rows), rows)


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return all columns in the order of the fullest row, time and message last."""
    seen = dict.fromkeys(key for row in sorted(rows, key=len, reverse=True) for key in row)
    return [key for key in seen if key not in _LAST] + [key for key in _LAST if key in seen]


Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Summary(Readable):
    """The end of a sweep: finished, total and resumed runs, and if it was interrupted.

    ``table`` has the runs in order.
    """

    rows: int
    total: int
    resumed: int
    interrupted: bool
    table: tuple[Mapping[str, Any], ...] = ()

    def readable(self) -> tuple[Table, ...]:
        """Return the first runs: what was changed, the objective, and the VMs of each type."""
        return (sweep_table(self.table, changed_columns(self.table)),)

    @property
    def charts(self) -> tuple[Chart, ...]:
        """The objective over the first of the changed values."""
        return (sweep_chart(self.table, changed_columns(self.table), "Sweep"),)

    def _table(self, title: str) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        """Return all runs."""
        columns = tuple(dict.fromkeys(name for row in self.table for name in row))
        return columns, [[row.get(name) for name in columns] for row in self.table]


def sweep(
    setting: Setting,
    axes: Sequence[Axis],
    seeds: Sequence[int],
    output: Path,
    *,
    cases: Sequence[Axis] = (),
    workers: int | None = None,
    executor: str = "processes",
    progress: Progress = lambda done, total: None,
    force: bool = False,
) -> Summary:
    """Run every cell and write the table to ``output`` (.csv, .jsonl or .parquet).

    An existing table is overwritten only with ``force``, or if its sweep continues. A run without a plan is an ordinary
    row. The rows of finished runs stay after an error, and the same call continues with the others; an existing table
    stays if no run ended.

    Args:
        cases: Parameters whose values belong together, case by case.
        executor: ``processes`` or ``dask://HOST:PORT``.

    Raises:
        MrdslError: The spec is wrong or has no such param; workers are given for Dask; an interrupted sweep was
            another one; the table is an input or exists; another
            run writes it; or the executor is lost.
    """
    from mrdsl.sweeping.executors import refuse_unknown, run_all

    refuse_unknown(executor, workers)
    check_apart(cases, axes)
    planned = cells(axes, seeds, cases)
    inputs = _check(setting, (*cases, *axes), planned)
    digest = _digest(setting, (*cases, *axes), seeds, len(cases))
    journal = journal_of(output)
    _refuse(refusals(journal, force=True, inputs=inputs))
    interrupted = False
    with opened(
        journal,
        output,
        {"sweep": digest},
        lambda goes_on: _refuse(refusals(output, force=force or goes_on, inputs=inputs)),
    ) as (stream, rows):
        resumed = len(rows)
        progress(resumed, len(planned))
        missing = [SweepRun(setting, cell) for cell in planned if cell.number not in rows]
        try:
            for row in run_all(missing, workers, executor):
                append(stream, row)
                rows[row["run"]] = row
                progress(len(rows), len(planned))
        except KeyboardInterrupt:
            interrupted = True
        except MrdslError:
            if rows:
                _write(output, rows)
            else:
                journal.unlink()
            raise
        if rows:  # else what stands there stays
            _write(output, rows)
        if not (rows and interrupted):
            journal.unlink()
    table = tuple(rows[number] for number in sorted(rows))
    return Summary(len(rows), len(planned), resumed, interrupted, table)


def _write(output: Path, rows: Mapping[int, dict[str, Any]]) -> None:
    write_table(output, [rows[number] for number in sorted(rows)], force=True)


def _refuse(diagnostics: Sequence[Diagnostic]) -> None:
    if diagnostics:
        raise MrdslError(diagnostics)


def _check(setting: Setting, axes: Sequence[Axis], planned: Sequence[Cell]) -> tuple[Path, ...]:
    """Check the spec, the axes and the method before the first run.

    Returns:
        The files that the runs read.
    """
    from mrdsl.families.diagnosis import find_family
    from mrdsl.language.loading import load_file
    from mrdsl.planning.choice import choose
    from mrdsl.solving.registry import require

    first = planned[0]
    loaded = load_file(setting.file, {**setting.defines, **first.parameters}, seed=first.seed, outside=setting.outside)
    if loaded.spec is None:
        raise MrdslError(_at_columns(loaded.diagnostics, axes))
    choice = choose(
        loaded.spec, find_family(loaded.spec), setting.solver, setting.formulation, setting.relax, setting.limits
    )
    if choice.solver is not None:
        require(choice.solver, choice.span)
    unknown = [axis.name for axis in axes if axis.name not in loaded.spec.parameters]
    if unknown:
        known = ", ".join(loaded.spec.parameters) or "none"
        raise MrdslError(
            [
                error("unknown-param", f"the spec has no param `{name}`", hint=f"params of the spec: {known}")
                for name in unknown
            ]
        )
    for axis in axes:
        if isinstance(loaded.spec.parameters[axis.name], str):
            _check_words(setting, first, axis)
    return (Path(setting.file), *loaded.files)


def _at_columns(diagnostics: Iterable[Diagnostic], axes: Sequence[Axis]) -> list[Diagnostic]:
    """Return the diagnostics, those of unknown params at their columns in the table of cases."""
    columns = {f"the spec has no param `{axis.name}`": axis.span for axis in axes if axis.span is not None}
    return [
        replace(one, path="", span=columns[one.message], hint=f"{one.hint}; or remove the column")
        if one.code == "unknown-param" and one.message in columns
        else one
        for one in diagnostics
    ]


def _check_words(setting: Setting, first: Cell, axis: Axis) -> None:
    """Each word of an axis must be one that the spec can take; raises MrdslError with its place there."""
    from mrdsl.language.loading import load_file

    for word in axis.values:
        given = {**setting.defines, **first.parameters, axis.name: word}
        loaded = load_file(setting.file, given, seed=first.seed, outside=setting.outside)
        if loaded.spec is None:
            raise MrdslError(loaded.diagnostics)


def _digest(setting: Setting, axes: Sequence[Axis], seeds: Sequence[int], paired: int) -> str:
    try:
        text = Path(setting.file).read_bytes()
    except OSError:
        text = b""
    swept = [[{"name": axis.name, "values": axis.values} for axis in axes], list(seeds), paired]
    document = json.dumps([asdict(setting), *swept], sort_keys=True, default=str)
    return hashlib.sha256(text + document.encode()).hexdigest()
