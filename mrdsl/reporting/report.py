"""A report as a value: the decision, then sections of sentences, tables, charts and the spec's text.

:mod:`mrdsl.reporting.page` and :mod:`mrdsl.reporting.markdown` write it down.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from mrdsl.core.charts import Chart
from mrdsl.core.diagnostics import Diagnostic
from mrdsl.core.result import Table
from mrdsl.core.version import __version__


@dataclass(frozen=True)
class Listing:
    """A text with line numbers; ``marks`` says of some lines what is to be said of them."""

    name: str
    text: str
    marks: Mapping[int, Sequence[str]] = field(default_factory=dict)


Part = str | Table | Chart | Listing


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Report:
    """The whole: ``decision`` is one sentence, "" where nothing is decided; ``proof`` how sure it is and by whom."""

    title: str
    decision: str
    proof: str
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Shown:
    """What a family has its reports say of a plan beyond its tables.

    ``decision`` is one sentence, what to do and what comes of it; ``charts`` are cost splits, deadlines beside
    estimates, machines; ``assumptions`` are premises of the numbers that the spec does not say.
    """

    decision: str
    charts: tuple[Chart, ...] = ()
    assumptions: tuple[str, ...] = ()


def repeated(command: str, more: Mapping[str, object] = MappingProxyType({})) -> Section:
    """What is needed to have the same again: the command, versions, and what else there is."""
    known = {"command": command, "mrdsl": __version__, "Python": platform.python_version(), **more}
    rows = [(name, str(value)) for name, value in known.items() if value not in (None, "")]
    return Section("To repeat it", (Table("", ("what", "value"), rows),))


def told(diagnostics: Iterable[Diagnostic]) -> Table:
    """Diagnostics as a table: what, where, and what to do."""
    rows = [(str(one.severity), one.message, one.place, one.hint) for one in diagnostics]
    return Table("", ("", "what", "where", "what to do"), rows)


def marks(diagnostics: Iterable[Diagnostic], file: str) -> dict[int, list[str]]:
    """What diagnostics say of the lines of one file."""
    rows: dict[int, list[str]] = {}
    for one in diagnostics:
        if one.span is not None and one.span.file == file:
            rows.setdefault(one.span.line, []).append(f"{one.severity}: {one.message}")
    return rows
