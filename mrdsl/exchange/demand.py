"""Tables of tasks with their time and energy, and demand tables: one row per period.

    hour, recommendations, checkout [1/s], search [1/min]
    0,    4.5,             310,            21000

The values are jobs per period for a class, and requests per second, or per the time in brackets, for a service. A
family may read numbers such as ``factor`` and ``weight`` from columns too. A column ``hour``, ``time`` or ``period`` is
for the reader; other unknown columns are reported.

A table of tasks:

    kind, task, vm, time [s], energy [J]
    map,  1,    m5, 12.5,     310
    map,  1,    c5, 9,        360

Tasks of a kind are numbered from 1. Times are in seconds and energies in joules, unless the header names other units.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.core import units
from mrdsl.core.diagnostics import Diagnostic, Related, Span, did_you_mean, error, number_of, warning
from mrdsl.exchange.cells import CellReader, RawTable, read_raw, unreadable
from mrdsl.exchange.text import Mistakes
from mrdsl.spec.scaling import factors_in, factors_of
from mrdsl.spec.schema import Source

COLUMN = "column"
"""The word of a column that is neither a class nor a service."""
PRICE = "price"
"""The word of a column of prices, per hour unless its unit names another time."""
PERCENT = "%"
FOR_THE_READER = frozenset({"hour", "time", "period", "date"})
MAX_REPORTED_ROWS = 5
_HEADER = re.compile(r"^\s*(?P<name>.*?)\s*(\[(?P<unit>[^\[\]]*)\])?\s*$")
_RATE = re.compile(r"^(1|requests?)?\s*/\s*(?P<time>\w+)$")


@dataclass(frozen=True)
class Wanted:
    """One column of the table: a class's jobs per period, a service's rate, or a number that a family reads.

    ``place`` is the declaration of the class or service in the spec. A column that is ``optional`` may be absent; its
    values are then NaN. ``currency`` is that of a column of prices, ``share`` allows one of percent too.
    """

    word: str
    name: str
    place: Span | None
    optional: bool = False
    currency: str = ""
    share: bool = False

    @property
    def is_rate(self) -> bool:
        return self.word == "service"

    @property
    def replaced(self) -> tuple[str, ...]:
        """The path of the number of the spec that the column replaces, and no path without one."""
        if self.word == PRICE:
            vm, _, way = self.name.rpartition(" ")
            return ("vm", vm, way) if self.share else ("vm", vm, way, "price")
        return () if self.word == COLUMN else (self.word, self.name, "rate" if self.is_rate else "jobs")


def columns_of(source: Source, shown: str = "") -> dict[str, str | None]:
    """Return the names of the columns of a table with their units; none if it cannot be read."""
    try:
        raw = read_raw(source, shown or source.written)
    except (OSError, ValueError):
        return {}
    return dict(_head(cell, {}) for cell in raw.header)


def read_demand(
    source: Source, wanted: Sequence[Wanted], periods: int, periods_place: Span | None = None, shown: str = ""
) -> tuple[NDArray[np.float64], tuple[Diagnostic, ...]]:
    """Return the table's demand, shape (periods, wanted), in SI, and all mistakes in the table.

    The array is complete only if no diagnostic is an error. Negative demand, a missing column, another number of rows
    than ``periods``, and cells that are not numbers are each reported at their cell, row or header. ``shown`` is the
    table's name in messages.
    """
    empty = np.full((periods, len(wanted)), np.nan)
    try:
        raw = read_raw(source, shown or source.written)
    except (OSError, ValueError) as problem:
        return empty, (unreadable(source, problem, shown),)
    report = Mistakes()
    columns = _columns(raw, wanted, report)
    if raw.rows != periods:
        report.add(_wrong_length(raw, periods, periods_place))
    reader = CellReader(raw, report)
    numbers = reader.numbers([column for _, column, _ in columns], [True] * len(columns))
    for (which, column, factor), values in zip(columns, numbers, strict=True):
        _negative(raw, column, wanted[which], values, report)
        if raw.rows == periods:
            empty[:, which] = units.scaled(values, factor)
    return empty, tuple(report.found)


def unscaled_columns(
    source: Source, wanted: Sequence[Wanted], given: Mapping[str, Any], shown: str
) -> Iterator[Diagnostic]:
    """Yield a warning for each factor of ``--scale`` of numbers that the table has, which keep their values there."""
    kept: dict[str, list[str]] = {}
    there = columns_of(source, shown) if any(factors_in(given)) else {}
    for each in wanted:
        if each.name in there and each.replaced:
            for name in factors_of(given, each.replaced):
                kept.setdefault(name, []).append(each.name)
    for name, columns in kept.items():
        more = f" and {number_of(len(columns) - 1, 'more column')}" if len(columns) > 1 else ""
        yield warning(
            "unused",
            f"`--scale {name}` does not multiply column `{columns[0]}`{more} of `{shown}`",
            None,
            "multiply the numbers in the table",
        )


def _columns(raw: RawTable, wanted: Sequence[Wanted], report: Mistakes) -> list[tuple[int, int, float]]:
    """For every wanted column that is there: which it is, its place in the row, and its unit's factor."""
    places = {one.name: which for which, one in enumerate(wanted)}
    seen: dict[str, int] = {}
    columns = []
    for index, cell in enumerate(raw.header):
        name, unit = _head(cell, places)
        if name in places and name not in seen:
            factor = _factor(raw, index, wanted[places[name]], unit, report)
            columns.append((places[name], index, factor))
        elif name in seen:
            report.add(error("duplicate", f"`{name}` has two columns", raw.cell_span(-1, index), "keep one of them"))
        elif name.lower() not in FOR_THE_READER:
            report.add(
                warning(
                    "unknown-column",
                    f"there is no class or service `{name}`; the column is not read",
                    raw.cell_span(-1, index),
                    _hint(name, places),
                )
            )
        seen.setdefault(name, index)
    for one in wanted:
        if one.name not in seen and not one.optional:
            report.add(
                error(
                    "missing-column",
                    f"the table has no column for {one.word} `{one.name}`",
                    raw.header_span(),
                    f"add a column `{one.name}` with one number per period",
                    Related(f"{one.word} {one.name} is here", one.place),
                )
            )
    return columns


def _hint(name: str, places: dict[str, int]) -> str:
    near = get_close_matches(name, list(places), n=1)
    return f"did you mean `{near[0]}`?" if near else "leave the column out, or name it `hour` if it is for the reader"


def _head(cell: str, places: dict[str, int]) -> tuple[str, str | None]:
    """Return the column's name and its unit."""
    match = _HEADER.match(cell)
    if cell.strip() in places or match is None:
        return cell.strip(), None
    return match["name"], match["unit"]


def _factor(raw: RawTable, index: int, wanted: Wanted, unit: str | None, report: Mistakes) -> float:
    if wanted.word == PRICE:
        return _factor_of_price(raw, index, wanted, unit, report)
    if unit is None or (not wanted.is_rate and unit.strip() in ("jobs", "job", "")):
        return 1.0
    match = _RATE.match(unit.strip())
    time = units.UNITS.get(match["time"]) if match else None
    if wanted.is_rate and time is not None and time.dimension == units.TIME:
        return 1.0 / time.factor
    share = units.UNITS.get(unit.strip()) if wanted.word == COLUMN else None
    if share is not None and share.dimension == units.NUMBER:
        return share.factor
    hint = f"write `{wanted.name} [1/s]`" if wanted.is_rate else f"write `{wanted.name}`: jobs per period have no unit"
    what = "a rate" if wanted.is_rate else "a number of jobs"
    subject = f"the demand of {wanted.word} `{wanted.name}`"
    if wanted.word == COLUMN:
        subject, what, hint = f"column `{wanted.name}`", "a number", f"write `{wanted.name}` without a unit"
    report.add(
        error(
            "wrong-unit",
            f"{subject} is {what}, but `{unit}` is not",
            raw.cell_span(-1, index),
            hint,
        )
    )
    return 1.0


def _factor_of_price(raw: RawTable, index: int, wanted: Wanted, unit: str | None, report: Mistakes) -> float:
    if wanted.share and (unit or "").strip() == PERCENT:
        return units.UNITS[PERCENT].factor
    money, _, time = (unit or f"{wanted.currency}/h").partition("/")
    known = units.UNITS.get(time.strip())
    if money.strip() == wanted.currency and known is not None and known.dimension == units.TIME:
        return 1.0 / known.factor
    message = f"column `{wanted.name}` is a price of a VM, but `{unit}` is not"
    hint = f"write `{wanted.name} [{wanted.currency}/h]`" + f" or `{wanted.name} [{PERCENT}]`" * wanted.share
    report.add(error("wrong-unit", message, raw.cell_span(-1, index), hint))
    return 1.0


def _wrong_length(raw: RawTable, periods: int, place: Span | None) -> Diagnostic:
    longer = raw.rows > periods
    span = raw.span(periods) if longer else raw.span(max(raw.rows - 1, -1))
    said = f"the table has {number_of(raw.rows, 'row')} of demand, but the plan has {number_of(periods, 'period')}"
    return error(
        "wrong-length",
        said,
        span,
        f"give one row per period, or write `periods = {raw.rows}`",
        Related("the periods are stated here", place),
    )


def _negative(raw: RawTable, column: int, wanted: Wanted, values: NDArray[np.float64], report: Mistakes) -> None:
    subject, hint = f"the demand of `{wanted.name}`", "write 0 for no demand"
    if wanted.word in (COLUMN, PRICE):
        subject, hint = f"`{wanted.name}`", f"write a positive number, or remove the column `{wanted.name}`"
    rows = np.flatnonzero(values < 0)
    for row in rows[:MAX_REPORTED_ROWS].tolist():
        more = len(rows) - MAX_REPORTED_ROWS
        tail = f" ({number_of(more, 'more row')} alike)" if more > 0 and row == rows[MAX_REPORTED_ROWS - 1] else ""
        report.add(
            error(
                "out-of-range",
                f"{subject} is {values[row]:g} here, below 0{tail}",
                raw.cell_span(row, column),
                hint,
            )
        )


KINDS = ("map", "reduce")
COLUMNS = ("kind", "task", "vm", "time", "energy")
MOST_TOLD = 5
_TASK_HEADER = re.compile(r"^\s*(?P<name>\w+)\s*(\[(?P<unit>[^\[\]]*)\])?\s*$")
_UNITS = {"time": ("s", units.TIME), "energy": ("J", units.ENERGY)}
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TaskRow:
    """One task of a job on one VM type: its number of its kind, from 1, its time [s] and its energy [J]."""

    kind: str
    task: int
    vm: str
    time: float
    energy: float


def read_task_times(
    source: Source, counts: Mapping[str, int], vms: Sequence[str]
) -> tuple[tuple[TaskRow, ...], tuple[Diagnostic, ...]]:
    """Read a table of single tasks.

    Args:
        source: The table's file.
        counts: The number of tasks of the job, by kind.
        vms: The names of the VM types.

    Returns:
        The rows, none if something is wrong; and the mistakes, each at its cell.
    """
    try:
        raw = read_raw(source, source.written)
    except (OSError, ValueError) as problem:
        return (), (unreadable(source, problem),)
    report = Mistakes()
    places, factors = _task_columns(raw, report)
    if report.found:
        return (), tuple(report.found)
    reader = CellReader(raw, report)
    tasks, times, energies = reader.numbers([places[name] for name in ("task", "time", "energy")], [True] * 3)
    kinds, names = (list(reader.texts(places[name])) for name in ("kind", "vm"))
    if not report.found:
        for found in _mistakes(raw, places, (kinds, names), (tasks, times, energies), counts, vms):
            report.add(found)
    if report.found:
        return (), tuple(report.found)
    rows = zip(kinds, tasks.astype(int).tolist(), names, times.tolist(), energies.tolist(), strict=True)
    return tuple(TaskRow(k, n, v, t * factors["time"], e * factors["energy"]) for k, n, v, t, e in rows), ()


def _task_columns(raw: RawTable, report: Mistakes) -> tuple[dict[str, int], dict[str, float]]:
    places: dict[str, int] = {}
    factors: dict[str, float] = {}
    for index, cell in enumerate(raw.header):
        match = _TASK_HEADER.match(cell)
        name = "" if match is None else match["name"].lower()
        if name not in COLUMNS or name in places:
            hint = did_you_mean(name, COLUMNS) or f"the columns are {', '.join(COLUMNS)}"
            report.add(error("unknown-column", f"unknown column `{cell.strip()}`", raw.cell_span(-1, index), hint))
            continue
        places[name] = index
        written, dimension = _UNITS.get(name, ("", None))
        unit = units.UNITS.get((match and match["unit"]) or written)
        if dimension is not None and (unit is None or unit.dimension != dimension):
            hint = f"write `{name} [{written}]`"
            report.add(
                error("wrong-unit", f"`{cell.strip()}` is not in a unit of {name}", raw.cell_span(-1, index), hint)
            )
        factors[name] = 1.0 if unit is None else unit.factor
    for name in COLUMNS:
        if name not in places:
            hint = f"the columns are {', '.join(COLUMNS)}"
            report.add(error("missing-column", f"the table has no column `{name}`", raw.header_span(), hint))
    return places, factors


def _mistakes(
    raw: RawTable,
    places: Mapping[str, int],
    texts: tuple[list[str], list[str]],
    numbers: tuple[Floats, Floats, Floats],
    counts: Mapping[str, int],
    vms: Sequence[str],
) -> Iterator[Diagnostic]:
    (kinds, names), (tasks, times, energies) = texts, numbers
    most = np.array([counts.get(kind, 0) for kind in kinds], dtype=np.float64)
    whole = (tasks == np.floor(tasks)) & (tasks >= 1.0)

    def told(
        wrong: NDArray[np.bool_], column: str, code: str, say: Callable[[int], str], hint: str
    ) -> Iterator[Diagnostic]:
        for row in np.flatnonzero(wrong)[:MOST_TOLD].tolist():
            yield error(code, say(row), raw.cell_span(row, places[column]), hint)

    unknown = np.array([kind not in KINDS for kind in kinds], dtype=bool)
    lost = np.array([name not in vms for name in names], dtype=bool)
    yield from told(
        unknown, "kind", "unknown-choice", lambda row: f"unknown kind `{kinds[row]}`", "write `map` or `reduce`"
    )
    yield from told(lost, "vm", "unknown-name", lambda row: f"unknown vm `{names[row]}`", "vms: " + ", ".join(vms))
    yield from told(
        ~unknown & ~(whole & (tasks <= most)),
        "task",
        "out-of-range",
        lambda row: f"the job has {most[row]:g} {kinds[row]} tasks, and no number {tasks[row]:g}",
        "number the tasks of each kind from 1",
    )
    yield from told(
        ~(times > 0.0), "time", "out-of-range", lambda row: "`time` must be above 0 s", "write a longer time"
    )
    yield from told(
        ~(energies >= 0.0), "energy", "out-of-range", lambda row: "`energy` must be at least 0 J", "write 0 or more"
    )
    seen: dict[tuple[str, float, str], int] = {}
    again = np.zeros(len(kinds), dtype=bool)
    for row, key in enumerate(zip(kinds, tasks.tolist(), names, strict=True)):
        again[row] = seen.setdefault(key, row) != row
    yield from told(
        again,
        "task",
        "duplicate",
        lambda row: f"{kinds[row]} task {tasks[row]:g} has two rows on {names[row]}",
        "keep one of them",
    )
