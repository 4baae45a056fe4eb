"""Task times of jobs on slots of their own, drawn from a seed: what means over such jobs are defined on.

They are facts that a seed stands for, so that planning and verification read the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.simulation.sampling import stream

if TYPE_CHECKING:
    from mrdsl.simulation.engine.draws import TaskTimes
    from mrdsl.simulation.engine.world import Stage

Floats = NDArray[np.float64]
LEAST_JOBS, MOST_JOBS = 4, 2000
"""Jobs that are drawn for a mean, at least, and at most where tasks wait for slots."""
STARTS, VALUES = 8_000, 48_000
"""Tasks of the jobs that are drawn for a mean: where tasks wait for slots, and where each task has one."""
WAVES = 4
"""Waves of tasks up to which a mean takes all these jobs."""


@dataclass(frozen=True)
class OwnStage:
    """A stage of some jobs: the places of the stages before it, its delay [s], and the times of its tasks [s].

    ``times`` has a row for each job. ``first`` are those of the first wave, if they differ: those of a first shuffle.
    ``pool`` is the place of its kind of slots.
    """

    after: tuple[int, ...]
    delay: float
    times: Floats
    first: Floats | None = None
    pool: int = 0

    def on(self, slots: int) -> Floats:
        """Return the times of tasks of a stage that runs with no other one, on a number of slots."""
        return self.times if self.first is None else np.hstack([self.first[:, :slots], self.times[:, slots:]])


def drawn(
    stages: Sequence[Stage], times: Sequence[TaskTimes], jobs: int, seed: int, speed: float = 1.0, even: bool = False
) -> list[OwnStage]:
    """Draw the task times of jobs, those of each stage from the stream of the seed, "own" and the place of the stage.

    Args:
        stages: The stages, each after its parents.
        times: The distributions of their task times.
        jobs: Number of jobs.
        seed: Seed of the streams.
        speed: Divisor of the work of tasks, but not of their shuffles.
        even: Spread all times of a stage evenly over their distribution, see :class:`Even`.
    """
    found = []
    for place, (stage, each) in enumerate(zip(stages, times, strict=True)):
        own, shape = stream(seed, "own", place), (jobs, stage.tasks)
        random: Any = Even(own) if even else own
        count = jobs * stage.tasks
        work = each.work(random, count) / speed
        first = None if each.first is None else work + each.first(random, count)
        later = work if each.shuffle is None else work + each.shuffle(random, count)
        if each.slow is not None:
            slow = each.slow(random, count)
            first, later = None if first is None else first * slow, later * slow
        first = None if first is None else first.reshape(shape)
        found.append(OwnStage(stage.after, stage.delay, later.reshape(shape), first, stage.pool))
    return found


class Even:
    """A stream of values that are spread evenly over their distribution and come in a random order.

    Means over all of them, and over their longest ones, differ far less from their limits than those of independent
    values (Latin hypercube sampling).
    """

    def __init__(self, random: np.random.RandomState) -> None:
        self.random = random

    def random_sample(self, count: int) -> Floats:
        """Return values between 0 and 1, one in each interval of the length 1 / count."""
        found: Floats = (self.random.permutation(count) + self.random.random_sample(count)) / count
        return found

    def standard_normal(self, count: int) -> Floats:
        """Return standard normal values."""
        from scipy.special import ndtri

        found: Floats = ndtri(self.random_sample(count))
        return found

    def standard_exponential(self, count: int) -> Floats:
        """Return exponential values with the mean 1."""
        return -np.log1p(-self.random_sample(count))

    def randint(self, low: int, high: int, count: int) -> NDArray[np.int64]:
        """Return whole numbers from ``low`` to ``high - 1``."""
        return low + (self.random_sample(count) * (high - low)).astype(np.int64)

    def permutation(self, count: int) -> NDArray[np.int64]:
        """Return the whole numbers below ``count`` in a random order."""
        return self.random.permutation(count)


@dataclass(frozen=True)
class Stated:
    """The jobs over which a mean time is taken: ``recorded`` runs, or drawn ones.

    The tasks of the jobs that are drawn, evenly spread, are :data:`VALUES` in number for blocks of stages in which each
    task has a slot (``many``). They are :data:`STARTS` for others (``fewer``), and less if these have more than
    :data:`WAVES` waves of tasks: their times differ less. ``means`` are the mean times of the tasks of each stage [s].
    """

    recorded: Sequence[OwnStage]
    many: Sequence[OwnStage] = ()
    fewer: Sequence[OwnStage] = ()
    means: Sequence[float] = ()

    def block(self, block: Sequence[int], slots: int) -> tuple[list[OwnStage], int, float]:
        """Return the drawn stages of a block on a number of slots, its tasks, and their mean work [s]."""
        count = sum(self.many[place].times.shape[1] for place in block)
        mean = sum(self.many[place].times.shape[1] * self.means[place] for place in block)
        own = [(self.many if slots >= count else self.fewer)[place] for place in block]
        if WAVES * slots < count:
            jobs = max(LEAST_JOBS, ceil(len(own[0].times) * WAVES * slots / count))
            own = [
                replace(row, times=row.times[:jobs], first=None if row.first is None else row.first[:jobs])
                for row in own
            ]
        return own, count, mean


def stated(stages: Sequence[Stage], times: Sequence[TaskTimes], seed: int = 0, speed: float = 1.0) -> Stated:
    """Return the jobs over which the mean of a job is taken; if all its times are recorded, the recorded runs."""
    from mrdsl.simulation.engine.draws import mean_attempt, mean_work, recorded_runs

    runs = [None if each.slow is not None or each.first is not None else recorded_runs(each.work) for each in times]
    known = [each / speed for each in runs if each is not None]
    if len(known) == len(stages):
        most = np.arange(max(map(len, known)))
        return Stated(
            [
                OwnStage(stage.after, stage.delay, rows[most % len(rows)], None, stage.pool)
                for stage, rows in zip(stages, known, strict=True)
            ]
        )
    tasks = sum(stage.tasks for stage in stages)
    means = [mean_attempt(each) - (1.0 - 1.0 / speed) * mean_work(each) for each in times]
    many = drawn(stages, times, max(LEAST_JOBS, VALUES // tasks), seed, speed, True)
    fewer = drawn(stages, times, max(LEAST_JOBS, min(MOST_JOBS, STARTS // tasks)), seed, speed, True)
    return Stated((), many, fewer, means)
