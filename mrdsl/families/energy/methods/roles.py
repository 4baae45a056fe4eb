"""VMs of one type in three roles: for both kinds of tasks, for map tasks alone, for reduce tasks alone.

A VM that only maps receives nothing in the shuffle and one that only reduces sends nothing, so specialised VMs may end
the shuffle earlier, (6). A search over numbers of VMs per type shares a type's tasks evenly; over numbers per type *and
role* it may specialise. Kinds are numbered role by role: first all types for both, then for map, then for reduce tasks.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from mrdsl.families.energy.assignment import Share
from mrdsl.families.energy.cluster import Floats, Ints, JobData, Machines

BOTH, MAPS, REDUCES = range(3)


def in_roles(machines: Machines) -> Machines:
    """The machines by kind: every type three times, all that are available in each role."""
    return Machines(
        names=machines.names * 3,
        price=np.tile(machines.price, 3),
        map_slots=np.tile(machines.map_slots, 3),
        reduce_slots=np.tile(machines.reduce_slots, 3),
        available=np.tile(machines.available, 3),
    )


def job_in_roles(job: JobData) -> JobData:
    """The job over kinds: infinite times and energies of the tasks that a role does not run."""

    def maps(values: Floats) -> Floats:
        return np.concatenate([values, values, np.full(len(values), inf)])

    def reduces(values: Floats) -> Floats:
        return np.concatenate([values, np.full(len(values), inf), values])

    return replace(
        job,
        map_time=maps(job.map_time),
        map_energy=maps(job.map_energy),
        reduce_time=reduces(job.reduce_time),
        reduce_energy=reduces(job.reduce_energy),
    )


def by_kind(vms: Ints) -> Ints:
    """Numbers of VMs per type as numbers per kind, all for both kinds of tasks."""
    return np.concatenate([vms, np.zeros(2 * len(vms), dtype=np.int64)])


def by_type(vms: Ints) -> Ints:
    """Numbers of VMs per kind as numbers per type."""
    return np.asarray(vms.reshape(3, -1).sum(axis=0), dtype=np.int64)


def share_by_type(share: Share, types: int) -> Share:
    """A share over kinds as one over types."""
    return replace(share, types=share.types % types)
