"""Every policy over a grid of regimes: what the calendar costs beside the best of the others.

A regime is a load, a number of queues, a mix of tasks, a delay, an acceptance and a kind of arrivals. ``controller``
runs with ``V = auto`` and ``outsource_limit = auto``. The calendar loses a regime where it costs over 2 % more than the
best of the others, a thousandth of what sending all tasks out costs granted to both. Tasks by which a queue's
acceptance falls short of the one asked for, as the controller's may over a finite run, are charged at what they cost
outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import product
from math import ceil, pi
from pathlib import Path

import numpy as np

from mrdsl.contracts.study import Bench
from mrdsl.core.result import Table
from mrdsl.core.writer import overwriting, write_text
from mrdsl.families.hybrid.bounds import control_of
from mrdsl.families.hybrid.facts import Bursts, Control, HybridFacts, Queue, Vm
from mrdsl.families.hybrid.plan import HybridPlan
from mrdsl.simulation.sampling import stream
from mrdsl.spec.schema import Distribution, Source
from mrdsl.spec.spec import Goal, Spec

VMS, DAY = 20, 200
METHODS = ("calendar", "controller", "threshold", "always-outsource")
NEAR, SMALL = 1.02, 1e-3


@dataclass(frozen=True)
class Regime:
    """One point of the grid; the names of its fields are the axes."""

    load: float
    queues: int
    mix: str
    delay: str
    acceptance: float
    arrivals: str


AXES: dict[str, Sequence[object]] = {
    "load": (0.2, 0.6, 0.9, 1.1, 1.5, 2.0),
    "queues": (1, 2, 4),
    "mix": ("long dear", "long cheap", "rare dear"),
    "delay": ("l + 2", "4 l", "20 l"),
    "acceptance": (0.5, 0.8, 0.95, 1.0),
    "arrivals": ("smooth", "bursty", "daily"),
}
TASKS = {
    "long dear": ((6, 12.0, 1.0), (1, 1.0, 1.0)),
    "long cheap": ((6, 3.0, 1.0), (1, 4.0, 1.0)),
    "rare dear": ((6, 3.0, 1.0), (1, 10.0, 0.02)),
}
"""Size in slots, price outside, and part of the work: of long and of short tasks."""


def grid() -> tuple[Regime, ...]:
    """Every regime."""
    return tuple(Regime(*point) for point in product(*AXES.values()))  # type: ignore[arg-type]


def regimes(output: Path, bench: Bench, sample: int = 200, horizon: int = 600, seed: int = 1) -> Iterator[Table]:
    """Costs over a sample of the grid, the ratio of the calendar's to the best other one, by every axis."""
    points = grid()
    if sample < len(points):
        chosen = stream(seed, "regimes").permutation(len(points))[:sample]
        points = tuple(points[i] for i in sorted(chosen.tolist()))
    rows = []
    for point in points:
        spec = spec_of(point, output, horizon, seed)
        plans = [bench.solve(spec, method).plan for method in METHODS]
        costs = [charged(spec, plan) for plan in plans if isinstance(plan, HybridPlan)]
        rows.append((point, costs, ratio(costs)))
    yield Table("Axes", ("axis", "values"), [(axis, ", ".join(map(str, values))) for axis, values in AXES.items()])
    yield _summary("all", [("", rows)])
    for axis in AXES:
        parts = [(str(value), [row for row in rows if getattr(row[0], axis) == value]) for value in AXES[axis]]
        yield _summary(axis, parts)
    head = [*(field.name for field in fields(Regime)), *METHODS, "calendar / best other"]
    lines = [",".join(map(str, (*vars(point).values(), *costs, found))) for point, costs, found in rows]
    write_text(output / "regimes.csv", "\n".join([",".join(head), *lines]) + "\n")


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


def spec_of(regime: Regime, output: Path, horizon: int, seed: int) -> Spec:
    """A cloud of 20 VMs in the regime; daily arrivals are drawn into a file in ``output``."""
    kinds = TASKS[regime.mix][: min(regime.queues, 2)]
    copies = max(1, regime.queues // 2)
    whole = copies * sum(part for _, _, part in kinds)
    queues = [
        _queue(f"q{size}_{copy}", size, price * (1.0 + 0.5 * copy), regime.load * VMS * part / whole / size, regime)
        for size, price, part in kinds
        for copy in range(copies)
    ]
    facts = HybridFacts(
        horizon=horizon,
        vms=(Vm(name="node", available=VMS, preemption_cost=0.1),),
        queues=tuple(queues),
        recorded=_daily(regime, queues, output, horizon, seed) if regime.arrivals == "daily" else None,
        control=Control(acceptance=regime.acceptance),
    )
    return Spec(problem="hybrid", facts=facts, goal=Goal("minimize", "cost"), seed=seed)


def _queue(name: str, size: int, price: float, mean: float, regime: Regime) -> Queue:
    delay = {"l + 2": size + 2, "4 l": max(4 * size, size + 2), "20 l": 20 * size}[regime.delay]
    low, high = (0.4 * mean, 2.8 * mean) if regime.arrivals == "bursty" else (mean, mean)
    bursts = Bursts(on=10, off=30, arrivals=Distribution("poisson", (high,)))
    return Queue(
        name=name,
        vm="node",
        size=size,
        delay=delay,
        arrivals=Distribution("poisson", (low,)),
        arrivals_max=ceil(3 * high + 3),
        outsourcing=price,
        bursts=bursts if regime.arrivals == "bursty" else None,
    )


def _daily(regime: Regime, queues: Sequence[Queue], output: Path, horizon: int, seed: int) -> Source:
    slots = np.arange(horizon)
    columns = []
    for queue in queues:
        assert isinstance(queue.arrivals, Distribution)
        rates = queue.arrivals.parameters[0] * (1.0 + 0.9 * np.sin(2 * pi * slots / DAY))
        drawn = stream(seed, "daily", queue.name).poisson(rates)
        columns.append(np.minimum(drawn, queue.arrivals_max).tolist())
    rows = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    path = output / "arrivals.csv"
    with overwriting(True):  # one table for all regimes in turn
        write_text(path, "\n".join([",".join(queue.name for queue in queues), *rows]) + "\n")
    return Source("table", str(path.resolve()), str(path))
