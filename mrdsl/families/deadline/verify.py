"""A deadline plan against its spec, from the facts as they are written: each task's numbers, and every path."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.families.deadline.plan import DeadlinePlan
from mrdsl.families.deadline.verify_tasks import Floats, Ints, Written, ends_of, row_named, rows_of, written_in
from mrdsl.spec.spec import Spec

TOLERANCE = 1e-9
"""Relative to the allowable delay."""


def verify(spec: Spec, plan: DeadlinePlan, relax: bool = False) -> Iterator[Diagnostic]:
    """Constraints (1) to (3) for every path: no task gets less than its duration, no path more than its deadline.

    Paper 004 prints map and reduce swapped in (1) to (3): they are e(j,k) (D_j + D_k) <= D' and T <= D. A task
    without dependencies is bounded by D' alone, and in a general DAG the sum runs along every path.
    """
    tasks = written_in(spec)
    rows = rows_of(tasks, plan.names)
    missing = list(_missing(tasks, plan, rows))
    if missing:
        yield from missing
        return
    dag = np.array(tasks.dag, dtype=np.int64)
    allowed = np.array([each.allowable_delay for each in spec.facts.dags], dtype=np.float64)
    slack = TOLERANCE * allowed[dag]
    duration, delay = np.array(tasks.duration, dtype=np.float64), plan.delay[rows]
    ends = np.array(ends_of(tasks, delay.tolist()), dtype=np.float64)
    yield from _tasks(tasks, plan, rows, slack, ends)
    reached = np.zeros(len(allowed))
    np.maximum.at(reached, dag, np.where(np.isnan(ends), np.inf, ends))
    for number in np.flatnonzero(reached > allowed * (1 + TOLERANCE)).tolist():
        named = spec.facts.dags[number]
        yield error(
            "broken-plan",
            f"the delays along a path of dag {named.name} add up to {reached[number]:.9g}"
            f" s, more than {named.allowable_delay:g} s",
            named.span_of("allowable_delay"),
        )
    late = ends - plan.latest_finish[rows]
    early = ends - duration - plan.latest_start[rows]
    yield from _told(
        tasks,
        plan,
        rows,
        ~((np.abs(late) <= slack) & (np.abs(early) <= slack)),
        lambda row, _: f"the latest start and finish of task {plan.names[row]} do not fit the delays up to it",
    )


def _missing(tasks: Written, plan: DeadlinePlan, rows: Ints) -> Iterator[Diagnostic]:
    """Report tasks without a row of the plan, and rows that count tasks that are not there."""
    if (rows < 0).any():
        task = int(np.flatnonzero(rows < 0)[0])
        yield error("broken-plan", f"the plan lacks task {tasks.names[task]}", tasks.places[task])
        return
    counted = np.bincount(rows, minlength=len(plan.names))
    for row in np.flatnonzero(counted != np.asarray(plan.count)).tolist():
        name = plan.names[row]
        yield error("broken-plan", f"the plan counts {plan.count[row]} tasks as {name}, the spec {counted[row]}")


def _tasks(tasks: Written, plan: DeadlinePlan, rows: Ints, slack: Floats, ends: Floats) -> Iterator[Diagnostic]:
    """Report tasks that get less than they run, whose slack is another, or whose duration is."""
    duration, delay = np.array(tasks.duration, dtype=np.float64), plan.delay[rows]
    yield from _told(
        tasks,
        plan,
        rows,
        ~(delay >= duration - slack),
        lambda row, task: (
            f"task {plan.names[row]} is allowed {plan.delay[row]:g} s, less than the {tasks.duration[task]:g} s "
            "that it runs"
        ),
    )
    yield from _told(
        tasks,
        plan,
        rows,
        ~(np.abs(delay - duration - plan.slack[rows]) <= slack),
        lambda row, _: f"the slack of task {plan.names[row]} is not its delay less its duration",
    )
    yield from _told(
        tasks,
        plan,
        rows,
        ~(np.abs(plan.duration[rows] - duration) <= slack),
        lambda row, task: f"task {plan.names[row]} runs {tasks.duration[task]:g} s, and not {plan.duration[row]:g} s",
    )


def _told(
    tasks: Written, plan: DeadlinePlan, rows: Ints, wrong: NDArray[np.bool_], say: Callable[[int, int], str]
) -> Iterator[Diagnostic]:
    """Report each row of the plan once, at its first task."""
    found, first = np.unique(rows[wrong], return_index=True)
    for row, task in zip(found.tolist(), np.flatnonzero(wrong)[first].tolist(), strict=True):
        yield error("broken-plan", say(row, task), tasks.places[task])


def measure(spec: Spec, plan: DeadlinePlan) -> float:
    """Compute the goal's value: the sum of weight * ln(slack / 1 s) over all tasks, or the least slack per share.

    A share is the weight, times the duration for a ratio; tasks of no duration have no ratio.
    """
    tasks = written_in(spec)
    rows = rows_of(tasks, plan.names)
    duration, weight = np.array(tasks.duration, dtype=np.float64), np.array(tasks.weight, dtype=np.float64)
    slack = plan.delay[rows] - duration
    goal = "slack" if spec.goal is None else spec.goal.quantity
    if goal == "slack":
        with np.errstate(divide="ignore"):
            return float((weight * np.log(slack)).sum())
    share = weight * duration if goal == "slack_ratio" else weight
    counts = share > 0.0
    return float((slack[counts] / share[counts]).min(initial=np.inf))


def quantity(spec: Spec, plan: DeadlinePlan, name: str, argument: str) -> float:
    """``delay(t)`` or ``slack(t)`` of a task, of each task of a group, or of one member of it."""
    row = row_named(written_in(spec), plan, argument)
    return float({"delay": plan.delay, "slack": plan.slack}[name][row])
