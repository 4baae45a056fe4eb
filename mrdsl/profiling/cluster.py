"""Today's cluster as the logs show it: what any plan is compared with."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mrdsl.exchange.logs.records import AttemptEnd, Attempts, MapReduceJob, SparkApplication, TaskKind
from mrdsl.profiling.concurrency import HOUR, counts_of
from mrdsl.profiling.running import Moments, Running

_NONE = np.zeros(0, np.int64)
TASKS = ("map", "reduce", "task")


@dataclass(frozen=True)
class Slots:
    """The most tasks of a kind at once, on all VMs and on any one of them (0: untold), and the share of use."""

    most: int = 0
    on_one: int = 0
    use: float = 0.0


@dataclass(frozen=True)
class Cluster:
    """The cluster over ``hours`` from the first task to the last, in ``busy`` of which any ran; ``task`` are Spark's.

    ``vms`` are the machines that the logs name, 0 where they name none.
    """

    map: Slots = Slots()
    reduce: Slots = Slots()
    task: Slots = Slots()
    vms: int = 0
    hours: float = 0.0
    busy: float = 0.0

    def cost(self, price: float) -> float | None:
        """What the VMs cost an hour, at ``price`` for one; None where the logs name no machine."""
        return self.vms * price if self.vms else None


def cluster_of(jobs: Sequence[MapReduceJob], applications: Sequence[SparkApplication] = ()) -> Cluster:
    """What ran at once, all attempts of MapReduce included, the successful ones of Spark."""
    hosts = {host for each in applications for host in each.hosts}
    running: dict[str, Running] = {}
    on_one: dict[str, int] = {}
    for kind in TaskKind:
        starts, ends, on = _spans(jobs, kind, hosts)
        on_one[kind] = _most_on_one(starts, ends, on)
        running[kind] = Running.of(starts, ends)
        del starts, ends, on
    stages = [stage for each in applications for stage in each.stages]
    running["task"] = Running.of(
        np.concatenate([_NONE, *(np.frombuffer(stage.launches, np.int64) for stage in stages)]),
        np.concatenate([_NONE, *(np.frombuffer(stage.finishes, np.int64) for stage in stages)]),
    )
    on_one["task"] = max((each.host_cores // each.task_cpus for each in applications if each.host_cores), default=0)
    every = Running.together(list(running.values()))
    slots = {kind: _slots(running[kind], on_one[kind], every.length) for kind in TASKS}
    return Cluster(**slots, vms=len(hosts - {""}), hours=every.length / HOUR, busy=every.covered / HOUR)


def parallel_tasks(job: MapReduceJob, kind: TaskKind) -> int:
    """The most successful tasks of a kind that the job itself had running at once."""
    return counts_of(
        (each.start, each.finish)
        for each in job.attempts
        if each.kind is kind and each.end is AttemptEnd.SUCCEEDED and each.start is not None and each.finish is not None
    ).most


def _slots(running: Running, on_one: int, length: float) -> Slots:
    most = running.most
    return Slots(most, on_one, running.busy / (most * length) if most and length else 0.0)


def _spans(
    jobs: Sequence[MapReduceJob], kind: TaskKind, hosts: set[str]
) -> tuple[Moments, Moments, npt.NDArray[np.int32]]:
    """Starts, ends and numbers of machines, -1 where untold; the machines are added to ``hosts``."""
    starts, ends, on = array("q"), array("q"), array("i")
    numbers = {"": -1}
    for job in jobs:
        began, ended, names = Attempts.of(job.attempts).spans(kind)
        starts.frombytes(began.tobytes())
        ends.frombytes(ended.tobytes())
        on.extend(numbers.setdefault(name, len(numbers) - 1) for name in names)
    hosts.update(numbers.keys() - {""})
    return np.frombuffer(starts, np.int64), np.frombuffer(ends, np.int64), np.frombuffer(on, np.int32)


def _most_on_one(starts: Moments, ends: Moments, hosts: npt.NDArray[np.int32]) -> int:
    """The most at once on any host; those of the host -1 do not count."""
    order = np.argsort(hosts, kind="stable")
    edges = np.searchsorted(hosts[order], np.arange(hosts.max(initial=-1) + 2))
    parts = (order[begin:end] for begin, end in pairwise(edges))
    return max((Running.of(starts[part], ends[part]).most for part in parts), default=0)
