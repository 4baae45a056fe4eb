"""How long so many tasks take on so many slots, by the estimates of paper 000 and by simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mrdsl.formulas import mapreduce
from mrdsl.profiling.summary import MAX, P95
from mrdsl.simulation.engine.draws import TaskTimes
from mrdsl.simulation.engine.samplers import Samples
from mrdsl.simulation.engine.scenario import JobClass, QueueRule, Scenario, Users, run_once
from mrdsl.simulation.engine.world import JobKind, Machines, Stage

RUNS = 20


@dataclass(frozen=True)
class Times:
    """Recorded times of tasks in seconds; reduce tasks after their shuffle, which is ``first`` in the first wave."""

    map: Sequence[float]
    first_shuffle: Sequence[float] = ()
    shuffle: Sequence[float] = ()
    reduce: Sequence[float] = ()


@dataclass(frozen=True)
class Forecast:
    """Seconds from the first task's start to the last one's end: three estimates, and the mean of a simulation."""

    lower: float
    average: float
    upper: float
    simulated: float


def forecast(
    times: Times, tasks: tuple[int, int], slots: tuple[int, int], seed: int, name: str, longest: str = MAX
) -> Forecast:
    """A job of so many map and reduce tasks alone on so many map and reduce slots, its task times drawn from ``times``.

    Equations (1) to (4) of paper 000 for the estimates. The simulation draws every task's time from the recorded ones,
    with putting back, and runs the job :data:`RUNS` times. ``name`` chooses the random streams beside ``seed``;
    ``longest`` is ``max`` or ``p95``, what the estimates take as a maximum.
    """
    profile = _profile(times, tasks, longest)
    one = np.ones(1)
    counts = [np.array([float(max(1, count))]) for count in slots]
    lower, average, upper = (
        float(mapreduce.completion(estimate(profile), one, *counts)[0])
        for estimate in (mapreduce.lower, mapreduce.average, mapreduce.upper)
    )
    return Forecast(lower, average, upper, _simulated(times, tasks, slots, seed, name))


def _profile(times: Times, tasks: tuple[int, int], longest: str) -> mapreduce.Profile:
    def both(values: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
        known = np.asarray(values if len(values) else [np.nan])
        mean = known.mean(keepdims=True)
        high = np.quantile(known, 0.95, method="inverted_cdf") if longest == P95 else known.max()
        return mean, np.maximum(mean, high)

    return mapreduce.Profile(
        np.array([float(tasks[0])]),
        *both(times.map),
        *both(times.first_shuffle),
        *both(times.shuffle),
        np.array([float(tasks[1])]),
        *both(times.reduce),
    )


def _simulated(times: Times, tasks: tuple[int, int], slots: tuple[int, int], seed: int, name: str) -> float:
    stages, work = [Stage("map", tasks[0])], [TaskTimes(Samples(tuple(times.map)))]
    if tasks[1]:
        stages.append(Stage("reduce", tasks[1], (0,), 1))
        work.append(TaskTimes(*(Samples(tuple(each)) for each in (times.reduce, times.first_shuffle, times.shuffle))))
    job = JobClass(JobKind(name, tuple(stages)), tuple(work), Users(1), RUNS)
    machines = tuple(Machines(1, max(1, count), pool) for pool, count in enumerate(slots))
    seen = run_once(Scenario((job,), machines, ((QueueRule(),), (QueueRule(),)), 0.0), seed, 0)
    return float(np.mean(seen.times[0]))
