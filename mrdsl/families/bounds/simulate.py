"""Simulation of a bounds spec: observations of the times that its formulas estimate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from math import inf, isnan
from typing import Any

import numpy as np

from mrdsl.core.diagnostics import Diagnostic, MrdslError, Span, error, number_of, one_error
from mrdsl.core.rounding import ceiling, floor
from mrdsl.families.bounds.checks import minimizes_slots
from mrdsl.families.bounds.estimates import growth_of, shares_of, slots_that_run
from mrdsl.families.bounds.facts import BoundsFacts, Cluster, JobClass, is_common, is_fifo, own_classes
from mrdsl.families.bounds.plan import BoundsPlan, TaskRun
from mrdsl.simulation.described import asked, class_of, faults_of, submitters_of
from mrdsl.simulation.engine.scenario import QueueRule, Scenario, attempts_of
from mrdsl.simulation.engine.world import Machines
from mrdsl.simulation.observed import Observed, simulated_as
from mrdsl.simulation.planned import check_burst, check_load, check_repeats, override_notes
from mrdsl.simulation.settings import Settings
from mrdsl.simulation.verdicts import observed_classes, promised, verdict_warnings
from mrdsl.solving.worker import run_scenarios
from mrdsl.spec.columns import column
from mrdsl.spec.simulated import Run
from mrdsl.spec.spec import Spec, tightest


def simulate_plan(spec: Spec, plan: BoundsPlan, settings: Settings) -> tuple[BoundsPlan, tuple[Diagnostic, ...]]:
    """Simulate a plan in independent runs, each until every class has completed its jobs.

    `minimize slots` is simulated on the plan's slots, rounded up. Raises MrdslError if jobs arrive faster than the
    slots work, and if the command removes machines: a cluster of slots has none.
    """
    if settings.what_if.lose is not None:
        message = "machines cannot fail here: a bounds spec has slots, not machines"
        raise one_error("wrong-option", message, spec.span, "remove `--fail-machines`")
    scenario = scenario_of(spec, plan, settings)
    facts: BoundsFacts = spec.facts
    refused = [*check_burst(facts.classes, settings.what_if, spec.span), *_refused(facts, scenario)]
    if refused:
        raise MrdslError(refused)
    observed = dict(_observed(spec, plan, scenario, settings))
    simulated = simulated_as(facts.simulation or Run(), settings)
    replay = _Replay(scenario, settings.seed, plan)
    places = {node.name: place for node, (_, place) in zip(facts.classes, _limits(spec), strict=True)}
    told = [
        warned
        for name, seen in observed.items()
        for warned in verdict_warnings(seen.verdict, f"class {name}", places[name])
    ]
    return replace(plan, observed=observed, simulated=simulated, replay=replay), (*told, *override_notes(settings))


def _refused(facts: BoundsFacts, scenario: Scenario) -> Iterator[Diagnostic]:
    arriving = [node for node in facts.classes if node.arrivals is not None]
    if arriving:
        yield from check_load(scenario, arriving[0], "lower arrivals, or give more slots")
    yield from check_repeats(scenario, facts.classes[0], facts.simulation or Run())
    slots, jobs = scenario.machines[0].slots, min(sum(node.jobs for node in facts.classes), scenario.max_running)
    if scenario.masters and jobs >= slots:
        yield error(
            "too-small-cluster",
            f"with `masters = yes` the masters of {number_of(jobs, 'job', 'g')} use up {number_of(slots, 'slot')}, "
            "so no slot is left for tasks",
            facts.cluster.span_of("masters") if facts.cluster else None,
            "remove `masters = yes`, or write earlier deadlines, which require more slots",
        )


def _observed(spec: Spec, plan: BoundsPlan, scenario: Scenario, settings: Settings) -> Iterator[tuple[str, Observed]]:
    """Yield the observations of each class; they have a verdict on deadlines only if slots were sized for them."""
    deadlines = [None if isnan(deadline) else deadline for deadline in plan.deadline.tolist()]
    sized = minimizes_slots(spec)
    limits = [limit if sized else None for limit, _ in _limits(spec)]
    promises = [promised(limit, node.guarantee) for limit, node in zip(limits, spec.facts.classes, strict=True)]
    (runs,) = run_scenarios([scenario], settings)
    for name, observed in zip(plan.names, observed_classes(scenario, runs, deadlines, promises), strict=True):
        if observed is not None:
            yield name, observed


def _limits(spec: Spec) -> Iterator[tuple[float | None, Span | None]]:
    """Yield the limit on the completion time of each class and its location in the spec.

    The limit is the deadline, or the bound in ``subject to`` if that is tighter.
    """
    bounds = tightest(spec)
    for node in spec.facts.classes:
        bound = bounds.get(("completion", node.name))
        if bound is None or (node.deadline is not None and node.deadline <= bound.value):
            yield node.deadline, node.span_of("deadline")
        else:
            yield bound.value, bound.span


def scenario_of(spec: Spec, plan: BoundsPlan, settings: Settings) -> Scenario:
    """Return the scenario of the spec's cluster and classes, for a plan's estimates and slots."""
    facts: BoundsFacts = spec.facts
    cluster, rules = facts.cluster or Cluster(), asked(facts.simulation or Run(), settings.what_if)
    there = slots_that_run(facts, minimizes_slots(spec), plan.map_slots, plan.reduce_slots)
    sizes = int(there[0]), int(there[1])
    per_user = settings.jobs or rules.jobs_per_user
    pools = (0, 0) if is_common(cluster) else (0, 1)
    limits = _limits_per_job(facts, cluster, sizes)
    described = [
        _grown(node if node.think is not None else replace(node, think=float(think)), growth)
        for node, growth, think in zip(facts.classes, growth_of(facts), 0.1 * plan.completion["average"], strict=True)
    ]
    classes = [
        class_of(
            node, submitters_of(node, node.jobs, settings.what_if.burst), rules, per_user * node.jobs, pools, limit
        )
        for node, limit in zip(described, limits, strict=True)
    ]
    chosen = sizes[: 1 + max(pools)]
    return Scenario(
        tuple(classes),
        tuple(Machines(1, slots, pool) for pool, slots in enumerate(chosen)),
        tuple(tuple(_rules(facts, cluster, slots)) for slots in chosen),
        rules.warm_up,
        faults_of(rules, patience=None if is_fifo(facts) else cluster.preemption),
        masters=cluster.masters == "yes",
        max_running=rules.max_running or inf,
    )


def _grown(node: JobClass, growth: float) -> JobClass:
    """Return a class whose phases are those of its data: what ``mapreduce.scaled`` does to its profile."""
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


class _Replay:
    """Second pass over the first run that yields every task run in order."""

    def __init__(self, scenario: Scenario, seed: int, plan: BoundsPlan) -> None:
        self.scenario, self.seed = scenario, seed
        self.stages = [[stage.name for stage in each.kind.stages] for each in scenario.classes]

    def __call__(self) -> Iterator[TaskRun]:
        """Slots are numbered within their pool."""
        first = [0]
        for machines in self.scenario.machines:
            first.append(first[-1] + machines.vms * machines.slots)
        for each in attempts_of(self.scenario, self.seed, 0):
            yield TaskRun(
                each.job,
                each.kind,
                self.stages[each.kind][each.stage],
                each.vm,
                each.slot - first[each.vm],
                each.start,
                each.end,
                each.outcome,
            )


def _rules(facts: BoundsFacts, cluster: Cluster, slots: int) -> list[QueueRule]:
    """Return one queue for all jobs if they are alike; otherwise one per class, weighted by its share."""
    kept = cluster.work_conserving == "no" or bool(own_classes(facts).any())
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
    """Return True if slots are shared among classes first, and then among the jobs of each."""
    return (facts.cluster is not None and facts.cluster.scheduler == "capacity") or any(
        bool((~np.isnan(column(facts.classes, item))).any()) for item in ("share", "minimum_share")
    )


def _limits_per_job(facts: BoundsFacts, cluster: Cluster, sizes: tuple[int, int]) -> Sequence[tuple[float, float]]:
    """Return the most concurrent tasks per stage of one job: its reserved slots, or any number if slots are lent."""
    own = own_classes(facts)
    if cluster.scheduler != "fair" or (cluster.work_conserving == "yes" and not own.any()):
        return [(inf, inf)] * len(facts.classes)
    of_class = [np.maximum(1.0, floor(shares_of(facts) * slots)) for slots in sizes]
    each = [np.maximum(1.0, np.floor(slots / column(facts.classes, "jobs"))) for slots in of_class]
    if cluster.work_conserving == "yes":
        each = [np.where(own, slots, inf) for slots in each]
    return list(zip(each[0].tolist(), each[1].tolist(), strict=True))
