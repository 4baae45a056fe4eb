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
from mrdsl.families.timetable.facts import Billing, JobClass, TimetableFacts, VmType
from mrdsl.families.timetable.plan import Tasks, TimetablePlan
from mrdsl.spec.spec import Spec

SLACK = 1e-6
"""How far two times may lie apart and still be the same [s]."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stated:
    """A run in the spec: its class, its number in the class, its window [s]."""

    job: int
    number: int
    release: float
    due: float


def measure(spec: Spec, plan: TimetablePlan) -> float:
    """Compute the cost of the time that all rentals are paid for, which :func:`verify` compares with the billing."""
    facts: TimetableFacts = spec.facts
    return sum(rental.billed for rental in plan.rentals) * _price(facts.vms[0])


def verify(spec: Spec, plan: TimetablePlan, relax: bool = False) -> Iterable[Diagnostic]:
    """Yield the violations in a plan."""
    facts: TimetableFacts = spec.facts
    runs = _stated_runs(facts)
    wrong = list(_runs(facts, runs, plan))
    if wrong or plan.tasks is None:
        yield from wrong or [_wrong("the plan has no tasks")]
        return
    durations = [_durations(node) for node in facts.classes]
    yield from _tasks(facts, runs, plan, plan.tasks, durations)
    yield from _rentals(facts, runs, plan)
    yield from _slots(facts, runs, plan, plan.tasks, durations)


def _stated_runs(facts: TimetableFacts) -> list[Stated]:
    written = [each for node in facts.classes for each in (node.runs.from_, node.due, *node.runs.at)]
    days = [clock.day for each in (*written, facts.horizon) if isinstance(each, str) and (clock := parse_clock(each))]
    base = min((day for day in days if day is not None), default=0)
    runs = []
    for index, node in enumerate(facts.classes):
        for number, release in enumerate(_releases(node, base)):
            due = release + node.deadline if node.deadline is not None else _second(node.due, release, base)
            runs.append(Stated(index, number + 1, release, due))
    return runs


def _releases(node: JobClass, base: int) -> Iterator[float]:
    """Yield the release of each run: listed times, or one every so often."""
    if not node.runs.at:
        first = _second(node.runs.from_, None, base)
        yield from (first + (node.runs.every or 0.0) * number for number in range(node.runs.times or 1))
        return
    last = None
    for each in node.runs.at:
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
    wanted = np.array([count for run in runs for count, _, _ in durations[run.job]], dtype=np.int64)
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


def _rentals(facts: TimetableFacts, runs: Sequence[Stated], plan: TimetablePlan) -> Iterator[Diagnostic]:
    """Yield rentals that are not paid as they should be, too many of them, and a cost that is not theirs."""
    vm = facts.vms[0]
    for rental in plan.rentals:
        if rental.vm != vm.name:
            yield _wrong(f"a rental is of {rental.vm}, which the spec does not have")
        time = rental.end - rental.begin
        if time < 0.0 or all(_apart(rental.billed, _billed(facts, max(time + by, 0.0))) for by in (-SLACK, SLACK)):
            yield _wrong(
                f"the rental from {rental.begin:g} s to {rental.end:g} s does not follow the billing of the spec"
            )
    most = _most_at_once([(each.begin, each.end) for each in plan.rentals])
    if most != plan.machines:
        yield _wrong(f"the plan counts {plan.machines} machines at once, and rents {most}")
    if vm.available is not None and most - vm.masters > vm.available:
        yield _wrong(f"{most - vm.masters} machines are rented at once, and {vm.available} are available")
    first, last = min(run.release for run in runs), max(run.end or 0.0 for run in plan.runs)
    if plan.rent == "constant":
        for rental in plan.rentals:
            if _apart(rental.begin, first - vm.boot) or rental.end < last - SLACK:
                yield _wrong("a machine of a constant cluster is not rented from the first boot to the last end")
                break
    cost = sum(rental.billed for rental in plan.rentals) * _price(vm)
    if abs(cost - plan.cost) > FEASIBILITY * max(abs(cost), FEASIBILITY):
        yield _wrong(f"the rentals cost {cost:g}, and the plan counts {plan.cost:g}")


def _slots(
    facts: TimetableFacts,
    runs: Sequence[Stated],
    plan: TimetablePlan,
    tasks: Tasks,
    durations: Sequence[Sequence[tuple[int, float, tuple[int, ...]]]],
) -> Iterator[Diagnostic]:
    """Tasks on slots that are not there, machine by machine, or on all of them if they are rented alike."""
    vm = facts.vms[0]
    each = _slots_of(vm, facts.classes[0])
    times = np.array(
        [
            durations[runs[run].job][stage][1]
            for run, stage in zip(tasks.run.tolist(), tasks.stage.tolist(), strict=True)
        ]
    )
    ends = tasks.start + times
    anywhere = tasks.machine < 0
    begins, stops = (np.array([getattr(rental, name) for rental in plan.rentals]) for name in ("begin", "end"))
    if anywhere.any():
        if not anywhere.all() or np.ptp(begins) > SLACK or np.ptp(stops) > SLACK:
            yield _wrong("tasks have no machine, and machines are not rented alike")
            return
        capacity = each * (len(plan.rentals) - vm.masters)
        if (tasks.start < begins.max() + vm.boot - SLACK).any() or (ends > stops.min() + SLACK).any():
            yield _wrong("a task runs while no machine is there")
        most = _peak(np.zeros(len(ends), dtype=np.int64), tasks.start, ends, tasks.count)
        if most > capacity:
            yield _wrong(f"{most} tasks run at once on {capacity} slots")
        return
    if (tasks.machine >= len(plan.rentals)).any():
        yield _wrong("a task runs on a machine that is not rented")
        return
    if (tasks.start < begins[tasks.machine] + vm.boot - SLACK).any() or (ends > stops[tasks.machine] + SLACK).any():
        yield _wrong("a task runs while its machine is not there")
    most = _peak(tasks.machine, tasks.start, ends, tasks.count)
    if most > each:
        yield _wrong(f"{most} tasks run at once on the {each} slots of a machine")


def _peak(lane: NDArray[np.int64], starts: Floats, ends: Floats, counts: NDArray[np.int64]) -> int:
    """Return the most concurrent tasks in one lane; a task that starts as another ends is not concurrent with it."""
    times = np.concatenate([starts + SLACK / 2, ends - SLACK / 2])
    lanes, changes = np.concatenate([lane, lane]), np.concatenate([counts, -counts])
    order = np.lexsort((changes, times, lanes))
    return int(np.cumsum(changes[order]).max(initial=0))


def _most_at_once(spans: Sequence[tuple[float, float]]) -> int:
    events = sorted([(begin + SLACK, 1) for begin, _ in spans] + [(end - SLACK, -1) for _, end in spans])
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
