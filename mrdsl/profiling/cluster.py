"""Today's cluster as the logs show it: what any plan is compared with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mrdsl.exchange.logs.attempts import AttemptEnd, TaskKind
from mrdsl.exchange.logs.records import MapReduceJob, SparkApplication
from mrdsl.profiling.concurrency import HOUR, Counts, Interval, counts_of, covered

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
    hosts: set[str] = {host for each in applications for host in each.hosts}
    by_kind: dict[str, dict[str, list[Interval]]] = {}
    for kind in TaskKind:
        by_kind[kind] = _by_host(jobs, kind)
        hosts.update(by_kind[kind])
    counts = {kind: counts_of(_all(hosts_of.values())) for kind, hosts_of in by_kind.items()}
    counts["task"] = counts_of(
        pair for each in applications for stage in each.stages
        for pair in zip(stage.launches, stage.finishes, strict=True)
    )  # fmt: skip
    seen = [each for each in counts.values() if len(each.times)]
    length = int(max(each.times[-1] for each in seen) - min(each.times[0] for each in seen)) if seen else 0
    on_one = {
        kind: max((counts_of(tasks).most for host, tasks in by_host.items() if host), default=0)
        for kind, by_host in by_kind.items()
    }
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


def _by_host(jobs: Iterable[MapReduceJob], kind: TaskKind) -> dict[str, list[Interval]]:
    by_host: dict[str, list[Interval]] = {}
    for job in jobs:
        for each in job.attempts:
            if each.kind is kind and each.start is not None and each.finish is not None:
                by_host.setdefault(each.host, []).append((each.start, each.finish))
    return by_host


def _all(parts: Iterable[list[Interval]]) -> Iterator[Interval]:
    for part in parts:
        yield from part
