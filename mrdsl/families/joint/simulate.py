"""A joint plan run: period by period, the jobs of the MapReduce classes on the slots that the period gives them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mrdsl.core.diagnostics import Diagnostic, MrdslError
from mrdsl.core.rounding import ceiling
from mrdsl.families.joint.facts import JobClass, JointFacts
from mrdsl.families.joint.fleet import refuse_types
from mrdsl.families.joint.plan import JointPlan
from mrdsl.simulation.described import asked
from mrdsl.simulation.observed import Observed, simulated_as
from mrdsl.simulation.planned import (
    Held,
    check_burst,
    check_scenario,
    groups_of,
    observed_of_classes,
    scenario_of,
    told,
)
from mrdsl.simulation.settings import Settings
from mrdsl.solving.parallel import run_scenarios
from mrdsl.spec.blocks import Simulation
from mrdsl.spec.spec import Spec


def simulate_plan(spec: Spec, plan: JointPlan, settings: Settings) -> tuple[JointPlan, tuple[Diagnostic, ...]]:
    """Simulate a plan in independent runs: every class, in each period and over all of them.

    Each period is simulated separately until its jobs end: one user per concurrent job submits job after job. Verdicts
    over all periods use the runs of all of them, which have no job in common. Raises MrdslError if jobs arrive faster
    than slots work, and if no machine would be left.
    """
    refuse_types(spec, "the simulation of a plan", "remove the VM types")
    facts: JointFacts = spec.facts
    rules = asked(facts.simulation or Simulation(), settings.what_if)
    parts = [
        (t, group, scenario_of(group, rules, settings))
        for t in range(len(plan.vms))
        for group in groups_of(held_in(facts, plan, t), rules)
    ]
    problems = [*check_burst(facts.classes, settings.what_if, spec.span)]
    for _, group, scenario in parts:
        problems += check_scenario(scenario, group[0].node, facts.simulation, settings.what_if)
    if problems:
        raise MrdslError(problems)
    groups, scenarios = [group for _, group, _ in parts], [scenario for _, _, scenario in parts]
    seen = run_scenarios(scenarios, settings, apart=True)
    every = observed_of_classes(groups, scenarios, seen)
    hourly: list[dict[str, Observed]] = [{} for _ in plan.vms]
    for (t, group, scenario), runs in zip(parts, seen, strict=True):
        hourly[t] |= observed_of_classes([group], [scenario], [runs])
    diagnostics = told(_ever(held_in(facts, plan, t) for t in range(len(plan.vms))), every, settings)
    return replace(
        plan,
        observed={node.name: every[node.name] for node in facts.classes if node.name in every},
        hourly=tuple(hourly),
        simulated=simulated_as(rules, settings),
    ), tuple(diagnostics)


def held_in(facts: JointFacts, plan: JointPlan, t: int) -> list[Held]:
    """Return the classes in a period: concurrent jobs and slots, rounded up."""
    got = plan.classes
    return [
        Held(
            node,
            int(jobs),
            (int(maps), int(reduces)),
            _per_vm(node),
            node.name,
            machines=plan.machines(t, index),
        )
        for index, (node, jobs, maps, reduces) in enumerate(
            zip(
                facts.classes,
                ceiling(got.at_once[t]),
                ceiling(got.map_slots[t]),
                ceiling(got.reduce_slots[t]),
                strict=True,
            )
        )
    ]


def _per_vm(node: JobClass) -> tuple[int, int]:
    """Return the slots of each kind of a VM of one kind."""
    assert node.slots is not None
    return (node.slots.task if node.stages else node.slots.map) or 1, node.slots.reduce or 1


def _ever(periods: Iterator[list[Held]]) -> list[Held]:
    """Return every class once, with its most concurrent jobs in any period."""
    return [max(of_class, key=lambda held: held.users) for of_class in zip(*periods, strict=True)]
