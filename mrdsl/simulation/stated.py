"""The jobs of a class over which its mean times are taken, for planning and for verification."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mrdsl.simulation.own_draws import Stated, stated

if TYPE_CHECKING:
    from mrdsl.simulation.engine.draws import TaskTimes
    from mrdsl.simulation.engine.world import Stage


def tasks_of(node: Any, kind: int) -> tuple[list[Stage], list[TaskTimes]]:
    """Return the stages of a class and the times of their tasks; of its map tasks or of its reduce tasks alone.

    Args:
        node: The class.
        kind: Of a class of phases, 0 for map and 1 for reduce tasks; 0 for a class of stages.
    """
    from mrdsl.simulation.described import REDUCE, described_tasks
    from mrdsl.simulation.engine.world import Stage

    stages, times = described_tasks(node)
    if node.stages:
        return list(stages), list(times)
    place = [stage.pool == REDUCE for stage in stages].index(kind == REDUCE)
    return [Stage(stages[place].name, stages[place].tasks, (), kind)], [times[place]]


def stated_jobs(node: Any, kind: int, speed: float) -> Stated:
    """Return the jobs of a class over which its mean is taken, of one kind of tasks at a speed."""
    return stated(*tasks_of(node, kind), 0, speed)
