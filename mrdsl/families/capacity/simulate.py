"""A capacity plan run: its jobs, task by task, on the slots that it gives their class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mrdsl.core.diagnostics import Diagnostic, MrdslError, error, warning
from mrdsl.core.whole_numbers import ceiling
from mrdsl.families.capacity.facts import CapacityFacts, JobClass
from mrdsl.families.capacity.instance import Instance, instance_of
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.shape import refuse_measured, refuse_types
from mrdsl.simulation.described import MAP, REDUCE, asked, class_of, faults_of, submitters_of
from mrdsl.simulation.engine.scenario import LossRule, QueueRule, Scenario
from mrdsl.simulation.engine.world import Machines
from mrdsl.simulation.observed import Observed, Simulated, observed_classes
from mrdsl.simulation.refusals import asked_for, check_load
from mrdsl.simulation.settings import Settings
from mrdsl.solving.running import seen_of
from mrdsl.spec.simulated import Simulation
from mrdsl.spec.spec import Spec


@dataclass(frozen=True)
class _Part:
    """Classes that share slots: by their indices, and what runs."""

    classes: tuple[int, ...]
    scenario: Scenario


def simulate_plan(spec: Spec, plan: CapacityPlan, settings: Settings) -> tuple[CapacityPlan, tuple[Diagnostic, ...]]:
    """The plan with what independent runs showed of every class that admits jobs and says what tasks they have.

    A class has its whole slots to itself, which its jobs share, unless the spec says that classes lend them. Raises
    MrdslError where jobs arrive faster than the plan's slots work, and where no machine would be left.
    """
    facts: CapacityFacts = spec.facts
    refuse_types(spec, "the simulation")
    refuse_measured(spec, "the simulation")
    rules = asked(facts.simulation or Simulation(), settings.what_if)
    jobs = settings.jobs or rules.jobs_per_user
    there = [index for index in range(len(facts.classes)) if plan.admitted[index] >= 1.0]
    known = [index for index in there if facts.classes[index].coefficients is None]
    lent = rules.lending == "yes" and known
    groups = [tuple(known)] if lent else [(index,) for index in known]
    hosted = instance_of(spec)
    parts = [_Part(group, _scenario(facts, hosted, plan, rules, settings, group, jobs)) for group in groups]
    problems = [problem for part in parts for problem in _refused(facts, part)]
    if problems:
        raise MrdslError(problems)
    observed = dict(_observed(facts, settings, parts))
    diagnostics = [_unknown(facts.classes[index]) for index in there if index not in known]
    diagnostics += asked_for(settings)
    simulated = Simulated(settings.runs, settings.seed, jobs, rules.warm_up, settings.what_if.said())
    return replace(plan, observed=observed, simulated=simulated), tuple(diagnostics)


def _scenario(
    facts: CapacityFacts,
    hosted: Instance,
    plan: CapacityPlan,
    rules: Simulation,
    settings: Settings,
    group: Sequence[int],
    jobs: int,
) -> Scenario:
    """The classes of a group on their slots: map tasks and tasks of stages in pool 0, reduce tasks in pool 1."""
    classes, machines, weights = [], [], []
    for index in group:
        node, users = facts.classes[index], int(plan.admitted[index])
        classes.append(class_of(node, submitters_of(node, users, settings.what_if.burst), rules, users * jobs))
        slots = [int(ceiling(plan.map_slots[index])), int(ceiling(plan.reduce_slots[index]))]
        per_vm = [int(hosted.map_per_vm[index]), int(hosted.reduce_per_vm[index])]
        machines += [*_machines(MAP, slots[MAP], per_vm[MAP]), *_machines(REDUCE, slots[REDUCE], per_vm[REDUCE])]
        weights.append(slots)
    losses = rules.losses
    return Scenario(
        tuple(classes),
        tuple(machines),
        tuple(_queues(rules, [slots[pool] for slots in weights]) for pool in (MAP, REDUCE)),
        rules.warm_up,
        faults_of(rules, rules.shuffle_service == "yes", rules.preemption),
        LossRule(losses.rate, losses.back, losses.machines) if losses is not None else None,
    )


def _machines(pool: int, slots: int, per_vm: int) -> Iterator[Machines]:
    """Whole VMs, and one for the slots that are left."""
    each = max(1, per_vm)
    if slots // each:
        yield Machines(slots // each, each, pool)
    if slots % each:
        yield Machines(1, slots % each, pool)


def _queues(rules: Simulation, slots: Sequence[int]) -> tuple[QueueRule, ...]:
    """One queue for a class alone, or where the oldest job of all comes first; else one each, weighed by its slots."""
    fair = rules.scheduler == "fair"
    if len(slots) == 1 or not fair:
        return (QueueRule(fair),)
    return tuple(QueueRule(fair, float(max(1, count))) for count in slots)


def _refused(facts: CapacityFacts, part: _Part) -> Iterator[Diagnostic]:
    """What can be told before anything runs: more work than slots, no machine left."""
    first = facts.classes[part.classes[0]]
    yield from check_load(part.scenario, first, "lower arrivals or burst, or admit more jobs at once: jobs = lo .. hi")
    losses = part.scenario.losses
    used = {stage.pool for each in part.scenario.classes for stage in each.kind.stages}
    fewest = min(sum(m.vms for m in part.scenario.machines if m.pool == pool) for pool in used)
    if losses is not None and losses.machines >= fewest:
        yield error(
            "out-of-range",
            f"{losses.machines} machines go for good, and class {first.name} has {fewest} for one kind of its tasks",
            facts.simulation.losses.span_of("machines") if facts.simulation and facts.simulation.losses else None,
            f"write machines = {max(0, fewest - 1)} or fewer",
        )


def _observed(facts: CapacityFacts, settings: Settings, parts: Sequence[_Part]) -> Iterator[tuple[str, Observed]]:
    """By class, in the order of the spec."""
    by_class: dict[int, Observed | None] = {}
    for part, runs in zip(parts, seen_of([part.scenario for part in parts], settings), strict=True):
        deadlines = [facts.classes[index].deadline for index in part.classes]
        by_class |= zip(part.classes, observed_classes(part.scenario, runs, deadlines), strict=True)
    for index in sorted(by_class):
        observed = by_class[index]
        if observed is not None:
            yield facts.classes[index].name, observed


def _unknown(node: JobClass) -> Diagnostic:
    return warning(
        "not-simulated",
        f"class {node.name} is given by coefficients, which do not say what tasks its jobs have: it is not simulated",
        node.span,
        "write its profile (map, shuffle, reduce) or its stages to see it run",
    )
