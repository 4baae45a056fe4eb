"""The counted LP over VM types instead of single VMs: a bound, and a first guess at the machines.

Its value is that of the relaxed counted model: that model is convex and treats the VMs of a type alike, so the mean of
any solution over the orders of a type's VMs is a solution of the same value in which they are all equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mrdsl.core.linear_program import LinearProgram
from mrdsl.core.program_rows import ProgramRows
from mrdsl.core.result import Limits
from mrdsl.core.tolerances import ROUNDING
from mrdsl.families.energy.cluster import Floats, JobData, Machines
from mrdsl.families.energy.limits import JobLimits, limits_of
from mrdsl.solving.programs import Optimum, UnsolvedError, optima


@dataclass(frozen=True)
class Relaxed:
    """``energy`` is a bound on every plan's; ``vms[j][k]`` says how many VMs of a type a job takes, fractional."""

    energy: float
    vms: tuple[Floats, ...]


def relaxations(
    machines: Machines, jobs: tuple[JobData, ...], shares: Sequence[float | None], seconds: float | None = None
) -> list[Relaxed | UnsolvedError | None]:
    """The relaxed optimum for every share, None where it is proven that even the relaxation has no plan.

    UnsolvedError where the solver proves neither, within ``seconds`` for all or at all.

    With a share every job's uptime is that share of the longest that its promises allow: then the VMs taken are not
    blurred by (9)'s product of uptime and VMs, but the value is no bound.
    """
    built = [_program(machines, jobs, share) for share in shares]
    solutions = optima([one.program for one in built], Limits(time=seconds, threads=1))
    return [
        _relaxed(machines, jobs, one, solution) if isinstance(solution, Optimum) else solution
        for one, solution in zip(built, solutions, strict=True)
    ]


@dataclass(frozen=True)
class _Program:
    """The program, and per job its columns: VMs paid, by type, and the uptime."""

    program: LinearProgram
    paid: tuple[dict[int, int], ...]
    uptimes: tuple[int, ...]


def _program(machines: Machines, jobs: tuple[JobData, ...], share: float | None) -> _Program:
    program = ProgramRows()
    taken, ups = [], []
    for job in jobs:
        most = limits_of(machines, job)
        on, paid, uptime = _add_job(program, machines, job, most if share is None else _fixed(most, share))
        if share is not None:
            program.lower[uptime] = program.upper[uptime]
        taken.append((on, paid))
        ups.append(uptime)
    for kind in range(len(machines)):
        own = {on[kind]: 1.0 for on, _ in taken if kind in on}
        if len(own) > 1:
            program.at_most(own, float(machines.available[kind]))
    return _Program(program.program(), tuple(paid for _, paid in taken), tuple(ups))


def _relaxed(machines: Machines, jobs: tuple[JobData, ...], one: _Program, solution: Optimum) -> Relaxed:
    vms = []
    for paid, uptime in zip(one.paid, one.uptimes, strict=True):
        counts = np.zeros(len(machines))
        for kind, column in paid.items():
            counts[kind] = solution.values[column] / max(solution.values[uptime], ROUNDING)
        vms.append(np.minimum(counts, machines.available))
    constant = sum(job.placement_energy + job.shuffle_energy for job in jobs)
    return Relaxed(solution.value + constant, tuple(vms))


def _fixed(limits: JobLimits, share: float) -> JobLimits:
    horizon = limits.horizon * share
    return replace(limits, horizon=horizon, uptime=np.minimum(limits.uptime, horizon))


def _add_job(
    program: ProgramRows, machines: Machines, job: JobData, limits: JobLimits
) -> tuple[dict[int, int], dict[int, int], int]:
    """One job's columns and rows; the columns of VMs taken and of seconds paid per type, and that of the uptime."""
    finite = [value if np.isfinite(value) else 0.0 for value in limits.shortest]
    phases = [program.column(lower=min(value, limits.horizon)) for value in finite]
    uptime = program.column(upper=limits.horizon)
    program.exactly({uptime: 1.0, **dict.fromkeys(phases, -1.0)}, 0.0)
    on, paid, maps, reduces = {}, {}, {}, {}
    for kind in np.flatnonzero(limits.usable).tolist():
        count = float(min(machines.available[kind], job.map_tasks + job.reduce_tasks))
        on[kind] = program.column(upper=count)
        paid[kind] = program.column(upper=count * float(limits.uptime[kind]))
        work: dict[int, float] = {}
        load: dict[int, float] = {}
        if limits.maps[kind]:
            column = maps[kind] = program.column(float(job.map_energy[kind]), count * float(limits.maps[kind]))
            program.at_most({column: 1.0, on[kind]: -float(limits.maps[kind])}, 0.0)
            program.above(phases[0], {column: job.place / count})
            time, slots = float(job.map_time[kind]), int(machines.map_slots[kind])
            program.above(phases[1], {column: time / (slots * count)})
            load[column] = job.send / count
            work[column] = job.place + job.send + time / slots
        if limits.reduces[kind]:
            column = reduces[kind] = program.column(float(job.reduce_energy[kind]), count * float(limits.reduces[kind]))
            program.at_most({column: 1.0, on[kind]: -float(limits.reduces[kind])}, 0.0)
            time, slots = float(job.reduce_time[kind]), int(machines.reduce_slots[kind])
            program.above(phases[3], {column: time / (slots * count)})
            load[column] = job.fetch / count
            work[column] = job.fetch + time / slots
        program.above(phases[2], load)
        program.above(paid[kind], work)
        program.above(paid[kind], {uptime: count, on[kind]: limits.horizon}, -limits.horizon * count)
        program.at_most({paid[kind]: 1.0, uptime: -count}, 0.0)
        program.at_most({paid[kind]: 1.0, on[kind]: -float(limits.uptime[kind])}, 0.0)
    program.exactly(dict.fromkeys(maps.values(), 1.0), float(job.map_tasks))
    program.exactly(dict.fromkeys(reduces.values(), 1.0), float(job.reduce_tasks))
    if np.isfinite(job.budget):
        program.at_most({column: float(machines.price[kind]) / job.budget for kind, column in paid.items()}, 1.0)
    return on, paid, uptime
