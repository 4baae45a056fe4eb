"""Runs of a sweep: its axes, one cell for each combination of values, the row of each run, and its report.

Tables of finished sweeps are read again to draw them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from itertools import product
from math import isfinite
from pathlib import Path
from typing import Any

from mrdsl.core.charts import BarChart, Chart, LineChart, Series
from mrdsl.core.csv_text import csv_rows
from mrdsl.core.diagnostics import Diagnostic, MrdslError, Span, number_of, one_error
from mrdsl.core.result import Limits, Result, Table, Termination
from mrdsl.core.rounding import PROVEN
from mrdsl.core.tables import cell_text
from mrdsl.exchange.text import FormatError, read_text
from mrdsl.reporting.document import figures
from mrdsl.reporting.report import Report, Section, repeated
from mrdsl.spec.declared import LARGEST_WHOLE
from mrdsl.spec.spec import Spec

MOST = 1_000_000
_QUANTITY = re.compile(r"\s*([-+]?[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)\s*(.*?)\s*")


@dataclass(frozen=True)
class Axis:
    """A parameter and its values, each as one would write it after ``-D``; ``span`` is its head in a table of cases."""

    name: str
    values: tuple[str, ...]
    span: Span | None = None

    @property
    def unit(self) -> str | None:
        """The common unit of all values: "" if all are plain numbers, None if some are not numbers."""
        found = {
            match[2] if (match := _QUANTITY.fullmatch(value)) and isfinite(float(match[1])) else None
            for value in self.values
        }
        return found.pop() if len(found) == 1 else None

    @property
    def head(self) -> str:
        """The column's head: the parameter's name, with the unit that all values have."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name

    @property
    def shown(self) -> tuple[str | float, ...]:
        """The values as the table has them: numbers, unless they are words or differ in their units."""
        if self.unit is None:
            return self.values
        return tuple(_number(match[1]) for value in self.values if (match := _QUANTITY.fullmatch(value)))


def parse_axis(text: str) -> Axis:
    """``peak=0.8:1.4:0.1`` (the end included), ``scale=1,2``, ``deadline=10 min:20 min:5 min``.

    Raises MrdslError ``wrong-option``.
    """
    name, equals, values = text.partition("=")
    name = name.strip()
    if not equals or not name.isidentifier() or not values.strip():
        raise _wrong(f"--over {text}", "for example, `--over peak=0.8:1.4:0.1` or `--over scale=1,2`")
    parts = values.split(":")
    if len(parts) == 1:
        listed = [value.strip() for value in values.split(",")]
        if not all(listed):
            raise _wrong(f"--over {text}", "a value between two commas is missing")
        return Axis(name, tuple(dict.fromkeys(listed)))
    if len(parts) != 3:
        raise _wrong(f"--over {text}", "write FIRST:LAST:STEP")
    return Axis(name, _steps(text, parts))


def axis_of(name: str, values: str | Iterable[float | str]) -> Axis:
    """Return an axis from Python: values, or the text that ``--over`` takes after the name.

    Raises MrdslError ``wrong-option``.
    """
    if isinstance(values, str):
        return parse_axis(f"{name}={values}")
    listed = tuple(dict.fromkeys(value_text(value) for value in values))
    if not name.isidentifier() or not listed:
        raise _wrong(f"{name}: {', '.join(listed)}", "expected the name of a param and at least one value")
    return Axis(name, listed)


def value_text(value: float | str) -> str:
    """Return a value from Python as one would write it after ``-D``."""
    return value if isinstance(value, str) else repr(float(value)).removesuffix(".0")


def _steps(text: str, parts: list[str]) -> tuple[str, ...]:
    matches = [_QUANTITY.fullmatch(part) for part in parts]
    if not all(matches):
        raise _wrong(f"--over {text}", "first, last and step must be numbers with the same unit, or without one")
    units = {match[2] for match in matches if match and match[2]}
    try:
        first, last, step = (Decimal(match[1].replace("_", "")) for match in matches if match)
    except InvalidOperation:
        raise _wrong(f"--over {text}", "first, last and step must be numbers") from None
    if len(units) > 1:
        raise _wrong(f"--over {text}", f"use one unit, not {' and '.join(sorted(units))}")
    if step == 0 or (last - first) / step < 0:
        raise _wrong(f"--over {text}", "the step leads away from the last value")
    if (last - first) / step >= MOST:
        raise _wrong(f"--over {text}", f"more than {MOST:,} values")
    count = int((last - first) / step) + 1
    unit = "".join(f" {unit}" for unit in units)
    return tuple(f"{_plain(first + i * step)}{unit}" for i in range(count))


def _number(text: str) -> float:
    """Whole numbers as such, so that they are printed as they were written."""
    value = Decimal(text.replace("_", ""))
    return int(value) if value == value.to_integral_value() and abs(value) <= LARGEST_WHOLE else float(value)


def _plain(value: Decimal) -> str:
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def parse_seeds(text: str) -> tuple[int, ...]:
    """``1..10`` or ``1,2,7``. Raises MrdslError ``wrong-option``."""
    try:
        if not text.isascii():
            raise ValueError
        if ".." in text:
            first, last = (int(part) for part in text.split(".."))
            seeds = tuple(range(first, last + 1)) if last - first < MOST else ()
        else:
            seeds = tuple(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        seeds = ()
    if not seeds or min(seeds) < 0 or len(seeds) > MOST:
        raise _wrong(f"--seeds {text}", "for example, `--seeds 1..10` or `--seeds 1,2,7`")
    return seeds


def seeds_of(seeds: str | Iterable[int]) -> tuple[int, ...]:
    """Return seeds from Python, or as the text that ``--seeds`` takes; none for no seeds. Raises MrdslError."""
    if isinstance(seeds, str):
        return parse_seeds(seeds)
    listed = tuple(dict.fromkeys(seeds))
    return parse_seeds(",".join(str(seed) for seed in listed)) if listed else ()


def _wrong(what: str, hint: str) -> MrdslError:
    return one_error("wrong-option", f"invalid value `{what}`", None, hint)


def findings(spec: Spec, result: Result) -> dict[str, Any]:
    """Return the columns that a result fills: ``plan.NAME`` are the family's quantities, and the plan's own numbers."""
    from mrdsl.families.diagnosis import find_family

    return {
        "termination": str(result.termination),
        "solution": str(result.solution),
        "value": result.objective.value,
        "bound": result.objective.bound,
        "gap": result.objective.gap,
        "unit": result.objective.unit,
        "solver": result.solver["name"],
        "formulation": result.formulation,
        **_quantities(spec, find_family(spec), result.plan),
        **{f"plan.{name}": value for name, value in figures(result.plan).items()},
        "seconds": round(sum(result.seconds.values()), 6),
        "message": "" if result.plan is not None else first_message(result.diagnostics),
    }


def nothing(message: str) -> dict[str, Any]:
    """Return the columns of a run without a plan, with the reason."""
    return {"termination": "error", "solution": "none", "message": message}


def first_message(diagnostics: Iterable[Diagnostic]) -> str:
    """Return the first mistake in words, or ""."""
    return next((d.message for d in diagnostics if d.severity == "error"), "")


def _quantities(spec: Any, family: Any, plan: Any) -> dict[str, float | None]:
    """Return the plan's own quantities that need no argument, in the family's order."""
    if family.quantity is None:
        return {}
    measure = family.quantity
    names = [kind.name for kind in family.quantities if not kind.needs_argument]
    return {f"plan.{name}": None if plan is None else float(measure(spec, plan, name, "")) for name in names}


@dataclass(frozen=True)
class Setting:
    """The common settings of all runs of a sweep: the spec's file and the method."""

    file: str
    solver: str = "auto"
    formulation: str | None = None
    relax: bool = False
    limits: Limits = field(default_factory=Limits)
    outside: bool = False
    defines: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """One run: its number in the sweep's order, its parameter values as written, and its seed.

    ``shown`` are the values as the table has them, by its heads.
    """

    number: int
    parameters: Mapping[str, str]
    seed: int | None
    shown: Mapping[str, str | float] = field(default_factory=dict)


def cells(axes: Sequence[Axis], seeds: Sequence[int] = (), cases: Sequence[Axis] = ()) -> list[Cell]:
    """Return every combination of cases, axes and seeds, the last running fastest; values of a case stay together."""
    groups = [*([cases] if cases else []), *([axis] for axis in axes)]
    written = product(*(zip(*(_values(axis) for axis in group), strict=True) for group in groups))
    return [
        Cell(
            number,
            {name: value for values in chosen for name, value, _, _ in values},
            seed,
            {head: shown for values in chosen for _, _, head, shown in values},
        )
        for number, (chosen, seed) in enumerate(product(written, seeds or (None,)), 1)
    ]


def _values(axis: Axis) -> Iterable[tuple[str, str, str, str | float]]:
    head = axis.head
    return ((axis.name, value, head, shown) for value, shown in zip(axis.values, axis.shown, strict=True))


@dataclass(frozen=True)
class SweepRun:
    """One run of a sweep with all that it needs, wherever it is run."""

    setting: Setting
    cell: Cell

    @property
    def number(self) -> int:
        """Its number in the sweep's order."""
        return self.cell.number

    def row(self) -> dict[str, Any]:
        """Return the row of the run; errors make a row too."""
        return run_cell(self.setting, self.cell)

    def lost(self, message: str) -> dict[str, Any]:
        """Return the row of a run without a plan, with the reason."""
        return {**_named(self.cell), **nothing(message)}


def run_cell(setting: Setting, cell: Cell) -> dict[str, Any]:
    """Return one run as a flat row; whatever goes wrong is a row too."""
    from mrdsl.language.loading import load_file
    from mrdsl.planning.solve_spec import solve

    try:
        loaded = load_file(
            setting.file, {**setting.defines, **cell.parameters}, seed=cell.seed, outside=setting.outside
        )
        if loaded.spec is None:
            raise MrdslError(loaded.diagnostics)
        result = solve(loaded.spec, setting.solver, setting.formulation, setting.relax, setting.limits)
        if result.termination is Termination.INTERRUPTED:
            raise KeyboardInterrupt  # the whole sweep is meant, not this run
        return {**_named(cell), **findings(loaded.spec, result)}
    except MrdslError as failure:
        return {**_named(cell), **nothing(first_message(failure.diagnostics))}


def _named(cell: Cell) -> dict[str, Any]:
    """Return the columns that identify a run: its number, its values and its seed."""
    return {"run": cell.number, **cell.shown, "seed": cell.seed}


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
