"""Performance profiles of a study's methods, as tables and charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, log2
from sys import float_info
from typing import Any

from mrdsl.core.charts import LineChart, Series
from mrdsl.core.result import LEAST_VALUE, Table
from mrdsl.core.tolerances import PROVEN
from mrdsl.formulas.performance_profiles import performance_ratios, share_within, steps
from mrdsl.sweeping.study.declaration import Profile
from mrdsl.sweeping.study.rows import ENDED, GOAL, INSTANCE, Rows, number, relaxed, selected, solved

FACTORS = (1.0, 1.01, 1.1, 1.5, 2.0, 5.0, 10.0, 100.0)
"""The factors from the best method that a table shows."""


def profiled(profile: Profile, rows: Rows) -> tuple[Table, LineChart]:
    """How often each method is within a factor of the best: a table of some factors, and the steps of all.

    A method that found no plan has no measure, whatever it spent. Instances on which no method has the measure, or some
    have it below 0, are left out; the last column counts the others. Measures that agree to ``PROVEN`` are one. Goals
    of fractions are compared with each other alone.
    """
    ratios = _ratios(profile, selected(profile.runs, rows))
    goal = f", of values within {100 * profile.within:g} % of the best" if profile.within is not None else ""
    title = profile.title or f"Performance profile of {profile.measure}{goal}"
    heads = ("method", *(f"within {factor:g}" if factor > 1 else "best" for factor in FACTORS), "solved", "instances")
    cells = [
        (
            method,
            *(_percent(share_within(own, factor * (1.0 + PROVEN))) for factor in FACTORS),
            _percent(share_within(own, float_info.max)),
            len(own),
        )
        for method, own in ratios.items()
    ]
    return Table(f"{title}, % of instances", heads, cells), _chart(title, ratios)


def _ratios(profile: Profile, rows: Rows) -> dict[str, Sequence[float]]:
    kinds = (False, True) if profile.measure == GOAL else (None,)
    parts = ([row for row in rows if kind in (None, relaxed(row))] for kind in kinds)
    return {name: own for part in parts if part for name, own in performance_ratios(_measures(profile, part)).items()}


def _chart(title: str, ratios: Mapping[str, Sequence[float]]) -> LineChart:
    """The axis is log2 of the factor, as in the paper's figures."""
    last = max((ratio for own in ratios.values() for ratio in own if ratio < inf), default=1.0)
    lines = []
    for method, own in ratios.items():
        found = steps(own)
        places = [*(log2(factor) for factor, _ in found), max(1.05 * log2(last), 0.1)]
        lines.append(Series(method, places, [*(100 * share for _, share in found), 100 * found[-1][1]]))
    return LineChart(title, "log2 of the factor from the best", "instances [%]", tuple(lines), y_zero=True, steps=True)


def _measures(profile: Profile, rows: Rows) -> dict[str, list[float | None]]:
    """By method, what is compared on every instance, the less the better."""
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
    """The measure of a run that solved its instance, None of one that did not; a goal that is maximized is inverted."""
    value = number(row.get(column))
    if column != GOAL:
        return value if row.get("termination") in ENDED else None
    if value is None or row.get("sense") != "maximize":
        return value
    return 1.0 / value if value > 0.0 else -1.0 if value < 0.0 else inf


def _goal_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row[INSTANCE], relaxed(row)


def _best_values(rows: Rows) -> dict[Any, float]:
    """The best value that any method found, by instance and relaxation."""
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


def _percent(share: float) -> float:
    return round(100.0 * share, 2)
