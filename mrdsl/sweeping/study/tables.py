"""What the runs of a study say together: a line per method, and the tables and charts that the file asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from mrdsl.core.charts import BarChart, LineChart, Series
from mrdsl.core.result import Table
from mrdsl.reporting.text import cell_text
from mrdsl.solving.agreement import contradicts
from mrdsl.sweeping.study.declaration import BEST, BOUND, Pivot
from mrdsl.sweeping.study.rows import (
    GOAL,
    INSTANCE,
    PARAM,
    PLAN,
    Row,
    Rows,
    column_of,
    columns,
    found_a_plan,
    number,
    relaxed,
    selected,
    solved,
)

STATISTIC: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": fmean,
    "median": median,
    "min": min,
    "max": max,
    "sum": sum,
}


def methods_table(rows: Rows) -> Table:
    """A line per method: how its runs ended, and what they took."""
    heads = ("method", "runs", "with a plan", "proven", "failed", "largest gap [%]", "mean [s]", "mean, processor [s]")
    cells = []
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        gaps = [100.0 * gap for row in own if (gap := number(row.get("gap"))) is not None]
        means = [_mean(row.get(column) for row in own) for column in ("seconds", "cpu_seconds")]
        counts = [
            sum(test(row) for row in own)
            for test in (
                found_a_plan,
                lambda row: row.get("termination") in ("optimal", "infeasible"),
                lambda row: row.get("termination") == "error",
            )
        ]
        cells.append((method, len(own), *counts, max(gaps, default=None), *means))
    return Table("Methods", heads, cells)


def is_above_nobody(pivot: Pivot, rows: Rows) -> bool:
    """Whether a table is above a method that has no run: one that is not installed."""
    words = ("", BEST, BOUND)
    return pivot.above not in words and all(row["method"] != pivot.above for row in selected(pivot.runs, rows))


def pivoted(pivot: Pivot, rows: Rows) -> tuple[Table, LineChart | BarChart]:
    """The table that was asked for, and its chart: lines over numbers, bars over names.

    Runs without the param that rows or columns are of are left out.
    """
    rows = selected(pivot.runs, rows)
    known = columns(rows)
    across, down = (column_of(name, known) or name for name in (pivot.columns, pivot.rows))
    values, what = _values(pivot, rows)
    several = len(pivot.statistic) > 1
    cells: dict[Any, dict[Any, list[float]]] = {}
    heads: dict[Any, None] = {}
    for row, value in zip(rows, values, strict=True):
        if any(name.startswith(PARAM) and row.get(name) is None for name in (across, down)):
            continue
        head = None if several else _cell(row.get(across))
        heads[head] = None
        listed = cells.setdefault(_cell(row.get(down)), {}).setdefault(head, [])
        listed += [] if value is None else [value]
    found = {
        place: [_statistic(name, of_heads.get(head, ())) for head in heads for name in pivot.statistic]
        for place, of_heads in cells.items()
    }
    label = what if several else f"{pivot.statistic[0]} {what}"
    title = pivot.title or f"{label[:1].upper()}{label[1:]} by {pivot.rows}"
    names = [*pivot.statistic] if several else [cell_text(head) for head in heads]
    table = Table(title, (down.removeprefix(PARAM), *names), [(place, *each) for place, each in found.items()])
    return table, _chart(title, down.removeprefix(PARAM), label, names, found)


def _values(pivot: Pivot, rows: Rows) -> tuple[list[float | None], str]:
    """The value of every row, and what these values are: ``value [USD]``, ``energy above highs [%]``."""
    known = columns(rows)
    column, whole = column_of(pivot.value, known) or pivot.value, column_of(pivot.share_of, known)
    values = [number(row.get(column)) for row in rows]
    label = column.removeprefix(PLAN)
    if whole is not None:
        values = [_percent(value, number(row.get(whole)), 0.0) for row, value in zip(rows, values, strict=True)]
        label = f"{label} of {whole.removeprefix('plan.')} [%]"
    if pivot.above:
        bases = _bases(pivot.above, column, rows, values)
        values = [_percent(value, base, 1.0) for value, base in zip(values, bases, strict=True)]
        return values, f"{label} above {pivot.above} [%]"
    units = {unit for row in rows if row.get(column) is not None and isinstance(unit := row.get("unit"), str)}
    unit = units.pop() if column in ("value", "bound") and len(units) == 1 else None
    return values, f"{label} [{unit}]" if unit else label


def _bases(above: str, column: str, rows: Rows, values: Sequence[float | None]) -> list[float | None]:
    """What the value of each row is above: a method's on the same instance, the best one there, or the best bound.

    Values of fractions and of whole numbers are apart; a bound that is proven of fractions holds for whole numbers,
    too. The goal's own value is better the way its sense says, any other column the less it is, among runs that solved
    the instance.
    """
    if above not in (BEST, BOUND):
        of_method = {row[INSTANCE]: value for row, value in zip(rows, values, strict=True) if row["method"] == above}
        return [of_method.get(row[INSTANCE]) for row in rows]
    found: dict[Any, float] = {}
    for row, value, is_solved in zip(rows, values, solved(rows), strict=True):
        base = value if above == BEST else number(row.get("bound"))
        if base is None or (above == BEST and not is_solved):
            continue
        maximized = column == GOAL and row.get("sense") == "maximize"
        pick = max if maximized == (above == BEST) else min
        for relax in {relaxed(row), relaxed(row) and above == BEST}:
            goal = row[INSTANCE], relax
            found[goal] = pick(base, found.get(goal, base))
    return [found.get((row[INSTANCE], relaxed(row))) for row in rows]


def _percent(value: float | None, base: float | None, less: float) -> float | None:
    """A value in percent of a base, less that many times the base; None where either is unknown, or the base is not
    above 0: nothing is a share of it; nor where it is more than a number can be."""
    if value is None or base is None or base <= 0.0:
        return None
    return number(100.0 * (value / base - less))


def _chart(
    title: str, down: str, label: str, names: Sequence[str], found: Mapping[Any, Sequence[float | None]]
) -> LineChart | BarChart:
    if all(number(place) is not None for place in found):
        places = sorted(found)
        lines = (Series(name, places, [found[place][i] for place in places]) for i, name in enumerate(names))
        return LineChart(title, down, label, tuple(lines))
    series = {name: [values[i] for values in found.values()] for i, name in enumerate(names)}
    return BarChart(title, tuple(cell_text(place) for place in found), series, down, label)


def _statistic(name: str, values: Sequence[float]) -> float | None:
    """None of no values, and of values whose sum is more than a number can be."""
    if name == "count":
        return len(values)
    try:
        return number(STATISTIC[name](values)) if values else None
    except OverflowError:
        return None


def _mean(values: Any) -> float | None:
    known = [each for value in values if (each := number(value)) is not None]
    return _statistic("mean", known)


def _cell(value: Any) -> Any:
    """A cell that rows are told apart by."""
    return value if isinstance(value, str | int | float) or value is None else str(value)


def contradictions(rows: Rows) -> list[tuple[Row, Row]]:
    """Pairs of runs of one instance of which the one's value is better than what the other proved to be possible.

    A bound of a relaxation holds for whole numbers too, not the other way round. Where neither run knows the size of
    the goal's terms, they are taken for 1 at least.
    """
    found = []
    by_instance: dict[Any, list[Row]] = {}
    for row in rows:
        by_instance.setdefault(row[INSTANCE], []).append(row)
    for own in by_instance.values():
        for one in own:
            for other in own:
                value, bound = number(one.get("value")), number(other.get("bound"))
                if value is None or bound is None or (relaxed(one) and not relaxed(other)):
                    continue
                size = max(number(one.get("size")) or 0.0, number(other.get("size")) or 0.0) or 1.0
                if contradicts(bound, value, one.get("sense") == "maximize", size):
                    found.append((one, other))
    return found
