"""Figure 2 of Nabavinejad et al. again: how far apart plans lie that keep every promise, drawn at random.

The paper draws provisions and schedules at random, 200 times for each medium workload, and shows the energies of those
that keep deadline, budget and stock; it prints no numbers. Here a draw takes some VMs of the stock, each number of them
alike likely, deals the tasks evenly over slots in random order, and counts where the promises are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mrdsl.core.result import Table
from mrdsl.families.energy.assignment import Share, job_use
from mrdsl.families.energy.cluster import Ints, JobData, Machines, jobs_of, machines_of
from mrdsl.families.energy.methods.steps import keeps
from mrdsl.simulation.sampling import stream
from studies.energy_workloads import WORKLOADS, decide, workload


def drawn(machines: Machines, job: JobData, random: np.random.RandomState) -> Share:
    """A job's tasks dealt over the slots of VMs that were drawn; the promises may be broken."""
    stock = np.repeat(np.arange(len(machines)), machines.available)
    chosen = np.sort(random.permutation(stock)[: random.randint(1, len(stock) + 1)])
    maps = _dealt(job.map_tasks, machines.map_slots[chosen], random)
    reduces = _dealt(job.reduce_tasks, machines.reduce_slots[chosen], random)
    return Share(chosen, maps, reduces)


def _dealt(tasks: int, slots: Ints, random: np.random.RandomState) -> Ints:
    """Tasks of each VM: as many for every slot, the rest on slots in random order."""
    owners = random.permutation(np.repeat(np.arange(len(slots)), slots))
    each, more = divmod(tasks, len(owners))
    return np.asarray(each * slots + np.bincount(owners[:more], minlength=len(slots)), dtype=np.int64)


def random_plans(
    output: Path, scale: str = "medium", plans: int = 200, tries: int = 5000, seed: int = 1
) -> Iterator[Table]:
    """The energies of drawn plans over that of the best plan that `mrdsl-energy` finds, workload by workload."""
    rows = []
    for name, title in WORKLOADS.items():
        spec = workload(name, scale)
        machines, (job,) = machines_of(spec.facts), jobs_of(spec.facts)
        best = decide(spec, "mrdsl-energy")
        assert best is not None, f"{name}-{scale} has no plan"
        random, made = stream(seed, "plans", name, scale), 0
        found: list[float] = []
        while made < tries and len(found) < plans:
            use = job_use(machines, job, drawn(machines, job, random))
            made += 1
            if keeps(job, use):
                found.append(use.energy.total / best.energy.total)
        spread = (min(found), float(np.median(found)), max(found)) if found else (None, None, None)
        rows.append((title, made, len(found), *spread))
    heads = ("workload", "draws", "keep their promises", "least", "median", "most")
    yield Table(f"Figure 2: energy of drawn plans over the best, {scale} workloads", heads, rows)
