"""Studies: every run once, its row saved at once, then the tables; finished studies are read back."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from mrdsl.core import budgets
from mrdsl.core.charts import Chart
from mrdsl.core.csv_text import csv_rows
from mrdsl.core.diagnostics import Diagnostic, MrdslError, error, one_error, warning
from mrdsl.core.output_names import same_output
from mrdsl.core.reading import UnreadableError, read_bytes
from mrdsl.core.result import Table
from mrdsl.core.tables import Readable
from mrdsl.core.watching import tell, work
from mrdsl.core.writer import claimed, overwriting, refusals, refuse_folder
from mrdsl.exchange.text import decode
from mrdsl.reporting.study_files import MANIFEST, StudyFolder
from mrdsl.sweeping.journal import append, opened
from mrdsl.sweeping.study.declaration import Profile, Study
from mrdsl.sweeping.study.planned import Planned, plan_mistakes, planned
from mrdsl.sweeping.study.reader import read_study
from mrdsl.sweeping.study.runs import StudyRun
from mrdsl.sweeping.study.tables import (
    INSTANCE,
    Rows,
    columns,
    contradictions,
    is_lowest,
    methods_table,
    pivoted,
    profiled,
)
from mrdsl.sweeping.sweep import write_table

JOURNAL, TABLE = "runs.jsonl", "runs.csv"
HEAD = {"study": 1}
"""The first line of a journal: its version."""
DEFAULT_PROFILES = (Profile("value"), Profile("cpu_seconds"))
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Studied(Readable):
    """The results of a study: ``table`` has the runs in order, one mapping each; ``tables`` are its summaries.

    Of ``total`` runs, ``resumed`` have rows from an earlier call. ``interrupted``: some runs are missing. ``left_out``
    are the optional methods that are not installed, ``left_out_tables`` the titles of tables above one of them.
    """

    title: str
    about: str
    table: tuple[Mapping[str, Any], ...]
    total: int
    resumed: int
    interrupted: bool
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    left_out: tuple[str, ...] = ()
    left_out_tables: tuple[str, ...] = ()

    def readable(self) -> tuple[Table, ...]:
        """Return the tables of the study."""
        return self.tables

    def _table(self, title: str) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        """Return all runs, or the table of the study with that title."""
        if title:
            return super()._table(title)
        heads = columns(self.table)
        return heads, [[row.get(name) for name in heads] for row in self.table]


@dataclass(frozen=True)
class Way:
    """The way to run a study: a number of processes (one per core) or ``dask://HOST:PORT``, and further settings.

    ``retry`` repeats failed runs; ``pictures`` draws the charts into the folder. ``outputs`` are files that the caller
    will write, which cannot be inputs of runs.
    """

    workers: int | None = None
    executor: str = "processes"
    outside: bool = False
    force: bool = False
    retry: bool = False
    pictures: bool = True
    outputs: tuple[Path, ...] = ()


def run_study_file(
    file: Path, folder: Path, way: Way | None = None, progress: Progress = lambda done, total: None
) -> Studied:
    """Run the missing runs of a study, and write ``runs.csv``, its tables and charts, and ``manifest.json``.

    A run without a plan is an ordinary row.

    Raises:
        MrdslError: The file, a spec or a method is wrong; the folder has other files and ``force`` is not given;
            another run writes to it; or the executor
            is lost. The rows of finished runs stay, and the same call continues with the others.
    """
    return run_study(read_study(file), file, folder, way or Way(), progress)


def run_study(
    study: Study, file: Path, folder: Path, way: Way, progress: Progress = lambda done, total: None
) -> Studied:
    """Run a study like :func:`run_study_file`, from the contents of a file or a part of them."""
    from mrdsl.sweeping.executors import refuse_unknown

    refuse_unknown(way.executor, way.workers)
    plan = planned(study, file.parent, way.outside)
    journal = folder / JOURNAL
    goes_on = journal.is_file()
    refuse_folder(folder, force=way.force or goes_on, inputs=(file, *plan.inputs))
    _refuse(_refused_outputs(way, (file, *plan.inputs), (journal, folder / TABLE)))
    if way.pictures:
        from mrdsl.reporting.charts.rendering import require

        require()
    with claimed(folder), overwriting(True):
        _refuse(refusals(journal, force=True))
        with opened(journal, folder, HEAD, lambda _: None, "key") as (stream, rows):
            known = {key: row for key, row in rows.items() if not (way.retry and row.get("termination") == "error")}
            wanted = {run.key: run for run in reversed(plan.runs)}
            missing = [run for run in plan.runs if run.key not in known and wanted[run.key] is run]
            resumed = sum(run.key in known for run in plan.runs)
            interrupted = _run(missing, resumed, way, stream, known, progress)
            return _ended(study, plan, known, folder, way, resumed, interrupted)


def _refused_outputs(way: Way, inputs: Sequence[Path], own: Sequence[Path]) -> list[Diagnostic]:
    """Return outputs that the runs read, that are the study's own files, or that are there already."""
    taken = [
        error("wrong-option", f"`{path}` is in the study's folder", None, "choose another file name")
        for path in way.outputs
        if any(same_output(path, each) for each in own)
    ]
    return taken or [each for path in way.outputs for each in refusals(path, force=way.force, inputs=inputs)]


def _refuse(diagnostics: Sequence[Diagnostic]) -> None:
    if diagnostics:
        raise MrdslError(diagnostics)


def _run(
    missing: Sequence[StudyRun],
    resumed: int,
    way: Way,
    stream: IO[str],
    known: dict[Any, dict[str, Any]],
    progress: Progress,
) -> bool:
    """Run the missing runs; each row is on the disk before the next. Return True after an interruption."""
    from mrdsl.sweeping.executors import run_all

    total = resumed + len(missing)
    progress(resumed, total)
    if not missing:
        return False
    try:
        with work("runs", total):
            tell(done=resumed)
            for done, row in enumerate(run_all(missing, way.workers, way.executor, apart=True), resumed + 1):
                append(stream, row, durably=True)
                known[row["key"]] = row
                tell(done=1)
                progress(done, total)
    except KeyboardInterrupt:
        return True
    return False


def _ended(
    study: Study,
    plan: Planned,
    known: Mapping[Any, Mapping[str, Any]],
    folder: Path,
    way: Way,
    resumed: int,
    interrupted: bool,
) -> Studied:
    """Return the written results; for an interrupted study only the runs."""
    runs = [run for run in plan.runs if run.key in known]
    told = [{**(own := run.told()), **known[run.key], **own} for run in runs]
    rows = [{**row, INSTANCE: run.instance} for row, run in zip(told, runs, strict=True)]
    kept = StudyFolder(folder, study.title, study.about, {"runs": len(plan.runs)})
    done = Studied(study.title, study.about, tuple(told), len(plan.runs), resumed, interrupted, left_out=plan.left_out)
    kept.clear()
    try:
        if told:
            write_table(folder / TABLE, told)
        if not interrupted:
            done = _summed_up(study, rows, kept, way, done)
    finally:
        kept.end(not interrupted)
    return done


def _summed_up(study: Study, rows: Rows, kept: StudyFolder, way: Way, done: Studied) -> Studied:
    """Return the results with tables and charts, each in a file; raises MrdslError for a table of columns that no plan
    has.
    """
    _refuse(plan_mistakes((*(study.tables or ()), *(study.profiles or ())), rows, study.text))
    without = [pivot for pivot in study.tables or () if is_lowest(pivot, rows)]
    tables, charts = [kept.keep(methods_table(rows), search=False)], []
    for table, chart in _parts(study, rows):
        name = kept.next_name(table.title)
        tables.append(kept.keep(table, search=False))
        if chart is not None:
            charts.append(chart)
            if way.pictures:
                from mrdsl.reporting.report_files import write_chart

                write_chart(kept.folder / f"{name}.svg", chart)
    found = tuple(
        warning(
            "contradicted-bound",
            f"run {one['run']}, {one['method']}: {one['value']:g} is better than {other['bound']:g}, which run "
            f"{other['run']}, {other['method']}, claims to be the best possible",
            study.text.key(("runs",)),
            "one of the two is wrong: solve the spec with a third method, and report it",
        )
        for one, other in contradictions(rows)
    )
    titles = tuple(pivot.title or f"{pivot.value} above {pivot.above}" for pivot in without)
    return replace(done, tables=tuple(tables), charts=tuple(charts), diagnostics=found, left_out_tables=titles)


def _parts(study: Study, rows: Rows) -> Iterator[tuple[Table, Chart | None]]:
    for pivot in study.tables or ():
        if is_lowest(pivot, rows):
            continue
        table, chart = pivoted(pivot, rows)
        yield table, chart if pivot.chart else None
    several = len({row["method"] for row in rows}) > 1
    for profile in study.profiles if study.profiles is not None else DEFAULT_PROFILES if several else ():
        yield profiled(profile, rows)


def tables_in(folder: Path) -> tuple[Table, ...]:
    """Return the tables of a finished study. Raises MrdslError ``unreadable-file`` for any other folder."""
    named = _json(folder / MANIFEST).get("tables")
    if not isinstance(named, list):
        raise _unreadable(folder / MANIFEST, "it is not the manifest of a study")
    return tuple(_table(folder, each) for each in named)


def _table(folder: Path, entry: Any) -> Table:
    title, name = (entry.get(key) if isinstance(entry, dict) else None for key in ("title", "file"))
    if not isinstance(title, str) or not isinstance(name, str) or Path(name).name != name:
        raise _unreadable(folder / MANIFEST, "it names a table without a title, or a file outside its folder")
    path = folder / name
    try:
        heads, *rows = (row for _, row in csv_rows(io.StringIO(_text(path), newline="")))
    except ValueError:
        raise _unreadable(path, "it is not a table") from None
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
        raise _unreadable(path, "it is not a JSON object")
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
    hint = "a study folder has a manifest.json; pass the study file to run it"
    return one_error("unreadable-file", f"`{path}` cannot be read: {problem}", None, hint)
