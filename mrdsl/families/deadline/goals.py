"""The goals of a deadline spec, as functions of the tasks' slacks."""

from __future__ import annotations

import numpy as np

from mrdsl.families.deadline.levels import Floats
from mrdsl.families.deadline.network import Network
from mrdsl.families.deadline.workload import Tasks
from mrdsl.spec.spec import Spec

PRODUCT, RATIO, LEAST = "slack", "slack_ratio", "min_slack"


def goal_of(spec: Spec) -> str:
    """The quantity that the spec maximizes; the product of slacks where it names none."""
    return PRODUCT if spec.goal is None else spec.goal.quantity


def shares(goal: str, tasks: Tasks) -> Floats:
    """The slack that one unit of a max-min goal gives each task: its weight, times its duration for a ratio.

    A task of no duration has no ratio and gets a share of 0.
    """
    weight = np.array(tasks.weights, dtype=np.float64)
    return weight * np.array(tasks.durations) if goal == RATIO else weight


def value_of(goal: str, tasks: Tasks, network: Network, slack: Floats) -> float:
    """The goal's value: the sum of weight * ln(slack / 1 s) over all tasks, or the least slack per share."""
    if goal == PRODUCT:
        with np.errstate(divide="ignore"):
            return float(network.weight @ np.log(slack))
    share = shares(goal, tasks)
    counts = share > 0
    return float((slack[counts] / share[counts]).min(initial=np.inf))


def scale_of(value: float, weight: float) -> float:
    """What a gap of the sum of logarithms is relative to: its value, or a hundredth of the weights where it is near 0.

    The sum is 0 where the slacks are 1 s: a number without meaning. A gap of so much of the weights is a factor on the
    slacks' mean.
    """
    return max(abs(value), 0.01 * weight)
