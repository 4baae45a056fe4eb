"""``subject to`` as limits on slacks: bounds on single tasks and linear sums; and exact reductions of the network.

A reduction leaves fewer events and the same best slacks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mrdsl.families.deadline.network import Floats, Ints, Network, distinct
from mrdsl.families.deadline.workload import Tasks
from mrdsl.spec.expression import Expression, Linear, linear_form
from mrdsl.spec.spec import Spec, pieces

HAIR = 1e-7
"""Relative to a limit or to 1 s: bounds that meet are held so far apart. A tenth of what `subject to` forgives."""


class NoPlanError(Exception):
    """Error for a comparison that no plan meets, for any network."""


@dataclass(frozen=True)
class Sum:
    """Inequality ``factors @ slack[tasks] <= most`` [s], or an equation if ``equal``."""

    tasks: Ints
    factors: Floats
    most: float
    equal: bool = False


@dataclass(frozen=True)
class SlackLimits:
    """Limits ``lower <= slack <= upper`` of each task (default: 0 and infinity), and ``sums``; in seconds."""

    lower: Floats
    upper: Floats
    sums: tuple[Sum, ...] = ()

    @property
    def none(self) -> bool:
        """True if there are no limits."""
        return not (self.sums or self.lower.any() or np.isfinite(self.upper).any())

    def of(self, numbers: Ints) -> SlackLimits:
        """Return the limits of some tasks, renumbered; either all tasks of a sum or none must be among them."""
        place = np.full(len(self.lower), -1, dtype=np.int64)
        place[numbers] = np.arange(len(numbers))
        sums = tuple(
            Sum(place[each.tasks], each.factors, each.most, each.equal)
            for each in self.sums
            if (place[each.tasks] >= 0).all()
        )
        return SlackLimits(self.lower[numbers], self.upper[numbers], sums)

    def merged(self, belongs: Ints, count: int) -> SlackLimits:
        """Return the limits of ``count`` merged tasks; ``belongs`` has the merged task of each task."""
        lower, upper = np.zeros(count), np.full(count, np.inf)
        lower[belongs], upper[belongs] = self.lower, self.upper
        sums = tuple(Sum(belongs[each.tasks], each.factors, each.most, each.equal) for each in self.sums)
        return SlackLimits(lower, upper, sums)

    def scaled(self, unit: float) -> SlackLimits:
        """Return the same limits with slacks in units of ``unit`` seconds."""
        sums = tuple(Sum(each.tasks, each.factors, each.most / unit, each.equal) for each in self.sums)
        return SlackLimits(self.lower / unit, self.upper / unit, sums)

    @property
    def freed(self) -> Ints:
        """Tasks whose slack may have to be less than their time leaves: bounded from above, or in a sum."""
        bounded = np.isfinite(self.upper)
        for each in self.sums:
            bounded[each.tasks] = True
        return np.flatnonzero(bounded)


def no_limits(tasks: int) -> SlackLimits:
    """Return limits without effect."""
    return SlackLimits(np.zeros(tasks), np.full(tasks, np.inf))


def limits_of(spec: Spec, tasks: Tasks) -> SlackLimits:
    """Return the comparisons of a spec.

    Raises NoPlanError if two of them conflict, ValueError if one is not linear.
    """
    lower, upper = np.zeros(len(tasks)), np.full(len(tasks), np.inf)
    sums: list[Sum] = []
    slacks = _slacks(tasks)
    for constraint in spec.constraints:
        for left, right, comparison in pieces(constraint):
            difference = _difference(left, right, slacks)
            if comparison == ">=":
                difference, comparison = -difference, "<="
            _add(difference, comparison == "=", lower, upper, sums)
    if (lower > upper + HAIR * 10 * np.maximum(1.0, np.abs(upper))).any():
        raise NoPlanError
    together = upper - lower < 2 * HAIR * np.maximum(1.0, lower)
    middle = np.where(together, (lower + np.where(together, upper, 0.0)) / 2, 0.0)
    hair = HAIR * np.maximum(1.0, middle)
    lower = np.where(together, np.maximum(middle - hair, 0.0), lower)
    return SlackLimits(lower, np.where(together, middle + hair, upper), tuple(sums))


def sums_in(spec: Spec) -> int:
    """Count the comparisons over several tasks. Raises ValueError if one is not linear."""

    def quantity(name: str, argument: str) -> Linear:
        return Linear({argument: 1.0}, 0.0)

    differences = [
        _difference(left, right, quantity) for constraint in spec.constraints for left, right, _ in pieces(constraint)
    ]
    return sum(len([factor for factor in each.factors.values() if factor]) > 1 for each in differences)


def _slacks(tasks: Tasks) -> Callable[[str, str], Linear]:
    """``slack(t)`` and ``delay(t)`` over the slacks of tasks by number."""

    def quantity(name: str, argument: str) -> Linear:
        number = tasks.members[argument]
        return Linear({number: 1.0}, tasks.durations[number] if name == "delay" else 0.0)

    return quantity


def _difference(left: Expression, right: Expression, slacks: Callable[[str, str], Linear]) -> Linear:
    return linear_form(left, slacks) - linear_form(right, slacks)


def _add(difference: Linear, equal: bool, lower: Floats, upper: Floats, sums: list[Sum]) -> None:
    """One comparison ``difference <= 0``, or ``= 0``."""
    factors = {number: factor for number, factor in difference.factors.items() if factor}
    if not factors:
        wrong = abs(difference.constant) if equal else difference.constant
        if wrong > HAIR * 10:
            raise NoPlanError
    elif len(factors) > 1:
        numbers = np.array(list(factors), dtype=np.int64)
        sums.append(Sum(numbers, np.array(list(factors.values())), -difference.constant, equal))
    else:
        ((number, factor),) = factors.items()
        value = -difference.constant / factor
        if equal or factor > 0:
            upper[number] = min(upper[number], value)
        if equal or factor < 0:
            lower[number] = max(lower[number], value)


MOST_SUMS = 50
"""Sums over several tasks that ``direct`` takes on: each costs a system of the network in every step."""


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """Return `direct`, which proves its gap, or a linear solver if `direct` does not support the request or
    formulation.
    """
    if formulation == "potentials" and (spec.goal is None or spec.goal.quantity == "slack"):
        return "scip"
    return "direct" if formulation is None and _direct(spec) else "highs"


def _direct(spec: Spec) -> bool:
    """Return True if ``direct`` knows the comparisons: linear ones, few of them over several tasks, and those for the
    product
    of slacks alone."""
    if not spec.constraints:
        return True

    try:
        sums = sums_in(spec)
    except ValueError:
        return False
    product = spec.goal is None or spec.goal.quantity == "slack"
    return sums == 0 or (product and sums <= MOST_SUMS)


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
