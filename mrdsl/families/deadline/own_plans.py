"""Plans from slack, for methods that are not part of mrdsl."""

from __future__ import annotations

from collections.abc import Mapping

from mrdsl.core.decisions import numbers_by_name, plan_builder
from mrdsl.families.deadline.network import network_of
from mrdsl.families.deadline.plan import DeadlinePlan, plan_of
from mrdsl.families.deadline.workload import tasks_of
from mrdsl.spec.spec import Spec


@plan_builder("deadline")
def plan_with(spec: Spec, slack: Mapping[str, float]) -> DeadlinePlan:
    """Return the plan that allows each task its duration and this slack.

    Args:
        spec: The spec.
        slack: Slack [s] by task. A counted group of alike tasks has one entry, that of each member.

    Returns:
        The plan. mrdsl checks it against the spec when a method returns it.

    Raises:
        MrdslError: `unknown-name`, `missing-item` or `wrong-value`.
    """
    tasks = tasks_of(spec)
    return plan_of(tasks, network_of(tasks), numbers_by_name(slack, tasks.names, "task", "slack")[:, 0])
