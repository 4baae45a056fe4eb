"""What a study found as a report: its charts, then its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mrdsl.core.charts import Chart
from mrdsl.core.result import Table
from mrdsl.reporting.report import Report, Section, repeated


def study_report(
    name: str, doc: str, charts: Sequence[Chart], tables: Sequence[Table], options: Mapping[str, Any], command: str
) -> Report:
    """The study's own question stands in the place of a decision."""
    sections = (
        Section("Charts", tuple(charts)),
        Section("Tables", tuple(tables)),
        repeated(command, {f"option {option}": value for option, value in options.items()}),
    )
    drawn = f"{len(charts)} charts, {len(tables)} tables."
    question = f"{doc[:1].upper()}{doc[1:]}"
    asked = question if question.endswith((".", "?", "!")) else f"{question}."
    return Report(f"Study {name}", asked, drawn, tuple(s for s in sections if s.parts))
