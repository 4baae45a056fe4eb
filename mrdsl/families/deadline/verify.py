"""Verification of a deadline plan from the input data alone: each task's numbers, and every path.

Tasks are read one by one; each has a latest start.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import Diagnostic, Span, error
from mrdsl.core.lazy import kept
from mrdsl.exchange.registry import WORKFLOWS, named
from mrdsl.families.deadline.facts import Dag, DeadlineFacts
from mrdsl.families.deadline.plan import DeadlinePlan
from mrdsl.spec.columns import Columns, column, parts_of
from mrdsl.spec.spec import Spec

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass
class Written:
    """Every task of every DAG: its name, the group that generated it ("" for none), numbers and location.

    ``runs`` are ranges of neighbouring tasks that wait for the same ones. ``waits_for`` has the number of that list in
    ``lists``, whose entries are ranges of tasks, too. ``order`` lists the runs so that each comes after the runs that
    it waits for. Durations are in seconds.
    """

    names: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    duration: list[float] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    dag: list[int] = field(default_factory=list)
    places: list[Span | None] = field(default_factory=list)
    runs: list[range] = field(default_factory=list)
    waits_for: list[int] = field(default_factory=list)
    lists: list[tuple[range, ...]] = field(default_factory=list)
    order: list[int] = field(default_factory=list)


def written_in(spec: Spec) -> Written:
    """Read the tasks of a checked spec; the spec caches them, and they are read-only."""
    return kept(spec, "_deadline_tasks_as_written", lambda: _read(spec.facts))


def ends_of(tasks: Written, delay: Sequence[float]) -> list[float]:
    """Compute when each task ends if it starts once all that it waits for has ended, and take its delay.

    Args:
        tasks: The tasks in the order of their DAGs.
        delay: What each task takes [s].

    Returns:
        The end of each task after the submission of its DAG [s]: the longest path that it ends.
    """
    ends = [0.0] * len(delay)
    start: list[float | None] = [None] * len(tasks.lists)
    for number in tasks.order:
        waits = tasks.waits_for[number]
        begin = start[waits]
        if begin is None:
            begin = max((max(ends[each.start : each.stop]) for each in tasks.lists[waits]), default=0.0)
            start[waits] = begin
        for task in tasks.runs[number]:
            ends[task] = begin + delay[task]
    return ends


def rows_of(tasks: Written, names: Sequence[str]) -> Ints:
    """Find each task's row in a plan: that of its name, or that of its group; -1 without either."""
    row = {name: number for number, name in enumerate(names)}
    found = [
        row.get(name, row.get(group, -1) if group else -1)
        for name, group in zip(tasks.names, tasks.groups, strict=True)
    ]
    return np.array(found, dtype=np.int64)


def _read(facts: DeadlineFacts) -> Written:
    tasks = Written()
    for number, dag in enumerate(facts.dags):
        first = len(tasks.names)
        prefix = f"{dag.name}." if len(facts.dags) > 1 else ""
        called: dict[str, range] = {}
        waiting = list(_read_dag(tasks, dag, called, prefix))
        lists: dict[tuple[str, ...], int] = {}
        for run, after in waiting:
            if after not in lists:
                lists[after] = len(tasks.lists)
                # tasks go by their names, those of a file by their numbers
                tasks.lists.append(
                    tuple(
                        called[each] if isinstance(each, str) else range(first + each, first + each + 1)
                        for each in after
                    )
                )
            tasks.runs.append(run)
            tasks.waits_for.append(lists[after])
        tasks.dag += [number] * (len(tasks.names) - first)
    tasks.order = _ordered(tasks)
    return tasks


def _read_dag(
    tasks: Written, dag: Dag, called: dict[str, range], prefix: str
) -> Iterator[tuple[range, tuple[str, ...]]]:
    """Add the tasks of one DAG; yield runs of tasks and their predecessors."""
    if dag.source is not None:
        reader = named(WORKFLOWS, dag.source.reader)
        assert reader is not None, dag.source.reader
        read = reader.read(dag.source.path, [])
        run = _add(
            tasks, read.names, read.durations, [1.0] * len(read.names), [dag.source.span] * len(read.names), "", prefix
        )
        called.update((name, range(task, task + 1)) for name, task in zip(read.names, run, strict=True))
        for task, parents in zip(run, read.parents, strict=True):
            yield range(task, task + 1), tuple(read.names[parent] for parent in parents)
    for part in parts_of(dag.tasks):
        places: Sequence[Span | None]
        if isinstance(part, Columns):
            names, group, places = list(part.names), part.group, [part.span_at(row) for row in range(len(part))]
        else:
            names, group, places = [node.name for node in part], "", [node.span for node in part]
        durations, weights = column(part, "duration").tolist(), column(part, "weight").tolist()
        run = _add(tasks, names, durations, weights, places, group, prefix)
        called.update((name, range(task, task + 1)) for name, task in zip(names, run, strict=True))
        if group:
            called[group] = run
        after: Any = part.values.get("after", ()) if isinstance(part, Columns) else [node.after for node in part]
        if isinstance(part, Columns) and not hasattr(after, "dtype"):
            yield run, tuple(after)
        else:
            yield from ((range(task, task + 1), tuple(each)) for task, each in zip(run, after, strict=True))


def _add(
    tasks: Written,
    names: Sequence[str],
    durations: Sequence[float],
    weights: Sequence[float],
    places: Sequence[Span | None],
    group: str,
    prefix: str,
) -> range:
    first = len(tasks.names)
    tasks.names += [prefix + name for name in names]
    tasks.groups += [prefix + group if group else ""] * len(names)
    tasks.duration += durations
    tasks.weight += weights
    tasks.places += places
    return range(first, len(tasks.names))


def _ordered(tasks: Written) -> list[int]:
    """Sort runs of tasks so that each comes after its predecessors."""
    run_of = np.repeat(np.arange(len(tasks.runs)), [len(run) for run in tasks.runs])
    graph: dict[Hashable, Sequence[Hashable]] = {run: (~waits,) for run, waits in enumerate(tasks.waits_for)}
    for number, waits in enumerate(tasks.lists):
        graph[~number] = sorted({int(run) for each in waits for run in np.unique(run_of[each.start : each.stop])})
    return [node for node in TopologicalSorter(graph).static_order() if isinstance(node, int) and node >= 0]


def row_named(tasks: Written, plan: DeadlinePlan, argument: str) -> int:
    """Find the row of a task or of a group; raise KeyError if a plan has none."""
    row: dict[str, int] = kept(plan, "_row", lambda: {name: number for number, name in enumerate(plan.names)})
    if argument in row:
        return row[argument]
    groups: dict[str, str] = kept(tasks, "_groups", lambda: dict(zip(tasks.names, tasks.groups, strict=True)))
    return row[groups[argument]]


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
    yield from _tasks(tasks, plan, rows, slack)
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


def _tasks(tasks: Written, plan: DeadlinePlan, rows: Ints, slack: Floats) -> Iterator[Diagnostic]:
    """Report tasks that get less than they run, whose slack is another, or whose duration is."""
    duration, delay = np.array(tasks.duration, dtype=np.float64), plan.delay[rows]
    yield from _told(
        tasks,
        rows,
        ~(delay >= duration - slack),
        lambda row, task: (
            f"task {plan.names[row]} is allowed {plan.delay[row]:g} s, less than the {tasks.duration[task]:g} s "
            "that it runs"
        ),
    )
    yield from _told(
        tasks,
        rows,
        ~(np.abs(delay - duration - plan.slack[rows]) <= slack),
        lambda row, _: f"the slack of task {plan.names[row]} is not its delay less its duration",
    )
    yield from _told(
        tasks,
        rows,
        ~(np.abs(plan.duration[rows] - duration) <= slack),
        lambda row, task: f"task {plan.names[row]} runs {tasks.duration[task]:g} s, and not {plan.duration[row]:g} s",
    )


def _told(tasks: Written, rows: Ints, wrong: NDArray[np.bool_], say: Callable[[int, int], str]) -> Iterator[Diagnostic]:
    """Report each row of the plan once, at its first task."""
    found, first = np.unique(rows[wrong], return_index=True)
    for row, task in zip(found.tolist(), np.flatnonzero(wrong)[first].tolist(), strict=True):
        yield error("broken-plan", say(row, task), tasks.places[task])


def measure(spec: Spec, plan: DeadlinePlan) -> float:
    """Compute the objective: the sum of weight * ln(slack / 1 s) over all tasks, or the least slack per share.

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
