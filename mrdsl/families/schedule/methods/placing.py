"""Finding and filling slots: what every scheduling policy does once it knows how many slots a job shall have."""

from __future__ import annotations

from mrdsl.core.rounding import begun, floor
from mrdsl.formulas import waves
from mrdsl.simulation.fleet import MAP, Cohort
from mrdsl.simulation.scheduling import JobRun, Simulation

#: Slots of one cohort that fall free at the same moment (0: they are free): cohort, moment, count.
Lanes = tuple[Cohort, float, int]


#: More tasks than any job has: tasks that take no time fit in any number.
MANY = 2**53


def free_slots(sim: Simulation, phase: int, wanted: int) -> list[Lanes]:
    """Up to ``wanted`` free slots of a phase, from the VMs rented first."""
    lanes: list[Lanes] = []
    for cohort in sim.fleet():
        if wanted <= 0:
            break
        taken = min(cohort.idle[phase], wanted)
        if taken:
            lanes.append((cohort, 0.0, taken))
            wanted -= taken
    return lanes


def rent_slots(sim: Simulation, phase: int, wanted: int, bid: float | None) -> list[Lanes]:
    """``wanted`` slots of a phase on as few new VMs as hold them."""
    cohort = sim.rent(-(-wanted // sim.machine.slots[phase]), bid)
    return [(cohort, sim.now + sim.machine.boot if sim.machine.boot else 0.0, wanted)]


def spread(sim: Simulation, run: JobRun, lanes: list[Lanes], tasks: int) -> None:
    """Place tasks on slots as evenly as possible: if the division has a rest, the first slots get one more."""
    each, longer = divmod(tasks, sum(count for _, _, count in lanes))
    for cohort, free, count in lanes:
        more = min(count, longer)
        longer -= more
        if more:
            sim.place(run, cohort, free, more, each + 1)
        if each and count > more:
            sim.place(run, cohort, free, count - more, each)


SHORT = 2e-10
"""Seconds that rounding may take from a stretch of time."""


def fitting(time: float, duration: float) -> int:
    """Count the tasks that fit one after another into a stretch of time, with a tolerance for rounding."""
    if duration == 0.0:
        return MANY if time + SHORT >= 0.0 else 0
    return int(floor((time + SHORT) / duration))


def phase_due(run: JobRun) -> float:
    """Return MDASA's endtime(j): the due time of the present phase for the job to be on time.

    For map tasks that is the moment by which the map phase must end for the reduce phase to meet the deadline; the
    thesis leaves this implicit.
    """
    if run.phase == MAP and run.job.reduce_tasks:
        return run.job.due - waves.reduce_time(run.job.profile, run.slots[1]).average
    return run.job.due


def slots_for_rest(sim: Simulation, run: JobRun) -> int:
    """Return slots for the waiting tasks of the present phase in the time left, by work over time; all where it is
    short.
    """
    left = phase_due(run) - sim.now
    if left <= run.duration:
        return run.waiting
    return min(run.waiting, max(int(begun(run.waiting * run.duration / left)), 1))
