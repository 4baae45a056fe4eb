"""A sweep as charts and as a report: the goal over its first axis, a line per combination of the others.

Tables of finished sweeps are read again to draw them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mrdsl.core.charts import BarChart, Chart, LineChart, Series
from mrdsl.core.csv_text import csv_rows
from mrdsl.core.diagnostics import number_of, one_error
from mrdsl.core.result import Table
from mrdsl.core.rounding import PROVEN
from mrdsl.core.tables import cell_text
from mrdsl.exchange.text import FormatError, read_text
from mrdsl.reporting.report import Report, Section, repeated

Row = Mapping[str, Any]
Rows = list[dict[str, Any]]
GOAL = "value"


def sweep_chart(rows: Sequence[Row], heads: Sequence[str], title: str) -> Chart:
    """Return the objective over the first of ``heads``, the columns of the axes, or over the seeds.

    Runs that differ only in their seeds are one point, their mean, within a band from the smallest to the largest.
    Cases with a first value each are one line.
    """
    first, *others = heads or ("seed",)
    if len({row.get(first) for row in rows}) == len(rows):
        others = []
    unit = next((row["unit"] for row in rows if row.get("unit")), "")
    label = f"goal [{unit}]" if unit else "goal"
    places = list(dict.fromkeys(row.get(first) for row in rows))
    lines: dict[str, dict[Any, list[float]]] = {}
    for row in rows:
        name = ", ".join(_at(head, row.get(head)) for head in others) or label
        values = lines.setdefault(name, {}).setdefault(row.get(first), [])
        if row.get(GOAL) is not None:
            values.append(float(row[GOAL]))
    if all(isinstance(place, int | float) for place in places):
        found = sorted(place for place in places if place is not None)
        return LineChart(title, first, label, tuple(_line(name, found, at) for name, at in lines.items()))
    means = {name: [_mean(at.get(place, [])) for place in places] for name, at in lines.items()}
    return BarChart(title, tuple(cell_text(place) for place in places), means, first, label)


def changed_columns(rows: Sequence[Row]) -> list[str]:
    """Return the columns of the changed params: those between ``run`` and ``seed``."""
    heads = [name for name in (rows[0] if rows else ()) if name != "run"]
    return heads[: heads.index("seed")] if "seed" in heads else heads


MOST_ROWS = 50
"""Rows of a sweep that its command prints."""


def sweep_table(rows: Sequence[Row], heads: Sequence[str]) -> Table:
    """Return the first runs of a sweep: what was changed, the objective, and the VMs of each type."""
    unit = next((row["unit"] for row in rows if row.get("unit")), "")
    named = {**{head: head for head in heads}, "seed": "seed", GOAL: f"goal [{unit}]" if unit else "goal"}
    named |= {"termination": "termination", "gap": "gap"}
    vms = (key for row in rows for key in row if key.startswith("plan.vms."))
    named |= {key: " ".join(key.removeprefix("plan.vms.").rsplit(".", 1)) for key in vms}
    named["message"] = "message"
    rows = [{**row, "gap": None if (row.get("gap") or 0.0) <= PROVEN else row["gap"]} for row in rows]
    shown = [key for key in named if key in heads or any(row.get(key) not in (None, "", 0) for row in rows)]
    cells = [tuple(row.get(key) for key in shown) for row in rows[:MOST_ROWS]]
    return Table("Runs", tuple(named[key] for key in shown), cells)


def _line(name: str, places: Sequence[float], at: Mapping[Any, Sequence[float]]) -> Series:
    values = [at.get(place, ()) for place in places]
    means = [_mean(each) for each in values]
    if all(len(each) < 2 for each in values):
        return Series(name, list(places), means)
    nothing = float("nan")
    low, high = ([pick(each) if each else nothing for each in values] for pick in (min, max))
    return Series(name, list(places), means, low, high)


def _at(head: str, value: Any) -> str:
    """``deadline [min]`` and 16 as ``deadline 16 min``."""
    name, _, unit = head.partition(" [")
    return f"{name} {cell_text(value)} {unit.rstrip(']')}".rstrip()


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def sweep_report(rows: Sequence[Row], heads: Sequence[str], file: str, command: str) -> Report:
    """Return the report on the results of the runs, and on runs without a result."""
    known = [row for row in rows if row.get(GOAL) is not None]
    columns = tuple(dict.fromkeys(key for row in rows for key in row if key != "seconds"))
    table = Table("", columns, [tuple(row.get(key) for key in columns) for row in rows])
    lost = [row for row in rows if row.get(GOAL) is None]
    sections = (
        Section("At a glance", (sweep_chart(rows, heads, "Objective over the changed values"),) if known else ()),
        Section("Runs", (table,)),
        repeated(command),
    )
    runs = number_of(len(rows), "run", ",")
    proof = f"{runs}; {len(lost):,} without a plan." if lost else f"{runs}, each with a plan."
    shown = tuple(section for section in sections if section.parts)
    return Report(f"Sweep of {Path(file).name}", _decision(known, heads), proof, shown)


def _decision(known: Sequence[Row], heads: Sequence[str]) -> str:
    if not known:
        return "No run has a plan."
    ends = [pick(known, key=lambda row: row[GOAL]) for pick in (min, max)]
    told = [
        f"{cell_text(float(row[GOAL]))} {row.get('unit') or ''}".strip()
        + " ("
        + ", ".join(_at(head, row.get(head)) for head in (heads or ("seed",)))
        + ")"
        for row in ends
    ]
    return f"The objective lies between {told[0]} and {told[1]}."


def rows_in(path: Path) -> Rows:
    """Return the runs in a table that ``mrdsl sweep`` wrote.

    Raises:
        MrdslError: ``unreadable-file`` for any other file; ``missing-extra`` for Parquet without pyarrow.
    """
    try:
        rows = _READERS[path.suffix.lower()](path)
        if not rows or not all({"run", "termination"} <= set(row) for row in rows):
            raise FormatError("it has no columns `run` and `termination`")
        return [_checked(row) for row in rows]
    except (ValueError, OSError) as problem:  # of CSV, JSON and Parquet
        reason = str(problem) if isinstance(problem, FormatError) else "it is not a table"
        hint = "pass the table that `mrdsl sweep -o` wrote"
        raise one_error("unreadable-file", f"`{path}` cannot be read: {reason}", None, hint) from None


def _checked(row: Mapping[str, Any]) -> dict[str, Any]:
    if row.get(GOAL) is not None and not isinstance(row[GOAL], int | float):
        raise FormatError(f"run {row['run']} has a value that is not a number")
    return dict(row)


def _csv(path: Path) -> Rows:
    lines = [row for _, row in csv_rows(read_text(path).splitlines())]
    heads, rows = (lines[0], lines[1:]) if lines else ([], [])
    return [dict(zip(heads, map(_cell, row), strict=True)) for row in rows]


def _cell(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or None


def _json_lines(path: Path) -> Rows:
    return [dict(json.loads(line)) for line in read_text(path).splitlines()]


def _parquet(path: Path) -> Rows:
    try:
        from pyarrow import parquet
    except ImportError:
        hint = "pip install pyarrow, or pass a table in .csv or .jsonl"
        raise one_error("missing-extra", "Parquet needs the package pyarrow", None, hint, exit_code=3) from None
    rows: Rows = parquet.read_table(path).to_pylist()
    return rows


_READERS: Mapping[str, Callable[[Path], Rows]] = {".csv": _csv, ".jsonl": _json_lines, ".parquet": _parquet}
