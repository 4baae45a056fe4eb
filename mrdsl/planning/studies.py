"""A study run into a folder: its plots, every table as CSV, and what is needed to repeat it."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mrdsl.contracts.family import Experiment
from mrdsl.contracts.study import Bench
from mrdsl.core.csv_text import csv_text
from mrdsl.core.diagnostics import Diagnostic, MrdslError, error
from mrdsl.core.printable import json_printable
from mrdsl.core.result import Table, plain
from mrdsl.core.suggestions import did_you_mean
from mrdsl.core.version import __version__
from mrdsl.core.watching import work
from mrdsl.core.writer import LOCK, write_text
from mrdsl.families import family, family_names

MANIFEST = "manifest.json"
_LONGEST = 60


@dataclass
class _Written:
    """The tables of a run so far, and in which files they are."""

    folder: Path
    tables: list[dict[str, Any]] = field(default_factory=list)

    def keep(self, table: Table) -> Table:
        """The table with plain numbers, which is in a file now: the study's own, if it wrote the same one."""
        table = Table(table.title, table.columns, [tuple(plain(cell) for cell in row) for row in table.rows])
        text = csv_text(table.columns, table.rows)
        path = next((path for path in sorted(self.folder.glob("*.csv")) if _holds(path, text)), None)
        if path is None:
            path = self.folder / f"{len(self.tables) + 1:02d}-{_slug(table.title)}.csv"
            write_text(path, text)
        self.tables.append({"title": table.title, "file": path.name, "rows": len(table.rows)})
        return table


Tell = Callable[[Iterable[Diagnostic]], None]


def known_studies(tell: Tell = lambda _: None) -> Mapping[str, Experiment]:
    """The studies of all families by name; why a family of somebody else cannot be read is told."""
    found: dict[str, Experiment] = {}
    for kind in family_names():
        try:
            named = family(kind)
        except MrdslError as broken:
            tell(broken.diagnostics)
            continue
        found.update({study.name: study for study in (named.experiments if named is not None else ())})
    return found


def study_named(name: str, tell: Tell = lambda _: None) -> Experiment:
    """The study of a name. Raises MrdslError ``unknown-experiment``."""
    known = known_studies(tell)
    if name not in known:
        hint = did_you_mean(name, known, "studies: ")
        raise MrdslError([error("unknown-experiment", f"there is no study `{name}`", None, hint)])
    return known[name]


def settled(study: Experiment, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a study with what is given, as values or as texts. Raises MrdslError ``wrong-option``."""
    values = {option: default for option, (default, _) in study.options.items()}
    for option, value in given.items():
        if option not in values:
            message = f"the study `{study.name}` has no option `{option}`"
            hint = did_you_mean(option, values, "options: ") or "it has none"
            raise MrdslError([error("wrong-option", message, None, hint)])
        default = values[option]
        try:
            values[option] = value if default is None or isinstance(default, str) else type(default)(value)
        except (TypeError, ValueError):
            hint = f"write it like `--set {option}={default}`"
            raise MrdslError([error("wrong-option", f"`{value}` is no value for `{option}`", None, hint)]) from None
    return values


def run_study(study: Experiment, folder: Path, bench: Bench, options: Mapping[str, Any]) -> Iterator[Table]:
    """Runs a study into a folder that is there, and hands on its tables as they come.

    Each is a CSV file when it is handed on. ``manifest.json`` stands there at the end, also of a run that was stopped,
    which it says.
    """
    written = _Written(folder)
    started, clock = datetime.now(UTC), time.monotonic()
    complete = False
    try:
        tables = iter(study.run(folder, bench, **options))
        while True:
            with work(f"{study.name}, table {len(written.tables) + 1}"):
                table = next(tables, None)
            if table is None:
                break
            yield written.keep(table)
        complete = True
    finally:
        manifest = {
            "format": 1,
            "study": study.name,
            "doc": study.doc,
            "options": dict(options),
            "seed": options.get("seed"),
            "mrdsl": __version__,
            "python": platform.python_version(),
            "time": started.isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - clock, 3),
            "complete": complete,
            "tables": written.tables,
            "files": [_file(path, folder) for path in sorted(folder.rglob("*")) if _is_of_the_study(path)],
        }
        write_text(folder / MANIFEST, json_printable(json.dumps(manifest, indent=2, ensure_ascii=False)) + "\n")


def _holds(path: Path, text: str) -> bool:
    return path.stat().st_size == len(text.encode()) and path.read_bytes() == text.encode()


def _slug(title: str) -> str:
    """A title as a part of a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:_LONGEST].rstrip("-") or "table"


def _is_of_the_study(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.name not in (LOCK, MANIFEST)


def _file(path: Path, folder: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {"name": str(path.relative_to(folder)), "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
