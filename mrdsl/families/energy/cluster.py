"""Arrays over VM types for formulations and heuristics.

The input data alone bound a job's uptime, its waves and its tasks per VM.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import one_error
from mrdsl.core.rounding import floor
from mrdsl.families.energy.facts import EnergyFacts, Job
from mrdsl.formulas.workloads import reduce_share
from mrdsl.spec.columns import column, names_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Machines:
    """VM types in spec order: price per second, slots of either kind, how many there are."""

    names: tuple[str, ...]
    price: Floats
    map_slots: Ints
    reduce_slots: Ints
    available: Ints

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True)
class Single:
    """Times [s] and energies [J] of each map and each reduce task, (tasks, types); infinite where it cannot run."""

    map_time: Floats
    map_energy: Floats
    reduce_time: Floats
    reduce_energy: Floats


@dataclass(frozen=True)
class JobData:
    """One job over the VM types. Times and energies are infinite if a kind of task cannot run.

    ``place`` and ``send`` are the seconds that one map task's block and output occupy a VM's port, ``fetch`` those of
    one reduce task's input. ``deadline`` and ``budget`` are infinite if the spec has none. ``transfer_energy`` holds
    the energies of placement and shuffle. Summed over the VMs they do not depend on the assignment, since every byte
    passes some port for the same time. ``single`` is true if the tasks differ; times and energies of a kind are then
    those of its longest and of its dearest task.
    """

    name: str
    map_tasks: int
    reduce_tasks: int
    map_time: Floats
    reduce_time: Floats
    map_energy: Floats
    reduce_energy: Floats
    place: float
    send: float
    fetch: float
    deadline: float
    budget: float
    io_power: float
    single: Single | None = None

    def each(self) -> Single:
        """Return the times and energies of all tasks, one by one, also of tasks that are alike."""
        if self.single is not None:
            return self.single
        maps, reduces = self.map_tasks, self.reduce_tasks
        both = (
            (self.map_time, maps),
            (self.map_energy, maps),
            (self.reduce_time, reduces),
            (self.reduce_energy, reduces),
        )
        return Single(*(np.broadcast_to(values, (count, len(values))) for values, count in both))

    @property
    def placement_energy(self) -> float:
        """Eq. (7), J."""
        return self.io_power * self.place * self.map_tasks

    @property
    def shuffle_energy(self) -> float:
        """Eq. (8), J; 0 without reduce tasks."""
        return self.io_power * (self.send * self.map_tasks + self.fetch * self.reduce_tasks)


def machines_of(facts: EnergyFacts) -> Machines:
    """Return the VM types as arrays; slots of a VM beyond all tasks of the spec never run one and are left out."""
    tasks = max(1, sum(job.map.tasks + job.reduce_tasks for job in facts.jobs))
    return Machines(
        names=tuple(names_of(facts.vms)),
        price=column(facts.vms, "on_demand.price"),
        map_slots=np.minimum(column(facts.vms, "slots.map"), tasks).astype(np.int64),
        reduce_slots=np.minimum(column(facts.vms, "slots.reduce"), tasks).astype(np.int64),
        available=column(facts.vms, "available").astype(np.int64),
    )


def jobs_of(facts: EnergyFacts) -> tuple[JobData, ...]:
    """Return the jobs as arrays, in spec order."""
    names = list(names_of(facts.vms))
    return tuple(_job_data(job, names, facts.network.speed, facts.network.io_power) for job in facts.jobs)


def _job_data(job: Job, names: list[str], speed: float, io_power: float) -> JobData:
    profiles = {profile.name: profile for profile in job.on}
    maps = [profiles[name].map if name in profiles else None for name in names]
    reduces = [profiles[name].reduce if name in profiles else None for name in names]
    count, reduce_count = job.map.tasks, job.reduce_tasks
    fetched = reduce_share(count, reduce_count, job.map.block, job.intermediate)
    alike = [
        np.array([inf if p is None else getattr(p, item) for p in profiles_of])
        for profiles_of in (maps, reduces)
        for item in ("time", "energy")
    ]
    single = None if job.task_times is None else _single(job, names, alike)
    map_time, map_energy, reduce_time, reduce_energy = alike if single is None else _largest(single)
    return JobData(
        name=job.name,
        map_tasks=count,
        reduce_tasks=reduce_count,
        map_time=map_time,
        reduce_time=reduce_time,
        map_energy=map_energy,
        reduce_energy=reduce_energy,
        place=job.map.block / speed,
        send=job.map.block * job.intermediate / speed if reduce_count else 0.0,
        fetch=fetched / speed,
        deadline=inf if job.deadline is None else job.deadline,
        budget=inf if job.budget is None else job.budget,
        io_power=io_power,
        single=single,
    )


def _single(job: Job, names: list[str], alike: list[Floats]) -> Single:
    """Each task as its rows in the table have it, on other types as all tasks of its kind."""
    from mrdsl.exchange.demand import read_task_times

    assert job.task_times is not None
    counts = {"map": job.map.tasks, "reduce": job.reduce_tasks}
    each = [
        np.tile(values, (counts[kind], 1))
        for values, kind in zip(alike, ("map", "map", "reduce", "reduce"), strict=True)
    ]
    for row in read_task_times(job.task_times, counts, names)[0]:
        at, first = (row.task - 1, names.index(row.vm)), 0 if row.kind == "map" else 2
        each[first][at], each[first + 1][at] = row.time, row.energy
    return Single(*each)


def _largest(single: Single) -> list[Floats]:
    """The largest finite time and energy of each kind on each type, infinite if no task of the kind can run there."""
    found = []
    for values in (single.map_time, single.map_energy, single.reduce_time, single.reduce_energy):
        able = np.isfinite(values)
        found.append(np.where(able.any(axis=0), np.where(able, values, -inf).max(axis=0, initial=-inf), inf))
    return found


def only_alike(jobs: tuple[JobData, ...], facts: EnergyFacts, what: str) -> None:
    """Raise MrdslError ``unable-solver`` if the tasks of a job differ from each other."""
    for job, node in zip(jobs, facts.jobs, strict=True):
        if job.single is not None:
            message = f"{what} does not support `task_times` of job {job.name}, whose tasks differ"
            hint = "solve with `--formulation per_task`, or with emrsa-1, emrsa-2 or emrsaps"
            raise one_error("unable-solver", message, node.span_of("task_times"), hint)


@dataclass(frozen=True)
class JobLimits:
    """Limits that hold for every plan of the job that meets its deadline and its budget.

    ``horizon`` bounds the uptime; ``uptime`` bounds it per type, given that a VM of the type is taken. The others
    bound, per type, waves and tasks on one VM. ``shortest`` holds lower bounds on the four phases.
    """

    horizon: float
    uptime: Floats
    map_waves: Ints
    reduce_waves: Ints
    maps: Ints
    reduces: Ints
    shortest: tuple[float, float, float, float]

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Types on which some task of the job can run on time."""
        return (self.maps > 0) | (self.reduces > 0)


def paid_time(job: JobData, price: Floats | float) -> Floats:
    """Return the time for which a job's budget pays VMs of a price [s]; infinite if they cost nothing."""
    each = np.asarray(price, dtype=float)
    found: Floats = np.full(each.shape, inf)
    np.divide(job.budget, each, out=found, where=each > 0.0)
    return found


def limits_of(machines: Machines, job: JobData) -> JobLimits:
    """Return the limits of one job."""
    some = machines.available > 0
    can_map = some & np.isfinite(job.map_time)
    can_reduce = some & np.isfinite(job.reduce_time) & (job.reduce_tasks > 0)
    usable = can_map | can_reduce
    uptime = np.minimum(paid_time(job, machines.price), min(job.deadline, _serial(job, can_map, can_reduce)))
    uptime = np.where(usable, uptime, 0.0)
    shortest = shortest_phases(machines, job, can_map, can_reduce)
    map_waves = _waves(uptime - (sum(shortest) - shortest[1]), job.map_time, can_map, machines.map_slots, job.map_tasks)
    reduce_waves = _waves(
        uptime - (sum(shortest) - shortest[3]), job.reduce_time, can_reduce, machines.reduce_slots, job.reduce_tasks
    )
    port = uptime - shortest[1] - shortest[3]
    return JobLimits(
        horizon=float(uptime.max(initial=0.0)),
        uptime=uptime,
        map_waves=map_waves,
        reduce_waves=reduce_waves,
        maps=_tasks(machines.map_slots * map_waves, job.map_tasks, port, job.place + job.send),
        reduces=_tasks(machines.reduce_slots * reduce_waves, job.reduce_tasks, port, job.fetch),
        shortest=shortest,
    )


def loose_limits_of(machines: Machines, job: JobData) -> JobLimits:
    """Return the limits of (4) and (9) alone: the deadline, or the time for which the budget pays the cheapest VM."""
    able = np.isfinite(job.map_time) | np.isfinite(job.reduce_time)
    serial = _serial(job, np.isfinite(job.map_time), np.isfinite(job.reduce_time))
    cheapest = float(machines.price[able].min(initial=inf))
    horizon = min(job.deadline, float(paid_time(job, cheapest)), serial)
    kinds = len(machines)
    maps, reduces = np.full(kinds, job.map_tasks), np.full(kinds, job.reduce_tasks)
    return JobLimits(horizon, np.full(kinds, horizon), maps, reduces, maps, reduces, (0.0, 0.0, 0.0, 0.0))


def shortest_phases(
    machines: Machines, job: JobData, can_map: NDArray[np.bool_], can_reduce: NDArray[np.bool_]
) -> tuple[float, float, float, float]:
    """Lower bounds on placement, map, shuffle, reduce: one wave on the fastest type, and even transfers to all VMs."""
    mappers, reducers = float(machines.available[can_map].sum()), float(machines.available[can_reduce].sum())
    every = float(machines.available[can_map | can_reduce].sum())
    if not mappers or (job.reduce_tasks and not reducers):
        return inf, inf, inf, inf
    moved = job.send * job.map_tasks + job.fetch * job.reduce_tasks
    return (
        job.place * float(np.ceil(job.map_tasks / mappers)),
        float(job.map_time[can_map].min()),
        moved / every,
        float(job.reduce_time[can_reduce].min()) if job.reduce_tasks else 0.0,
    )


def _serial(job: JobData, can_map: NDArray[np.bool_], can_reduce: NDArray[np.bool_]) -> float:
    """Return an uptime that no sensible plan exceeds: everything one after another on the slowest slot."""
    port = (job.place + job.send) * job.map_tasks + job.fetch * job.reduce_tasks
    slowest_map = float(job.map_time[can_map].max(initial=0.0))
    slowest_reduce = float(job.reduce_time[can_reduce].max(initial=0.0))
    return port + slowest_map * job.map_tasks + slowest_reduce * job.reduce_tasks


def _waves(room: Floats, time: Floats, able: NDArray[np.bool_], slots: Ints, tasks: int) -> Ints:
    rounds = np.zeros(len(time))
    rounds[able] = floor(room[able] / time[able])
    return np.minimum(np.maximum(rounds, 0.0), np.ceil(tasks / slots)).astype(np.int64)


def _tasks(capacity: Ints, tasks: int, port: Floats, port_time: float) -> Ints:
    most = np.minimum(capacity, tasks)
    if port_time == 0.0:
        return most
    return np.minimum(most, floor(np.maximum(port, 0.0) / port_time)).astype(np.int64)
