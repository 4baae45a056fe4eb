"""Simulation of a capacity plan: its jobs, task by task, on the slots of their class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from mrdsl.core.diagnostics import Diagnostic, MrdslError, Span
from mrdsl.core.rounding import ceiling
from mrdsl.families.capacity.constraints import promises_of
from mrdsl.families.capacity.facts import CapacityFacts, JobClass
from mrdsl.families.capacity.instance import instance_of
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.plan_parts import Evidence, Mixture, summed
from mrdsl.formulas.containers import tasks_of_slots
from mrdsl.formulas.own_times import own_classes
from mrdsl.formulas.pairs import run_on, slots_on_types
from mrdsl.simulation.described import asked, class_of
from mrdsl.simulation.engine.scenario import Users
from mrdsl.simulation.observed import simulated_as
from mrdsl.simulation.own_draws import Floats
from mrdsl.simulation.own_slots import mean_times
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
from mrdsl.simulation.verdicts import Promised, judge_share, promised
from mrdsl.solving.worker import run_scenarios
from mrdsl.spec.blocks import Simulation
from mrdsl.spec.declared import SIMULATION, require_options
from mrdsl.spec.spec import Spec, tightest


def simulate_plan(spec: Spec, plan: CapacityPlan, settings: Settings) -> tuple[CapacityPlan, tuple[Diagnostic, ...]]:
    """Return the plan with observations from independent runs of every class that admits jobs and describes its tasks.

    A class has its whole slots to itself, on VMs as in the plan's packing, if there is one. Its jobs share them, unless
    the spec lets classes lend slots. Jobs of a class on several VM types have the slots of each type to themselves.

    Raises:
        MrdslError: Jobs arrive faster than the plan's slots work, no machine remains, or a class with recorded arrivals
            runs in several lanes.
    """
    ran = _Ran(spec, plan, settings)
    observed = observed_of_classes(ran.groups, ran.scenarios, ran.seen)
    simulated = simulated_as(ran.rules, settings)
    return replace(plan, observed=observed, simulated=simulated), tuple(told(ran.held, observed, settings))


def times_of_classes(spec: Spec, plan: CapacityPlan, settings: Settings) -> dict[str, list[tuple[float, ...]]]:
    """Return the completion times of each class's jobs [s], run by run, those of all its places together.

    Raises MrdslError as :func:`simulate_plan` does.
    """
    ran = _Ran(spec, plan, settings)
    found: dict[str, list[tuple[float, ...]]] = {}
    for group, runs in zip(ran.groups, ran.seen, strict=True):
        for place, each in enumerate(group):
            before = found.get(each.name, [()] * len(runs))
            found[each.name] = [known + run.times[place] for known, run in zip(before, runs, strict=True)]
    return found


def times_of_jobs(spec: Spec, plan: CapacityPlan) -> Floats:
    """Return the mean time until all jobs of each class that are submitted together end [s], without faults.

    It is the average estimate if the tasks of a class are not known, and NaN if it admits no job.
    """
    lanes: dict[str, list[float]] = {}
    for each in held_of(spec, plan):
        if each.users and each.node.coefficients is None:
            made = class_of(each.node, Users(1), Simulation(), 1)
            stages = [replace(stage, tasks=stage.tasks * each.users) for stage in made.kind.stages]
            time = mean_times(stages, made.times, [each.slots], speed=each.speed)
            lanes.setdefault(each.name, []).append(float(time[0]))
    rest = np.where(plan.admitted > 0.0, plan.completion_average, np.nan).tolist()
    return np.array([max(lanes.get(name, [time])) for name, time in zip(plan.names, rest, strict=True)])


class _Ran:
    """A plan run with the settings of a spec and a command.

    Raises MrdslError as :func:`simulate_plan` does.
    """

    def __init__(self, spec: Spec, plan: CapacityPlan, settings: Settings) -> None:
        facts: CapacityFacts = spec.facts
        self.rules = asked(facts.simulation or Simulation(), settings.what_if)
        self.held = held_of(spec, plan)
        _refuse((*check_burst(facts.classes, settings.what_if, spec.span), *recorded_in_parts(self.held)))
        self.groups = groups_of(self.held, self.rules)
        self.scenarios = [scenario_of(group, self.rules, settings) for group in self.groups]
        _refuse(
            problem
            for group, scenario in zip(self.groups, self.scenarios, strict=True)
            for problem in check_scenario(scenario, group[0].node, facts.simulation, settings.what_if)
        )
        self.seen = run_scenarios(self.scenarios, settings)


def _refuse(problems: Iterable[Diagnostic]) -> None:
    found = list(problems)
    if found:
        raise MrdslError(found)


def held_of(spec: Spec, plan: CapacityPlan) -> list[Held]:
    """Return every class of a plan in each of its lanes, with its jobs and its whole slots there."""
    held = list(_held(spec, plan) if plan.mix is None else _held_by_type(spec, plan, plan.mix))
    said: dict[str, tuple[Promised | None, Span | None]] = dict(_limited(spec))
    bounds = tightest(spec)
    for promise in sorted(promises_of(spec), key=lambda promise: promise.level):
        bound = bounds.get(("completion", promise.name))
        place = bound.span if bound is not None and bound.value == promise.limit else promise.span
        said[promise.name] = Promised(promise.limit, promise.level), place
    found = [said.get(each.name, (None, None)) for each in held]
    own = own_classes(spec.facts)
    return [
        replace(each, said=made, place=at, own=each.name in own) for each, (made, at) in zip(held, found, strict=True)
    ]


def _limited(spec: Spec) -> Iterator[tuple[str, tuple[Promised, Span | None]]]:
    """Yield the limits and spans of classes whose completion ``subject to`` limits below their deadline."""
    facts: CapacityFacts = spec.facts
    bounds = {name: bound for (quantity, name), bound in tightest(spec).items() if quantity == "completion"}
    for node in facts.classes if bounds else ():
        bound = bounds.get(node.name)
        if bound is not None and bound.value < node.deadline:
            promise = promised(bound.value, node.guarantee)
            assert promise is not None
            yield node.name, (promise, bound.span)


def _held(spec: Spec, plan: CapacityPlan) -> Iterator[Held]:
    """Yield every class on VMs of the one type."""
    hosted, vm = instance_of(spec), spec.facts.vms[0]
    slots = ceiling(plan.map_slots), ceiling(plan.reduce_slots)
    machines = {} if plan.packing is None else plan.packing.machines()
    for index, node in enumerate(spec.facts.classes):
        described, speed = run_on(node, vm.name)
        yield Held(
            described,
            int(plan.admitted[index]),
            (int(slots[0][index]), int(slots[1][index])),
            (int(hosted.map_per_vm[index]), int(hosted.reduce_per_vm[index])),
            node.name,
            speed,
            machines=machines.get((0, False, index), ()),
        )


def _held_by_type(spec: Spec, plan: CapacityPlan, mix: Mixture) -> Iterator[Held]:
    """Yield every class on VMs of every type that it runs on, firm and spot ones apart; spot ones are taken back."""
    facts: CapacityFacts = spec.facts
    per_vm, tasks = slots_on_types(facts), tasks_of_slots(facts.classes)
    slots = ceiling(mix.map_slots), np.where(plan.stages[mix.of_class] > 0, 0.0, ceiling(mix.reduce_slots))
    machines = {} if plan.packing is None else plan.packing.machines()
    part = mix.jobs / summed(mix.of_class, mix.jobs, len(facts.classes))[mix.of_class]
    for place, (index, number) in enumerate(zip(mix.of_class.tolist(), mix.of_vm.tolist(), strict=True)):
        node, vm, spot = facts.classes[index], facts.vms[number], bool(mix.spot[place])
        described, speed = run_on(node, vm.name)
        yield Held(
            replace(
                described,
                name=f"{node.name} on {vm.name}{' spot' if spot else ''}",
                arrivals=None if node.arrivals is None else node.arrivals * float(part[place]),
            ),
            int(mix.jobs[place]),
            (int(slots[0][place]), int(slots[1][place])),
            (int(per_vm[0][number, index] * tasks[index]), int(per_vm[1][number, index])),
            node.name,
            speed,
            vm.spot.interruptions if spot and vm.spot is not None else 0.0,
            _without_drivers(node, machines.get((number, spot, index), ())),
        )


def _without_drivers(node: JobClass, machines: tuple[tuple[int, int, int], ...]) -> tuple[tuple[int, int, int], ...]:
    """Return the VMs that hold slots of a class: of stages, those that hold tasks."""
    return tuple((vms, tasks, 0) for vms, tasks, _ in machines if tasks) if node.stages else machines


def repeat_runs(spec: Spec, plan: CapacityPlan, processes: int) -> CapacityPlan | None:
    """Return the plan with evidence from new runs; None if it has none.

    Raises MrdslError if the plan's file has runs that cannot be made.
    """
    if plan.calibration is None:
        return None
    made: dict[tuple[int, int], dict[str, list[tuple[float, ...]]]] = {}
    found = []
    for each in plan.calibration.promises:
        key = (each.runs, each.seed)
        if key not in made:
            require_options(SIMULATION, {"runs": each.runs, "seed": each.seed, "processes": processes})
            made[key] = times_of_classes(spec, plan, Settings(each.runs, each.seed, None, processes))
        found.append(_seen(each, made[key].get(each.name, [])))
    return replace(plan, calibration=replace(plan.calibration, promises=tuple(found)))


def _seen(said: Evidence, times: list[tuple[float, ...]]) -> Evidence:
    """Return the evidence of the times of a class on a service level; without runs, evidence of 0 jobs."""
    if not any(times):
        return replace(said, jobs=0, share=0.0, low=0.0)
    verdict = judge_share(times, said.limit, said.level, said.confidence)
    assert verdict.seen is not None
    assert verdict.low is not None
    return replace(said, runs=verdict.runs, jobs=verdict.jobs, share=verdict.seen, low=verdict.low)
