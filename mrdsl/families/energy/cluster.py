"""The facts as arrays over VM types: what formulations and heuristics compute with."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from mrdsl.families.energy.facts import EnergyFacts, Job
from mrdsl.formulas.transfer import reduce_share
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
class JobData:
    """One job over the VM types. Times are infinite and energies too where a kind of task cannot run.

    ``place`` and ``send`` are the seconds that one map task's block and output keep a VM's port busy, ``fetch`` those
    of one reduce task's input. ``deadline`` and ``budget`` are infinite where the spec gives none. ``transfer_energy``
    holds the energies of placement and shuffle: summed over the VMs they do not depend on the assignment, since every
    byte passes some port for the same time.
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

    @property
    def placement_energy(self) -> float:
        """Eq. (7), J."""
        return self.io_power * self.place * self.map_tasks

    @property
    def shuffle_energy(self) -> float:
        """Eq. (8), J; 0 without reduce tasks."""
        return self.io_power * (self.send * self.map_tasks + self.fetch * self.reduce_tasks)


def machines_of(facts: EnergyFacts) -> Machines:
    """The VM types as arrays; slots of a VM beyond all tasks of the spec never run one and are left out."""
    tasks = max(1, sum(job.map.tasks + job.reduce_tasks for job in facts.jobs))
    return Machines(
        names=tuple(names_of(facts.vms)),
        price=column(facts.vms, "on_demand.price"),
        map_slots=np.minimum(column(facts.vms, "slots.map"), tasks).astype(np.int64),
        reduce_slots=np.minimum(column(facts.vms, "slots.reduce"), tasks).astype(np.int64),
        available=column(facts.vms, "available").astype(np.int64),
    )


def jobs_of(facts: EnergyFacts) -> tuple[JobData, ...]:
    """The jobs as arrays, in spec order."""
    names = list(names_of(facts.vms))
    return tuple(_job_data(job, names, facts.network.speed, facts.network.io_power) for job in facts.jobs)


def _job_data(job: Job, names: list[str], speed: float, io_power: float) -> JobData:
    profiles = {profile.name: profile for profile in job.on}
    maps = [profiles[name].map if name in profiles else None for name in names]
    reduces = [profiles[name].reduce if name in profiles else None for name in names]
    count, reduce_count = job.map.tasks, job.reduce_tasks
    fetched = reduce_share(count, reduce_count, job.map.block, job.intermediate)
    return JobData(
        name=job.name,
        map_tasks=count,
        reduce_tasks=reduce_count,
        map_time=np.array([inf if p is None else p.time for p in maps]),
        reduce_time=np.array([inf if p is None else p.time for p in reduces]),
        map_energy=np.array([inf if p is None else p.energy for p in maps]),
        reduce_energy=np.array([inf if p is None else p.energy for p in reduces]),
        place=job.map.block / speed,
        send=job.map.block * job.intermediate / speed if reduce_count else 0.0,
        fetch=fetched / speed,
        deadline=inf if job.deadline is None else job.deadline,
        budget=inf if job.budget is None else job.budget,
        io_power=io_power,
    )
