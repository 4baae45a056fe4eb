"""Machines of its own for each run: the cheapest size by a search over all sizes that change the end of the run."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mrdsl.core.rounding import PROVEN
from mrdsl.families.timetable.exact import solve_exactly
from mrdsl.families.timetable.night import Job, Night, Run
from mrdsl.families.timetable.rented import Lease, Rented, pieces_of, rented, together
from mrdsl.families.timetable.slots import Placed, Slots, place

EVERY_SIZE = 200
"""Sizes up to which all are tried for stages that may run at the same time."""


@dataclass(frozen=True)
class Size:
    """Machines of one run, and the run on them, as if it were released at time 0."""

    machines: int
    placed: Placed
    cost: float


def is_chain(job: Job) -> bool:
    """Return True if no two stages may run at the same time; list schedules are then shortest."""
    before: list[set[int]] = [set() for _ in job.stages]
    for position, index in enumerate(job.order):
        for parent in job.stages[index].after:
            before[index] |= {parent, *before[parent]}
        if len(before[index]) < position:
            return False
    return True


def sizes_of(job: Job, slots: int) -> list[int]:
    """Return the sizes at which a stage takes fewer waves than on one machine less, in order.

    ``ceil(tasks / (k * slots))`` is constant between them, so for stages one after the other no other size is cheaper.
    """
    found = {1}
    for stage in job.stages:
        whole = -(-stage.tasks // slots)
        size = 1
        while size < whole:
            waves = -(-whole // size)
            size = -(-whole // (waves - 1))
            found.add(size)
    if not is_chain(job):
        most = -(-sum(each.tasks for each in job.stages) // slots)
        found |= {*range(1, min(EVERY_SIZE, most) + 1), most}
    return sorted(found)


def sizes(night: Night, job: int, window: int) -> tuple[list[Size], float]:
    """Return the sizes that end a run within its window [ticks], the cheapest first, and a bound on the cost.

    A range of sizes costs at least as much as its smallest size that ends when its largest one can.
    """
    machine, stages = night.machine, night.jobs[job]
    every = sizes_of(stages, machine.slots)
    shortest = stages.path()
    found: list[Size] = []
    best = bound = float("inf")
    for count, following in zip(every, [*every[1:], every[-1] + 1], strict=True):
        if machine.cost(count, machine.boot + shortest) >= best:
            break
        largest = (following - 1) * machine.slots
        least = shortest if count == every[-1] else max(stages.path(largest), -(-stages.work // largest))
        if least > window:
            continue
        bound = min(bound, machine.cost(count, machine.boot + least))
        placed = place(Slots(count * machine.slots, 0), stages, Run(job, 0, 0, 0, window, None, None))
        if placed.end <= window:
            found.append(Size(count, placed, machine.cost(count, machine.boot + placed.end)))
            best = min(best, found[-1].cost)
    if best - bound > PROVEN * best and not machine.masters:
        alone = replace(night, runs=(Run(job, 0, 0, 0, window, None, None),), penalties=(None,) * len(night.jobs))
        exact = solve_exactly(alone, "constant", None)
        if exact is not None:
            bound = max(bound, exact.bound)
            if exact.found is not None and exact.found.placed[0] is not None and exact.found.value < best:
                found.append(Size(exact.found.leases[0].count, exact.found.placed[0], exact.found.value))
    return sorted(found, key=lambda each: (each.cost, each.machines)), bound


def per_job(night: Night) -> tuple[Rented | None, float]:
    """Return the runs on machines of their own, and a bound on the cost; None if no plan was found."""
    known: dict[tuple[int, int], tuple[list[Size], float]] = {}
    bound, choices = 0.0, []
    for run in night.runs:
        key = run.job, run.due - run.ready
        if key not in known:
            known[key] = sizes(night, *key)
        found, least = known[key]
        penalty = night.penalties[run.job]
        bound += least if penalty is None else min(least, penalty)
        choices.append([each for each in found if penalty is None or each.cost < penalty])
    parts: list[Rented | None] = []
    slots = None if night.machine.available is None else Slots(night.machine.available, -(1 << 90))
    order = sorted(range(len(night.runs)), key=lambda index: (night.runs[index].due, index))
    chosen: dict[int, Rented | None] = {}
    for index in order:
        found_part = _placed(night, night.runs[index], choices[index], slots)
        if found_part is None and night.penalties[night.runs[index].job] is None:
            return None, bound
        chosen[index] = found_part
    parts = [chosen[index] for index in range(len(night.runs))]
    return together(night, "per_job", parts), bound


def _placed(night: Night, run: Run, choices: list[Size], slots: Slots | None) -> Rented | None:
    """Return a run on the cheapest machines that are available in its window."""
    machine = night.machine
    for size in choices:
        ticks = machine.boot + size.placed.end
        latest = run.due - size.placed.end
        if run.start_by is not None:
            latest = min(latest, run.start_by)
        start = run.ready
        if slots is not None:
            free = next(slots.starts(run.ready - machine.boot, latest - machine.boot, size.machines, ticks), None)
            if free is None:
                continue
            slots.take(size.machines, ticks, free)
            start = free + machine.boot
        waves = [(stage, at + start, count) for stage, at, count in size.placed.waves]
        placed = Placed(waves, size.placed.first + start, size.placed.end + start)
        begin = start - machine.boot
        leases = [Lease(begin, placed.end, size.machines)]
        if machine.masters:
            leases.append(Lease(begin, placed.end, machine.masters, master=True))
        alone = replace(night, runs=(run,))
        return rented(alone, "per_job", leases, pieces_of([placed]), [placed])
    return None
