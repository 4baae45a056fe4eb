"""Today's cluster as the logs show it: what any plan is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat

import numpy as np
from numpy.typing import NDArray

from mrdsl.exchange.logs.attempts import AttemptEnd, Attempts, TaskKind
from mrdsl.exchange.logs.records import MapReduceJob, SparkApplication
from mrdsl.profiling.concurrency import HOUR, Counts, counts_of, counts_of_spans, covered

Moments = NDArray[np.int64]
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
    spans = {kind: _spans(jobs, kind) for kind in TaskKind}
    counts = {str(kind): counts_of_spans(starts, ends) for kind, (starts, ends, _) in spans.items()}
    launches = [np.frombuffer(stage.launches, np.int64) for each in applications for stage in each.stages]
    finishes = [np.frombuffer(stage.finishes, np.int64) for each in applications for stage in each.stages]
    counts["task"] = counts_of_spans(np.concatenate([_NONE, *launches]), np.concatenate([_NONE, *finishes]))
    seen = [each for each in counts.values() if len(each.times)]
    length = int(max(each.times[-1] for each in seen) - min(each.times[0] for each in seen)) if seen else 0
    on_one = {}
    for kind, (starts, ends, names) in spans.items():
        known = sorted(set(names) - {""})
        hosts.update(known)
        numbers = np.fromiter(map({name: place for place, name in enumerate(known)}.get, names, repeat(-1)), np.int64)
        on_one[str(kind)] = _most_on_one(starts, ends, numbers)
    on_one["task"] = max((each.host_cores // each.task_cpus for each in applications if each.host_cores), default=0)
    slots = {kind: _slots(counts[kind], on_one[kind], length) for kind in TASKS}
    return Cluster(**slots, vms=len(hosts - {""}), hours=length / HOUR, busy=covered(seen) / HOUR)


def parallel_tasks(job: MapReduceJob, kind: TaskKind) -> int:
    """The most successful tasks of a kind that the job itself had running at once."""
    return counts_of(
        (each.start, each.finish)
        for each in job.attempts
        if each.kind is kind and each.end is AttemptEnd.SUCCEEDED and each.start is not None and each.finish is not None
    ).most


def _slots(counts: Counts, on_one: int, length: int) -> Slots:
    most = counts.most
    return Slots(most, on_one, counts.busy / (most * length) if most and length else 0.0)


def _spans(jobs: Sequence[MapReduceJob], kind: TaskKind) -> tuple[Moments, Moments, list[str]]:
    parts = [Attempts.of(job.attempts).spans(kind) for job in jobs]
    starts, ends = (np.concatenate([_NONE, *(part[place] for part in parts)]) for place in (0, 1))
    return starts, ends, [host for part in parts for host in part[2]]


def _most_on_one(starts: Moments, ends: Moments, hosts: Moments) -> int:
    """The most at once on any host; those of the host -1 do not count."""
    order = np.argsort(hosts, kind="stable")
    edges = np.searchsorted(hosts[order], np.arange(hosts.max(initial=-1) + 2))
    parts = (order[begin:end] for begin, end in pairwise(edges))
    return max((counts_of_spans(starts[part], ends[part]).most for part in parts), default=0)
