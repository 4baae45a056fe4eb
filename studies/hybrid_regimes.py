"""Every policy over a grid of regimes: what the calendar costs beside the best of the others.

``controller`` runs with ``V = auto`` and ``outsource_limit = auto``. The calendar loses a regime where it costs over 2
% more than the best of the others, a thousandth of what sending all tasks out costs granted to both. Tasks by which a
queue's acceptance falls short of the one asked for, as the controller's may over a finite run, are charged at what they
cost outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np

import mrdsl
from mrdsl.core.csv_text import csv_text
from mrdsl.core.result import Table
from mrdsl.core.writer import write_text
from mrdsl.families.hybrid.facts import HybridFacts, control_of
from mrdsl.families.hybrid.plan import HybridPlan
from mrdsl.simulation.sampling import stream
from mrdsl.spec.spec import Spec
from studies.hybrid_clouds import AXES, BETWEEN, Regime, drawn_specs, grid, spec_of

METHODS = ("calendar", "controller", "threshold", "always-outsource")
NEAR, SMALL = 1.02, 1e-3


def regimes(output: Path, sample: int = 200, horizon: int = 600, seed: int = 1, drawn: int = 0) -> Iterator[Table]:
    """Costs over a sample of the grid, the ratio of the calendar's to the best other one, by every axis.

    Over so many regimes ``drawn`` between the ends of the axes instead, if any.
    """
    axes = BETWEEN if drawn else AXES
    specs = (
        drawn_specs(drawn, output, horizon, seed)
        if drawn
        else ((point, spec_of(point, output, horizon, seed)) for point in _sampled(sample, seed))
    )
    rows = []
    for point, spec in specs:
        plans = [mrdsl.solve(spec, method).plan for method in METHODS]
        costs = [charged(spec, plan) for plan in plans if isinstance(plan, HybridPlan)]
        rows.append((point, costs, ratio(costs)))
    yield Table("Axes", ("axis", "values"), [(axis, ", ".join(map(str, values))) for axis, values in axes.items()])
    yield _summary("all", [("", rows)])
    for axis in AXES:
        parts = [(str(value), [row for row in rows if getattr(row[0], axis) == value]) for value in axes[axis]]
        if sum(len(part) for _, part in parts) == len(rows):
            yield _summary(axis, parts)
    head = [*(field.name for field in fields(Regime)), *METHODS, "calendar / best other"]
    lines = [(*vars(point).values(), *costs, found) for point, costs, found in rows]
    write_text(output / "regimes.csv", csv_text(head, lines))


def _sampled(sample: int, seed: int) -> Sequence[Regime]:
    points = grid()
    if sample >= len(points):
        return points
    chosen = stream(seed, "regimes").permutation(len(points))[:sample]
    return [points[i] for i in sorted(chosen.tolist())]


def charged(spec: Spec, plan: HybridPlan) -> float:
    """The average cost per slot, with the tasks that the acceptance lacks at their price outside."""
    facts: HybridFacts = spec.facts
    asked = control_of(facts).acceptance
    lacking = [
        max(0.0, asked * run.submitted - run.admitted - run.outsourced) * queue.outsourcing
        for queue in facts.queues
        for run in [plan.queues[queue.name]]
    ]
    return plan.cost.average + sum(lacking) / facts.horizon


def ratio(costs: Sequence[float]) -> float:
    """The first policy's cost over the least of the others', both with a thousandth of the last one's, which sends all
    tasks out: next to nothing over nothing is 1."""
    little = SMALL * costs[-1]
    return (costs[0] + little) / (min(costs[1:]) + little) if costs[-1] > 0 else 1.0


Row = tuple[Regime, Sequence[float], float]


def _summary(axis: str, parts: Sequence[tuple[str, Sequence[Row]]]) -> Table:
    body = []
    for value, rows in parts:
        if not rows:
            continue
        found = np.array([each for _, _, each in rows])
        means = [float(np.mean([costs[i] for _, costs, _ in rows])) for i in range(len(METHODS))]
        body.append((value, len(rows), float(np.median(found)), float(found.max()), int((found > NEAR).sum()), *means))
    head = (axis, "regimes", "median ratio", "worst ratio", "over 1.02", *(f"{m} [per slot]" for m in METHODS))
    return Table(f"Calendar's cost over the best other policy's, by {axis}", head, body)
