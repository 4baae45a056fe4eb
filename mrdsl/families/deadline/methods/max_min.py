"""The greatest least slack: a parametric longest path, and again for the tasks that are not yet held by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrdsl.families.deadline.network import Floats, Network

EXACT = 1e-10
"""Relative to the deadline: what counts as no room."""


@dataclass(frozen=True)
class Even:
    """Slacks in seconds, the least per share, and the proven bound on it."""

    slack: Floats
    value: float
    bound: float


def most_even(network: Network, share: Floats, rounds: int) -> Even:
    """Slacks of which the least per ``share`` is as great as any can be; beyond that, the next least, and so on.

    Where ``level`` is given to all, the longest path of T + level * share meets its deadline at the greatest level that
    any partition keeps: that path itself proves it. The tasks on such paths are settled; the others go on rising
    (progressive filling) for at most ``rounds`` rounds. Tasks of share 0 get none.
    """
    settled = share <= 0.0
    slack = np.zeros(len(share))
    bound = value = np.inf
    for turn in range(max(rounds, 1)):
        level = _level(network, np.where(settled, slack, 0.0), np.where(settled, 0.0, share))
        if turn == 0:
            bound = value = float(level.min())
        slack = np.where(settled, slack, np.where(np.isfinite(level), level, 0.0)[network.dag] * share)
        lengths = network.duration + slack
        room = network.latest(lengths)[network.head] - network.earliest(lengths)[network.tail] - lengths
        settled |= room <= EXACT * network.deadlines[network.dag]
        if settled.all():
            break
    return Even(slack, value, bound)


def _level(network: Network, given: Floats, share: Floats) -> Floats:
    """Per DAG the greatest level, by Newton's method from above on the longest path, which is convex in the level.

    Infinite where no share is left.
    """
    count = len(network.deadlines)
    widest = np.zeros(count)
    np.maximum.at(widest, network.dag, share)
    with np.errstate(divide="ignore"):
        level = np.where(widest > 0, network.deadlines / widest, np.inf)
    base = network.duration + given
    for _ in range(200):
        finite = np.where(np.isfinite(level), level, 0.0)
        lengths = base + finite[network.dag] * share
        reached, slope = network.longest_with(lengths, share)
        over = (reached > network.deadlines * (1 + 1e-15)) & np.isfinite(level) & (slope > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            lower = np.where(over, np.maximum(finite - (reached - network.deadlines) / slope, 0.0), level)
        if not (lower < level).any():
            break
        level = lower
    return level
