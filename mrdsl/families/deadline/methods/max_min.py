"""The greatest least slack: a parametric longest path, and again for the tasks that are not yet held by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrdsl.families.deadline.levels import Floats
from mrdsl.families.deadline.methods.slack_limits import SlackLimits, no_limits
from mrdsl.families.deadline.network import Network

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
    """Slacks of which the least per ``share`` is as great as any can be; beyond that, the next least, and so on.

    Where ``level`` is given to all, the longest path of T + level * share meets its deadline at the greatest level that
    any partition keeps: that path itself proves it. The tasks on such paths are settled; the others go on rising
    (progressive filling) for at most ``rounds`` rounds. Tasks of share 0 get none. A task with a lower limit has it
    until the level is above, one with an upper limit holds the level there, and is settled.
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
    """Per DAG the greatest level, by Newton's method from above on the longest path, which is convex in the level.

    Tasks of share 0 have their ``settled`` slack. Infinite where no share is left.
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
