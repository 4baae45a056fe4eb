"""Files of results: plans as charts, runs event by event, metrics, and rows as CSV, JSON lines or Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import IO, Any

from mrdsl.core.charts import GanttChart
from mrdsl.core.csv_text import csv_text
from mrdsl.core.diagnostics import printable
from mrdsl.core.result import Result
from mrdsl.reporting.document import figures
from mrdsl.reporting.report_files import chart_bytes

Rows = Sequence[Mapping[str, Any]]


def as_csv(stream: IO[bytes], columns: Sequence[str], rows: Rows) -> None:
    """A value that a row lacks is an empty cell."""
    stream.write(csv_text(columns, ([row.get(c) for c in columns] for row in rows)).encode())


def as_json_lines(stream: IO[bytes], columns: Sequence[str], rows: Rows) -> None:
    """One object per row, with the values that it has."""
    stream.write("".join(json.dumps(row) + "\n" for row in rows).encode())


def as_parquet(stream: IO[bytes], columns: Sequence[str], rows: Rows) -> None:
    """A value that a row lacks is null; a column without values is one of numbers that are not there. Needs pyarrow."""
    import pyarrow
    import pyarrow.parquet

    made = {c: pyarrow.array([row.get(c) for row in rows]) for c in columns}
    empty = [c for c, column in made.items() if column.null_count == len(column)]
    made |= {c: made[c].cast(pyarrow.float64()) for c in empty}
    pyarrow.parquet.write_table(pyarrow.table(made), stream)


class NothingToWriteError(Exception):
    """An error for a plan without the contents of the file; ``what`` is missing, because it ``lacks`` that."""

    def __init__(self, what: str, lacks: str) -> None:
        super().__init__(f"{what}: the plan has {lacks}")
        self.what, self.lacks = what, lacks


def gantt_chart(result: Result, path: Path) -> bytes:
    """Return the plan's bars over time, drawn as the name of the file ends."""
    bars = result.plan.bars() if result.plan is not None else ()
    if not bars:
        raise NothingToWriteError("no Gantt chart", "no times to draw")
    return chart_bytes(path, GanttChart(result.title, bars))


def graph(result: Result, path: Path) -> bytes:
    """Return the plan's tasks and their order, drawn as the name of the file ends."""
    drawn = result.plan.graph(result.title) if result.plan is not None else None
    if drawn is None:
        raise NothingToWriteError("no graph", "no order of tasks to draw")
    return chart_bytes(path, drawn)


def trace(result: Result, path: Path) -> bytes:
    """Return the events of a run as CSV, whatever the name of the file."""
    events = result.plan.trace() if result.plan is not None else None
    rows = [] if events is None else list(events.rows)
    if events is None or not rows:
        raise NothingToWriteError("no trace", "no events")
    return csv_text(events.columns, rows).encode()


Sample = tuple[Mapping[str, str], float]


def prometheus(result: Result, path: Path) -> bytes:
    """Return the metrics of a result in the text format of Prometheus, for its node exporter's textfile collector."""
    objective, common = result.objective, {"problem": result.problem, "title": result.title}
    goal = {**common, "quantity": objective.quantity, "unit": objective.unit}
    numbers = {"objective": objective.value, "bound": objective.bound, "gap": objective.gap}
    words = {
        "objective": "Value of the objective.",
        "bound": "Proven bound on the objective.",
        "gap": "Relative gap between value and bound.",
    }
    lines = list(_metric("has_plan", "1 if the solve has a plan.", [(common, float(result.plan is not None))]))
    for name, value in numbers.items():
        if value is not None:
            lines += _metric(name, words[name], [(goal, value)])
    taken = [({**common, "stage": stage}, value) for stage, value in result.seconds.items()]
    lines += _metric("stage_seconds", "Time of each stage of the solve.", taken)
    plan = [({**common, "quantity": name}, float(value)) for name, value in figures(result.plan).items()]
    lines += _metric("plan", "Number of the plan, such as vms.m5.on_demand.", plan)
    outcomes = result.plan.outcomes() if result.plan is not None else {}
    met = [({**common, "name": name, "outcome": str(outcome)}, 1.0) for name, outcome in outcomes.items()]
    lines += _metric("outcome", "Outcome of the simulated runs for a class or job.", met)
    return "".join(f"{line}\n" for line in lines).encode()


def _metric(name: str, what: str, samples: Sequence[Sample]) -> Iterator[str]:
    shown = [(labels, value) for labels, value in samples if isfinite(value)]
    if shown:
        yield f"# HELP mrdsl_{name} {what}"
        yield f"# TYPE mrdsl_{name} gauge"
    for labels, value in shown:
        named = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        yield f"mrdsl_{name}{{{named}}} {value!r}"


def _escaped(text: str) -> str:
    return printable(text.replace("\\", "\\\\").replace('"', '\\"'))
