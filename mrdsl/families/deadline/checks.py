"""Checks of a deadline spec beyond its schema, and deadlines that no partition can meet."""

from __future__ import annotations

from collections.abc import Iterator

from mrdsl.core.diagnostics import Diagnostic, chained, error, impossible
from mrdsl.core.rounding import ROUNDING
from mrdsl.families.deadline.facts import DeadlineFacts
from mrdsl.families.deadline.workload import Tasks, read_tasks, tasks_of
from mrdsl.spec.spec import Spec


def check(spec: Spec) -> Iterator[Diagnostic]:
    """Unknown and repeated tasks, empty DAGs, unreadable files, cycles."""
    facts: DeadlineFacts = spec.facts
    if not len(facts.dags):
        yield error(
            "missing-block",
            "the spec has no `dag` block",
            spec.span,
            "add dag NAME { allowable_delay = 10 min, task NAME { duration = 60 s } }",
        )
    tasks, problems = read_tasks(spec)
    yield from problems
    if spec.goal is not None and spec.goal.quantity == "slack_ratio" and tasks.durations and not any(tasks.durations):
        yield error(
            "out-of-range",
            "every task takes 0 s: there is no ratio of slack to duration",
            spec.goal.span,
            "write `maximize min_slack`",
        )
    yield from _cycles(tasks)


def find_impossible(spec: Spec) -> Iterator[Diagnostic]:
    """Check condition (4) of paper 004 for any DAG: the longest path fits into the allowable delay.

    The paper's (4) takes pairs of one map and one reduce task. Here every path counts, and so does a single task
    without dependencies. The objective ``slack`` needs time to spare: if a path takes the whole delay, the product is 0
    for every partition of the delay. Lengths within a billionth of the delay count as equal to it: 0.1 s and 0.2 s fit
    into 0.3 s.
    """
    from mrdsl.families.deadline.network import critical_path, network_of

    tasks = tasks_of(spec)
    network = network_of(tasks)
    earliest = network.earliest(network.duration)
    product = spec.goal is None or spec.goal.quantity == "slack"
    for number, dag in enumerate(spec.facts.dags):
        length = float(earliest[1 + number])
        rounding = ROUNDING * dag.allowable_delay
        if length < dag.allowable_delay - (rounding if product else -rounding):
            continue
        path, length = critical_path(tasks, network, number)
        shown = chained([tasks.names[task] for task in path])
        if length > dag.allowable_delay + rounding:
            message = (
                f"dag {dag.name} cannot keep its allowable delay of {dag.allowable_delay:g} s: its critical "
                f"path takes {length:g} s: {shown}"
            )
            hint = f"write allowable_delay = {_more(length):g} s or more, or shorten a task of that path"
        else:
            message = (
                f"dag {dag.name} has no slack to share: its critical path takes all of its allowable delay of "
                f"{length:g} s: {shown}"
            )
            hint = f"write allowable_delay = {_more(length):g} s or more, or maximize min_slack, which may be 0"
        yield impossible("impossible-deadline", message, dag.span_of("allowable_delay"), hint)


def _cycles(tasks: Tasks) -> Iterator[Diagnostic]:
    cycle = find_cycle(tasks)
    if cycle:
        named = [tasks.names[task] for task in cycle]
        first = min(cycle)
        yield error(
            "cycle",
            f"the tasks wait for each other: {chained([*named, named[0]])}",
            tasks.spans[first],
            "no task can run before itself: take one of these out of an `after`, for "
            f"example {named[-1]} out of that of {named[0]}",
        )


def find_cycle(tasks: Tasks) -> list[int]:
    """Return the numbers of the tasks of one cycle, each running before the next; empty if there is no cycle."""
    if _ordered(tasks):
        return []
    import networkx as nx

    graph = nx.DiGraph()
    n = len(tasks)
    for number, after in enumerate(tasks.after):
        graph.add_edges_from((other if other >= 0 else n + ~other, number) for other in after)
    for number, members in enumerate(tasks.groups):
        graph.add_edges_from((member, n + number) for member in members)
    tails = [tail for tail, _ in nx.find_cycle(graph)]
    cycle = [task for task in tails if task < n]
    turn = cycle.index(min(cycle))
    return cycle[turn:] + cycle[:turn]


def _ordered(tasks: Tasks) -> bool:
    """Return True if the tasks can run one after the other; plain lists, as `check` loads neither numpy nor
    networkx.
    """
    n = len(tasks)
    waits = [*tasks.after, *tasks.groups]
    followers: list[list[int]] = [[] for _ in waits]
    for number, others in enumerate(waits):
        for other in others:
            followers[other if other >= 0 else n + ~other].append(number)
    waiting = [len(others) for others in waits]
    ready = [number for number, count in enumerate(waiting) if count == 0]
    for number in ready:
        for follower in followers[number]:
            waiting[follower] -= 1
            if waiting[follower] == 0:
                ready.append(follower)
    return len(ready) == len(waits)


def _more(length: float) -> float:
    """Return a round time above ``length``, to propose."""
    return float(round(length * 1.2 + 1.0))
