"""The steps of ``direct`` for deadline specs."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.result import Termination
from mrdsl.families.deadline.goals import PRODUCT, goal_of, scale_of, shares, value_of
from mrdsl.families.deadline.methods.contraction import contracted, of_each_dag, without_twins
from mrdsl.families.deadline.methods.interior_point import maximize_product
from mrdsl.families.deadline.methods.max_min import EXACT, most_even
from mrdsl.families.deadline.network import Floats, Network, network_of
from mrdsl.families.deadline.plan import kept, plan_of
from mrdsl.families.deadline.workload import Tasks, tasks_of


@dataclass(frozen=True)
class SlackSearch:
    """The tasks, their plain network, the contracted one with the same tasks, and the slacks once they are found."""

    tasks: Tasks
    network: Network
    small: Network
    slack: Floats | None = None


def prepare(draft: Draft) -> Draft:
    """Numbers the tasks and contracts their network."""
    tasks = tasks_of(draft.spec)
    network = network_of(tasks)
    return replace(draft, state=SlackSearch(tasks, network, contracted(network)))


def maximize_slack(draft: Draft, gap: float = 1e-6) -> Draft:
    """The goal ``slack`` by an interior point method, to ``gap`` unless the limits say otherwise."""
    if goal_of(draft.spec) != PRODUCT:
        return draft
    search: SlackSearch = draft.state
    limits = draft.limits
    gap = gap if limits.gap is None else limits.gap
    ends = None if limits.time is None else draft.started + limits.time
    slack = np.zeros(len(search.tasks))
    value, bound = 0.0, 0.0
    for network, numbers in of_each_dag(search.small):
        small, belongs = without_twins(network)
        optimum = maximize_product(small, gap, ends)
        slack[numbers] = optimum.slack[belongs]
        value, bound = value + optimum.value, bound + optimum.bound
    proven = bound - value <= gap * scale_of(value, float(search.network.weight.sum()))
    late = ends is not None and time.monotonic() >= ends
    unproven = Termination.TIME_LIMIT if late else Termination.COMPLETED
    return replace(
        draft, state=replace(search, slack=slack), bound=bound, termination=Termination.OPTIMAL if proven else unproven
    )


def maximize_least(draft: Draft, rounds: int = 200) -> Draft:
    """The goals ``min_slack`` and ``slack_ratio`` by parametric longest paths."""
    goal = goal_of(draft.spec)
    if goal == PRODUCT:
        return draft
    search: SlackSearch = draft.state
    optimum = most_even(search.small, shares(goal, search.tasks), rounds)
    return replace(
        draft, state=replace(search, slack=optimum.slack), bound=optimum.bound, termination=Termination.OPTIMAL
    )


def recover(draft: Draft) -> Draft:
    """The plan of the slacks, with delays that keep every deadline to the last digit."""
    search: SlackSearch = draft.state
    assert search.slack is not None
    slack = kept(search.network, np.asarray(search.slack))
    plan = plan_of(search.tasks, search.network, slack)
    value = value_of(goal_of(draft.spec), search.tasks, search.network, plan.delay - search.network.duration)
    return replace(draft, plan=plan, value=value, bound=_drawn_back(draft, value))


def _drawn_back(draft: Draft, value: float) -> float | None:
    """The bound; that of a max-min goal at least the value, where they differ by what counts as no room."""
    goal, search = goal_of(draft.spec), draft.state
    if goal == PRODUCT or draft.bound is None:
        return draft.bound
    share = shares(goal, search.tasks)
    room = EXACT * float(search.network.deadlines.max()) / float(share[share > 0].min())
    return max(draft.bound, value) if value <= draft.bound + room else draft.bound
