"""A timetable against its spec, from the facts as they are written: releases, windows, order, slots, rentals, cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, gcd, inf, lcm

import numpy as np
from numpy.typing import NDArray

from mrdsl.checking.evidence import doubt_about
from mrdsl.checking.rows import left_to_containers
from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.lazy import kept
from mrdsl.core.rounding import FEASIBILITY
from mrdsl.core.units import DAY_SECONDS as DAY
from mrdsl.core.units import parse_clock
from mrdsl.families.timetable.facts import Billing, JobClass, Runs, TimetableFacts, VmType
from mrdsl.families.timetable.plan import Rental as RentedThere
from mrdsl.families.timetable.plan import RunTimes, Tasks, TimetablePlan
from mrdsl.families.timetable.verify_arrivals import with_runs
from mrdsl.families.timetable.verify_spot import (
    Durations,
    expected_time,
    held_time,
    most_tasks,
    second_length,
)
from mrdsl.model.check import SLACK, check, claimed, cost_of, misfit, most_at_once, paid_time, prepaid_cost
from mrdsl.model.ledger import ON_DEMAND, RESERVED, SPOT, Ledger, Placements, Rental
from mrdsl.spec.schema import PERCENTILES
from mrdsl.spec.spec import Spec

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stated:
    """A run in the spec: its class, its number in the class, its window [s]."""

    job: int
    number: int
    release: float
    due: float


def measure(spec: Spec, plan: TimetablePlan) -> float:
    """Compute the expected cost of all rentals and second attempts, and of the runs that are left out.

    :func:`verify` compares the time that rentals are paid for with the billing.
    """
    facts: TimetableFacts = spec.facts
    return _cost(facts, plan) + _losses(facts, plan)[0] + _penalties(facts, plan)


def _cost(facts: TimetableFacts, plan: TimetablePlan) -> float:
    """Return the cost of the time that all rentals of the spec's VM types are paid for."""
    return cost_of(facts, map(_rental, plan.rentals), [each.billed for each in plan.rentals])


def _rental(each: RentedThere) -> Rental:
    """Return a rental of a plan, as ledgers have it."""
    way = SPOT if each.spot else RESERVED if each.reserved else ON_DEMAND
    return Rental(each.vm, each.count, each.begin, each.end, way, master=each.master)


def _losses(facts: TimetableFacts, plan: TimetablePlan) -> tuple[float, float]:
    """Return what losses of spot VMs are expected to add to the rentals, and the price of all second attempts."""
    tasks = plan.tasks
    if tasks is None or not any(rental.spot for rental in plan.rentals):
        return 0.0, 0.0
    facts = with_runs(facts)
    nodes, vms = {node.name: node for node in facts.classes}, {vm.name: vm for vm in facts.vms}
    mine: dict[int, list[int]] = {}
    users: dict[int, set[int]] = {}
    for row, (run, machine) in enumerate(zip(tasks.run.tolist(), tasks.machine.tolist(), strict=True)):
        if 0 <= machine < len(plan.rentals) and plan.rentals[machine].spot:
            mine.setdefault(run, []).append(row)
            users.setdefault(machine, set()).add(run)
    more = again = 0.0
    for run, rows in sorted(mine.items()):
        places = sorted({int(tasks.machine[row]) for row in rows})
        rental, stated = plan.rentals[places[0]], plan.runs[run]
        vm, node = vms[rental.vm], nodes[stated.job]
        by = plan.factors.get(node.name, 1.0)
        stages = [(count, time * by, after) for count, time, after in _on_slots(facts, node, vm, plan)]
        slots = _slots_on(facts, vm, plan)
        length = vm.boot + node.startup + second_length(stages, stated.second * slots)
        paid = vm.billing or facts.billing or Billing()
        second = cost_of(facts, [Rental(vm.name, stated.second, 0.0, length)], [paid_time(paid, length)])
        rate = 0.0 if vm.spot is None else vm.spot.interruptions
        if len(places) == 1 and users[places[0]] == {run}:
            span = rental.end - rental.begin
            saved = paid_time(paid, span) - expected_time(paid, span, rate * rental.count)
            more += -np.expm1(-rate * rental.count * span) * second - cost_of(facts, [_rental(rental)], [saved])
        else:
            there = [[row for row in rows if tasks.machine[row] == place] for place in places]
            held = held_time(
                [[(tasks.stage[r], tasks.start[r], tasks.count[r]) for r in each] for each in there], stages, slots
            )
            more += -np.expm1(-rate * held) * second
        again += second
    return float(more), again


def _prepaid(facts: TimetableFacts) -> float:
    """Return the price of prepaid VMs from a boot before the first release to the horizon, or to the last deadline."""
    if all(vm.reserved is None or vm.reserved.prepaid == "no" for vm in facts.vms):
        return 0.0
    runs = _stated_runs(facts)
    first, end = min(run.release for run in runs), max(run.due for run in runs)
    if facts.horizon is not None:
        end = _second(facts.horizon, max(run.release for run in runs), _base(facts))
    return prepaid_cost(facts, end - first)


def _penalties(facts: TimetableFacts, plan: TimetablePlan) -> float:
    """Return the price of the runs left out; jobs that a file alone defines have none."""
    prices = {node.name: node.penalty or 0.0 for node in facts.classes}
    return sum(prices.get(run.job, 0.0) for run in plan.runs if not run.admitted)


def verify(spec: Spec, plan: TimetablePlan, relax: bool = False) -> Iterable[Diagnostic]:
    """Yield the violations in a plan."""
    facts = with_runs(spec.facts)
    runs = _stated_runs(facts)
    wrong = [*_runs(facts, runs, plan), *_wrong_evidence(facts, plan)]
    if wrong or plan.tasks is None:
        yield from wrong or [_wrong("the plan has no tasks")]
        return
    if (plan.tasks.machine < 0).any():
        found = _of_earlier_release(facts, plan, plan.tasks)
        if found is None:
            yield _wrong("tasks have no machine, and machines are not rented alike")
            return
        plan = found
    assert plan.tasks is not None
    wrong = list(_types(facts, runs, plan, plan.tasks))
    if wrong:
        yield from wrong
        return
    where = _vms_of(facts, runs, plan, plan.tasks)
    known: dict[tuple[int, int], Durations] = {}
    for run, vm in zip(runs, where, strict=True):
        if (run.job, vm) not in known:
            node = facts.classes[run.job]
            by = plan.factors.get(node.name, 1.0)
            known[run.job, vm] = [
                (tasks, time * by, after) for tasks, time, after in _on_slots(facts, node, facts.vms[vm], plan)
            ]
    durations = [known[run.job, vm] for run, vm in zip(runs, where, strict=True)]
    yield from _tasks(facts, runs, plan, plan.tasks, durations)
    on_spot = _runs_on_spot(plan, plan.tasks)
    yield from _spot(facts, runs, plan, plan.tasks, durations, on_spot)
    yield from _rentals(facts, plan, where, on_spot)
    yield from _slots(facts, runs, plan, plan.tasks, durations, where)


def _wrong_evidence(facts: TimetableFacts, plan: TimetablePlan) -> Iterator[Diagnostic]:
    """Yield percentiles without enough evidence, and planned times of tasks that are not allowed."""
    ran = {run.job for run in plan.runs if run.admitted}
    words = {each.name: each.guarantee or "" for each in facts.classes}
    levels = {name: int(word[1:]) / 100.0 for name, word in words.items() if word in PERCENTILES}
    levels |= {name: 1.0 for name, word in words.items() if word == "mean"}  # each run, by the mean of its times
    for name, by in plan.factors.items():
        if name not in levels or not 0.0 < by < inf:
            yield _wrong(f"tasks of class {name} are planned with {by:g} times their average")
    for name, level in levels.items():
        found = next((each for each in plan.shown if (each.name, each.level) == (name, level)), None)
        if name in ran and found is None:
            yield _wrong(f"the plan has no simulation result for class {name}, whose guarantee requires one")
        elif found is not None and level < 1.0 and (doubt := doubt_about(found)):
            yield _wrong(f"the simulation result in the plan for class {name} {doubt}")
        elif found is not None and found.low < level:
            yield _wrong(f"only {found.low:.4%} of the runs of class {name} are shown to be on time")


def _of_earlier_release(facts: TimetableFacts, plan: TimetablePlan, tasks: Tasks) -> TimetablePlan | None:
    """Return a plan whose tasks may run on any machine, with one rental of all but the masters; None if they differ."""
    begins, ends = (np.array([getattr(each, name) for each in plan.rentals]) for name in ("begin", "end"))
    if (tasks.machine >= 0).any() or not len(begins) or np.ptp(begins) > SLACK or np.ptp(ends) > SLACK:
        return None
    masters, first = facts.vms[0].masters, plan.rentals[0]
    rentals = [replace(first, count=sum(each.count for each in plan.rentals) - masters)]
    if masters:
        rentals.append(replace(first, count=masters, master=True))
    return replace(plan, rentals=tuple(rentals), tasks=replace(tasks, machine=np.zeros_like(tasks.machine)))


def _types(facts: TimetableFacts, runs: Sequence[Stated], plan: TimetablePlan, tasks: Tasks) -> Iterator[Diagnostic]:
    """Yield rentals of unknown types, runs on several types, and runs on a type that their class may not use."""
    unknown = misfit(facts, list(map(_rental, plan.rentals)))
    if unknown:
        yield _wrong(unknown)
        return
    if (tasks.run < 0).any() or (tasks.run >= len(runs)).any():
        yield _wrong("the plan has tasks of runs or stages that the spec does not have")
        return
    if (tasks.machine >= len(plan.rentals)).any():
        yield _wrong("a task runs on a machine that is not rented")
        return
    names = [vm.name for vm in facts.vms]
    of_vm = np.array([names.index(rental.vm) for rental in plan.rentals], dtype=np.int64)
    spot = np.array([rental.spot for rental in plan.rentals], dtype=bool)
    if len(names) == 1 and not spot.any():
        return
    each = np.unique(np.stack([tasks.run, of_vm[tasks.machine], spot[tasks.machine]]), axis=1)
    if len(np.unique(each[0])) < each.shape[1]:
        yield _wrong("a run is on machines of several VM types, or on spot VMs and on others")
        return
    jobs = np.array([run.job for run in runs], dtype=np.int64)[each[0]]
    placed = Placements(jobs, each[1], each[2] > 0, np.ones(len(jobs)))
    yield from check(facts, Ledger((), placed), relax=False)


def _runs_on_spot(plan: TimetablePlan, tasks: Tasks) -> set[int]:
    """Return the indices of runs with tasks on spot VMs."""
    spot = np.array([rental.spot for rental in plan.rentals], dtype=bool)
    if not spot.any():
        return set()
    return set(tasks.run[spot[tasks.machine]].tolist())


def _spot(
    facts: TimetableFacts,
    runs: Sequence[Stated],
    plan: TimetablePlan,
    tasks: Tasks,
    durations: Sequence[Durations],
    on_spot: set[int],
) -> Iterator[Diagnostic]:
    """Yield runs on spot VMs without time for a second attempt.

    That begins when the first one ends at the latest, on new VMs on demand: after their boot and the startup of the
    run.
    """
    vms = {vm.name: vm for vm in facts.vms}
    on = dict(zip(tasks.run.tolist(), tasks.machine.tolist(), strict=True)) if on_spot else {}
    boots = {index: vms[plan.rentals[at].vm].boot for index, at in on.items()}
    for index in sorted(on_spot):
        run, node, run_there = runs[index], facts.classes[runs[index].job], plan.runs[index]
        end = run_there.end
        slots = _slots_on(facts, vms[plan.rentals[on[index]].vm], plan)
        if run_there.second < 1:
            yield _wrong(f"run {run.number} of {node.name} is on spot VMs without VMs for a second attempt")
            return
        again = boots[index] + node.startup + second_length(durations[index], run_there.second * slots)
        if end is None or end + again > run.due + SLACK:
            yield _wrong(f"run {run.number} of {node.name} is on spot VMs without time for a second attempt")
            return


def _vms_of(facts: TimetableFacts, runs: Sequence[Stated], plan: TimetablePlan, tasks: Tasks) -> list[int]:
    """Return the index of the VM type of each run; of runs that are left out the first one that they may use."""
    names = [vm.name for vm in facts.vms]
    found = []
    for run in runs:
        types = facts.classes[run.job].types
        found.append(names.index(types[0]) if types and types != ("one",) else 0)
    if len(names) > 1:
        for index, machine in zip(tasks.run.tolist(), tasks.machine.tolist(), strict=True):
            found[index] = names.index(plan.rentals[machine].vm)
    return found


def _base(facts: TimetableFacts) -> int:
    """Return the ordinal of the first day; 0 without dates."""
    written = [
        each for node in facts.classes if node.runs is not None for each in (node.runs.from_, node.due, *node.runs.at)
    ]
    days = [clock.day for each in (*written, facts.horizon) if isinstance(each, str) and (clock := parse_clock(each))]
    return min((day for day in days if day is not None), default=0)


def _origin(facts: TimetableFacts, base: int) -> float:
    """Return the time of day from which clock times count [s]: as written, or that of the shortest span of releases."""
    written = [node.runs.at[0] if node.runs.at else node.runs.from_ for node in facts.classes if node.runs is not None]
    if base or not all(isinstance(each, str) for each in written):
        return 0.0
    if facts.begin is not None:
        return _second(facts.begin, None, base)
    every = [list(_releases(node.runs, base, 0.0)) for node in facts.classes if node.runs is not None]
    first, last = np.array([times[0] for times in every]), np.array([max(times) for times in every])
    begins = [0.0, *sorted(set(first.tolist()))]
    spans = [np.ptp(np.concatenate([each + DAY * (first < begin) for each in (first, last)])) for begin in begins]
    return float(begins[int(np.argmin(spans))])


def _stated_runs(facts: TimetableFacts) -> list[Stated]:
    base = _base(facts)
    begin = _origin(facts, base)
    runs = []
    for index, node in enumerate(facts.classes):
        assert node.runs is not None
        own = dict(enumerate(node.runs.deadlines))
        for number, release in enumerate(_releases(node.runs, base, begin)):
            deadline = own.get(number) or node.deadline
            due = release + deadline if deadline is not None else _second(node.due, release, base)
            runs.append(Stated(index, number + 1, release, due))
    return runs


def _releases(runs: Runs, base: int, begin: float) -> Iterator[float]:
    """Yield the release of each run: listed times, or one every so often."""
    if not runs.at:
        first = _second(runs.from_, None, base, begin)
        yield from (first + (runs.every or 0.0) * number for number in range(runs.times or 1))
        return
    last = None
    for each in runs.at:
        last = _second(each, last, base, begin)
        yield last


def _second(written: float | str | None, after: float | None, base: int, begin: float = 0.0) -> float:
    """Return a time in seconds; of a clock time without a date the first one after another, or from the origin on."""
    assert written is not None
    if not isinstance(written, str):
        return float(written)
    clock = parse_clock(written)
    assert clock is not None
    time = float(clock.seconds)
    if clock.day is not None:
        return time + DAY * (clock.day - base)
    while time < begin if after is None else time <= after:
        time += DAY
    return time


def _durations(node: JobClass, vm: str) -> Durations:
    """Of each stage the tasks, the time of one on a VM type [s] and the stages before."""
    which = "max" if node.guarantee == "upper" else "avg"
    row = next((each for each in node.on if each.name == vm), None)
    speed = 1.0 if row is None else row.speed
    phases = {name: getattr(row, name, None) or getattr(node, name) for name in ("map", "shuffle", "reduce")}
    stages = node.stages
    if row is not None and row.stages:
        stages = row.stages
    elif row is not None and (row.map or row.shuffle or row.reduce):
        stages = ()
    if stages:
        places = {stage.name: index for index, stage in enumerate(stages)}
        return [
            (stage.tasks * stage.slots, getattr(stage, which) / speed, tuple(places[name] for name in stage.after))
            for stage in stages
        ]
    maps, shuffle, reduces = phases["map"], phases["shuffle"], phases["reduce"]
    assert maps is not None
    found: Durations = [(maps.tasks, getattr(maps, which) / speed, ())]
    if reduces is not None and reduces.tasks:
        time = getattr(reduces, which) / speed
        if shuffle is not None:
            first = shuffle.first_avg
            if which == "max" or first is None:
                first = shuffle.first_max
            time += max(first, getattr(shuffle, which))
        found.append((reduces.tasks, time, (0,)))
    return found


def _on_slots(facts: TimetableFacts, node: JobClass, vm: VmType, plan: TimetablePlan) -> Durations:
    """Return the stages of a class with the slots that all tasks take, each with its part of a VM for one stage."""
    slots, hosted = _slots_on(facts, vm, plan), _hosted(vm, node)
    executor = None if node.container is None or "task" not in hosted else node.container.executor
    own = any(each.name == vm.name and each.slots is not None for each in node.on)
    inside = 1 if executor is None or own else executor.tasks
    found: Durations = []
    for place, (tasks, time, after) in enumerate(_durations(node, vm.name)):
        there = list(hosted.values())[min(place, len(hosted) - 1)]
        found.append((ceil(tasks / (max(there // slots, 1) * inside)) * max(slots // there, 1), time, after))
    return found


def _parts(facts: TimetableFacts, node: JobClass, vm: VmType, plan: TimetablePlan) -> list[int]:
    """Return the slots of one VM that each task, or executor, of a stage takes."""
    slots, hosted = _slots_on(facts, vm, plan), list(_hosted(vm, node).values())
    stages = len(_durations(node, vm.name))
    return [max(slots // hosted[min(place, len(hosted) - 1)], 1) for place in range(stages)]


def _slots_on(facts: TimetableFacts, vm: VmType, plan: TimetablePlan) -> int:
    """Return the slots of a VM: the fewest tasks, or executors, of a kind that it hosts.

    A plan may have their common divisor, as in former ones, or their common multiple, of which a task takes several.
    """
    hosted = kept(
        facts,
        f"tasks hosted by {vm.name}",
        lambda: {
            count
            for node in facts.classes
            if not node.types or node.types == ("one",) or vm.name in node.types
            for count in _hosted(vm, node).values()
        },
    )
    stated = next((each.slots for each in plan.types if each.vm == vm.name), None)
    return stated if hosted and stated in (gcd(*hosted), lcm(*hosted)) else min(hosted, default=1)


def _runs(facts: TimetableFacts, runs: Sequence[Stated], plan: TimetablePlan) -> Iterator[Diagnostic]:
    """Yield runs that are missing, that violate their window, or whose window differs from the spec's."""
    if len(plan.runs) != len(runs):
        yield _wrong(f"the plan has {len(plan.runs)} runs, the spec {len(runs)}")
        return
    for stated, run in zip(runs, plan.runs, strict=True):
        node = facts.classes[stated.job]
        called = f"run {run.run} of {run.job}"
        if (run.job, run.run) != (node.name, stated.number):
            yield _wrong(f"{called} is in the place of run {stated.number} of {node.name}")
        if _apart(run.release, stated.release) or _apart(run.deadline, stated.due):
            yield _wrong(f"{called} does not have the window that the spec gives it")
        if not run.admitted and node.penalty is not None:
            if run.start is not None or run.end is not None:
                yield _wrong(f"{called} is rejected and runs")
            continue
        if run.start is None or run.end is None or not run.admitted:
            yield _wrong(f"{called} is mandatory and does not run")
            continue
        if run.start < stated.release - SLACK or run.end > stated.due + SLACK:
            yield _wrong(f"{called} runs from {run.start:g} s to {run.end:g} s, outside its window")
        if node.start_within is not None and run.start > stated.release + node.start_within + SLACK:
            yield _wrong(f"{called} starts more than {node.start_within:g} s after its release")


def _tasks(
    facts: TimetableFacts,
    runs: Sequence[Stated],
    plan: TimetablePlan,
    tasks: Tasks,
    durations: Sequence[Durations],
) -> Iterator[Diagnostic]:
    """Yield missing and extra tasks, tasks that start before their predecessors end, and runs with a wrong end."""
    offsets = np.cumsum([0, *map(len, durations)])
    if not _within(tasks, runs, durations):
        yield _wrong("the plan has tasks of runs or stages that the spec does not have")
        return
    place = offsets[tasks.run] + tasks.stage
    wanted = np.array(
        [
            count if times.admitted else 0
            for stages, times in zip(durations, plan.runs, strict=True)
            for count, _, _ in stages
        ],
        dtype=np.int64,
    )
    each = np.array([time for stages in durations for _, time, _ in stages])
    count, first, end = np.zeros(len(wanted)), np.full(len(wanted), np.inf), np.full(len(wanted), -np.inf)
    np.add.at(count, place, tasks.count)
    np.minimum.at(first, place, tasks.start)
    np.maximum.at(end, place, tasks.start + each[place])
    for at in np.flatnonzero(count != wanted)[:3].tolist():
        lacking = plan.runs[int(np.searchsorted(offsets, at, side="right")) - 1]
        yield _wrong(f"run {lacking.run} of {lacking.job} runs {count[at]:g} tasks of a stage of {wanted[at]}")
    if (count != wanted).any():
        return
    before, after = [], []
    for offset, stages in zip(offsets.tolist(), durations, strict=False):
        for stage, (_, _, parents) in enumerate(stages):
            before += [offset + parent for parent in parents]
            after += [offset + stage] * len(parents)
    if before and (first[after] < end[before] - SLACK).any():
        yield _wrong("a stage starts before the stages that it comes after have ended")
    starts = np.minimum.reduceat(first, offsets[:-1]) - np.array([facts.classes[run.job].startup for run in runs])
    ends = np.maximum.reduceat(end, offsets[:-1])
    stated_start = np.array([run.start for run in plan.runs], dtype=np.float64)
    stated_end = np.array([run.end for run in plan.runs], dtype=np.float64)
    with_startup = np.array([facts.classes[run.job].startup > 0.0 for run in runs])
    early = stated_start > starts + SLACK
    early |= ~with_startup & (np.abs(stated_start - starts) > SLACK)
    for at in np.flatnonzero(early | (np.abs(stated_end - ends) > SLACK))[:3].tolist():
        run_there = plan.runs[at]
        yield _wrong(f"the times of run {run_there.run} of {run_there.job} are not those of its tasks")


def _within(tasks: Tasks, runs: Sequence[Stated], durations: Sequence[Durations]) -> bool:
    if (tasks.count < 1).any():
        return False
    stages = np.array([len(each) for each in durations])
    return bool(((tasks.stage >= 0) & (tasks.stage < stages[tasks.run])).all())


def _rentals(
    facts: TimetableFacts, plan: TimetablePlan, where: Sequence[int], on_spot: set[int]
) -> Iterator[Diagnostic]:
    """Yield rentals that are not paid as they should be, too many of them, and a cost that is not theirs."""
    billings = {vm.name: vm.billing or facts.billing or Billing() for vm in facts.vms}
    for rental in plan.rentals:
        time, paid = rental.end - rental.begin, billings[rental.vm]
        if rental.count < 1 or time < 0.0:
            yield _wrong(f"{rental.count} machines are rented from {rental.begin:g} s to {rental.end:g} s")
        elif all(_apart(rental.billed, paid_time(paid, max(time + by, 0.0))) for by in (-SLACK, SLACK)):
            span = f"from {rental.begin:g} s to {rental.end:g} s"
            yield _wrong(f"the rental {span} does not follow the billing of the spec")
    if plan.rent not in (("constant", "elastic", "per_job") if facts.rent == "cheapest" else (facts.rent,)):
        yield _wrong(f"machines are rented {plan.rent}, and the spec rents them {facts.rent}")
    rentals = list(map(_rental, plan.rentals))
    most = most_at_once(rentals)
    if most != plan.machines:
        yield _wrong(f"the plan counts {plan.machines} machines at once, and rents {most:g}")
    if any(each.way == RESERVED for each in rentals if each.master):
        yield _wrong("masters are reserved, which are rented on demand")
    room = [_second_attempt(facts, plan, number, facts.vms[where[number]]) for number in sorted(on_spot)]
    yield from check(facts, Ledger(rentals, None, room, _managed(plan), masters_count=False), relax=False)
    for index, vm in enumerate(facts.vms):
        for spot in (False, True):
            ran = [
                run
                for number, (run, each) in enumerate(zip(plan.runs, where, strict=True))
                if each == index and run.admitted and (number in on_spot) == spot
            ]
            yield from _of_type(
                facts, plan, vm, [each for each in rentals if (each.vm, each.spot) == (vm.name, spot)], ran, spot
            )
    if plan.rent == "per_job" and plan.rentals:
        yield from _shared(plan, [each for each in plan.rentals if not each.master])
    cost, losses, penalties = _cost(facts, plan), _losses(facts, plan), _penalties(facts, plan)
    for what, said, right, size in (
        ("all rentals", plan.cost, cost, 0.0),
        ("losses on spot", plan.risk, losses[0], cost),
        ("second attempts", plan.again, losses[1], cost),
        ("prepaid VMs", plan.prepaid, _prepaid(facts), 0.0),
        ("penalties", plan.penalties, penalties, 0.0),
    ):
        yield from claimed(what, said, right, None, max(abs(right), size, FEASIBILITY))


def _of_type(
    facts: TimetableFacts,
    plan: TimetablePlan,
    vm: VmType,
    rentals: Sequence[Rental],
    ran: Sequence[RunTimes],
    spot: bool,
) -> Iterator[Diagnostic]:
    """Yield VM types whose VMs the plan does not count, and VMs of a constant cluster that are not there all the time.

    ``rentals`` are those of the type, on spot or not, and ``ran`` the runs on them.
    """
    if plan.types and (vm.spot is not None or not spot):
        name = f"{vm.name} (spot)" if spot else vm.name
        stated = [(each.slots, (each.machines, each.reserved)) for each in plan.types if each.vm == name]
        counted = most_at_once(rentals), most_at_once(each for each in rentals if each.way == RESERVED)
        if [machines for _, machines in stated] != [counted]:
            yield _wrong(f"the plan does not count the machines of {vm.name} that it rents")
        if rentals and [slots for slots, _ in stated] != [_slots_on(facts, vm, plan)]:
            yield _wrong(f"the plan does not have the slots of {vm.name}")
    workers = [each for each in rentals if not each.master]
    if workers and plan.rent == "constant" and ran:
        first = min(run.release for run in ran) - vm.boot
        last = max(run.end or 0.0 for run in ran)
        if any(_apart(each.begin, first) or each.end < last - SLACK for each in workers):
            yield _wrong("a machine of a constant cluster is not rented from the first boot to the last end")


def _second_attempt(facts: TimetableFacts, plan: TimetablePlan, number: int, vm: VmType) -> Rental:
    """Return the VMs that a run on spot VMs keeps free from its release to its deadline: a slot for each task."""
    run = plan.runs[number]
    node = next(each for each in facts.classes if each.name == run.job)
    most = most_tasks(_on_slots(facts, node, vm, plan))
    return Rental(vm.name, ceil(most / _slots_on(facts, vm, plan)), run.release, run.deadline)


def _managed(plan: TimetablePlan) -> list[tuple[float, float]]:
    """Return when masters are there: from the first request of any machine to the last end, or for each run."""
    tasks = plan.tasks
    spans = [(each.begin, each.end) for each in plan.rentals if not each.master]
    if plan.rent == "per_job" and tasks is not None:
        of_run = dict(zip(tasks.run.tolist(), tasks.machine.tolist(), strict=True))
        return [(plan.rentals[at].begin, plan.rentals[at].end) for at in of_run.values()]
    return [(min(begin for begin, _ in spans), max(end for _, end in spans))] if spans else []


def _shared(plan: TimetablePlan, workers: Sequence[RentedThere]) -> Iterator[Diagnostic]:
    """Yield machines that are not those of one run, and runs on machines of more than one time or way."""
    tasks = plan.tasks
    assert tasks is not None
    pairs = np.unique(np.stack([tasks.run, tasks.machine]), axis=1)
    mine: dict[int, list[RentedThere]] = {}
    for run, machine in pairs.T.tolist():
        mine.setdefault(run, []).append(plan.rentals[machine])
    alike = all(
        len({(each.begin, each.end) for each in rentals}) == 1
        and len({each.reserved for each in rentals}) == len(rentals)
        for rentals in mine.values()
    )
    ran = sum(run.admitted for run in plan.runs)
    if not alike or len(mine) != ran or not pairs.shape[1] == len(np.unique(pairs[1])) == len(workers):
        yield _wrong("a run does not have machines of its own")


def _slots(
    facts: TimetableFacts,
    runs: Sequence[Stated],
    plan: TimetablePlan,
    tasks: Tasks,
    durations: Sequence[Durations],
    where: Sequence[int],
) -> Iterator[Diagnostic]:
    """Tasks on slots that are not there, rental by rental: the machines of one are alike, so no task has to move."""
    hosted = {facts.vms[index].name: _slots_on(facts, facts.vms[index], plan) for index in sorted(set(where))}
    each = np.array([hosted.get(rental.vm, 0) for rental in plan.rentals], dtype=np.int64)
    boots = np.array([{vm.name: vm.boot for vm in facts.vms}[rental.vm] for rental in plan.rentals])
    offsets = np.cumsum([0, *map(len, durations)])
    lengths = np.array([time for stages in durations for _, time, _ in stages])
    ends = tasks.start + lengths[offsets[tasks.run] + tasks.stage]
    begins, stops = (np.array([getattr(rental, name) for rental in plan.rentals]) for name in ("begin", "end"))
    counts = np.array([0 if rental.master else rental.count for rental in plan.rentals], dtype=np.int64)
    machine = tasks.machine
    if (tasks.start < begins[machine] + boots[machine] - SLACK).any() or (ends > stops[machine] + SLACK).any():
        yield _wrong("a task runs while its machine is not there")
    for lane, most in _peaks(machine, tasks.start, ends, tasks.count):
        if most > each[lane] * counts[lane]:
            yield _wrong(f"{most} tasks run at once on {each[lane] * counts[lane]} slots")
            return
    pairs = dict.fromkeys((run.job, vm) for run, vm in zip(runs, where, strict=True))
    known = {(job, vm): _parts(facts, facts.classes[job], facts.vms[vm], plan) for job, vm in pairs}
    parts = np.array([each for run, vm in zip(runs, where, strict=True) for each in known[run.job, vm]])
    taken = parts[offsets[tasks.run] + tasks.stage]
    if (tasks.count % taken).any():
        yield _wrong("a task is on slots of several machines")
    yield from _unequal(counts, machine, tasks.start, ends, taken)


def _unequal(
    counts: NDArray[np.int64], lane: NDArray[np.int64], starts: Floats, ends: Floats, taken: NDArray[np.int64]
) -> Iterator[Diagnostic]:
    """Yield rentals of several machines with tasks of unequal slots at once: one of these may have to move.

    Tasks of equal slots fit in the order of their starts. They are apart from others if no task overlaps both.
    """
    until, last = np.full(len(counts), -np.inf), np.zeros(len(counts), dtype=np.int64)
    for at in np.lexsort((starts, lane)).tolist() if (taken > 1).any() else ():
        there = lane[at]
        if counts[there] > 1 and starts[at] < until[there] - SLACK and last[there] != taken[at]:
            yield _wrong("tasks that take unequal parts of a machine share a rental of several machines")
            return
        until[there], last[there] = max(until[there], ends[at]), taken[at]


def _peaks(
    lane: NDArray[np.int64], starts: Floats, ends: Floats, counts: NDArray[np.int64]
) -> Iterator[tuple[int, int]]:
    """Yield each lane and its most concurrent tasks; a task that starts as another ends is not concurrent with it."""
    if not len(lane):
        return
    times = np.concatenate([starts + SLACK / 2, ends - SLACK / 2])
    lanes, changes = np.concatenate([lane, lane]), np.concatenate([counts, -counts])
    order = np.lexsort((changes, times, lanes))
    first = np.flatnonzero(np.diff(lanes[order], prepend=-1))
    most = np.maximum.reduceat(np.cumsum(changes[order]), first)  # every lane ends with no task
    yield from zip(lanes[order][first].tolist(), most.tolist(), strict=True)


def _hosted(vm: VmType, node: JobClass) -> dict[str, int]:
    """Return the tasks of a class that one VM hosts, of stages, or map and reduce tasks; executors in their place."""
    row = next((each for each in node.on if each.name == vm.name), None)
    staged = bool(node.stages if row is None or not row.described else row.stages)
    slots = node.slots if row is None or row.slots is None else row.slots
    reduces = node.reduce if row is None or row.reduce is None else row.reduce
    kinds = ["task"] if staged else ["map"] if reduces is None else ["map", "reduce"]
    if slots is not None and (node.container is None or slots is not node.slots):
        return {kind: int(getattr(slots, kind) or 0) for kind in kinds}
    assert node.container is not None
    found = {}
    for kind in kinds:
        own = getattr(node.container, kind) or (node.container.executor if staged else None)
        cores, memory = (getattr(own, one, None) or getattr(node.container, one) for one in ("cores", "memory"))
        fits = list(zip(left_to_containers([vm])[:, 0].tolist(), (cores, memory), strict=True))
        found[kind] = int(min(floor(there / each * (1 + 1e-9)) for there, each in fits if there == there and each))
    return found


def _apart(a: float, b: float) -> bool:
    return abs(a - b) > SLACK


def _wrong(message: str) -> Diagnostic:
    return error("broken-plan", message)
