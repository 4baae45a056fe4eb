"""A timetable against its spec, from the facts as they are written: releases, windows, order, slots, rentals, cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.clock import DAY_SECONDS as DAY
from mrdsl.core.clock import parse_clock
from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.rounding import FEASIBILITY
from mrdsl.families.timetable.facts import Billing, JobClass, Runs, TimetableFacts, VmType
from mrdsl.families.timetable.plan import Rental, Tasks, TimetablePlan
from mrdsl.families.timetable.verify_arrivals import with_runs
from mrdsl.spec.spec import Spec

SLACK = 1e-6
"""Largest difference of two times that count as equal [s]."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stated:
    """A run in the spec: its class, its number in the class, its window [s]."""

    job: int
    number: int
    release: float
    due: float


def measure(spec: Spec, plan: TimetablePlan) -> float:
    """Compute the cost of the time that all rentals are paid for, and of the runs that are left out.

    :func:`verify` compares that time with the billing.
    """
    facts: TimetableFacts = spec.facts
    return _rented(plan) * _price(facts.vms[0]) + _penalties(facts, plan)


def _rented(plan: TimetablePlan) -> float:
    return sum(rental.billed * rental.count for rental in plan.rentals)


def _penalties(facts: TimetableFacts, plan: TimetablePlan) -> float:
    """Return the price of the runs left out; jobs that a file alone defines have none."""
    prices = {node.name: node.penalty or 0.0 for node in facts.classes}
    return sum(prices.get(run.job, 0.0) for run in plan.runs if not run.admitted)


def verify(spec: Spec, plan: TimetablePlan, relax: bool = False) -> Iterable[Diagnostic]:
    """Yield the violations in a plan."""
    facts = with_runs(spec.facts)
    runs = _stated_runs(facts)
    wrong = list(_runs(facts, runs, plan))
    if wrong or plan.tasks is None:
        yield from wrong or [_wrong("the plan has no tasks")]
        return
    durations = [_durations(node) for node in facts.classes]
    yield from _tasks(facts, runs, plan, plan.tasks, durations)
    yield from _rentals(facts, plan)
    yield from _slots(facts, runs, plan, plan.tasks, durations)


def _stated_runs(facts: TimetableFacts) -> list[Stated]:
    written = [
        each for node in facts.classes if node.runs is not None for each in (node.runs.from_, node.due, *node.runs.at)
    ]
    days = [clock.day for each in (*written, facts.horizon) if isinstance(each, str) and (clock := parse_clock(each))]
    base = min((day for day in days if day is not None), default=0)
    runs = []
    for index, node in enumerate(facts.classes):
        assert node.runs is not None
        own = dict(enumerate(node.runs.deadlines))
        for number, release in enumerate(_releases(node.runs, base)):
            deadline = own.get(number) or node.deadline
            due = release + deadline if deadline is not None else _second(node.due, release, base)
            runs.append(Stated(index, number + 1, release, due))
    return runs


def _releases(runs: Runs, base: int) -> Iterator[float]:
    """Yield the release of each run: listed times, or one every so often."""
    if not runs.at:
        first = _second(runs.from_, None, base)
        yield from (first + (runs.every or 0.0) * number for number in range(runs.times or 1))
        return
    last = None
    for each in runs.at:
        last = _second(each, last, base)
        yield last


def _second(written: float | str | None, after: float | None, base: int) -> float:
    """Return a time in seconds; of a clock time without a date the first one after another."""
    assert written is not None
    if not isinstance(written, str):
        return float(written)
    clock = parse_clock(written)
    assert clock is not None
    time = float(clock.seconds)
    if clock.day is not None:
        return time + DAY * (clock.day - base)
    while after is not None and time <= after:
        time += DAY
    return time


def _durations(node: JobClass) -> list[tuple[int, float, tuple[int, ...]]]:
    """Of each stage the tasks, the time of one [s] and the stages before."""
    upper = node.guarantee == "upper"
    if node.stages:
        places = {stage.name: index for index, stage in enumerate(node.stages)}
        return [
            (stage.tasks, stage.max if upper else stage.avg, tuple(places[name] for name in stage.after))
            for stage in node.stages
        ]
    assert node.map is not None
    found: list[tuple[int, float, tuple[int, ...]]] = [(node.map.tasks, node.map.max if upper else node.map.avg, ())]
    if node.reduce is not None and node.reduce.tasks:
        time = node.reduce.max if upper else node.reduce.avg
        if node.shuffle is not None:
            first = node.shuffle.first_avg
            if upper or first is None:
                first = node.shuffle.first_max
            time += max(first, node.shuffle.max if upper else node.shuffle.avg)
        found.append((node.reduce.tasks, time, (0,)))
    return found


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
    durations: Sequence[Sequence[tuple[int, float, tuple[int, ...]]]],
) -> Iterator[Diagnostic]:
    """Yield missing and extra tasks, tasks that start before their predecessors end, and runs with a wrong end."""
    offsets = np.cumsum([0, *(len(durations[run.job]) for run in runs)])
    if not _within(tasks, runs, durations):
        yield _wrong("the plan has tasks of runs or stages that the spec does not have")
        return
    place = offsets[tasks.run] + tasks.stage
    wanted = np.array(
        [
            count if times.admitted else 0
            for run, times in zip(runs, plan.runs, strict=True)
            for count, _, _ in durations[run.job]
        ],
        dtype=np.int64,
    )
    each = np.array([time for run in runs for _, time, _ in durations[run.job]])
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
    for offset, run in zip(offsets.tolist(), runs, strict=False):
        for stage, (_, _, parents) in enumerate(durations[run.job]):
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


def _within(
    tasks: Tasks, runs: Sequence[Stated], durations: Sequence[Sequence[tuple[int, float, tuple[int, ...]]]]
) -> bool:
    if (tasks.run < 0).any() or (tasks.run >= len(runs)).any() or (tasks.count < 1).any():
        return False
    stages = np.array([len(durations[run.job]) for run in runs])
    return bool(((tasks.stage >= 0) & (tasks.stage < stages[tasks.run])).all())


def _rentals(facts: TimetableFacts, plan: TimetablePlan) -> Iterator[Diagnostic]:
    """Yield rentals that are not paid as they should be, too many of them, and a cost that is not theirs."""
    vm = facts.vms[0]
    for rental in plan.rentals:
        if rental.vm != vm.name:
            yield _wrong(f"a rental is of {rental.vm}, which the spec does not have")
        if rental.count < 1:
            yield _wrong(f"a rental is of {rental.count} machines")
        time = rental.end - rental.begin
        if time < 0.0 or all(_apart(rental.billed, _billed(facts, max(time + by, 0.0))) for by in (-SLACK, SLACK)):
            yield _wrong(
                f"the rental from {rental.begin:g} s to {rental.end:g} s does not follow the billing of the spec"
            )
    most = _most_at_once(plan.rentals)
    if most != plan.machines:
        yield _wrong(f"the plan counts {plan.machines} machines at once, and rents {most}")
    workers = [each for each in plan.rentals if not each.master]
    there = _most_at_once(workers) - (vm.masters if _is_of_earlier_release(plan) else 0)
    if vm.available is not None and there > vm.available:
        yield _wrong(f"{there} machines are rented at once, and {vm.available} are available")
    yield from _way(facts, plan, workers)
    cost = _rented(plan) * _price(vm)
    if abs(cost - plan.cost) > FEASIBILITY * max(abs(cost), FEASIBILITY):
        yield _wrong(f"the rentals cost {cost:g}, and the plan counts {plan.cost:g}")
    penalties = _penalties(facts, plan)
    if abs(penalties - plan.penalties) > FEASIBILITY * max(abs(penalties), FEASIBILITY):
        yield _wrong(f"the penalties come to {penalties:g}, and the plan counts {plan.penalties:g}")


def _way(facts: TimetableFacts, plan: TimetablePlan, workers: Sequence[Rental]) -> Iterator[Diagnostic]:
    """Yield rentals that are not those of the spec's way to rent, and masters that are missing."""
    vm = facts.vms[0]
    if plan.rent not in (("constant", "elastic", "per_job") if facts.rent == "cheapest" else (facts.rent,)):
        yield _wrong(f"machines are rented {plan.rent}, and the spec rents them {facts.rent}")
    if not workers:
        return
    spans = [(min(each.begin for each in workers), max(each.end for each in workers))]
    if plan.rent == "constant":
        first = min(run.release for run in plan.runs if run.admitted) - vm.boot
        last = max(run.end or 0.0 for run in plan.runs if run.admitted)
        if any(_apart(each.begin, first) or each.end < last - SLACK for each in workers):
            yield _wrong("a machine of a constant cluster is not rented from the first boot to the last end")
    elif plan.rent == "per_job":
        spans = [(each.begin, each.end) for each in workers]
        yield from _shared(plan, workers)
    if vm.masters and not _is_of_earlier_release(plan):
        masters = [(each.begin, each.end, each.count) for each in plan.rentals if each.master]
        for begin, end in spans:
            there = next((one for one in masters if one[0] < begin + SLACK and one[1] > end - SLACK), None)
            if there is None or there[2] < vm.masters:
                yield _wrong(f"machines are rented from {begin:g} s to {end:g} s without {vm.masters} masters")
                return
            masters.remove(there)


def _shared(plan: TimetablePlan, workers: Sequence[Rental]) -> Iterator[Diagnostic]:
    """Yield machines that are not those of one run, and runs on more than one rental."""
    tasks = plan.tasks
    assert tasks is not None
    pairs = np.unique(np.stack([tasks.run, tasks.machine]), axis=1)
    ran = sum(run.admitted for run in plan.runs)
    if not pairs.shape[1] == len(np.unique(pairs[0])) == len(np.unique(pairs[1])) == ran == len(workers):
        yield _wrong("a run does not have machines of its own")


def _slots(
    facts: TimetableFacts,
    runs: Sequence[Stated],
    plan: TimetablePlan,
    tasks: Tasks,
    durations: Sequence[Sequence[tuple[int, float, tuple[int, ...]]]],
) -> Iterator[Diagnostic]:
    """Tasks on slots that are not there, rental by rental: the machines of one are alike, so no task has to move."""
    vm = facts.vms[0]
    each = _slots_of(vm, facts.classes[0])
    offsets = np.cumsum([0, *(len(durations[run.job]) for run in runs)])
    lengths = np.array([time for run in runs for _, time, _ in durations[run.job]])
    ends = tasks.start + lengths[offsets[tasks.run] + tasks.stage]
    begins, stops = (np.array([getattr(rental, name) for rental in plan.rentals]) for name in ("begin", "end"))
    counts = np.array([0 if rental.master else rental.count for rental in plan.rentals], dtype=np.int64)
    machine = tasks.machine
    if _is_of_earlier_release(plan):
        if (machine >= 0).any() or not len(begins) or np.ptp(begins) > SLACK or np.ptp(stops) > SLACK:
            yield _wrong("tasks have no machine, and machines are not rented alike")
            return
        machine = np.zeros_like(machine)
        begins, stops = begins.max(keepdims=True), stops.min(keepdims=True)
        counts = counts.sum(keepdims=True) - vm.masters
    if (machine >= len(begins)).any():
        yield _wrong("a task runs on a machine that is not rented")
        return
    if (tasks.start < begins[machine] + vm.boot - SLACK).any() or (ends > stops[machine] + SLACK).any():
        yield _wrong("a task runs while its machine is not there")
    for lane, most in _peaks(machine, tasks.start, ends, tasks.count):
        if most > each * counts[lane]:
            yield _wrong(f"{most} tasks run at once on {each * counts[lane]} slots")
            return


def _is_of_earlier_release(plan: TimetablePlan) -> bool:
    """Return True if tasks may run on any machine: such plans have one rental for each machine, masters among them."""
    return plan.tasks is not None and bool((plan.tasks.machine < 0).any())


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


def _most_at_once(rentals: Sequence[Rental]) -> int:
    events = sorted(
        [(each.begin + SLACK, each.count) for each in rentals] + [(each.end - SLACK, -each.count) for each in rentals]
    )
    most = there = 0
    for _, change in events:
        there += change
        most = max(most, there)
    return most


def _slots_of(vm: VmType, node: JobClass) -> int:
    """Return the tasks of a class that one VM hosts."""
    if node.container is None:
        assert node.slots is not None
        return int((node.slots.task if node.stages else node.slots.map) or 0)
    taken = node.container.task if node.stages else node.container.map
    assert taken is not None
    parts = [(vm.cores, taken.cores), (vm.memory, taken.memory)]
    return min(floor(there / each * (1 + 1e-9)) for there, each in parts if there is not None and each is not None)


def _billed(facts: TimetableFacts, seconds: float) -> float:
    """Return the time that a rental is paid for: whole periods, at least the minimum [s]."""
    paid = facts.vms[0].billing or facts.billing or Billing()
    return max(ceil(seconds / paid.period) * paid.period, paid.minimum)


def _price(vm: VmType) -> float:
    return vm.on_demand.price + vm.fee


def _apart(a: float, b: float) -> bool:
    return abs(a - b) > SLACK


def _wrong(message: str) -> Diagnostic:
    return error("broken-plan", message)
