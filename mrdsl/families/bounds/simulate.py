"""A bounds spec as a simulation: what its formulas estimate, observed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
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
from mrdsl.simulation.described import class_of
from mrdsl.simulation.engine.scenario import Arrivals, QueueRule, Users, queue_of
from mrdsl.simulation.engine.scenario import Scenario as StagedScenario
from mrdsl.simulation.engine.scenario import run_once as run_stages
from mrdsl.simulation.engine.world import Faults, Machines
from mrdsl.simulation.profiled import profiled_work
from mrdsl.simulation.queues import Queue
from mrdsl.simulation.sampling import stream
from mrdsl.simulation.statistics import summarize
from mrdsl.simulation.task_times import exponential, read_times, recorded
from mrdsl.simulation.tasks import Job, TaskRun, Work
from mrdsl.simulation.users import Submitters, observe
from mrdsl.spec.columns import column, names_of
from mrdsl.spec.simulated import Simulation as EngineRules
from mrdsl.spec.spec import Spec
from mrdsl.spec.stages import any_stages


def simulate(spec: Spec, runs: int, seed: int | None, jobs: int | None) -> Result:
    """``runs`` independent runs, each until every class has completed ``jobs`` jobs per user (default: the spec's).

    `minimize slots` is simulated on the slots that the formulas give, rounded up.
    """
    plan = plan_of(spec)
    if any_stages(spec.facts.classes):
        _refuse_masters(spec)
        staged = staged_scenario(spec, plan, jobs)
        times = [run_stages(staged, seed or 0, run).times for run in range(runs)]
        plan = replace(plan, observed=_observed(spec, times))
    else:
        scenario = scenario_of(spec, plan, seed or 0, jobs)
        after = [[_warm(seen, scenario.warm_up) for seen in run_once(scenario, run)] for run in range(runs)]
        plan = replace(plan, observed=_observed(spec, after), replay=lambda: replayed(scenario))
    return Result(Termination.COMPLETED, SolutionStatus.FEASIBLE, plan)


def _warm(seen: list[float], warm_up: float) -> list[float]:
    return seen[int(floor(warm_up * len(seen))) :]


def _observed(spec: Spec, runs: Sequence[Sequence[Sequence[float]]]) -> dict[str, Observed]:
    observed = {}
    for kind, name in enumerate(names_of(spec.facts.classes)):
        summary = summarize([run[kind] for run in runs])
        observed[name] = Observed(summary.count, summary.mean, summary.p50, summary.p95, summary.half_width)
    return observed


def _refuse_masters(spec: Spec) -> None:
    cluster: Cluster | None = spec.facts.cluster
    if cluster is not None and cluster.masters == "yes":
        message = "jobs of stages are simulated without masters, and `masters` is yes"
        hint = "leave masters out, and take a slot for every job off the cluster"
        raise MrdslError([error("not-simulated", message, cluster.span_of("masters"), hint)])


def staged_scenario(spec: Spec, plan: BoundsPlan, jobs: int | None) -> StagedScenario:
    """The same cluster for the engine, which runs classes of stages, beside map and reduce phases or without."""
    facts: BoundsFacts = spec.facts
    cluster, length = facts.cluster or Cluster(), facts.simulation or Simulation()
    sizes = _slots(spec, plan, cluster)
    per_user = jobs if jobs is not None else length.jobs_per_user
    pools = (0, 0) if is_common(cluster) else (0, 1)
    limits = _limits_per_job(facts, cluster, sizes)
    classes = [
        class_of(_grown(node, growth), _who(node, think), EngineRules(), per_user * node.jobs, pools, limit)
        for node, growth, think, limit in zip(
            facts.classes, growth_of(facts), 0.1 * plan.completion["average"], limits, strict=True
        )
    ]
    return StagedScenario(
        tuple(classes),
        tuple(Machines(1, slots, pool) for pool, slots in enumerate(sizes[: 1 + max(pools)])),
        tuple(tuple(_rules(facts, cluster, slots)) for slots in sizes[: 1 + max(pools)]),
        length.warm_up,
        Faults(patience=cluster.preemption),
    )


def _grown(node: JobClass, growth: float) -> JobClass:
    """A class whose phases are those of its data: what ``formulas.scaling`` does to its profile."""
    if growth == 1.0 or node.map is None:
        return node
    grown = replace(node, map=replace(node.map, tasks=max(1, int(ceiling(node.map.tasks * growth)))))
    if node.shuffle is None or node.reduce is None:
        return grown
    return replace(grown, shuffle=_longer(node.shuffle, growth), reduce=_longer(node.reduce, growth))


def _longer(phase: Any, growth: float) -> Any:
    times = {
        f.name: getattr(phase, f.name) for f in fields(phase) if f.name.rpartition("_")[2] in ("avg", "max", "min")
    }
    return replace(phase, **{name: None if time is None else time * growth for name, time in times.items()})


def _who(node: JobClass, think: float) -> Arrivals | Users:
    if node.arrivals is not None:
        return Arrivals(node.arrivals)
    return Users(node.jobs, float(think) if node.think is None else node.think)


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


def _slots(spec: Spec, plan: BoundsPlan, cluster: Cluster) -> tuple[int, int]:
    if minimizes_slots(spec) or cluster.slots is None:
        whole = [ceiling(slots * plan.jobs).sum() for slots in (plan.map_slots, plan.reduce_slots)]
        return max(1, int(whole[0])), max(1, int(whole[1]))
    return sizes_of(cluster.slots)


def _pools(facts: BoundsFacts, cluster: Cluster, sizes: tuple[int, int]) -> tuple[Pool, ...]:
    chosen = sizes[:1] if is_common(cluster) else sizes
    return tuple(Pool(slots, _queues(facts, cluster, slots)) for slots in chosen)


def _queues(facts: BoundsFacts, cluster: Cluster, slots: int) -> list[Queue[Job]]:
    return [queue_of(rule) for rule in _rules(facts, cluster, slots)]


def _rules(facts: BoundsFacts, cluster: Cluster, slots: int) -> list[QueueRule]:
    """One queue for all where jobs are alike; otherwise one per class, weighed by its share."""
    kept = cluster.work_conserving == "no"
    if is_fifo(facts) or not (by_class(facts) or kept):
        return [QueueRule(not is_fifo(facts))]
    minima = column(facts.classes, "minimum_share", missing=0.0)
    return [
        QueueRule(
            cluster.scheduler != "capacity",
            float(share),
            float(minimum) * slots,
            max(1, int(floor(float(share * slots)))) if kept else inf,
        )
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
