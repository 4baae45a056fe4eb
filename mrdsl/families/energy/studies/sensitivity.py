"""Sensitivity to network speed, deadline and budget: Figures 9 and 10 of Nabavinejad et al., on the small workloads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mrdsl.contracts.study import Bench
from mrdsl.core.charts import BarChart, LineChart, Series
from mrdsl.core.result import Table
from mrdsl.families.energy.plan import JobUse
from mrdsl.families.energy.studies.workloads import TITLES, WORKLOADS, decide, excess, optimum, workload
from mrdsl.reporting.chart_files import write_chart
from mrdsl.reporting.study_tables import write_csv
from mrdsl.spec.spec import Spec

METHODS = ("dsps", "mvps", "mrdsl-energy")
SPEEDS = {"100 Mbit/s": 1e8 / 8, "1 Gbit/s": 1e9 / 8, "10 Gbit/s": 1e10 / 8}
"""Figure 9's bandwidths; the paper writes "1GB", "100MB", "10GB", amounts of data: read as bits a second."""
DEADLINES = (120.0, 743.0)
BUDGETS = (0.00033, 0.03263)
NAN = float("nan")


@dataclass(frozen=True)
class Point:
    """One value of a promise: energy over the optimum per method, None without a plan; ``best`` None: there is none."""

    value: float
    best: float | None
    methods: dict[str, float | None]


def sensitivity(output: Path, bench: Bench, points: int = 16) -> Iterator[Table]:
    """Figure 9 as a table and a chart; Figure 10 as charts per workload and promise, and tables of who finds plans."""
    yield _network(bench, output)
    sweeps = {
        "deadline": (np.linspace(*DEADLINES, points), with_deadline, "deadline [s]"),
        "budget": (np.geomspace(*BUDGETS, points), with_budget, "budget [USD]"),
    }
    missed: list[tuple[str, str, float, str]] = []
    for promise, (values, change, label) in sweeps.items():
        rows, details = [], []
        for name, title in WORKLOADS.items():
            spec = workload(bench, name, "small")
            measured = [_point(change(spec, float(value)), float(value)) for value in values]
            _draw(output / f"{promise}-{name}.svg", measured, f"{title}: energy over the optimum", label)
            rows.append(_summary(title, measured))
            details += [(title, p.value, p.best, *(p.methods[m] for m in METHODS)) for p in measured]
            missed += [
                (promise, title, p.value, TITLES[m])
                for p in measured
                if p.best is not None
                for m in METHODS
                if p.methods[m] is None
            ]
        write_csv(output / f"{promise}.csv", ("workload", label, "optimum [J]", *(TITLES[m] for m in METHODS)), details)
        yield Table(
            f"Figure 10, {promise}: points of {points} with a plan, and energy above the optimum, %",
            ("workload", "plans", *(f"{TITLES[m]} {w}" for m in METHODS for w in ("finds", "mean %"))),
            rows,
        )
    yield Table("No plan found although there is one", ("promise", "workload", "value", "method"), missed)


def _network(bench: Bench, output: Path) -> Table:
    rows = []
    shares: dict[str, list[float]] = {name: [] for name in SPEEDS}
    for name, title in WORKLOADS.items():
        spec = workload(bench, name, "small")
        cells: list[object] = [title]
        for label, speed in SPEEDS.items():
            network = replace(spec.facts.network, speed=speed)
            free = _changed(spec, deadline=None, budget=None)
            plan = optimum(replace(free, facts=replace(free.facts, network=network)))
            share = NAN if plan is None else 100.0 * (plan.energy.placement + plan.energy.shuffle) / plan.energy.total
            shares[label].append(share)
            cells.append(round(share, 2))
        rows.append(tuple(cells))
    chart = BarChart("Energy of placement and shuffle", tuple(WORKLOADS.values()), shares, "", "% of all energy")
    write_chart(output / "network.svg", chart)
    return Table(
        "Figure 9: energy of placement and shuffle, % of all energy (optimum without deadline and budget: the "
        "slow network keeps none)",
        ("workload", *SPEEDS),
        rows,
    )


def with_deadline(spec: Spec, value: float) -> Spec:
    """The spec with another deadline, s."""
    return _changed(spec, deadline=value)


def with_budget(spec: Spec, value: float) -> Spec:
    """The spec with another budget."""
    return _changed(spec, budget=value)


def _changed(spec: Spec, **items: float | None) -> Spec:
    return replace(spec, facts=replace(spec.facts, jobs=(replace(spec.facts.jobs[0], **items),)))


def _point(spec: Spec, value: float) -> Point:
    best = optimum(spec)
    if best is None:
        return Point(value, None, dict.fromkeys(METHODS))
    total = best.energy.total
    return Point(value, total, {method: _relative(decide(spec, method), total) for method in METHODS})


def _relative(use: JobUse | None, total: float) -> float | None:
    """Energy over the optimum; None where the method has no plan that keeps both promises."""
    if use is None or excess(use.uptime, use.deadline) or excess(use.cost, use.budget):
        return None
    return use.energy.total / total


def _summary(title: str, points: list[Point]) -> tuple[object, ...]:
    cells: list[object] = [title, sum(point.best is not None for point in points)]
    for method in METHODS:
        energies = [value for point in points if (value := point.methods[method]) is not None]
        cells += [len(energies), round(100.0 * (sum(energies) / len(energies) - 1.0), 2) if energies else None]
    return tuple(cells)


def _draw(path: Path, points: list[Point], title: str, label: str) -> None:
    def values(pick: Callable[[Point], float | None]) -> list[float]:
        return [NAN if (value := pick(point)) is None else value for point in points]

    x = [point.value for point in points]
    series = [Series("optimum", x, values(lambda p: None if p.best is None else 1.0))]
    series += [Series(TITLES[m], x, values(lambda p, m=m: p.methods[m])) for m in METHODS]  # type: ignore[misc]
    write_chart(path, LineChart(title, label, "energy over the optimum", tuple(series)))
