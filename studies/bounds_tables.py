"""Tables 3 to 6 of Malekimajd et al. 2015 again: how far the bounds lie from simulated completion times.

Each of the 40 rows is simulated in three ways. ``trace``: as in the paper's 5.2, submissions laid down beforehand from
guessed durations, corrected by the fixed-point iteration (42). ``closed``: users that really wait for their job.
``masters``: the same, with a core for every running job's application master, which YARN takes and the paper does not
mention. What the printed gaps themselves imply stands beside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mrdsl
from mrdsl.core.charts import LineChart, Series
from mrdsl.core.csv_text import csv_rows
from mrdsl.core.resources import resource
from mrdsl.core.result import Table
from mrdsl.families.bounds.formulas import plan_of
from mrdsl.families.bounds.plan import BoundsPlan
from mrdsl.families.bounds.simulate import scenario_of
from mrdsl.reporting.report_files import write_chart
from mrdsl.simulation.engine.scenario import Recorded, Scenario, run_once
from mrdsl.simulation.sampling import stream
from mrdsl.simulation.settings import Settings
from mrdsl.spec.spec import Spec
from studies.study_files import write_csv

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FixedPoint:
    """The last guesses A and observed means T, both per class in seconds, after how many simulations."""

    guess: Floats
    observed: Floats
    iterations: int
    converged: bool


def iterate(
    observe: Callable[[Floats], Sequence[float]],
    start: Sequence[float],
    weight: float = 0.07,
    tolerance: float = 0.1,
    most: int = 100,
) -> FixedPoint:
    """``A_n = weight T_(n-1) + (1 - weight) A_(n-1)`` until ``max |A_n - T_n| / T_n`` is below ``tolerance``: (42).

    ``observe(A)`` simulates with the durations A and gives the mean durations seen. The defaults are the paper's.
    """
    guess: Floats = np.asarray(start, dtype=np.float64)
    for iteration in range(1, most + 1):
        seen: Floats = np.asarray(observe(guess), dtype=np.float64)
        if float(np.max(np.abs(guess - seen) / seen)) < tolerance:
            return FixedPoint(guess, seen, iteration, True)
        guess = weight * seen + (1.0 - weight) * guess
    return FixedPoint(guess, seen, most, False)


WAYS = ("trace", "closed", "masters")
CLASSES = {"twitter": "Twitter", "sort": "Sort", "wordcount": "WordCount", "wikitrends": "WikiTrends"}
DOUBTFUL = 0.02


@dataclass(frozen=True)
class Entry:
    """One class of one printed row; gaps are ``bound / mean - 1``."""

    table: int
    row: int
    name: str
    users: int
    upper_gap: float
    average_gap: float


@dataclass(frozen=True)
class Found:
    """An entry with our bounds and, per way of simulating, our mean completion time in seconds."""

    entry: Entry
    lower: float
    average: float
    upper: float
    mean: dict[str, float]
    iterations: int

    @property
    def implied(self) -> float:
        """The mean that both printed gaps imply, from the lower bound alone: ``low / (1 + 2 g_m - g_up)``."""
        return self.lower / (1.0 + 2.0 * self.entry.average_gap - self.entry.upper_gap)

    @property
    def contradiction(self) -> float:
        """By how much the mean that the printed upper gap implies with our upper bound differs from ``implied``."""
        return self.upper / (1.0 + self.entry.upper_gap) / self.implied - 1.0

    def gap(self, bound: str, way: str) -> float:
        """``bound / mean - 1`` of ours."""
        return float(getattr(self, bound)) / self.mean[way] - 1.0


def tables(output: Path, jobs: int = 10, repeats: int = 5, rows: int = 10, think: float = 0.1) -> Iterator[Table]:
    """The 40 rows, 100 class entries, printed gaps and ours; then the claims. Also as CSV and a chart in ``output``.

    ``think`` is the mean think time relative to the estimate, a tenth in the paper.
    """
    cells: list[Found] = []
    for number, entries in groupby(printed(), lambda entry: entry.table):
        mine: list[Found] = []
        for row, of_row in groupby(entries, lambda entry: entry.row):
            if row <= rows:
                mine += simulated(list(of_row), number, jobs, repeats, think)
        cells += mine
        yield _table(number, mine)
    yield _claims(cells)
    yield _means(cells)
    _write(output, cells)


def printed() -> list[Entry]:
    """The numbers printed in the paper."""
    with (resource("models") / "bounds" / "printed.csv").open(encoding="utf-8", newline="") as lines:
        rows = [row for _, row in csv_rows(lines)][1:]
    return [
        Entry(int(table), int(row), name, int(users), float(upper), float(average))
        for table, row, name, users, upper, average in rows
    ]


def simulated(entries: Sequence[Entry], number: int, jobs: int, repeats: int, think: float) -> list[Found]:
    """One row, in all three ways."""
    users = {f"{entry.name}_users": float(entry.users) for entry in entries}
    spec = mrdsl.load(resource("models") / "bounds" / f"table{number}.mrspec", users)
    plan = plan_of(spec)
    spec = thinking(spec, plan, think)
    seed = spec.seed or 0
    length = Settings(jobs=3 * jobs)
    scenario = scenario_of(spec, plan, length)
    by_trace, iterations = traced(scenario, plan, (seed, jobs, repeats, think))
    means = {
        "trace": by_trace,
        "closed": closed(scenario, seed, repeats),
        "masters": closed(scenario_of(with_masters(spec), plan, length), seed, repeats),
    }
    return [
        Found(
            entry,
            float(plan.completion["lower"][k]),
            float(plan.completion["average"][k]),
            float(plan.completion["upper"][k]),
            {way: float(means[way][k]) for way in WAYS},
            iterations,
        )
        for k, entry in enumerate(entries)
    ]


def with_masters(spec: Spec) -> Spec:
    """The same spec with a core for every running job's application master."""
    return replace(spec, facts=replace(spec.facts, cluster=replace(spec.facts.cluster, masters="yes")))


def thinking(spec: Spec, plan: BoundsPlan, think: float) -> Spec:
    """The same spec with think times of ``think`` times each class's average estimate."""
    classes = tuple(
        replace(node, think=think * float(time))
        for node, time in zip(spec.facts.classes, plan.completion["average"], strict=True)
    )
    return replace(spec, facts=replace(spec.facts, classes=classes))


def traced(scenario: Scenario, plan: BoundsPlan, how: tuple[int, int, int, float]) -> tuple[Floats, int]:
    """Mean durations by the iteration (42) from the upper bounds on, then the mean of several runs at its end.

    ``how``: seed, jobs per user, runs, and the share of the duration by which a submission is put off on average.
    """
    seed, jobs, repeats, think = how

    def observe(guess: Floats, run: int) -> list[float]:
        planned = submissions(scenario, plan, guess, (seed, run, jobs, think))
        return [float(np.mean(times)) for times in run_once(planned, seed, run).times]

    point = iterate(lambda guess: observe(guess, 0), plan.completion["upper"].tolist())
    again = [observe(point.guess, run) for run in range(1, repeats)]
    return np.mean(np.array([point.observed, *again]), axis=0), point.iterations


def submissions(scenario: Scenario, plan: BoundsPlan, guess: Floats, how: tuple[int, int, int, float]) -> Scenario:
    """Every user submits a job every ``guess`` seconds, whatever becomes of it, each submission put off a little.

    Users of the slowest class submit so many jobs, the others as many more as fit: all classes are there all the time.
    ``how``: seed, run, jobs per user, and the exponential delay's mean relative to ``guess``.
    """
    seed, run, jobs, think = how
    horizon = (1.0 + think) * float(guess.max()) * jobs
    planned = []
    for kind, (name, described) in enumerate(zip(plan.names, scenario.classes, strict=True)):
        random = stream(seed, "submissions", run, name)
        most = int(horizon / guess[kind]) + 1
        times: list[float] = []
        for _ in range(int(plan.jobs[kind])):
            gaps = think * guess[kind] * random.standard_exponential(most)
            at = np.cumsum(gaps) + guess[kind] * np.arange(most)
            times += at[at < horizon].tolist()
        planned.append(replace(described, who=Recorded(tuple(sorted(times))), jobs=len(times)))
    return replace(scenario, classes=tuple(planned), warm_up=0.0)


def closed(scenario: Scenario, seed: int, repeats: int) -> Floats:
    """Mean durations per class with users that wait, the warm-up left out."""
    return np.asarray(
        np.mean([[np.mean(times) for times in run_once(scenario, seed, run).times] for run in range(repeats)], axis=0)
    )


def _table(number: int, cells: Iterable[Found]) -> Table:
    head = (
        "row",
        "class",
        "users",
        "printed T [s]",
        "up, printed",
        *(f"up, {way}" for way in WAYS),
        "avg, printed",
        *(f"avg, {way}" for way in WAYS),
        "doubt",
    )
    return Table(
        f"Table {number}: bound / mean - 1",
        head,
        [
            (
                each.entry.row,
                CLASSES[each.entry.name],
                each.entry.users,
                round(each.implied),
                _share(each.entry.upper_gap),
                *(_share(each.gap("upper", way)) for way in WAYS),
                _share(each.entry.average_gap),
                *(_share(each.gap("average", way)) for way in WAYS),
                _share(each.contradiction) if abs(each.contradiction) > DOUBTFUL else "",
            )
            for each in cells
        ],
    )


def _claims(cells: Sequence[Found]) -> Table:
    """Mean absolute gaps, as the paper sums up: two classes, three classes, all."""
    parts = (
        ("two classes", cells and [f for f in cells if f.entry.table <= 4]),
        ("three classes", [f for f in cells if f.entry.table >= 5]),
        ("all", list(cells)),
    )
    rows: list[tuple[Any, ...]] = []
    for bound, claims in (("upper", ("19%", "11%", "14%")), ("average", ("10%", "5%", ""))):
        for (title, mine), claim in zip(parts, claims, strict=True):
            if mine:
                own = [getattr(f.entry, f"{bound}_gap") for f in mine]
                rows.append(
                    (bound, title, claim, _mean(own), *(_mean([f.gap(bound, way) for f in mine]) for way in WAYS))
                )
    return Table("Mean of |bound / mean - 1|", ("bound", "tables", "claimed", "printed rows", *WAYS), rows)


def _means(cells: Sequence[Found]) -> Table:
    """How far our means are from those that the printed gaps imply, and how often (42) simulated."""
    sound = [f for f in cells if abs(f.contradiction) <= DOUBTFUL]
    rows = [
        (
            way,
            f"{100 * np.mean([f.mean[way] / f.implied - 1.0 for f in sound]):+.1f}%",
            _mean([f.mean[way] / f.implied - 1.0 for f in sound]),
            float(np.mean([f.iterations for f in cells])) if way == "trace" else None,
        )
        for way in WAYS
    ]
    return Table(
        f"Our mean / printed mean - 1, {len(sound)} entries without doubt; simulations for (42), 4.4 printed",
        ("way", "mean", "mean absolute", "simulations"),
        rows,
    )


def _mean(gaps: Sequence[float]) -> str:
    return _share(float(np.mean(np.abs(gaps))))


def _share(value: float) -> str:
    return f"{100.0 * value:.1f}%"


def _row(f: Found) -> tuple[Any, ...]:
    e = f.entry
    return (
        e.table,
        e.row,
        e.name,
        e.users,
        *(round(v, 2) for v in (f.lower, f.average, f.upper)),
        round(f.implied, 2),
        e.upper_gap,
        e.average_gap,
        *(round(f.mean[way], 2) for way in WAYS),
    )


def _write(output: Path, cells: Sequence[Found]) -> None:
    columns = (
        "table",
        "row",
        "class",
        "users",
        "lower [s]",
        "average [s]",
        "upper [s]",
        "printed mean [s]",
        "printed upper gap",
        "printed average gap",
        *(f"{way} mean [s]" for way in WAYS),
    )
    write_csv(output / "bounds-tables.csv", columns, map(_row, cells))
    x = list(range(1, len(cells) + 1))
    series = (
        Series("printed", x, [100 * f.entry.upper_gap for f in cells]),
        *(Series(way, x, [100 * f.gap("upper", way) for f in cells]) for way in WAYS),
    )
    chart = LineChart("Upper bound above the mean, Tables 3 to 6", "class entry", "gap [%]", series)
    write_chart(output / "bounds-tables.svg", chart)
