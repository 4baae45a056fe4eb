"""A deadline plan run: every task as soon as those before it have ended, with drawn durations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mrdsl.core.diagnostics import Diagnostic
from mrdsl.core.rounding import ROUNDING
from mrdsl.families.deadline.network import Floats, network_of
from mrdsl.families.deadline.plan import DeadlinePlan
from mrdsl.families.deadline.workload import Tasks, tasks_of
from mrdsl.simulation.drawn import Factors, drawing
from mrdsl.simulation.settings import Settings
from mrdsl.simulation.verdicts import IT_TAKES, verdict_warnings
from mrdsl.spec.spec import Spec


def simulate_plan(spec: Spec, plan: DeadlinePlan, settings: Settings) -> tuple[DeadlinePlan, tuple[Diagnostic, ...]]:
    """Simulate a plan in independent runs: the completion time of each DAG, and the tasks that meet their delays.

    A task starts when all tasks before it have ended and a machine is free for it. A group of alike tasks takes as long
    as the longest of them. The allowable delay of a DAG is a service level. Without a spread every DAG takes its
    critical path. Raises MrdslError for options without a meaning here.
    """
    tasks = tasks_of(spec)
    runs = drawing(
        spec,
        settings,
        sum(tasks.counts),
        slowstart="a task starts when those before it have ended, map and reduce are not told apart",
        lose="delays are promises, and say nothing of machines",
        once="every DAG is submitted once in every run",
    )
    network = network_of(tasks)
    lengths_of = _Lengths(tasks, network.duration, runs.factors)
    ends = np.empty((settings.runs, len(spec.facts.dags)))
    kept = np.zeros(len(plan.names))
    for run in range(settings.runs):
        lengths = lengths_of.run(run)
        ends[run] = network.earliest(lengths)[1 : network.fixed]
        kept += lengths <= plan.delay * (1 + ROUNDING)
    observed = {dag.name: runs.once(ends[:, d], dag.allowable_delay) for d, dag in enumerate(spec.facts.dags)}
    ran = replace(plan, observed=observed, in_time=kept / settings.runs, simulated=runs.simulated)
    return ran, runs.told(_told(spec, ran))


def _told(spec: Spec, plan: DeadlinePlan) -> Iterator[Diagnostic]:
    for dag in spec.facts.dags:
        yield from verdict_warnings(
            plan.observed[dag.name].verdict, f"dag {dag.name}", dag.span_of("allowable_delay"), IT_TAKES
        )


class _Lengths:
    """Durations of the tasks, of a group the longest of its members.

    Factors are drawn for each DAG separately, by the places of its members. So they do not depend on other DAGs, or on
    which members of a group are separate tasks.
    """

    def __init__(self, tasks: Tasks, duration: Floats, factors: Factors) -> None:
        self.duration, self.factors = duration, factors
        counts, dag = np.asarray(tasks.counts, dtype=np.int64), np.asarray(tasks.dag, dtype=np.int64)
        self.first = np.cumsum(counts) - counts
        members = np.zeros(len(tasks.dag_names), dtype=np.int64)
        np.add.at(members, dag, counts)
        self.dags = list(zip(tasks.dag_names, members.tolist(), strict=True))
        begins = (np.cumsum(members) - members)[dag] + np.asarray(tasks.places, dtype=np.int64)
        self.order = np.repeat(begins - self.first, counts) + np.arange(counts.sum())
        for number, apart in tasks.apart.items():
            mine = np.setdiff1d(np.arange(counts[number] + len(apart)), np.asarray(apart) - tasks.places[number])
            self.order[self.first[number] :][: len(mine)] = begins[number] + mine

    def run(self, run: int) -> Floats:
        """Return one run."""
        drawn = np.concatenate([self.factors.of(run, members, name) for name, members in self.dags])
        return np.asarray(self.duration * np.maximum.reduceat(drawn[self.order], self.first))
