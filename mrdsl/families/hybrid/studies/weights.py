"""Cost against the controller's weights: the evaluation that paper 004 never wrote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from mrdsl.contracts.study import Bench
from mrdsl.core.charts import LineChart, Series
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.resources import resource
from mrdsl.core.result import Table
from mrdsl.families.hybrid.bounds import control_of
from mrdsl.families.hybrid.facts import Control
from mrdsl.families.hybrid.plan import HybridPlan
from mrdsl.reporting.chart_files import write_chart
from mrdsl.spec.spec import Spec

WEIGHTS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
ACCEPTANCE = (0.80, 0.85, 0.90, 0.95, 1.0)
METHODS = ("controller", "calendar", "threshold", "always-outsource")


def weights(output: Path, bench: Bench, seeds: int = 3, horizon: int = 1000) -> Iterator[Table]:
    """Average cost over seeds against V and against the acceptance ratio, on the reference spec.

    ``outsource_limit`` is ``auto``, and so is ``V`` where the acceptance varies.
    """
    base = bench.load(resource("models/hybrid/reference.mrspec"))
    facts = replace(base.facts, horizon=horizon)
    given = control_of(facts)
    tuned = Control(preemption_weight=given.preemption_weight, acceptance=given.acceptance)
    yield from _study(
        bench,
        output,
        "V",
        WEIGHTS,
        [replace(facts, control=replace(tuned, V=v)) for v in WEIGHTS],
        base,
        seeds,
    )
    yield from _study(
        bench,
        output,
        "acceptance",
        ACCEPTANCE,
        [replace(facts, control=replace(tuned, acceptance=a)) for a in ACCEPTANCE],
        base,
        seeds,
    )


def _study(
    bench: Bench, output: Path, name: str, values: Iterable[float], variants: list[object], base: Spec, seeds: int
) -> Iterator[Table]:
    axis = list(values)
    costs = {
        method: [_cost(bench, replace(base, facts=facts), method, seeds) for facts in variants] for method in METHODS
    }
    rows = [(value, *(costs[method][i] for method in METHODS)) for i, value in enumerate(axis)]
    yield Table(f"Average cost per slot against {name}", (name, *METHODS), rows)
    series = tuple(
        Series(
            method,
            [v for v, c in zip(axis, by_weight, strict=True) if c is not None],
            [c for c in by_weight if c is not None],
        )
        for method, by_weight in costs.items()
    )
    chart = LineChart(f"Cost against {name}", name, f"cost per slot [{base.currency}]", series)
    write_chart(output / f"cost_against_{name}.svg", chart)


def _cost(bench: Bench, spec: Spec, method: str, seeds: int) -> float | None:
    """The mean over seeds; None where the controller cannot promise the delays."""
    costs = []
    for seed in range(1, seeds + 1):
        try:
            plan = bench.solve(replace(spec, seed=seed), method).plan
        except MrdslError:
            return None
        assert isinstance(plan, HybridPlan)
        costs.append(plan.cost.average)
    return sum(costs) / len(costs)
