"""All that logs gave, gathered: classes of jobs and of applications, the cluster, what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from mrdsl.exchange.logs.records import MapReduceJob, Run, SparkApplication
from mrdsl.profiling.classes import JobClass, Profiled, classes_of, sort_out
from mrdsl.profiling.cluster import Cluster, cluster_of
from mrdsl.profiling.stage_classes import Grouped, StageClass, sort_out_applications, stage_classes_of
from mrdsl.profiling.summary import MAX, LeftOut

Each = TypeVar("Each", MapReduceJob, SparkApplication)


@dataclass(frozen=True)
class Gathered:
    """All that the logs gave; ``jobs`` and ``applications`` are those that make a profile, with their classes."""

    classes: tuple[JobClass, ...]
    stage_classes: tuple[StageClass, ...]
    left_out: tuple[LeftOut, ...]
    cluster: Cluster
    jobs: tuple[Profiled, ...] = field(repr=False)
    applications: tuple[Grouped, ...] = field(repr=False)

    @property
    def runs(self) -> int:
        """How many runs make a profile."""
        return len(self.jobs) + len(self.applications)


def gather(named: Iterable[tuple[Run, str]], *, longest: str = MAX, sort_counts_as: str = "reduce") -> Gathered:
    """Classes out of runs with the names of their classes.

    ``longest`` is ``max`` or ``p95``, what stands as the maximum of a phase; ``sort_counts_as`` is ``reduce`` or
    ``shuffle``. The cluster is counted over all runs, those that make no profile included, but each once.
    """
    jobs: list[tuple[MapReduceJob, str]] = []
    applications: list[Grouped] = []
    for run, name in named:
        if isinstance(run, MapReduceJob):
            jobs.append((run, name))
        else:
            applications.append((run, name))
    used, left = sort_out(jobs)
    profiled, rest = sort_out_applications(applications)
    return Gathered(
        classes_of(used, longest=longest, sort_counts_as=sort_counts_as),
        stage_classes_of(profiled, longest=longest),
        (*left, *rest),
        cluster_of(_once(run for run, _ in jobs), _once(run for run, _ in applications)),
        tuple(used),
        tuple(profiled),
    )


def _once(runs: Iterable[Each]) -> Sequence[Each]:
    kept: dict[tuple[str, int | None], Each] = {}
    for run in runs:
        key = (run.job, run.submitted) if isinstance(run, MapReduceJob) else (run.application, run.started)
        kept.setdefault(key, run)
    return tuple(kept.values())
