"""Classes of a plan on the slots that it gives them, as the engine runs them.

The work that faults repeat is estimated first: a run that would not end is reported instead of begun.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import expm1, inf, log
from typing import Any

from mrdsl.core.diagnostics import Diagnostic, Span, error, note, number_of, warning
from mrdsl.simulation.described import MAP, REDUCE, class_of, faults_of, submitters_of
from mrdsl.simulation.engine.draws import mean_work
from mrdsl.simulation.engine.scenario import (
    Arrivals,
    LossRule,
    QueueRule,
    Recorded,
    Scenario,
    Seen,
    enough_of,
    load_of,
    power_of,
    running_load_of,
)
from mrdsl.simulation.engine.world import Machines
from mrdsl.simulation.observed import Observed
from mrdsl.simulation.settings import Settings, WhatIf
from mrdsl.simulation.verdicts import Promised, observed_classes, observed_of, promised, verdict_warnings
from mrdsl.spec.blocks import Simulation
from mrdsl.spec.simulated import Run

MOST_REPEATS = 100_000
"""Most expected failed attempts, and most expected losses, of one run; ``PER_TASK`` more for each task."""
PER_TASK = 100
ENDLESS = 1e15
"""Number from which counts are unlimited."""
LONGEST = 700.0
"""Beyond it an exponential is no number of a double."""
FULLY_GONE = 0.5
"""Expected losses of each machine up to which a run is assumed to end before it waits for lost machines."""


def check_repeats(scenario: Scenario, node: Any, rules: Run) -> Iterator[Diagnostic]:
    """Yield an error if failed attempts, or machine failures, exceed ``MOST_REPEATS`` and ``PER_TASK``.

    ``node`` is a class for the message, and ``rules`` are the simulation settings of the spec.
    """
    failures, losses = rules.task_failures, getattr(rules, "machine_failures", None)
    place = node.span if losses is None else losses.span
    expected = (
        (
            _failed,
            "attempts that fail",
            None if failures is None else failures.span,
            "fewer retries, or a smaller probability",
        ),
        (_killed, "attempts that end with their machine", place, "a lower rate, or tasks that take less time"),
        (_losses, "losses of machines, which come back too late", place, "a lower rate, or a shorter `repair_time`"),
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
    """Return the expected number of failed attempts: a geometric number per task, up to the end of its job."""
    share, retries = scenario.faults.share, scenario.faults.retries
    again = share * (1.0 - share ** (retries + 1)) / (1.0 - share)
    return again * sum(enough_of(each) * stage.tasks for each in scenario.classes for stage in each.kind.stages)


def _killed(scenario: Scenario) -> float:
    """Return the expected number of attempts that end with their machine, and of lost outputs that are made again.

    A task of ``d`` seconds on a machine that fails at the rate ``r`` needs ``exp(r d)`` attempts on average (no failure
    in ``d`` seconds has probability ``exp(-r d)``, and it starts again with the same time); by Jensen's inequality this
    is a lower bound if ``d`` is a mean. The most reliable machine and the fastest one are taken for all.
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
    """Return the logarithm of the approximate number of times that outputs of a stage are made before all exist at
    once.

    While tasks end at their rate and outputs are lost with their machines, ``held`` outputs exist on average. All exist
    with the probability that a Poisson number is so large (Chernoff's bound), or, if a machine with ``of_vm`` slots
    holds many, with that of no failure during the work of the stage; the larger one counts.
    """
    if held >= tasks:
        return 0.0
    return min(held - tasks + tasks * log(tasks / held), gone * tasks / of_vm)


def _losses(scenario: Scenario) -> float:
    """Return the expected number of machine failures in a run.

    A machine that fails at the rate ``r`` and is replaced ``b`` seconds later is available for the share ``1 / (1 + r
    b)`` of the time. The work takes longer by that factor, unless the run ends before most machines have failed once.
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
    """Return the least length of a run without faults [s]: for its work, and for its arrivals."""
    power, work, arrive = power_of(scenario), [0.0] * len(scenario.queues), 0.0
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


@dataclass(frozen=True)
class Held:
    """A class, its concurrent jobs, and its whole slots: for map tasks or tasks of stages, and for reduces.

    ``per_vm``: the slots of each kind of a VM; ``speed`` divides the work of its tasks, and it is lost at the rate
    ``interruptions``. ``machines``, if the plan has them: pairs of a number of VMs and the map and reduce slots of the
    class on each. ``node`` has another name if a class is held in several places; ``name`` is the class's. ``said`` is
    its promise about runs beyond an estimate, and ``place`` the place of that.
    """

    node: Any
    users: int
    slots: tuple[int, int]
    per_vm: tuple[int, int]
    name: str
    speed: float = 1.0
    interruptions: float = 0.0
    machines: tuple[tuple[int, int, int], ...] = ()
    said: Promised | None = None
    place: Span | None = None
    own: bool = False

    @property
    def slots_of_job(self) -> tuple[float, float]:
        """The most slots of each kind that one job holds if it has its own."""
        maps, reduces = (max(1.0, -(-slots // max(self.users, 1))) for slots in self.slots)
        return maps, reduces

    @property
    def promise(self) -> Promised | None:
        """The promise of the class's deadline."""
        return self.said or promised(self.node.deadline, self.node.guarantee)


def groups_of(held: Sequence[Held], rules: Simulation) -> list[tuple[Held, ...]]:
    """Return groups of classes that share slots: all if slots are lent, otherwise each alone; classes without known
    tasks are left out.
    """
    known = [each for each in held if each.users and each.node.coefficients is None]
    return [tuple(known)] if rules.work_conserving == "yes" and known else [(each,) for each in known]


def scenario_of(group: Sequence[Held], rules: Simulation, settings: Settings) -> Scenario:
    """Return a group on its slots: map tasks and tasks of stages in pool 0, reduce tasks in pool 1.

    Slots are on the VMs of the plan, or on whole VMs and one more for the rest. As many users as concurrent jobs submit
    job after job. Lent slots are weighted by the plan's slots of each class. No task is stopped for others if jobs take
    turns instead of shares.
    """
    classes: list[Any] = []
    machines: list[Machines] = []
    for each in group:
        node, jobs = each.node, each.users * (settings.jobs or rules.jobs_per_user)
        limits = each.slots_of_job if each.own and len(group) == 1 else (inf, inf)
        who = submitters_of(node, each.users, settings.what_if.burst)
        classes.append(class_of(node, who, rules, jobs, limits=limits))
        machines += _as_packed(each) if each.machines else [m for p in (MAP, REDUCE) for m in _machines(each, p)]
    losses = rules.machine_failures
    shares = rules.scheduler == "fair" or (rules.scheduler == "capacity" and len(group) > 1)
    return Scenario(
        tuple(classes),
        tuple(machines),
        tuple(_queues(rules, [each.slots[pool] for each in group]) for pool in (MAP, REDUCE)),
        rules.warm_up,
        faults_of(rules, rules.shuffle_service == "yes", rules.preemption if shares else None),
        LossRule(losses.rate, losses.repair_time, losses.permanent) if losses is not None else None,
        max_running=rules.max_running or inf,
    )


def _as_packed(held: Held) -> Iterator[Machines]:
    """VMs with the slots that the plan puts on each; map and reduce slots on one VM go together."""
    for vms, *slots in held.machines:
        for pool, each in zip((MAP, REDUCE), slots, strict=True):
            if each:
                beside = pool == REDUCE and slots[0] > 0
                yield Machines(vms, each, pool, held.speed, beside, held.interruptions)


def _machines(held: Held, pool: int) -> Iterator[Machines]:
    """Whole VMs, and one for the slots that are left."""
    slots, per_vm = held.slots[pool], max(1, held.per_vm[pool])
    for vms, each in ((slots // per_vm, per_vm), (1, slots % per_vm)):
        if vms and each:
            yield Machines(vms, each, pool, held.speed, interruptions=held.interruptions)


def _queues(rules: Simulation, slots: Sequence[int]) -> tuple[QueueRule, ...]:
    """Return one queue for a class alone, or if the oldest job of all goes first; otherwise one each, weighted by its
    slots.
    """
    fair = rules.scheduler == "fair"
    if len(slots) == 1 or rules.scheduler == "fifo":
        return (QueueRule(fair),)
    return tuple(QueueRule(fair, float(max(1, count))) for count in slots)


def check_scenario(
    scenario: Scenario, node: Any, simulation: Simulation | None, what_if: WhatIf
) -> Iterator[Diagnostic]:
    """Yield errors that are known before a run: more work than slots, no machine left. ``node`` is its first class.

    Machine failures are reported at their place: in the spec, or as an option of the command.
    """
    yield from check_load(scenario, node, "lower arrivals or burst, or admit more jobs at once: jobs = lo .. hi")
    yield from check_repeats(scenario, node, simulation or Simulation())
    losses = scenario.losses
    used = {stage.pool for each in scenario.classes for stage in each.kind.stages}
    fewest = min(sum(m.vms for m in scenario.machines if m.pool == pool) for pool in used)
    if losses is not None and losses.machines >= fewest:
        asked = what_if.lose is not None
        word = "--fail-machines" if asked else "machines"
        said = f"{word} {fewest - 1}" if asked else f"{word} = {fewest - 1}"
        yield replace(
            error(
                "out-of-range",
                f"permanent failures take {number_of(losses.machines, 'machine')}, "
                f"and class {node.name} has {fewest} for one kind of its tasks",
                simulation.machine_failures.span_of("permanent")
                if simulation and simulation.machine_failures and not asked
                else None,
                f"write {said} or fewer" if fewest > 1 else f"leave out {word}: the class has no machine to spare",
            ),
            path="--fail-machines" if asked else "",
        )


def check_burst(nodes: Iterable[Any], what_if: WhatIf, place: Span | None) -> Iterator[Diagnostic]:
    """Yield an error if a command requests bursts and none of these classes has arrivals: users submit one job each."""
    if what_if.burst is None or any(node.arrivals is not None or node.submissions is not None for node in nodes):
        return
    yield error(
        "wrong-option",
        "`--burst` has no effect: it sets the jobs of each arrival, and no class has arrivals: its users "
        "each submit a job and wait for its end",
        place,
        'leave out --burst; or write arrivals = 3/h in a class, or submissions = "times.txt"',
    )


def check_load(scenario: Scenario, node: Any, hint: str) -> Iterator[Diagnostic]:
    """Yield an error if random arrivals bring more work than the slots can do; ``node`` is a class for the message."""
    load = max(load_of(scenario))
    if load >= 1.0:
        shown = "infinitely many times" if load == inf else f"{load:.3g} times"
        yield error(
            "overloaded-cluster",
            f"the jobs of class {node.name} bring {shown} the work that the slots of the plan can do",
            node.span_of("arrivals"),
            hint,
        )
    running = running_load_of(scenario)
    if running >= 1.0:
        yield error(
            "overloaded-cluster",
            f"the jobs of class {node.name} take so long that {running * scenario.max_running:.3g} run at once on "
            f"average, and `max_running` allows {scenario.max_running:g}",
            node.span_of("arrivals"),
            "lower arrivals, or write a larger max_running",
        )


def recorded_in_parts(held: Sequence[Held]) -> Iterator[Diagnostic]:
    """Yield classes of recorded arrivals in several lanes: the record does not assign arrivals to lanes."""
    places = Counter(each.name for each in held if each.users and each.node.coefficients is None)
    recorded = {each.name: each.node for each in held if each.node.submissions is not None}
    for name, node in recorded.items():
        if places[name] > 1:
            yield error(
                "recorded-in-parts",
                f"the plan runs class {name} in {places[name]} places (VM types, or spot and firm VMs), and its "
                "`submissions` do not assign jobs to places",
                node.span_of("submissions"),
                "write arrivals = 3/h instead, of which every place gets its part; or types = one and spot = 0%, which "
                "keep the class in one place",
            )


def observed_of_classes(
    groups: Sequence[Sequence[Held]], scenarios: Sequence[Scenario], seen: Sequence[Sequence[Seen]]
) -> dict[str, Observed]:
    """Return the observations of every class.

    A class in several places has its jobs of all of them, run by run, and its mean use of their slots.
    """
    parts: dict[str, list[tuple[Held, Observed, list[tuple[float, ...]]]]] = {}
    for group, scenario, runs in zip(groups, scenarios, seen, strict=True):
        observed = observed_classes(
            scenario, runs, [each.node.deadline for each in group], [each.promise for each in group]
        )
        for place, (each, found) in enumerate(zip(group, observed, strict=True)):
            if found is not None:
                parts.setdefault(each.name, []).append((each, found, [run.times[place] for run in runs]))
    classes = {}
    for name, mine in parts.items():
        classes[name] = mine[0][1]
        if len(mine) > 1:
            slots = [sum(each.slots) for each, _, _ in mine]
            uses = [found.utilisation or 0.0 for _, found, _ in mine]
            use = sum(count * each for count, each in zip(slots, uses, strict=True)) / sum(slots)
            together = [sum(times, ()) for times in zip(*(runs for _, _, runs in mine), strict=True)]
            every = observed_of(together, mine[0][0].node.deadline, use, mine[0][0].promise)
            assert every is not None
            classes[name] = every
    return classes


def told(held: Sequence[Held], observed: Mapping[str, Observed], settings: Settings) -> Iterator[Diagnostic]:
    """Yield the diagnostics of a run: classes that cannot run, broken promises, and options that override the spec."""
    for name, each in {each.name: each for each in held if each.users}.items():
        node = each.node
        if name in observed:
            yield from verdict_warnings(observed[name].verdict, f"class {name}", each.place or node.span_of("deadline"))
        if node.coefficients is not None:
            yield warning(
                "not-simulated",
                f"class {node.name} is given by coefficients, without tasks: it is not simulated",
                node.span,
                "write its profile (map, shuffle, reduce) or its stages to see it run",
            )
    yield from override_notes(settings)


def override_notes(settings: Settings) -> Iterator[Diagnostic]:
    """Yield a note on the options that override the spec."""
    what_if = settings.what_if
    options = []
    if what_if.slowstart is not None:
        options.append(f"--slowstart {what_if.slowstart:g}")
    if what_if.stragglers is not None:
        options.append(f"--stragglers {what_if.stragglers[0] * 100:g}%:{what_if.stragglers[1]:g}")
    if what_if.lose is not None:
        options.append(f"--fail-machines {what_if.lose}")
    if what_if.burst is not None:
        options.append(f"--burst {what_if.burst}")
    if options:
        message = f"simulated with `{' '.join(options)}`, which overrides the spec"
        yield note("what-if", message)
