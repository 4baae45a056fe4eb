"""Runs on spot VMs: their second attempts on demand, and what both attempts are expected to cost."""

from __future__ import annotations

from math import exp, expm1

from mrdsl.families.timetable.night import TICK, Machine, Night, Second
from mrdsl.families.timetable.slots import sizes_of


def seconds_of(night: Night) -> tuple[tuple[Second, ...], ...]:
    """Return the second attempts of each job on VMs on demand, the fastest first; each later one costs less.

    From the request on they take a boot, the startup, and the stages: side by side if all tasks have a slot, or one
    after the other otherwise.
    """
    machine = night.machine
    found = []
    for startup, job in zip(night.startups, night.jobs, strict=True):
        most = -(-job.most_at_once // machine.slots)
        every = []
        for count in {most, *(size for size in sizes_of(job, machine.slots) if size < most)}:
            slots = count * machine.slots
            waves = sum(-(-stage.tasks // slots) * stage.ticks for stage in job.stages)
            ticks = machine.boot + startup + (job.path() if count == most else waves)
            every.append((ticks, count * machine.price * machine.billed(ticks) / TICK, count))
        kept: list[Second] = []
        for ticks, cost, count in sorted(every):
            if not kept or cost < kept[-1].cost:
                kept.append(Second(ticks, count, cost))
        found.append(tuple(kept))
    return tuple(found)


def chance_of(machine: Machine, ticks: float) -> float:
    """Return the probability that the provider takes back a VM in so many VM ticks."""
    return -expm1(-machine.interruptions * ticks / TICK)


def cost_alone(night: Night, job: int, count: int, ticks: int, left: int) -> float:
    """Return the expected cost of a run alone on ``count`` spot VMs without masters: both attempts.

    Args:
        night: The night on spot VMs.
        job: The job of the run.
        count: The VMs.
        ticks: Time from the request of the VMs to the end of the run.
        left: Time from there until the run is due.
    """
    machine = night.machine
    period, minimum = machine.period, machine.minimum
    rate = machine.interruptions * count / TICK
    whole = minimum // period
    more = -(-ticks // period) - whole
    paid = float(minimum)
    if more > 0:
        paid += ((whole + 1) * period - minimum) * exp(-rate * whole * period)
        each = expm1(-rate * (more - 1) * period) / expm1(-rate * period) if rate > 0.0 else more - 1
        paid += period * exp(-rate * (whole + 1) * period) * each
    return count * machine.price * paid / TICK + chance_of(machine, count * ticks) * night.second(job, left).cost
