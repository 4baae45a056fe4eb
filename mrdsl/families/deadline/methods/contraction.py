"""Exact reductions of a network of events: fewer of them, and the same best slacks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mrdsl.families.deadline.methods.slack_limits import SlackLimits
from mrdsl.families.deadline.network import Ints, Network, distinct


def contracted(network: Network) -> Network:
    """Return the network without the order arcs that are the only way out of an event, or the only way into one.

    Such an arc's two events may as well have one time: if the only way out of an event is later, no task loses room,
    and the same is true of an earlier only way in. Events with a given time do not move.
    """
    tail, head, before, later = network.tail, network.head, network.before, network.later
    events = network.events
    while True:
        merged = False
        for outward in (True, False):
            ends = np.concatenate([tail, before] if outward else [head, later])
            degree = np.bincount(ends, minlength=events)
            gone, kept = (before, later) if outward else (later, before)
            only = (degree[gone] == 1) & (gone >= network.fixed)
            if not only.any():
                continue
            merged = True
            name = np.arange(events)
            name[gone[only]] = kept[only]
            name = _followed(name)
            tail, head, before, later = name[tail], name[head], name[before], name[later]
            arcs = distinct(before[before != later] * events + later[before != later])
            before, later = arcs // events, arcs % events
        if not merged:
            return _renumbered(network, tail, head, before, later)


def freed(network: Network, tasks: Ints) -> Network:
    """Return the network in which each of the given tasks ends at a separate event.

    The slacks of these tasks may then be less than the time between their events. Call it last: contraction would undo
    it.
    """
    own = network.events + np.arange(len(tasks))
    head = network.head.copy()
    head[tasks] = own
    return replace(
        network,
        events=network.events + len(tasks),
        head=head,
        before=np.concatenate([network.before, own]),
        later=np.concatenate([network.later, network.head[tasks]]),
    )


def without_twins(network: Network, limits: SlackLimits | None = None) -> tuple[Network, Ints]:
    """Merge tasks of one duration between the same two events, and return the merged task of each task.

    The merged task has the sum of their weights. Their windows are the same, and so are their slacks if their limits
    are. Tasks in sums have no twins.
    """
    keys = np.stack([network.tail.astype(np.float64), network.head.astype(np.float64), network.duration])
    if limits is not None:
        alone = np.zeros(len(network.tail))
        for each in limits.sums:
            alone[each.tasks] = 1 + each.tasks
        keys = np.concatenate([keys, [limits.lower, limits.upper, alone]])
    _, first, belongs = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    belongs = belongs.reshape(-1)
    weight = np.bincount(belongs, network.weight, len(first)).astype(np.float64)
    merged = replace(
        network,
        tail=network.tail[first],
        head=network.head[first],
        duration=network.duration[first],
        weight=weight,
        dag=network.dag[first],
    )
    return merged, belongs


def of_each_dag(network: Network, limits: SlackLimits | None = None) -> list[tuple[Network, Ints]]:
    """Return one network per DAG and the numbers of its tasks: DAGs share only the submission.

    If a sum covers tasks of several DAGs, return a single network.
    """
    joined = any(len(np.unique(network.dag[each.tasks])) > 1 for each in (limits.sums if limits else ()))
    if len(network.deadlines) == 1 or joined:
        return [(network, np.arange(len(network.tail)))]
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    tails, heads = network.arcs
    inner = tails > 0
    ones = np.ones(int(inner.sum()))
    graph = csr_matrix((ones, (tails[inner], heads[inner])), shape=(network.events, network.events))
    part = connected_components(graph, directed=False)[1]
    parts = []
    for dag in range(len(network.deadlines)):
        mine = part == part[1 + dag]
        number = np.zeros(network.events, dtype=np.int64)
        others = np.flatnonzero(mine)
        others = others[others != 1 + dag]
        number[1 + dag], number[others] = 1, 2 + np.arange(len(others))
        tasks, order = np.flatnonzero(mine[network.head]), mine[network.later]
        parts.append(
            (
                replace(
                    network,
                    events=2 + len(others),
                    tail=number[network.tail[tasks]],
                    head=number[network.head[tasks]],
                    duration=network.duration[tasks],
                    weight=network.weight[tasks],
                    dag=np.zeros(len(tasks), dtype=np.int64),
                    before=number[network.before[order]],
                    later=number[network.later[order]],
                    deadlines=network.deadlines[dag : dag + 1],
                ),
                tasks,
            )
        )
    return parts


def _followed(name: Ints) -> Ints:
    """Return the last of the names that follow each other."""
    while True:
        further = name[name]
        if np.array_equal(further, name):
            return name
        name = further


def _renumbered(network: Network, tail: Ints, head: Ints, before: Ints, later: Ints) -> Network:
    used = np.zeros(network.events, dtype=bool)
    used[: network.fixed] = True
    for ends in (tail, head, before, later):
        used[ends] = True
    number = np.cumsum(used) - 1
    return replace(
        network,
        events=int(used.sum()),
        tail=number[tail],
        head=number[head],
        before=number[before],
        later=number[later],
    )
