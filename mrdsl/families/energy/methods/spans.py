"""How soon one job can end within its budget: a plan near the least makespan, and a proven bound on it.

A plan takes some set of VMs, of each type a number, and pays all of them until it ends. For a set the map phase takes
at least the shortest length whose whole waves hold all tasks, the reduce phase too, placement at least ``place`` per
task of an even share, and the shuffle at least what is moved over all ports. Sets whose bound the budget does not pay
are out; the least bound of the others bounds the makespan. Plans are made on an even choice of those sets, and the best
are improved by one VM more, less or exchanged.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, prod

import numpy as np

from mrdsl.core.tolerances import ROUNDING
from mrdsl.families.energy.assignment import Share, phases_of
from mrdsl.families.energy.cluster import Floats, Ints, JobData, Machines
from mrdsl.families.energy.sets import SetSearch

MOST_SETS = 300_000
FIRST_PLANS = 1_000
ENDS = 6


@dataclass(frozen=True)
class Start:
    """The shortest plan that was found, None where there is none, with its uptime, and a bound on every plan's, s."""

    share: Share | None
    uptime: float
    bound: float


def shortest_start(machines: Machines, job: JobData, until: float = inf) -> Start | None:
    """The shortest plan found on the sets of VMs, and their bound; None where there are too many sets.

    ``until``: by then of the monotonic clock no more plans are made once there is one [s].
    """
    if prod(int(available) + 1 for available in machines.available) > MOST_SETS:
        return None
    search = SetSearch(machines, job)
    sets = np.indices(tuple((machines.available + 1).tolist())).reshape(len(machines), -1).T[1:]
    bounds = _bounds(machines, search, sets)
    price = sets @ machines.price
    kept = np.flatnonzero(np.isfinite(bounds) & (bounds * price <= job.budget * (1 + ROUNDING)))
    kept = kept[np.argsort(bounds[kept], kind="stable")]
    first = kept[np.unique(np.linspace(0, max(len(kept) - 1, 0), FIRST_PLANS).astype(np.int64))] if len(kept) else kept
    plans = _Plans(search, {}, until)
    starts = sorted((sets[position] for position in first.tolist()), key=plans.uptime)[:ENDS]
    best = min((_descended(plans, vms) for vms in starts), key=plans.uptime, default=None)
    bound = float(bounds[kept[0]]) if len(kept) else inf
    if best is None or best.tobytes() not in plans.known or not np.isfinite(plans.uptime(best)):
        return Start(None, inf, bound)
    return Start(plans.known[best.tobytes()][1], plans.uptime(best), bound)


@dataclass(frozen=True)
class _Plans:
    """The plans made so far, by set, with the uptimes of those that the budget pays; infinite for the others."""

    search: SetSearch
    known: dict[bytes, tuple[float, Share | None]]
    until: float = inf

    def uptime(self, vms: Ints) -> float:
        key = vms.tobytes()
        if key not in self.known:
            if time.monotonic() > self.until and any(share is not None for _, share in self.known.values()):
                return inf
            self.known[key] = self._made(vms)
        return self.known[key][0]

    def _made(self, vms: Ints) -> tuple[float, Share | None]:
        shortest = self.search.shortest(vms) if vms.any() else None
        if shortest is None:
            return inf, None
        machines, job = self.search.machines, self.search.job
        share = self.search.share(shortest)
        uptime = phases_of(machines, job, share).total
        price = float(machines.price[share.types].sum())
        return (uptime, share) if price * uptime <= job.budget * (1 + ROUNDING) else (inf, None)


def _descended(plans: _Plans, vms: Ints) -> Ints:
    """The end of steepest descent from a set, by one VM more, less or exchanged."""
    while True:
        best = min(_neighbours(plans.search.machines, vms), key=plans.uptime, default=vms)
        if not plans.uptime(best) < plans.uptime(vms):
            return vms
        vms = best


def _neighbours(machines: Machines, vms: Ints) -> Iterator[Ints]:
    units = np.eye(len(vms), dtype=np.int64)
    steps = [*units, *-units, *(a - b for i, a in enumerate(units) for j, b in enumerate(units) if i != j)]
    for step in steps:
        new = vms + step
        if np.all(new >= 0) and np.all(new <= machines.available):
            yield new


def _bounds(machines: Machines, search: SetSearch, sets: Ints) -> Floats:
    """For every set a bound on the uptime of a plan that takes no other VMs; infinite where it cannot run the tasks."""
    job = search.job
    can_map, can_reduce = np.isfinite(job.map_time), np.isfinite(job.reduce_time)
    ends, reduce_ends = search.phase_bounds(sets)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.ceil(job.map_tasks / (sets @ can_map))
        moved = (job.send * job.map_tasks + job.fetch * job.reduce_tasks) / (sets @ (can_map | can_reduce))
    return np.asarray(
        np.where(np.isfinite(ends) & np.isfinite(reduce_ends), job.place * share + ends + moved + reduce_ends, inf)
    )
