"""Demand tables: a CSV file with one column per job class or web service and one row per period.

    hour, recommendations, checkout [1/s], search [1/min]
    0,    4.5,             310,            21000

The values are jobs per period for a class, and requests per second, or per the time in brackets, for a service. A
family may read numbers such as ``factor`` and ``weight`` from columns too. A column ``hour``, ``time`` or ``period`` is
for the reader; other unknown columns are reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.core import units
from mrdsl.core.diagnostics import Diagnostic, Related, Span, error, number_of, warning
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
