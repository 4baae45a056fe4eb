"""Work, longest paths and width of jobs that are DAGs of stages, for verification alone.

The width is a linear program over potentials, not a flow: a stage whose tasks run now has begun and has not ended, and
what comes after it has not begun.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mrdsl.spec.stages import Stage

NONE = float("nan")


@dataclass(frozen=True)
class Dag:
    """Numbers of one job: work in slot-seconds, longest paths of average and of longest tasks [s], width in tasks."""

    work: float = NONE
    path_avg: float = NONE
    path_max: float = NONE
    width: float = NONE
    age: float = NONE


@lru_cache(maxsize=1 << 14)
def dag_of(stages: tuple[Stage, ...]) -> Dag:
    """Compute the numbers of one job; NaN without stages."""
    if not stages:
        return Dag()
    work = [stage.tasks * stage.avg for stage in stages]
    ages = [seconds_run(stage.avg, stage.max) for stage in stages]
    return Dag(
        sum(work),
        _longest(stages, [stage.avg for stage in stages]),
        _longest(stages, [stage.max for stage in stages]),
        _width(stages),
        sum(part * age for part, age in zip(work, ages, strict=True)) / sum(work),
    )


def seconds_run(avg: float, longest: float) -> float:
    """Compute how long the task in a busy slot has run on average [s]: ``E[X^2] / (2 E[X])``, Ross, section 7.7."""
    if avg <= 0.0:
        return 0.0
    beyond = max(longest - avg, 0.0)
    return (avg * avg + min(beyond * beyond / 3.0, avg * beyond)) / (2.0 * avg)


def _longest(stages: tuple[Stage, ...], lengths: list[float]) -> float:
    """Compute the longest path, by raising ends until none rises: at most as many rounds as stages."""
    place = {stage.name: number for number, stage in enumerate(stages)}
    before = [[place[name] for name in stage.after if name in place] for stage in stages]
    ends, rising = list(lengths), True
    for _ in stages:
        rising = False
        for number, others in enumerate(before):
            end = lengths[number] + max((ends[other] for other in others), default=0.0)
            if end > ends[number]:
                ends[number], rising = end, True
        if not rising:
            break
    return max(ends)


def _width(stages: tuple[Stage, ...]) -> float:
    """Compute the most tasks that run at once: maximize ``tasks (begun - ended)``, ``begun <= ended`` of stages before.

    The rows are differences of two variables, so that an optimal vertex is whole.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    place = {stage.name: number for number, stage in enumerate(stages)}
    count = len(stages)
    pairs = [(count + number, number) for number in range(count)]  # ended <= begun
    for number, stage in enumerate(stages):
        pairs += [(number, count + place[name]) for name in stage.after if name in place]  # begun <= ended before
    if len(pairs) == count:
        return float(sum(stage.tasks for stage in stages))
    rows = np.repeat(np.arange(len(pairs)), 2)
    columns = np.array(pairs).ravel()
    signs = np.tile([1.0, -1.0], len(pairs))
    matrix = coo_array((signs, (rows, columns)), shape=(len(pairs), 2 * count))
    tasks = np.array([float(stage.tasks) for stage in stages])
    found = linprog(np.concatenate([-tasks, tasks]), A_ub=matrix.tocsr(), b_ub=np.zeros(len(pairs)), bounds=(0.0, 1.0))
    return float(round(-found.fun))
