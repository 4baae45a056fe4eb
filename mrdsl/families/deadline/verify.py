"""A finished plan, checked and valued from the facts alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.families.deadline.goals import goal_of, value_of
from mrdsl.families.deadline.network import network_of
from mrdsl.families.deadline.plan import DeadlinePlan
from mrdsl.families.deadline.workload import tasks_of
from mrdsl.spec.spec import Spec

TOLERANCE = 1e-9
"""Relative to the allowable delay."""


def verify(spec: Spec, plan: DeadlinePlan, relax: bool = False) -> Iterator[Diagnostic]:
    """Constraints (1) to (3) for every path: no task gets less than its duration, no path more than its deadline.

    Paper 004 prints map and reduce swapped in (1) to (3): they are e(j,k) (D_j + D_k) <= D' and T <= D. A task
    without dependencies is bounded by D' alone, and in a general DAG the sum runs along every path.
    """
    tasks = tasks_of(spec)
    network = network_of(tasks)
    duration, scale = network.duration, network.deadlines[network.dag]
    for i in np.flatnonzero(~(plan.delay >= duration - TOLERANCE * scale)):
        yield error(
            "broken-plan",
            f"task {tasks.names[i]} is allowed {plan.delay[i]:g} s, less than the {duration[i]:g} s that it runs",
            tasks.spans[i],
        )
    for i in np.flatnonzero(np.abs(plan.delay - duration - plan.slack) > TOLERANCE * scale):
        yield error(
            "broken-plan", f"the slack of task {tasks.names[i]} is not its delay less its duration", tasks.spans[i]
        )
    reached = network.earliest(plan.delay)
    for number, dag in enumerate(spec.facts.dags):
        if reached[1 + number] > dag.allowable_delay * (1 + TOLERANCE):
            yield error(
                "broken-plan",
                f"the delays along a path of dag {dag.name} add up to {reached[1 + number]:.9g}"
                f" s, more than {dag.allowable_delay:g} s",
                dag.span_of("allowable_delay"),
            )
    late = reached[network.tail] + plan.delay
    wrong = (np.abs(plan.latest_finish - late) > TOLERANCE * scale) | (
        np.abs(plan.latest_start - late + duration) > TOLERANCE * scale
    )
    for i in np.flatnonzero(wrong):
        yield error(
            "broken-plan",
            f"the latest start and finish of task {tasks.names[i]} do not fit the delays up to it",
            tasks.spans[i],
        )


def measure(spec: Spec, plan: DeadlinePlan) -> float:
    """The goal's value of a plan."""
    tasks = tasks_of(spec)
    return value_of(goal_of(spec), tasks, network_of(tasks), plan.delay - np.array(tasks.durations))


def quantity(spec: Spec, plan: DeadlinePlan, name: str, argument: str) -> float:
    """``delay(t)`` or ``slack(t)`` of a task, of each task of a group, or of one member of it."""
    number = plan.members[argument]
    return float({"delay": plan.delay, "slack": plan.slack}[name][number])
