"""Steps of `direct`: the greatest product of slacks and the greatest least slack."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import Diagnostic, MrdslError, error
from mrdsl.core.linear_program import ProgramRows
from mrdsl.core.result import Limits, Termination
from mrdsl.core.rounding import FEASIBILITY, PROVEN
from mrdsl.families.deadline.methods.interior_point import maximize_product
from mrdsl.families.deadline.methods.slack_limits import (
    HAIR,
    NoPlanError,
    SlackLimits,
    contracted,
    freed,
    limits_of,
    no_limits,
    of_each_dag,
    without_twins,
)
from mrdsl.families.deadline.network import PRODUCT, Floats, Network, goal_of, network_of, scale_of, shares, value_of
from mrdsl.families.deadline.plan import kept, plan_of
from mrdsl.families.deadline.workload import Tasks, tasks_of
from mrdsl.spec.spec import Spec

EXACT = 1e-10
ONE_DIGIT = 1e-15
"""Relative to the deadline: what counts as no room."""


@dataclass(frozen=True)
class Even:
    """Slacks in seconds, the least per share, and the proven bound on it."""

    slack: Floats
    value: float
    bound: float


def most_even(network: Network, share: Floats, rounds: int, limits: SlackLimits | None = None) -> Even:
    """Return the max-min slacks: the least slack per ``share`` is maximal, then the next least, and so on.

    If every task has slack ``level * share``, the longest path of T + level * share meets its deadline at the greatest
    level of any partition: that path itself proves it. The tasks on such paths are settled. The levels of the others
    rise on (progressive filling), for at most ``rounds`` rounds. Tasks of share 0 get no slack. A task with a lower
    limit has that slack until the level is above. A task with an upper limit holds the level there, and is settled.
    """
    kept = limits or no_limits(len(share))
    settled = share <= 0.0
    slack = kept.lower.copy()
    bound = value = np.inf
    for turn in range(max(rounds, 1)):
        rising = np.where(settled, 0.0, share)
        level = _level(network, slack, kept.lower, rising, kept.upper)
        if turn == 0:
            bound = value = float(level.min())
        reached = np.where(np.isfinite(level), level, 0.0)[network.dag] * share
        slack = np.where(settled, slack, np.maximum(reached, kept.lower))
        lengths = network.duration + slack
        room = network.latest(lengths)[network.head] - network.earliest(lengths)[network.tail] - lengths
        settled |= np.minimum(room, kept.upper - slack) <= EXACT * network.deadlines[network.dag]
        if settled.all():
            break
    return Even(slack, value, bound)


def _level(network: Network, settled: Floats, lower: Floats, share: Floats, upper: Floats) -> Floats:
    """Compute the greatest level per DAG: Newton's method from above on the longest path, which is convex in the level.

    Tasks of share 0 have their ``settled`` slack. The level is infinite if no share is left.
    """
    level = np.full(len(network.deadlines), np.inf)
    some = share > 0
    most = np.minimum(network.deadlines[network.dag[some]], upper[some]) / share[some]
    np.minimum.at(level, network.dag[some], most)
    for _ in range(200):
        finite = np.where(np.isfinite(level), level, 0.0)
        reached_slack = finite[network.dag] * share
        slack = np.where(some, np.maximum(reached_slack, lower), settled)
        slope = np.where(reached_slack >= lower, share, 0.0)
        reached, steep = network.longest_with(network.duration + slack, slope)
        over = (reached > network.deadlines * (1 + ONE_DIGIT)) & np.isfinite(level) & (steep > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            less = np.where(over, np.maximum(finite - (reached - network.deadlines) / steep, 0.0), level)
        if not (less < level).any():
            break
        level = less
    return level


WALKS = 10
"""Approximate walks along the arcs after the search: three to five for the last value and bound, two to eight until the
slacks are feasible, one for the plan, and one for its checks; a backward walk counts one and a half."""


@dataclass(frozen=True)
class SlackSearch:
    """State of the search for slacks.

    It holds the tasks, their plain and their contracted network, the limits from `subject to`, and the slacks once
    found. ``walk`` is the time of one walk along all arcs of the network [s].
    """

    tasks: Tasks
    network: Network
    small: Network
    limits: SlackLimits
    walk: float = 0.0
    slack: Floats | None = None


def prepare(draft: Draft) -> Draft:
    """Number the tasks, contract their network, and read `subject to`.

    The draft is INFEASIBLE if the least slacks that `subject to` requires do not fit.
    """
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
    """Maximize ``slack`` by an interior point method, to the relative ``gap`` unless the limits set another."""
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
        return replace(draft, termination=unproven if late or not impossible(search) else Termination.INFEASIBLE)
    proven = bound - value <= gap * scale_of(value, float(search.network.weight.sum()))
    return replace(
        draft, state=replace(search, slack=slack), bound=bound, termination=Termination.OPTIMAL if proven else unproven
    )


def _ends(draft: Draft, search: SlackSearch) -> float | None:
    """Return when the search has to end: the bound, the plan and its checks then take a few more walks."""
    if draft.limits.time is None:
        return None
    return draft.started + max(draft.limits.time - WALKS * search.walk, draft.limits.time / 2)


def _until(draft: Draft, ends: float | None, share: float) -> float | None:
    """Return when the search on one DAG has to end; ``share`` is its share of the remaining tasks."""
    if ends is None:
        return None
    now = draft.clock()
    return now + share * max(ends - now, 0.0)


def _with_room(network: Network, limits: SlackLimits) -> SlackLimits:
    """Return the limits, slightly lowered if they leave no room at all: an interior point needs some."""
    least = network.earliest(network.duration + limits.lower)[1 : network.fixed]
    if not (least > network.deadlines * (1 - HAIR)).any():
        return limits
    return replace(limits, lower=np.maximum(limits.lower - 2 * HAIR * np.maximum(1.0, limits.lower), 0.0))


def maximize_least(draft: Draft, rounds: int = 200) -> Draft:
    """Return the goals ``min_slack`` and ``slack_ratio`` by parametric longest paths."""
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
    """Return the plan of the slacks, with delays that meet every deadline to the last digit."""
    search: SlackSearch = draft.state
    if search.slack is None:
        return draft
    slack = kept(search.network, np.asarray(search.slack))
    plan = plan_of(search.tasks, search.network, slack)
    value = value_of(goal_of(draft.spec), search.tasks, search.network, plan.delay - search.network.duration)
    return replace(draft, plan=plan, value=value, bound=_drawn_back(draft, value))


def _drawn_back(draft: Draft, value: float) -> float | None:
    """Return the bound; of a max-min objective at least the value if they differ by less than the tolerance."""
    goal, search = goal_of(draft.spec), draft.state
    if goal == PRODUCT or draft.bound is None:
        return draft.bound
    share = shares(goal, search.tasks)
    room = EXACT * float(search.network.deadlines.max()) / float(share[share > 0].min())
    return max(draft.bound, value) if value <= draft.bound + room else draft.bound


def _sums(spec: Spec) -> Diagnostic:
    return error(
        "unable-solver",
        "solver `direct` supports constraints on sums of several tasks only with the goal `slack`",
        spec.constraints[0].span,
        "pass `--solver highs`",
    )


LIMITS = Limits(time=60.0, threads=1)


def impossible(search: SlackSearch) -> bool:
    """Return True if it is proven that no slacks meet all limits and the network; False if that is unknown."""
    from mrdsl.solving.programs import UnsolvedError, optimum

    network, limits = search.small, search.limits
    program = ProgramRows()
    for event in range(network.events):
        known = network.times[event] if event < network.fixed else None
        program.column(lower=0.0 if known is None else known, upper=network.deadlines.max() if known is None else known)
    slacks = [
        program.column(lower=low, upper=high)
        for low, high in zip(limits.lower.tolist(), limits.upper.tolist(), strict=True)
    ]
    ends = zip(slacks, network.tail.tolist(), network.head.tolist(), network.duration.tolist(), strict=True)
    for slack, tail, head, duration in ends:
        program.at_most({slack: 1.0, tail: 1.0, head: -1.0}, -duration)
    for before, later in zip(network.before.tolist(), network.later.tolist(), strict=True):
        program.at_most({before: 1.0, later: -1.0}, 0.0)
    for each in limits.sums:
        terms = {slacks[task]: factor for task, factor in zip(each.tasks.tolist(), each.factors.tolist(), strict=True)}
        (program.exactly if each.equal else program.at_most)(terms, each.most)
    try:
        return optimum(program.program(), LIMITS) is None
    except UnsolvedError:
        return False
