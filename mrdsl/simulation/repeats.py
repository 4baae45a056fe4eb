"""What faults of a run make it do again, estimated before it: a run that would not end is told instead of begun."""

from __future__ import annotations

from collections.abc import Iterator
from math import expm1, log
from typing import Any

from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.simulation.engine.samplers import mean_work
from mrdsl.simulation.engine.scenario import Arrivals, LossRule, Recorded, Scenario, enough_of
from mrdsl.spec.simulated import Run

MOST_REPEATS = 100_000
"""So many failed attempts, and so many losses, may be expected of one run, and ``PER_TASK`` more for each task."""
PER_TASK = 100
ENDLESS = 1e15
"""From so many on nobody counts."""
LONGEST = 700.0
"""Beyond it an exponential is no number of a double."""
FULLY_GONE = 0.5
"""Up to so many losses of each machine, a run is taken to end before it waits for others to stand there."""


def check_repeats(scenario: Scenario, node: Any, rules: Run) -> Iterator[Diagnostic]:
    """An error where failed attempts, or machines that go, are more than ``MOST_REPEATS`` and ``PER_TASK`` allow.

    ``node`` is a class to show, and ``rules`` is what the spec says of its simulation.
    """
    failures, losses = rules.failures, getattr(rules, "losses", None)
    place = node.span if losses is None else losses.span
    expected = (
        (
            _failed,
            "attempts that fail",
            None if failures is None else failures.span,
            "fewer retries, or a smaller share",
        ),
        (_killed, "attempts that end with their machine", place, "a lower rate, or tasks that take less time"),
        (_losses, "losses of machines, which come back too late", place, "a lower rate, or a shorter time `back`"),
    )
    tasks = sum(enough_of(each) * stage.tasks for each in scenario.classes for stage in each.kind.stages)
    most = MOST_REPEATS + PER_TASK * tasks
    for count, what, where, instead in expected:
        found = count(scenario)
        if found > most:
            yield error(
                "too-large",
                f"a run with class {node.name} is expected to see {_shown(found)} {what}: it would hardly end",
                where,
                f"write {instead}; runs with more than {most:,} are not begun",
            )
            return


def _shown(count: float) -> str:
    return "endlessly many" if count > ENDLESS else f"{count:.2g}"


def _failed(scenario: Scenario) -> float:
    """How many attempts fail: of each task a geometric number, cut off where its job is given up."""
    share, retries = scenario.faults.share, scenario.faults.retries
    again = share * (1.0 - share ** (retries + 1)) / (1.0 - share)
    return again * sum(enough_of(each) * stage.tasks for each in scenario.classes for stage in each.kind.stages)


def _killed(scenario: Scenario) -> float:
    """How many attempts end with their machine, and how often outputs that went with one are made anew.

    A task of ``d`` seconds on a machine that goes at the rate ``r`` is tried ``exp(r d)`` times on average (no loss in
    ``d`` seconds has probability ``exp(-r d)``, and it starts with the same time again); by Jensen's inequality that is
    no less where ``d`` is a mean. The machine that goes least, and the fastest one, are taken for all.
    """
    rule, total = scenario.losses or LossRule(), 0.0
    for each in scenario.classes:
        needed = {each.kind.stages[parent].name for stage in each.kind.stages for parent in stage.after}
        for stage, times in zip(each.kind.stages, each.times, strict=True):
            there = [machines for machines in scenario.machines if machines.pool == stage.pool]
            seldom = rule.rate + min((machines.interruptions for machines in there), default=0.0)
            seconds = mean_work(times) / max((machines.speed for machines in there), default=1.0)
            again = expm1(min(seldom * seconds, LONGEST))
            total += enough_of(each) * stage.tasks * again
            if again and not scenario.faults.shuffle_service and stage.name in needed:
                slots = sum(machines.vms * machines.slots for machines in there)
                of_vm = max(machines.slots for machines in there)
                total += expm1(min(_outputs(stage.tasks, seldom * seconds, slots / again, of_vm), LONGEST))
    return total


def _outputs(tasks: int, gone: float, held: float, of_vm: int) -> float:
    """The logarithm of how often outputs of a stage are made anew, roughly, before all are there at once.

    While tasks end at their rate and outputs go with their machines, ``held`` outputs are there on average: all are
    with the chance of a Poisson number to be so large (Chernoff's bound of it), or, where a machine with ``of_vm``
    slots holds many, with that of no loss in the work of the stage; the likelier one counts.
    """
    if held >= tasks:
        return 0.0
    return min(held - tasks + tasks * log(tasks / held), gone * tasks / of_vm)


def _losses(scenario: Scenario) -> float:
    """How many losses a run draws.

    A machine that goes at the rate ``r`` and is replaced ``b`` seconds later is there for the share ``1 / (1 + r b)``
    of the time: so much longer takes the work, unless the run ends before most machines have gone once.
    """
    rule = scenario.losses or LossRule()
    rates = [(each.vms, rule.rate + each.interruptions) for each in scenario.machines if not each.beside]
    if not scenario.machines_go:
        return 0.0
    seldom = min(rate for _, rate in rates)
    seconds = _length(scenario)
    if seldom * seconds > FULLY_GONE or sum(vms for vms, _ in rates) == 1:
        seconds *= 1.0 + seldom * rule.back
    return seconds * sum(vms * rate for vms, rate in rates)


def _length(scenario: Scenario) -> float:
    """The seconds that a run takes at the least, where nothing goes wrong: for its work, and for its jobs to arrive."""
    power, work = [0.0] * len(scenario.queues), [0.0] * len(scenario.queues)
    for machines in scenario.machines:
        power[machines.pool] += machines.vms * machines.slots * machines.speed
    arrive = 0.0
    for each in scenario.classes:
        for stage, times in zip(each.kind.stages, each.times, strict=True):
            work[stage.pool] += enough_of(each) * stage.tasks * mean_work(times)
        if isinstance(each.who, Arrivals):
            arrive = max(arrive, each.jobs / (each.who.rate * each.who.burst))
        elif isinstance(each.who, Recorded):
            arrive = max(arrive, max(each.who.times, default=0.0))
        else:
            arrive = max(arrive, each.who.think * (each.jobs / max(1, each.who.count) - 1.0))
    return max(arrive, *(each / there for each, there in zip(work, power, strict=True) if there))
