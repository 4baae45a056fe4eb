"""Tables of a study: rows, one line per method, pivots, and performance profiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, isfinite, log2
from statistics import fmean, median
from sys import float_info
from typing import Any

from mrdsl.core.charts import BarChart, LineChart, Series
from mrdsl.core.result import LEAST_VALUE, Table
from mrdsl.core.rounding import PROVEN
from mrdsl.core.tables import cell_text
from mrdsl.formulas.distributions import performance_ratios, share_within, steps
from mrdsl.solving.claims import contradicts
from mrdsl.sweeping.study.declaration import BEST, BOUND, Pivot, Profile

Row = Mapping[str, Any]
Rows = Sequence[Row]
INSTANCE = "instance"
"""Name of the problem that a run solves by any method; no column of the table."""
ENDED = ("optimal", "completed", "infeasible", "unbounded")
"""Terminations of runs that were not stopped."""
ANSWERED = ("infeasible", "unbounded")
"""Terminations with an answer other than a plan."""
GOAL = "value"
"""The column of the goal's value, the only one that has a sense."""

PARAM = "param."
"""Prefix of the column of a param, so that its name cannot be that of another column."""
PLAN = "plan."
"""Prefix of the columns of numbers of plans."""


def number(value: Any) -> float | None:
    """Return a finite number, or None for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if isfinite(found) else None


def columns(rows: Rows) -> tuple[str, ...]:
    """Return all columns that rows have."""
    return tuple(dict.fromkeys(name for row in rows for name in row if name != INSTANCE))


def column_of(name: str, known: Sequence[str]) -> str | None:
    """Return the column that a name means: itself, or that of the param of this name."""
    if name in known:
        return name
    of_param = f"{PARAM}{name}"
    return next((column for column in known if column == of_param or column.startswith(f"{of_param} [")), None)


def selected(runs: str, rows: Rows) -> Rows:
    """Return the rows of the runs of one name, all without."""
    return [row for row in rows if row.get("runs") == runs] if runs else rows


def relaxed(row: Row) -> bool:
    """Return True if a run took fractions for whole numbers: its goal is then another one."""
    return bool(row.get("relax"))


def found_a_plan(row: Row) -> bool:
    """Return True if a run came to a plan."""
    return row.get("solution") in ("feasible", "optimal")


def solved(rows: Rows) -> list[bool]:
    """Return True for each row with a plan, or with a proof of infeasibility that no other row refutes.

    A method that gives up has not solved the instance, however fast it was.
    """
    plans = {(row[INSTANCE], relaxed(row)) for row in rows if found_a_plan(row)}
    kinds = {False: (False,), True: (False, True)}
    return [
        found_a_plan(row)
        if row.get("termination") not in ANSWERED
        else not any((row[INSTANCE], kind) in plans for kind in kinds[relaxed(row)])
        for row in rows
    ]


STATISTIC: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": fmean,
    "median": median,
    "min": min,
    "max": max,
    "sum": sum,
}


def methods_table(rows: Rows) -> Table:
    """Return a line per method: the endings of its runs, and their times."""
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


def is_lowest(pivot: Pivot, rows: Rows) -> bool:
    """Return True if a table is above a method that has no run: one that is not installed."""
    words = ("", BEST, BOUND)
    return pivot.above not in words and all(row["method"] != pivot.above for row in selected(pivot.runs, rows))


def pivoted(pivot: Pivot, rows: Rows) -> tuple[Table, LineChart | BarChart]:
    """Return the table that was asked for, and its chart: lines over numbers, bars over names.

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
    """Return the value of every row, and what these values are: ``value [USD]``, ``energy above highs [%]``."""
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
    """Return the base of each row: the value of a method on the same instance, the best one there, or the best bound.

    Values of fractions and of whole numbers are separate, but a bound for fractions holds for whole numbers too. The
    objective is better in the direction of its sense, and any other column if it is smaller, among runs that solved the
    instance.
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
    """Return a value in percent of a base, minus ``less`` times the base.

    It is None if either is unknown, the base is not above 0, or the result is too large for a number.
    """
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
    """Return a cell that identifies rows."""
    return value if isinstance(value, str | int | float) or value is None else str(value)


def contradictions(rows: Rows) -> list[tuple[Row, Row]]:
    """Return pairs of runs of one instance in which the value of one is better than the proven bound of the other.

    A bound of a relaxation holds for whole numbers too, but not the reverse. If neither run knows the size of the terms
    of the objective, at least 1 is assumed.
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


FACTORS = (1.0, 1.01, 1.1, 1.5, 2.0, 5.0, 10.0, 100.0)
"""The factors from the best method that a table shows."""


def profiled(profile: Profile, rows: Rows) -> tuple[Table, LineChart]:
    """Return the shares of instances on which each method is within a factor of the best: a table and a chart.

    A method without a plan has no measure, whatever time it took. Instances on which no method has the measure, or some
    have it below 0, are left out; the last column counts the others. Measures that agree to ``PROVEN`` are equal.
    Objectives of fractions are compared only with each other.
    """
    ratios = _ratios(profile, selected(profile.runs, rows))
    goal = f", of values within {100 * profile.within:g} % of the best" if profile.within is not None else ""
    title = profile.title or f"Performance profile of {profile.measure}{goal}"
    heads = ("method", *(f"within {factor:g}" if factor > 1 else "best" for factor in FACTORS), "solved", "instances")
    cells = [
        (
            method,
            *(_percent_of(share_within(own, factor * (1.0 + PROVEN))) for factor in FACTORS),
            _percent_of(share_within(own, float_info.max)),
            len(own),
        )
        for method, own in ratios.items()
    ]
    return Table(f"{title}, % of instances", heads, cells), _profile_chart(title, ratios)


def _ratios(profile: Profile, rows: Rows) -> dict[str, Sequence[float]]:
    kinds = (False, True) if profile.measure == GOAL else (None,)
    parts = ([row for row in rows if kind in (None, relaxed(row))] for kind in kinds)
    return {name: own for part in parts if part for name, own in performance_ratios(_measures(profile, part)).items()}


def _profile_chart(title: str, ratios: Mapping[str, Sequence[float]]) -> LineChart:
    """Return the axis is log2 of the factor, as in the paper's figures."""
    last = max((ratio for own in ratios.values() for ratio in own if ratio < inf), default=1.0)
    lines = []
    for method, own in ratios.items():
        found = steps(own)
        places = [*(log2(factor) for factor, _ in found), max(1.05 * log2(last), 0.1)]
        lines.append(Series(method, places, [*(100 * share for _, share in found), 100 * found[-1][1]]))
    return LineChart(title, "log2 of the factor from the best", "instances [%]", tuple(lines), y_zero=True, steps=True)


def _measures(profile: Profile, rows: Rows) -> dict[str, list[float | None]]:
    """Return the measure on every instance by method; smaller is better."""
    instances: dict[Any, dict[str, float | None]] = {}
    methods = dict.fromkeys(row["method"] for row in rows)
    best = _best_values(rows)
    for row, is_solved in zip(rows, solved(rows), strict=True):
        near = is_solved and _is_near(row, profile.within, best.get(_goal_of(row)))
        value = _measure(row, profile.measure) if near else None
        instances.setdefault(row[INSTANCE], {})[row["method"]] = value
    kept = [
        of_methods
        for of_methods in instances.values()
        if any(value is not None for value in of_methods.values())
        and all(value is None or value >= 0.0 for value in of_methods.values())
    ]
    return {method: [of_methods.get(method) for of_methods in kept] for method in methods}


def _measure(row: Mapping[str, Any], column: str) -> float | None:
    """Return the measure of a run that solved its instance, None of one that did not; a goal that is maximized is
    inverted.
    """
    value = number(row.get(column))
    if column != GOAL:
        return value if row.get("termination") in ENDED else None
    if value is None or row.get("sense") != "maximize":
        return value
    return 1.0 / value if value > 0.0 else -1.0 if value < 0.0 else inf


def _goal_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row[INSTANCE], relaxed(row)


def _best_values(rows: Rows) -> dict[Any, float]:
    """Return the best value that any method found, by instance and relaxation."""
    best: dict[Any, float] = {}
    for row in rows:
        value = number(row.get(GOAL))
        if value is not None:
            pick = max if row.get("sense") == "maximize" else min
            best[_goal_of(row)] = pick(best.get(_goal_of(row), value), value)
    return best


def _is_near(row: Mapping[str, Any], within: float | None, best: float | None) -> bool:
    if within is None:
        return True
    value = number(row.get(GOAL))
    return value is not None and best is not None and abs(value - best) <= within * max(abs(best), LEAST_VALUE)


def _percent_of(share: float) -> float:
    return round(100.0 * share, 2)
