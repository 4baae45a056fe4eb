"""A bounds spec as a simulation: what its formulas estimate, observed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.result import Result, SolutionStatus, Termination
from mrdsl.core.whole_numbers import ceiling, floor
from mrdsl.families.bounds.checks import minimizes_slots
from mrdsl.families.bounds.estimates import Estimates, estimates_of, growth_of, shares_of
from mrdsl.families.bounds.facts import BoundsFacts, Cluster, JobClass, Simulation, is_common, is_fifo, sizes_of
from mrdsl.families.bounds.formulas import plan_of
from mrdsl.families.bounds.plan import BoundsPlan, Observed
from mrdsl.simulation.cluster import Pool
from mrdsl.simulation.profiled import profiled_work
from mrdsl.simulation.queues import FewestRunning, OldestFirst, Order, Queue
from mrdsl.simulation.sampling import stream
from mrdsl.simulation.statistics import summarize
from mrdsl.simulation.task_times import exponential, read_times, recorded
from mrdsl.simulation.tasks import Job, TaskRun, Work
from mrdsl.simulation.users import Submitters, observe
from mrdsl.spec.columns import column, names_of
from mrdsl.spec.spec import Spec
from mrdsl.spec.stages import stages_of


def simulate(spec: Spec, runs: int, seed: int | None, jobs: int | None) -> Result:
    """``runs`` independent runs, each until every class has completed ``jobs`` jobs per user (default: the spec's).

    `minimize slots` is simulated on the slots that the formulas give, rounded up.
    """
    _refuse_stages(spec)
    plan = plan_of(spec)
    scenario = scenario_of(spec, plan, seed or 0, jobs)
    times = [run_once(scenario, run) for run in range(runs)]
    names = names_of(spec.facts.classes)
    observed = {}
    for kind, name in enumerate(names):
        kept = [seen[kind][int(floor(scenario.warm_up * len(seen[kind]))) :] for seen in times]
        found = summarize(kept)
        observed[name] = Observed(found.count, found.mean, found.p50, found.p95, found.half_width)
    return Result(
        Termination.COMPLETED,
        SolutionStatus.FEASIBLE,
        replace(plan, observed=observed, replay=lambda: replayed(scenario)),
    )


@dataclass(frozen=True)
class Scenario:
    """One cluster with its classes, ready to run: ``submitters(run)`` and ``pools()`` make a fresh start."""

    pools: Callable[[], tuple[Pool, ...]]
    submitters: Callable[[int], tuple[Submitters, ...]]
    enough: tuple[int, ...]
    warm_up: float
    patience: float | None
    masters: bool


def scenario_of(spec: Spec, plan: BoundsPlan, seed: int, jobs: int | None = None) -> Scenario:
    """What the spec says of cluster and classes, for a plan's estimates and slots."""
    facts: BoundsFacts = spec.facts
    cluster = facts.cluster or Cluster()
    length = facts.simulation or Simulation()
    estimates = estimates_of(facts)
    sizes = _slots(spec, plan, cluster)
    per_user = jobs if jobs is not None else length.jobs_per_user

    limits, growth = _limits_per_job(facts, cluster, sizes), growth_of(facts)

    def submitters(run: int) -> tuple[Submitters, ...]:
        works = [
            _work(node, estimates, kind, float(growth[kind]), (seed, run)) for kind, node in enumerate(facts.classes)
        ]
        return tuple(
            _submitters(
                node,
                replace(work, map_limit=limit[0], reduce_limit=limit[1]),
                float(think),
                stream(seed, "gap", run, node.name),
            )
            for node, work, limit, think in zip(
                facts.classes, works, limits, 0.1 * plan.completion["average"], strict=True
            )
        )

    return Scenario(
        lambda: _pools(facts, cluster, sizes),
        submitters,
        tuple(per_user * int(h) for h in plan.jobs),
        length.warm_up,
        cluster.preemption,
        cluster.masters == "yes",
    )


def replayed(scenario: Scenario) -> Iterator[TaskRun]:
    """Every task run of the first run, as the run goes: only those of one stretch of time are held at once."""
    held: list[TaskRun] = []
    _, simulation = _started(scenario, 0, held.append)
    simulation.run(0.0)
    while simulation.events:
        simulation.run(simulation.events[0][0] + 60.0)
        yield from held
        held.clear()


def run_once(scenario: Scenario, run: int) -> list[list[float]]:
    """Completion times per class of one run, in order, the warm-up included."""
    seen, simulation = _started(scenario, run, None)
    simulation.run()
    return seen


def _started(scenario: Scenario, run: int, record: Callable[[TaskRun], None] | None) -> tuple[list[list[float]], Any]:
    return observe(
        scenario.pools(), scenario.submitters(run), scenario.enough, record, scenario.patience, scenario.masters
    )


def _refuse_stages(spec: Spec) -> None:
    staged = [
        error(
            "not-simulated",
            f"class {node.name} consists of stages, which are not simulated here",
            stages[0].span or node.span,
            "leave the class out",
        )
        for node, stages in zip(spec.facts.classes, stages_of(spec.facts.classes), strict=True)
        if stages
    ]
    if staged:
        raise MrdslError(staged)


def _slots(spec: Spec, plan: BoundsPlan, cluster: Cluster) -> tuple[int, int]:
    if minimizes_slots(spec) or cluster.slots is None:
        whole = [ceiling(slots * plan.jobs).sum() for slots in (plan.map_slots, plan.reduce_slots)]
        return max(1, int(whole[0])), max(1, int(whole[1]))
    return sizes_of(cluster.slots)


def _pools(facts: BoundsFacts, cluster: Cluster, sizes: tuple[int, int]) -> tuple[Pool, ...]:
    chosen = sizes[:1] if is_common(cluster) else sizes
    return tuple(Pool(slots, _queues(facts, cluster, slots)) for slots in chosen)


def _queues(facts: BoundsFacts, cluster: Cluster, slots: int) -> list[Queue[Job]]:
    """One queue for all where jobs are alike; otherwise one per class, weighed by its share."""
    kept = cluster.work_conserving == "no"
    if is_fifo(facts) or not (by_class(facts) or kept):
        return [Queue(OldestFirst() if is_fifo(facts) else FewestRunning())]
    order: Callable[[], Order[Job]] = OldestFirst if cluster.scheduler == "capacity" else FewestRunning
    minima = column(facts.classes, "minimum_share", missing=0.0)
    return [
        Queue(order(), float(share), float(minimum) * slots, max(1, int(floor(float(share * slots)))) if kept else inf)
        for share, minimum in zip(shares_of(facts), minima, strict=True)
    ]


def by_class(facts: BoundsFacts) -> bool:
    """Whether slots are shared among classes first, and then among the jobs of each."""
    return (facts.cluster is not None and facts.cluster.scheduler == "capacity") or any(
        bool((~np.isnan(column(facts.classes, item))).any()) for item in ("share", "minimum_share")
    )


def _limits_per_job(facts: BoundsFacts, cluster: Cluster, sizes: tuple[int, int]) -> list[tuple[float, float]]:
    """How many tasks of each stage one job may run at once: its own slots where none are lent, else any number."""
    if cluster.work_conserving == "yes" or cluster.scheduler != "fair":
        return [(inf, inf)] * len(facts.classes)
    of_class = [np.maximum(1.0, floor(shares_of(facts) * slots)) for slots in sizes]
    each = [np.maximum(1.0, np.floor(slots / column(facts.classes, "jobs"))) for slots in of_class]
    return list(zip(each[0].tolist(), each[1].tolist(), strict=True))


def _submitters(node: JobClass, work: Work, think: float, random: np.random.RandomState) -> Submitters:
    if node.arrivals is not None:
        return Submitters(work, exponential(1.0 / node.arrivals, random), open=True)
    return Submitters(work, exponential(think if node.think is None else node.think, random), users=node.jobs)


def _work(node: JobClass, estimates: Estimates, kind: int, growth: float, run: tuple[int, int]) -> Work:
    work = profiled_work(estimates.profile, kind, node, run, growth)
    if node.recorded is None:
        return work
    maps = recorded(
        read_times(Path(node.recorded.map.path), node.recorded.unit), stream(run[0], "recorded map", run[1], node.name)
    )
    if node.recorded.reduce is None:
        return replace(work, map_time=maps)
    reduces = recorded(
        read_times(Path(node.recorded.reduce.path), node.recorded.unit),
        stream(run[0], "recorded reduce", run[1], node.name),
    )
    return replace(work, map_time=maps, first_reduce_time=reduces, reduce_time=reduces)
