"""How far each scheduling policy is from the offline optimum, on small random instances."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

import mrdsl
from mrdsl.core.charts import BarChart
from mrdsl.core.result import Table
from mrdsl.core.units import HOUR
from mrdsl.core.writer import write_text
from mrdsl.families.schedule.facts import Arrivals, Billing, Policy, ScheduleFacts, Spot, Vm
from mrdsl.families.schedule.simulate import run_once
from mrdsl.reporting.report_files import write_chart
from mrdsl.simulation.sampling import stream
from mrdsl.spec.blocks import MapReduceSlots, OnDemand
from mrdsl.spec.schema import Distribution, Source
from mrdsl.spec.spec import Spec

ALGORITHMS = ("mdasa", "ndasa", "ep_edf", "ev_edf", "frugal")
PRICES = Distribution("choice", ((0.01 / HOUR, 0.03 / HOUR, 0.2 / HOUR),))
SHOWN_AS_NONE = 1e-4
"""The gap in percent below which a cost counts as the optimum."""
HEADER = "name,submit [s],map.tasks,map.avg [s],reduce.tasks,shuffle.avg [s],reduce.avg [s],deadline [s]"


def gaps(folder: Path, instances: int = 8, seed: int = 1) -> Iterable[Table]:
    """Cost above the offline optimum with as few late jobs, per policy: mean, largest, and how often it is optimal.

    Broken periods are paid: where they are free the optimum is often 0, and nothing is a share of it.
    """
    rows = []
    groups, drawn = [], []
    for kind in ("on_demand", "hybrid"):
        specs = [_instance(folder, seed, number, kind) for number in range(instances)]
        optima: dict[tuple[int, int], float] = {}
        for algorithm in ALGORITHMS:
            over, late = [], 0
            for number, spec in enumerate(specs):
                plan = run_once(_with(spec, algorithm=algorithm), seed)
                late += plan.jobs.tardy
                key = number, plan.jobs.tardy
                if key not in optima:
                    allowed = _with(spec, tardy_share=plan.jobs.tardy_share)
                    optima[key] = mrdsl.solve(allowed, formulation="offline").objective.value or 0.0
                over.append(100.0 * (plan.cost.total / optima[key] - 1.0))
            exact = sum(each < SHOWN_AS_NONE for each in over)
            rows.append((algorithm, kind, late, float(np.mean(over)), max(over), f"{exact} of {instances}"))
            groups.append(f"{algorithm} {kind}")
            drawn.append(float(np.mean(over)))
    chart = BarChart("Cost above the offline optimum", tuple(groups), {"mean": drawn}, "", "%")
    write_chart(folder / "gap.svg", chart)
    yield Table(
        f"Cost above the offline optimum, {instances} instances of up to 4 jobs",
        ("policy", "instances", "late jobs", "mean [%]", "largest [%]", "optimal"),
        rows,
    )


def _instance(folder: Path, seed: int, number: int, kind: str) -> Spec:
    """Two to four jobs of a few seconds, VMs billed by ten seconds, spot prices that move every four."""
    random = stream(seed, "gap", number)
    rows = [HEADER]
    for i, at in enumerate(sorted(random.randint(0, 8, random.randint(2, 5)))):
        maps, map_time, reduces = random.randint(1, 4), random.randint(1, 4), random.randint(0, 2)
        reduce_time = random.randint(1, 3) if reduces else 0
        deadline = random.randint(map_time + reduce_time, 3 * (map_time + reduce_time) + 1)
        rows.append(f"j{i},{at},{maps},{map_time},{reduces},0,{reduce_time},{deadline}")
    file = folder / f"instance{number}-{kind}.csv"
    write_text(file, "\n".join(rows) + "\n")
    vm = Vm(
        name="small",
        slots=MapReduceSlots(map=1, reduce=1),
        on_demand=OnDemand(price=0.07 / HOUR),
        billing=Billing(period=10.0, broken_period="paid"),
        spot=Spot(price=PRICES, every=4.0),
    )
    policy = Policy(algorithm="mdasa", instances=kind, epoch=2.0)
    facts = ScheduleFacts(vms=(vm,), arrivals=Arrivals(source=Source("table", str(file), file.name)), policy=policy)
    return Spec(problem="schedule", facts=facts, seed=seed)


def _with(spec: Spec, **items: object) -> Spec:
    return replace(spec, facts=replace(spec.facts, policy=replace(spec.facts.policy, **items)))
