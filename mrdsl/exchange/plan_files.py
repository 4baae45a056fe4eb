"""Files of one result: the plan drawn over time or as a graph, and a run event by event."""

from __future__ import annotations

from pathlib import Path

from mrdsl.core.charts import GanttChart
from mrdsl.core.csv_text import csv_text
from mrdsl.core.result import Result
from mrdsl.reporting.chart_files import chart_bytes


class NothingToWriteError(Exception):
    """The plan has not what the file would show; ``what`` is missing as it ``lacks`` that, both in words."""

    def __init__(self, what: str, lacks: str) -> None:
        super().__init__(f"{what}: the plan has {lacks}")
        self.what, self.lacks = what, lacks


def gantt_chart(result: Result, path: Path) -> bytes:
    """The plan's bars over time, drawn as the name of the file ends."""
    bars = result.plan.bars() if result.plan is not None else ()
    if not bars:
        raise NothingToWriteError("no Gantt chart", "nothing to draw over time")
    return chart_bytes(path, GanttChart(result.title, bars))


def graph(result: Result, path: Path) -> bytes:
    """The plan's tasks and their order, drawn as the name of the file ends."""
    drawn = result.plan.graph(result.title) if result.plan is not None else None
    if drawn is None:
        raise NothingToWriteError("no graph", "no order of tasks to draw")
    return chart_bytes(path, drawn)


def trace(result: Result, path: Path) -> bytes:
    """The events of a run as CSV, whatever the name of the file."""
    events = result.plan.trace() if result.plan is not None else None
    rows = [] if events is None else list(events.rows)
    if events is None or not rows:
        raise NothingToWriteError("no trace", "no events")
    return csv_text(events.columns, rows).encode()
