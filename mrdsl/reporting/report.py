"""Reports as values: the decision, then sections of sentences, tables, charts and the spec's text.

:mod:`mrdsl.reporting.report_files` writes them.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from mrdsl.core.charts import Chart, Graph, GraphNode
from mrdsl.core.diagnostics import Diagnostic, number_of
from mrdsl.core.result import Table
from mrdsl.core.version import __version__
from mrdsl.formulas.stages import longest_path, parents_of
from mrdsl.spec.blocks import Stage


@dataclass(frozen=True)
class Listing:
    """A text with line numbers; ``marks`` are remarks on some lines."""

    name: str
    text: str
    marks: Mapping[int, Sequence[str]] = field(default_factory=dict)


Part = str | Table | Chart | Listing


@dataclass(frozen=True)
class Section:
    """A heading and its contents."""

    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Report:
    """A report: ``decision`` is one sentence, "" without a decision; ``proof`` is its certainty and source."""

    title: str
    decision: str
    proof: str
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Shown:
    """The contribution of a family to the report on a plan, beyond its tables.

    ``decision`` is one sentence: the action and its outcome. ``charts`` are cost splits, deadlines and estimates,
    machines. ``assumptions`` are premises of the numbers that are not in the spec.
    """

    decision: str
    charts: tuple[Chart, ...] = ()
    assumptions: tuple[str, ...] = ()


def repeated(command: str, more: Mapping[str, object] = MappingProxyType({})) -> Section:
    """Return the section on how to repeat the report: the command, versions, and further inputs."""
    known = {"command": command, "mrdsl": __version__, "Python": platform.python_version(), **more}
    rows = [(name, str(value)) for name, value in known.items() if value not in (None, "")]
    return Section("To repeat it", (Table("", ("what", "value"), rows),))


def told(diagnostics: Iterable[Diagnostic]) -> Table:
    """Return diagnostics as a table: the message, the place, and the hint."""
    rows = [(str(one.severity), one.message, one.place, one.hint) for one in diagnostics]
    return Table("", ("", "what", "where", "what to do"), rows)


def marks(diagnostics: Iterable[Diagnostic], file: str) -> dict[int, list[str]]:
    """Return the remarks of diagnostics on the lines of one file."""
    rows: dict[int, list[str]] = {}
    for one in diagnostics:
        if one.span is not None and one.span.file == file:
            rows.setdefault(one.span.line, []).append(f"{one.severity}: {one.message}")
    return rows


DRAWN = 400
"""Most stages in a chart."""


def stage_graph(dags: Mapping[str, tuple[Stage, ...]], title: str) -> Graph | None:
    """Return each class's stages: tasks and times, filled by the stage's part of its class's work.

    The critical path of longest tasks has strong borders. It is None without stages, or for more than 400.
    """
    if not 0 < sum(map(len, dags.values())) <= DRAWN:
        return None
    nodes: list[GraphNode] = []
    edges: list[tuple[str, str]] = []
    for name, stages in dags.items():
        parents = parents_of(stages)
        critical = set(longest_path(parents, [stage.max for stage in stages]))
        work = sum(stage.width * stage.avg for stage in stages)
        keys = [f"{name}/{number}" for number in range(len(stages))]
        nodes += [
            GraphNode(
                keys[number],
                stage.name if len(dags) == 1 else f"{name}: {stage.name}",
                (number_of(stage.tasks, "task"), f"{stage.avg:.4g} s, at most {stage.max:.4g} s"),
                kind=name,
                share=stage.width * stage.avg / work,
                marked=number in critical,
            )
            for number, stage in enumerate(stages)
        ]
        edges += [(keys[before], keys[number]) for number, others in enumerate(parents) for before in others]
    return Graph(title, tuple(nodes), tuple(edges))
