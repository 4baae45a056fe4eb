"""Tasks of a deadline spec one by one, as they are written, and when each may start at the latest; for verification."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.kept_values import kept
from mrdsl.core.source import Span
from mrdsl.exchange.registry import WORKFLOWS, named
from mrdsl.families.deadline.facts import Dag, DeadlineFacts
from mrdsl.families.deadline.plan import DeadlinePlan
from mrdsl.spec.columns import Columns, column, parts_of
from mrdsl.spec.spec import Spec

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass
class Written:
    """Every task of every DAG: its name, the group that it was generated in ("" for none), numbers and place.

    ``runs`` are ranges of neighbouring tasks that wait for the same ones; ``waits_for`` has the number of that list in
    ``lists``, whose entries are ranges of tasks, too. ``order`` lists the runs so that each comes after what it waits
    for. Durations in seconds.
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
    """Read the tasks of a checked spec; they are kept on the spec, and nobody writes to them."""
    return kept(spec, "_deadline_tasks_as_written", lambda: _read(spec.facts))


def ends_of(tasks: Written, delay: Sequence[float]) -> list[float]:
    """Compute when each task ends if it starts once all that it waits for has ended, and takes its delay.

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
    """Find each task's row in a plan: that of its own name, or that of its group; -1 without either."""
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
    """Add the tasks of one DAG; yield runs of tasks and what they wait for."""
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
    """Put runs of tasks in an order in which none comes before what it waits for."""
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
