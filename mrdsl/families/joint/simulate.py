"""A joint plan run: period by period, the jobs of the MapReduce classes on the slots that the period gives them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

import numpy as np

from mrdsl.core.diagnostics import Diagnostic, MrdslError
from mrdsl.core.rounding import ceiling
from mrdsl.families.joint.facts import NO, JobClass, JointFacts
from mrdsl.families.joint.plan import JointPlan, LanePlan
from mrdsl.formulas.own_times import own_classes
from mrdsl.formulas.packing import of_one_class
from mrdsl.formulas.pairs import run_on, slots_on_types
from mrdsl.simulation.described import asked
from mrdsl.simulation.observed import Observed, simulated_as
from mrdsl.simulation.planned import (
    Held,
    check_burst,
    check_scenario,
    groups_of,
    observed_of_classes,
    recorded_in_parts,
    scenario_of,
    told,
)
from mrdsl.simulation.settings import Settings
from mrdsl.solving.worker import run_scenarios
from mrdsl.spec.blocks import Simulation
from mrdsl.spec.columns import names_of
from mrdsl.spec.spec import Spec


def simulate_plan(spec: Spec, plan: JointPlan, settings: Settings) -> tuple[JointPlan, tuple[Diagnostic, ...]]:
    """Simulate a plan in independent runs: every class, in each period and over all of them.

    Each period is simulated separately until its jobs end: one user per concurrent job submits job after job. Verdicts
    over all periods use the runs of all of them, which have no job in common. Raises MrdslError if jobs arrive faster
    than slots work, and if no machine would be left.
    """
    facts: JointFacts = spec.facts
    rules = asked(facts.simulation or Simulation(), settings.what_if)
    own = own_classes(facts)
    held = [[replace(each, own=each.name in own) for each in held_in(facts, plan, t)] for t in range(len(plan.vms))]
    parts = [
        (t, group, scenario_of(group, rules, settings))
        for t, there in enumerate(held)
        for group in groups_of(there, rules)
    ]
    problems = [*check_burst(facts.classes, settings.what_if, spec.span)]
    problems += next(filter(None, (list(recorded_in_parts(there)) for there in held)), [])
    for _, group, scenario in parts:
        problems += check_scenario(scenario, group[0].node, facts.simulation, settings.what_if)
    if problems:
        raise MrdslError(problems)
    groups, scenarios = [group for _, group, _ in parts], [scenario for _, _, scenario in parts]
    seen = run_scenarios(scenarios, settings, apart=True)
    every = observed_of_classes(groups, scenarios, seen)
    hourly: list[dict[str, Observed]] = [{} for _ in plan.vms]
    for t, mine in groupby(zip(parts, seen, strict=True), key=lambda each: each[0][0]):
        of_period = [(group, scenario, runs) for (_, group, scenario), runs in mine]
        hourly[t] = observed_of_classes(*zip(*of_period, strict=True))
    diagnostics = told([each for there in held for each in there], every, settings)
    return replace(
        plan,
        observed={node.name: every[node.name] for node in facts.classes if node.name in every},
        hourly=tuple(hourly),
        simulated=simulated_as(rules, settings),
    ), tuple(diagnostics)


def held_in(facts: JointFacts, plan: JointPlan, t: int) -> list[Held]:
    """Return the classes in a period: concurrent jobs and slots, rounded up."""
    if plan.by_type is not None:
        return list(_held_by_type(facts, plan, plan.by_type, t))
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


def _held_by_type(facts: JointFacts, plan: JointPlan, lanes: LanePlan, t: int) -> Iterator[Held]:
    """Yield every class on VMs of every type that it runs on, firm and spot ones apart; spot ones are taken back."""
    per_vm, names = slots_on_types(facts), list(names_of(facts.vms))
    for lane, index in np.argwhere(lanes.at_once[t] > 0.0).tolist():
        number, node = names.index(lanes.vm[lane]), facts.classes[index]
        vm, jobs = facts.vms[number], float(lanes.at_once[t, lane, index])
        described, speed = run_on(node, vm.name)
        spot = lanes.way[lane] == "spot"
        slots = [int(ceiling(each[t, lane, index])) for each in (lanes.map_slots, lanes.reduce_slots)]
        hosted = int(max(per_vm[0][number, index], 1.0)), int(max(per_vm[1][number, index], 1.0))
        part = jobs / float(plan.classes.at_once[t, index])
        yield Held(
            replace(
                described,
                name=f"{node.name} on {vm.name}{' spot' if spot else ''}",
                arrivals=None if node.arrivals is None else node.arrivals * part,
            ),
            int(ceiling(jobs)),
            (slots[0], 0 if node.stages else slots[1]),
            hosted,
            node.name,
            speed,
            vm.spot.interruptions if spot and vm.spot is not None else 0.0,
            machines=() if plan.whole == NO else of_one_class((slots[0], 0 if node.stages else slots[1]), hosted),
        )
