"""The time model of a spec, and mean times that are simulated: of recorded tasks, and of stages side by side."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from mrdsl.formulas.own_times import Model
from mrdsl.spec.columns import words
from mrdsl.spec.estimates import PAPER, default_guarantee


def time_model(facts: Any, whole: bool) -> Model:
    """Return the time model of a spec.

    Args:
        facts: The facts of the spec.
        whole: If the slots of jobs are whole.
    """
    paper = facts.estimates == PAPER
    exact = whole and (not paper or bool((words(facts.classes, "guarantee") == "mean").any()))
    return Model(paper, exact, default_guarantee(facts, whole), mean_of)


def mean_of(node: Any, kind: int, speed: float, slots: tuple[int, ...]) -> Sequence[float]:
    """Return the mean times [s] of a phase of one job on its own slots, with the time of the job outside its tasks.

    Args:
        node: The class.
        kind: Of a class of phases, 0 for map and 1 for reduce tasks; 0 for a class of stages.
        speed: Divisor of the times of its tasks.
        slots: Numbers of slots.
    """
    from mrdsl.simulation.described import REDUCE
    from mrdsl.simulation.own_slots import mean_times
    from mrdsl.simulation.stated import tasks_of

    stages, times = tasks_of(node, kind)
    known = _known(tuple(stages), tuple(times), speed)
    lacking = sorted(set(slots) - known.keys())
    if lacking:
        known.update(zip(lacking, mean_times(stages, times, lacking, 0, speed).tolist(), strict=True))
    outside = 0.0 if kind == REDUCE else node.startup
    return [known[each] + outside for each in slots]


@lru_cache(maxsize=1024)
def _known(stages: tuple[Any, ...], times: tuple[Any, ...], speed: float) -> dict[int, float]:
    """Return the means that are known of these tasks, by slots."""
    return {}
