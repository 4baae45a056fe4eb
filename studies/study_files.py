"""Files of a study: its folder with plots, tables as CSV and a manifest to repeat it by, and its report."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mrdsl.core import budgets
from mrdsl.core.charts import Chart
from mrdsl.core.csv_text import csv_text
from mrdsl.core.diagnostics import json_printable
from mrdsl.core.reading import UnreadableError, read_bytes
from mrdsl.core.result import Table, plain
from mrdsl.core.version import __version__
from mrdsl.core.writer import LOCK, refusals_of, write_text
from mrdsl.reporting.report import Report, Section, repeated


def study_report(
    name: str, doc: str, charts: Sequence[Chart], tables: Sequence[Table], options: Mapping[str, Any], command: str
) -> Report:
    """Return the report of a study, with its question in place of a decision."""
    sections = (
        Section("Charts", tuple(charts)),
        Section("Tables", tuple(tables)),
        repeated(command, {f"option {option}": value for option, value in options.items()}),
    )
    drawn = f"{len(charts)} charts, {len(tables)} tables."
    question = f"{doc[:1].upper()}{doc[1:]}"
    asked = question if question.endswith((".", "?", "!")) else f"{question}."
    return Report(f"Study {name}", asked, drawn, tuple(s for s in sections if s.parts))


MANIFEST = "manifest.json"
_LONGEST = 60
_NAME = re.compile(r"[0-9]{2,}-[a-z0-9-]+\.(csv|svg)")
"""File names of tables and charts."""


@dataclass
class StudyFolder:
    """A folder that a study fills, from its first table to its end: which tables are in which files."""

    folder: Path
    name: str
    doc: str
    options: Mapping[str, Any]
    tables: list[dict[str, Any]] = field(default_factory=list)
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    clock: float = field(default_factory=time.monotonic)

    def clear(self) -> None:
        """Remove the tables of an earlier run, and their charts: unchanged files in its manifest.

        Call it before the tables are written anew: the manifest at the end names only those.
        """
        for path, digest in _former(self.folder):
            if path.is_file() and not path.is_symlink() and _file(path, self.folder) == digest:
                with refusals_of(path):
                    path.unlink()

    def keep(self, table: Table, *, search: bool = True) -> Table:
        """Return the table with plain numbers, which is in a file now: with ``search``, in one that the study itself
        wrote, if
        any holds the same."""
        table = Table(table.title, table.columns, [tuple(plain(cell) for cell in row) for row in table.rows])
        text = csv_text(table.columns, table.rows)
        there = sorted(self.folder.glob("*.csv")) if search else []
        path = next((path for path in there if _holds(path, text)), None)
        if path is None:
            path = self.folder / f"{self.next_name(table.title)}.csv"
            write_text(path, text)
        self.tables.append({"title": table.title, "file": path.name, "rows": len(table.rows)})
        return table

    def next_name(self, title: str) -> str:
        """Return the name of the files of the next table, without their extensions."""
        return f"{len(self.tables) + 1:02d}-{_slug(title)}"

    def end(self, complete: bool) -> None:
        """Write ``manifest.json``, also for a run that was stopped."""
        manifest = {
            "format": 1,
            "study": self.name,
            "doc": self.doc,
            "options": dict(self.options),
            "seed": self.options.get("seed"),
            "mrdsl": __version__,
            "python": platform.python_version(),
            "time": self.started.isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - self.clock, 3),
            "complete": complete,
            "tables": self.tables,
            "files": [_file(path, self.folder) for path in sorted(self.folder.rglob("*")) if _is_of_the_study(path)],
        }
        write_text(self.folder / MANIFEST, json_printable(json.dumps(manifest, indent=2, ensure_ascii=False)) + "\n")


def _former(folder: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the tables and charts that a manifest names, each as it was; the manifest may have been written by
    anybody.
    """
    try:
        manifest = json.loads(read_bytes(folder / MANIFEST, budgets.DOCUMENT_BYTES))
        tables, files = manifest["tables"], manifest["files"]
        names = {each["file"] for each in tables if _NAME.fullmatch(each["file"])}
        found = [(each["name"], each) for each in files if Path(each["name"]).with_suffix(".csv").name in names]
    except (UnreadableError, ValueError, TypeError, LookupError, RecursionError):
        return
    yield from ((folder / name, each) for name, each in found if _NAME.fullmatch(name))


def _holds(path: Path, text: str) -> bool:
    return path.stat().st_size == len(text.encode()) and path.read_bytes() == text.encode()


def _slug(title: str) -> str:
    """Return a title as a part of a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:_LONGEST].rstrip("-") or "table"


def _is_of_the_study(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.name not in (LOCK, MANIFEST)


def _file(path: Path, folder: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {"name": str(path.relative_to(folder)), "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def written(output: Path, name: str, table: Table) -> Table:
    """Return the table with plain numbers, after writing it to ``output/name.csv``."""
    table = Table(table.title, table.columns, [tuple(plain(cell) for cell in row) for row in table.rows])
    write_csv(output / f"{name}.csv", table.columns, table.rows)
    return table


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table as a file of the study's own folder; None is an empty cell."""
    write_text(path, csv_text(columns, rows))
