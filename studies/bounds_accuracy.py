"""When to trust which estimate: random scenarios in settings ever farther from what the bounds assume.

Profiles are drawn from the ranges of Table 2 of Malekimajd et al. 2015, averages between half and 95 % of the longest
times, two to four classes of one to six jobs; every job's share is a whole number of slots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.charts import BarChart
from mrdsl.core.result import Table
from mrdsl.families.bounds.facts import BoundsFacts, Cluster, JobClass
from mrdsl.families.bounds.formulas import plan_of
from mrdsl.families.bounds.plan import ESTIMATES
from mrdsl.families.bounds.simulate import simulate_plan
from mrdsl.reporting.report_files import write_chart
from mrdsl.simulation.sampling import stream
from mrdsl.simulation.settings import Settings
from mrdsl.spec.blocks import MapPhase, ReducePhase, ShufflePhase, Slots
from mrdsl.spec.spec import Spec


@dataclass(frozen=True)
class Setting:
    """One way of running the same classes; ``think`` relative to the average estimate."""

    title: str
    cluster: Cluster
    think: float


SETTINGS = (
    Setting("slots of its own for every job, always busy", Cluster(work_conserving="no"), 0.0),
    Setting("common slots, lent, always busy", Cluster(pools="common"), 0.0),
    Setting("common slots, lent, think 10 %", Cluster(pools="common"), 0.1),
    Setting("common slots, lent, think 100 %", Cluster(pools="common"), 1.0),
    Setting("map and reduce slots, lent, always busy", Cluster(), 0.0),
    Setting("map and reduce slots, lent, think 10 %", Cluster(), 0.1),
    Setting("map and reduce slots, queues by capacity", Cluster(scheduler="capacity"), 0.0),
)


def accuracy(output: Path, scenarios: int = 30, jobs: int = 10, seed: int = 1) -> Iterator[Table]:
    """Every estimate relative to the simulated mean, per setting, and how often the mean lies outside the bounds."""
    rows, upper = [], []
    for setting in SETTINGS:
        ratios = np.concatenate([ratios_of(setting, seed, number, jobs) for number in range(scenarios)])
        above, below = (ratios[:, 0] > 1.0).mean(), (ratios[:, 2] < 1.0).mean()
        error = np.abs(ratios - 1.0).mean(axis=0)
        rows.append(
            (
                setting.title,
                len(ratios),
                *(f"{100 * (r - 1):+.0f}%" for r in ratios.mean(axis=0)),
                f"{100 * error[1]:.0f}%",
                f"{100 * error[3]:.0f}%",
                f"{100 * above:.0f}%",
                f"{100 * below:.0f}%",
            )
        )
        upper.append(float(ratios[:, 2].mean() - 1.0) * 100)
    names = tuple(setting.title for setting in SETTINGS)
    chart = BarChart("Upper estimate above the mean", names, {"upper estimate": upper}, "setting", "%")
    write_chart(output / "bounds-accuracy.svg", chart)
    yield Table(
        "Estimate / simulated mean - 1",
        ("setting", "classes", *ESTIMATES, "|average|", "|waves|", "mean below lower", "mean above upper"),
        rows,
    )


def ratios_of(setting: Setting, seed: int, number: int, jobs: int) -> NDArray[np.float64]:
    """Estimates over simulated means, (classes, 4), of one scenario."""
    spec = scenario(setting, seed, number)
    plan, _ = simulate_plan(spec, plan_of(spec), Settings(1, seed + number, jobs))
    means = np.array([plan.observed[name].mean for name in plan.names])
    return np.column_stack([plan.completion[each] / means for each in ESTIMATES])


def scenario(setting: Setting, seed: int, number: int) -> Spec:
    """The classes of scenario ``number``, the same in every setting."""
    random = stream(seed, "scenario", number)
    classes = [job_class(random, f"c{k}") for k in range(random.randint(2, 5))]
    each = int(random.randint(5, 25))
    slots = each * sum(node.jobs for node in classes)
    cluster = replace(setting.cluster, slots=Slots(map=slots, reduce=slots))
    facts = BoundsFacts(estimates="paper", classes=tuple(classes), cluster=cluster)
    if setting.think:
        times = plan_of(Spec(problem="bounds", facts=facts)).completion["average"]
        classes = [replace(node, think=setting.think * float(time)) for node, time in zip(classes, times, strict=True)]
    else:
        classes = [replace(node, think=0.0) for node in classes]
    return Spec(problem="bounds", facts=replace(facts, classes=tuple(classes)))


def job_class(random: np.random.RandomState, name: str) -> JobClass:
    """One class with a profile in the paper's ranges."""
    longest = {
        part: float(random.uniform(*ends))
        for part, ends in (("map", (16, 120)), ("shuffle", (30, 150)), ("reduce", (15, 75)), ("first", (10, 30)))
    }
    avg = {part: float(value * random.uniform(0.5, 0.95)) for part, value in longest.items()}
    return JobClass(
        name=name,
        jobs=int(random.randint(1, 7)),
        map=MapPhase(tasks=int(random.randint(70, 701)), avg=avg["map"], max=longest["map"]),
        shuffle=ShufflePhase(
            first_avg=avg["first"], first_max=longest["first"], avg=avg["shuffle"], max=longest["shuffle"]
        ),
        reduce=ReducePhase(tasks=int(random.randint(32, 65)), avg=avg["reduce"], max=longest["reduce"]),
    )
