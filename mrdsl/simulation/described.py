"""Classes of a spec as the engine runs them: stages, and the spread of their task times."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from mrdsl.formulas.stages import in_order, parents_of
from mrdsl.formulas.wave_estimates import least
from mrdsl.simulation.engine.draws import Sampler, Samples, TaskTimes, repeated, sampler, slowdown, with_shared
from mrdsl.simulation.engine.scenario import Arrivals, JobClass, Submitters, Users
from mrdsl.simulation.engine.scenario import Recorded as RecordedArrivals
from mrdsl.simulation.engine.world import Faults, JobKind, Speculation, Stage
from mrdsl.simulation.recordings import read_times
from mrdsl.simulation.settings import WhatIf
from mrdsl.spec.blocks import MachineFailures, Simulation
from mrdsl.spec.schema import Source
from mrdsl.spec.simulated import Run, Stragglers

MAP, REDUCE = 0, 1
R = TypeVar("R", bound=Run)


def asked(simulation: R, what_if: WhatIf) -> R:
    """Return the simulation settings of the spec, overridden by those of a command."""
    described = simulation
    if what_if.slowstart is not None:
        described = replace(described, slowstart=what_if.slowstart)
    if what_if.stragglers is not None:
        described = replace(described, stragglers=Stragglers(share=what_if.stragglers[0], factor=what_if.stragglers[1]))
    if what_if.lose is not None and isinstance(described, Simulation):
        described = replace(
            described,
            machine_failures=replace(described.machine_failures or MachineFailures(), permanent=what_if.lose),
        )
    return described


def class_of(
    node: Any,
    who: Submitters,
    rules: Run,
    jobs: int,
    pools: tuple[int, int] = (MAP, REDUCE),
    limits: tuple[float, float] = (inf, inf),
) -> JobClass:
    """Return a class with a profile or with stages; map tasks and tasks of stages run in the first pool, reduce tasks
    in the
    second. No more than ``limits`` of one job run at once in each."""
    stages, times = described_tasks(node, rules.slowstart)
    if rules.stragglers is not None:
        slow = slowdown(rules.stragglers.share, rules.stragglers.factor)
        times = [replace(each, slow=slow) for each in times]
    startup = getattr(node, "startup", 0.0)
    placed = (
        replace(
            stage,
            pool=pools[stage.pool],
            limit=limits[stage.pool],
            delay=stage.delay if stage.after else stage.delay + startup,
        )
        for stage in stages
    )
    return JobClass(JobKind(node.name, tuple(placed)), tuple(times), who, jobs)


def faults_of(rules: Run, shuffle_service: bool = False, patience: float | None = None) -> Faults:
    """Return the faults of tasks, with the shuffle service and the patience of queues."""
    failures, speculation = rules.task_failures, rules.speculation
    return Faults(
        share=failures.probability if failures is not None else 0.0,
        retries=failures.retries if failures is not None else 3,
        shuffle_service=shuffle_service,
        speculation=Speculation(speculation.quantile, speculation.factor) if speculation is not None else None,
        patience=patience,
    )


def submitters_of(node: Any, users: int, burst: int | None) -> Submitters:
    """Return the submitters of a class's jobs: recorded or random arrivals, or users; ``burst`` overrides the
    spec's.
    """
    size = node.burst if burst is None else burst
    if node.submissions is not None:
        return RecordedArrivals(tuple(sorted(read_times(Path(node.submissions.path), 1.0, zero=True).tolist())), size)
    if node.arrivals is not None:
        return Arrivals(node.arrivals, size)
    return Users(users, node.think)


def described_tasks(node: Any, slowstart: float = 1.0) -> tuple[list[Stage], list[TaskTimes]]:
    """Return the stages of a job, each after its parents, and their task times."""
    stages, times = _of_stages(node) if node.stages else _of_phases(node, slowstart)
    return stages, with_shared(times)


def _of_stages(node: Any) -> tuple[list[Stage], list[TaskTimes]]:
    """Return the stages in an order in which each comes after its parents, and their times."""
    parents = parents_of(node.stages)
    order = in_order(parents)
    place = {index: at for at, index in enumerate(order)}
    ordered = [(node.stages[index], tuple(place[each] for each in parents[index])) for index in order]
    stages = [Stage(each.name, each.width, after, MAP, delay=each.delay) for each, after in ordered]
    times = [TaskTimes(repeated(_of_stage(node, each), each.slots)) for each, _ in ordered]
    return stages, times


def _of_stage(node: Any, stage: Any) -> Sampler:
    """Return the sampler of a stage's times, or of its class's."""
    if stage.samples is None and stage.distribution is not None:
        return _spread(stage, stage.avg, stage.max, None, stage.tasks)
    return _work(node, stage, None, stage.samples or node.samples)


def _of_phases(node: Any, slowstart: float) -> tuple[list[Stage], list[TaskTimes]]:
    recorded = node.recorded
    unit = recorded.unit if recorded is not None else 1.0
    stages = [Stage("map", node.map.tasks, (), MAP)]
    source = node.samples if recorded is None else recorded.map
    times = [TaskTimes(_work(node, node.map, node.map.min, source, unit))]
    if node.reduce is None or node.shuffle is None or not node.reduce.tasks:
        return stages, times
    stages.append(Stage("reduce", node.reduce.tasks, (MAP,), REDUCE, slowstart))
    source = None if recorded is None else recorded.reduce
    work = _work(node, node.reduce, node.reduce.min, source, unit)
    shuffle, tasks = node.shuffle, node.reduce.tasks
    if source is not None:
        return stages, [*times, TaskTimes(work)]
    first_avg = shuffle.first_max if shuffle.first_avg is None else shuffle.first_avg
    first = _spread(node, first_avg, shuffle.first_max, shuffle.first_min, tasks)
    later = _spread(node, shuffle.avg, shuffle.max, shuffle.min, tasks)
    return stages, [*times, TaskTimes(work, first, later)]


def _work(node: Any, tasks: Any, shortest: float | None, source: Source | None, unit: float = 1.0) -> Sampler:
    if source is not None:
        return Samples(tuple(read_times(Path(source.path), unit).tolist()), tasks.tasks)
    return _spread(node, tasks.avg, tasks.max, shortest, tasks.tasks)


def _spread(node: Any, avg: float, longest: float, shortest: float | None, tasks: int) -> Sampler:
    low = float(least(np.array(avg), np.array(longest), np.array(nan if shortest is None else shortest)))
    return sampler(getattr(node, "distribution", "uniform"), low, avg, longest, tasks)
