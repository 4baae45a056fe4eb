"""The steps of ``direct`` for deadline specs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import Diagnostic, MrdslError, error
from mrdsl.core.result import Termination
from mrdsl.core.tolerances import FEASIBILITY, PROVEN
from mrdsl.families.deadline.goals import PRODUCT, goal_of, scale_of, shares, value_of
from mrdsl.families.deadline.levels import Floats
from mrdsl.families.deadline.methods.contraction import contracted, freed, of_each_dag, without_twins
from mrdsl.families.deadline.methods.interior_point import maximize_product
from mrdsl.families.deadline.methods.max_min import EXACT, most_even
from mrdsl.families.deadline.methods.slack_limits import HAIR, NoPlanError, SlackLimits, limits_of
from mrdsl.families.deadline.network import Network, network_of
from mrdsl.families.deadline.plan import kept, plan_of
from mrdsl.families.deadline.workload import Tasks, tasks_of
from mrdsl.spec.spec import Spec

WALKS = 10
"""How many walks along the arcs come after the search, about: three to five for the last value and bound, two to eight
until the slacks are kept, one for the plan, one for its checks; a walk backwards is one and a half."""


@dataclass(frozen=True)
class SlackSearch:
    """The tasks, their plain network, the contracted one with the same tasks, what `subject to` asks of their slacks,
    and these once they are found; ``walk`` is how many seconds one walk along all arcs of the network takes."""

    tasks: Tasks
    network: Network
    small: Network
    limits: SlackLimits
    walk: float = 0.0
    slack: Floats | None = None


def prepare(draft: Draft) -> Draft:
    """Numbers the tasks, contracts their network, and reads `subject to`; INFEASIBLE where the least slacks that it
    asks for do not fit."""
    tasks = tasks_of(draft.spec)
    network = network_of(tasks)
    try:
        limits = limits_of(draft.spec, tasks)
    except NoPlanError:
        return replace(draft, termination=Termination.INFEASIBLE)
    begun = draft.clock()
    least = network.earliest(network.duration + limits.lower)[1 : network.fixed]
    walk = draft.clock() - begun
    if (least > network.deadlines * (1 + FEASIBILITY)).any():
        return replace(draft, termination=Termination.INFEASIBLE)
    return replace(draft, state=SlackSearch(tasks, network, contracted(network), limits, walk))


def maximize_slack(draft: Draft, gap: float = PROVEN) -> Draft:
    """The goal ``slack`` by an interior point method, to ``gap`` unless the limits say otherwise."""
    if goal_of(draft.spec) != PRODUCT:
        return draft
    search: SlackSearch = draft.state
    gap = gap if draft.limits.gap is None else draft.limits.gap
    ends = _ends(draft, search)
    slack = np.zeros(len(search.tasks))
    value, bound, left, late = 0.0, 0.0, len(search.tasks), False
    for network, numbers in of_each_dag(search.small, search.limits):
        until = _until(draft, ends, len(numbers) / left)
        left -= len(numbers)
        limits = _with_room(network, search.limits.of(numbers))
        small, belongs = without_twins(network, limits)
        ones = limits.merged(belongs, len(small.tail))
        optimum = maximize_product(freed(small, ones.freed), gap, until, draft.clock, ones)
        slack[numbers] = optimum.slack[belongs]
        value, bound = value + optimum.value, bound + optimum.bound
        late = late or optimum.late
    unproven = Termination.TIME_LIMIT if late else Termination.COMPLETED
    if not np.isfinite(value):
        from mrdsl.families.deadline.methods.feasibility import impossible

        return replace(draft, termination=unproven if late or not impossible(search) else Termination.INFEASIBLE)
    proven = bound - value <= gap * scale_of(value, float(search.network.weight.sum()))
    return replace(
        draft, state=replace(search, slack=slack), bound=bound, termination=Termination.OPTIMAL if proven else unproven
    )


def _ends(draft: Draft, search: SlackSearch) -> float | None:
    """When the search has to end: what comes then, the bound, the plan and its checks, are a few walks more."""
    if draft.limits.time is None:
        return None
    return draft.started + max(draft.limits.time - WALKS * search.walk, draft.limits.time / 2)


def _until(draft: Draft, ends: float | None, share: float) -> float | None:
    """When the search on one of the DAGs has to end, which has this share of the tasks that are left."""
    if ends is None:
        return None
    now = draft.clock()
    return now + share * max(ends - now, 0.0)


def _with_room(network: Network, limits: SlackLimits) -> SlackLimits:
    """The limits, lower by a hair where they leave no room at all, which an interior point needs."""
    least = network.earliest(network.duration + limits.lower)[1 : network.fixed]
    if not (least > network.deadlines * (1 - HAIR)).any():
        return limits
    return replace(limits, lower=np.maximum(limits.lower - 2 * HAIR * np.maximum(1.0, limits.lower), 0.0))


def maximize_least(draft: Draft, rounds: int = 200) -> Draft:
    """The goals ``min_slack`` and ``slack_ratio`` by parametric longest paths."""
    goal = goal_of(draft.spec)
    if goal == PRODUCT:
        return draft
    search: SlackSearch = draft.state
    if search.limits.sums:
        raise MrdslError([_sums(draft.spec)])
    optimum = most_even(search.small, shares(goal, search.tasks), rounds, search.limits)
    return replace(
        draft, state=replace(search, slack=optimum.slack), bound=optimum.bound, termination=Termination.OPTIMAL
    )


def recover(draft: Draft) -> Draft:
    """The plan of the slacks, with delays that keep every deadline to the last digit."""
    search: SlackSearch = draft.state
    if search.slack is None:
        return draft
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


def _sums(spec: Spec) -> Diagnostic:
    return error(
        "unable-solver",
        "direct keeps sums of several tasks for the goal slack alone",
        spec.constraints[0].span,
        "leave the solver to auto, or write --solver highs",
    )
