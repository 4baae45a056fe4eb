"""Deadline specs built in Python, and every path of a DAG, for tests that trust neither model nor method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mrdsl.families.deadline.facts import Dag, DeadlineFacts, Task
from mrdsl.spec.spec import Goal, Spec


def spec_of(
    tasks: Mapping[str, tuple[float, Sequence[str]]],
    delay: float,
    goal: str = "slack",
    weights: Mapping[str, float] | None = None,
) -> Spec:
    """A spec of one DAG: per task its duration and what it runs after."""
    weights = weights or {}
    nodes = tuple(
        Task(name=name, duration=duration, after=tuple(after), weight=weights.get(name, 1.0))
        for name, (duration, after) in tasks.items()
    )
    facts = DeadlineFacts(dags=(Dag(name="d", allowable_delay=delay, tasks=nodes),))
    return Spec(problem="deadline", facts=facts, goal=Goal("maximize", goal))


def paths(tasks: Mapping[str, tuple[float, Sequence[str]]]) -> list[tuple[str, ...]]:
    """Every path from a task without predecessors to one without successors."""
    followed = {other for _, after in tasks.values() for other in after}

    def ending_in(name: str) -> Iterator[tuple[str, ...]]:
        after = tasks[name][1]
        if not after:
            yield (name,)
        for other in after:
            yield from ((*path, name) for path in ending_in(other))

    return [path for name in tasks if name not in followed for path in ending_in(name)]
