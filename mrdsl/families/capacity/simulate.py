"""A capacity plan run: its jobs, task by task, on the slots that it gives their class."""

from __future__ import annotations

from dataclasses import replace

from mrdsl.core.diagnostics import Diagnostic, MrdslError
from mrdsl.core.whole_numbers import ceiling
from mrdsl.families.capacity.facts import CapacityFacts
from mrdsl.families.capacity.instance import instance_of
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.shape import refuse_measured, refuse_types
from mrdsl.simulation.described import asked
from mrdsl.simulation.observed import observed_classes, simulated_as
from mrdsl.simulation.planned import Held, check_scenario, groups_of, scenario_of, told
from mrdsl.simulation.settings import Settings
from mrdsl.solving.running import seen_of
from mrdsl.spec.simulated import Simulation
from mrdsl.spec.spec import Spec


def simulate_plan(spec: Spec, plan: CapacityPlan, settings: Settings) -> tuple[CapacityPlan, tuple[Diagnostic, ...]]:
    """The plan with what independent runs showed of every class that admits jobs and says what tasks they have.

    A class has its whole slots to itself, which its jobs share, unless the spec says that classes lend them. Raises
    MrdslError where jobs arrive faster than the plan's slots work, and where no machine would be left.
    """
    facts: CapacityFacts = spec.facts
    refuse_types(spec, "the simulation")
    refuse_measured(spec, "the simulation")
    hosted = instance_of(spec)
    rules = asked(facts.simulation or Simulation(), settings.what_if)
    held = [
        Held(node, int(jobs), (int(maps), int(reduces)), (int(map_each), int(reduce_each)))
        for node, jobs, maps, reduces, map_each, reduce_each in zip(
            facts.classes,
            plan.admitted,
            ceiling(plan.map_slots),
            ceiling(plan.reduce_slots),
            hosted.map_per_vm,
            hosted.reduce_per_vm,
            strict=True,
        )
    ]
    groups = groups_of(held, rules)
    scenarios = [scenario_of(group, rules, settings) for group in groups]
    problems = [
        problem
        for group, scenario in zip(groups, scenarios, strict=True)
        for problem in check_scenario(scenario, group[0].node, facts.simulation)
    ]
    if problems:
        raise MrdslError(problems)
    observed = {}
    for group, scenario, runs in zip(groups, scenarios, seen_of(scenarios, settings), strict=True):
        deadlines = [each.node.deadline for each in group]
        for each, seen in zip(group, observed_classes(scenario, runs, deadlines), strict=True):
            if seen is not None:
                observed[each.node.name] = seen
    simulated = simulated_as(rules, settings)
    return replace(plan, observed=observed, simulated=simulated), tuple(told(held, settings))
