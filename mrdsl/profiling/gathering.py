"""The contents of logs, gathered: classes of jobs and of applications, the cluster, and omitted jobs.

Jobs belong to one class by their name without dates and numbers, by queue, by user or by a pattern.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from mrdsl.exchange.logs.records import MapReduceJob, Run, SparkApplication
from mrdsl.profiling.classes import MAX, JobClass, LeftOut, Profiled, Summary, classes_of, sort_out
from mrdsl.profiling.cluster import Cluster, cluster_of
from mrdsl.profiling.growth import divided
from mrdsl.profiling.phases import phases_of
from mrdsl.profiling.stage_classes import (
    Grouped,
    StageClass,
    input_of,
    overhead_of,
    sort_out_applications,
    stage_classes_of,
)

Each = TypeVar("Each", MapReduceJob, SparkApplication)


@dataclass(frozen=True)
class Gathered:
    """All that the logs gave; ``jobs`` and ``applications`` are those that make a profile, with their classes.

    ``usable`` are the applications and those whose stages differ from most runs of their class.
    """

    classes: tuple[JobClass, ...]
    stage_classes: tuple[StageClass, ...]
    left_out: tuple[LeftOut, ...]
    cluster: Cluster
    jobs: tuple[Profiled, ...] = field(repr=False)
    applications: tuple[Grouped, ...] = field(repr=False)
    usable: tuple[Grouped, ...] = field(default=(), repr=False)

    @property
    def slot_time(self) -> float:
        """The slot-seconds of all runs, also of those that make no profile, and of jobs left out of runs."""
        held = sum(each.overhead.work + each.overhead.time for each in (*self.classes, *self.stage_classes))
        return held + sum(each.slot_time for each in self.left_out) + self.dropped_time

    @property
    def dropped_time(self) -> float:
        """The slot-seconds of jobs that failed or did not end, in runs that make a profile."""
        return sum(each.dropped_time for each, _ in self.applications) / 1000

    def share(self, classes: Iterable[Summary]) -> float:
        """Return the share of the observed slot time that classes stand for; 1 without slot time."""
        every = self.slot_time
        return sum(each.overhead.work + each.overhead.time for each in classes) / every if every else 1.0

    @property
    def runs(self) -> int:
        """The number of runs with a profile."""
        return len(self.jobs) + len(self.applications)


def gather(named: Iterable[tuple[Run, str]], *, longest: str = MAX, sort_counts_as: str = "reduce") -> Gathered:
    """Return classes from runs with the names of their classes.

    ``longest`` is ``max`` or ``p95``, the maximum of a phase; ``sort_counts_as`` is ``reduce`` or ``shuffle``. The
    cluster is counted over all runs, also those without a profile, but each once.
    """
    jobs: list[tuple[MapReduceJob, str]] = []
    applications: list[Grouped] = []
    for run, name in named:
        if isinstance(run, MapReduceJob):
            jobs.append((run, name))
        else:
            applications.append((run, name))
    used, left = sort_out(jobs)
    parts = divided([(each, each[2]) for each in used], lambda each: each[0].input_bytes, _work_of_job)
    used = [(job, phases, name) for (job, phases, _), name in parts]
    whole, rest = sort_out_applications(applications)
    whole = divided(whole, input_of, lambda run: overhead_of(run).work)
    stage_classes, profiled, others = stage_classes_of(whole, longest=longest)
    return Gathered(
        classes_of(used, longest=longest, sort_counts_as=sort_counts_as),
        stage_classes,
        (*left, *rest, *others),
        cluster_of(_once(run for run, _ in jobs), _once(run for run, _ in applications)),
        tuple(used),
        tuple(profiled),
        tuple(whole),
    )


def _work_of_job(profiled: Profiled) -> float:
    return profiled[1].overhead.work


def _once(runs: Iterable[Each]) -> Sequence[Each]:
    kept: dict[tuple[str, int | None], Each] = {}
    for run in runs:
        key = (run.job, run.submitted) if isinstance(run, MapReduceJob) else (run.application, run.started)
        kept.setdefault(key, run)
    return tuple(kept.values())


_STRIPPED = (
    re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"),
    re.compile(r"\b(?:application|job|attempt|task|oozie|query|hive)_?[0-9][0-9_]*"),
    re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T :_-]?[0-9]{2}(?:[:_-]?[0-9]{2}){0,2})?"),
    re.compile(r"\b[0-9a-f]{12,}\b"),
    re.compile(r"[0-9]+"),
)
_EDGES = re.compile(r"[\s:._/\\|#@,;(){}\[\]+-]+")
UNNAMED = "unnamed"
LONGEST = 60
"""Characters of a class's name at most."""


def normalised(name: str) -> str:
    """Return the name without dates, numbers and ids, its words joined by ``_``: ``Sleep job`` and ``Sleep job 7`` are
    one.
    """
    for pattern in _STRIPPED:
        name = pattern.sub(" ", name)
    words = [word for word in _EDGES.split(name) if word.strip("_")]
    return "_".join(words)[:LONGEST].strip("_") or UNNAMED


def class_name(found: str) -> str:
    """Return the name of a class from the text of a log: on one line, not empty, at most 60 characters.

    The same text gives the same name in all logs, and two texts that are cut or changed give two names.
    """
    shown = "".join(sign if sign.isprintable() else " " for sign in found).strip()
    if not shown:
        return UNNAMED
    if len(shown) <= LONGEST and shown == found:
        return found
    return f"{shown[: LONGEST - 9]}_{hashlib.sha256(found.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def grouper(by: str) -> Callable[[Run], str]:
    """Return the function from a job to its class for ``by``: ``name``, ``queue``, ``user``, ``tasks`` or a regular
    expression.

    The first group of the expression, or its whole match, in the name is the class. Raises ValueError if the expression
    is not valid.
    """
    if by == "name":
        return lambda job: normalised(job.name)
    if by == "queue":
        return lambda job: job.queue.rpartition(".")[2] or "default"
    if by == "user":
        return lambda job: job.user or "nobody"
    if by == "tasks":
        return _shape
    try:
        pattern = re.compile(by)
    except re.error as cause:
        raise ValueError(f"`{by}` is neither name, queue, user nor tasks, nor a regular expression: {cause}") from None

    def matched(job: Run) -> str:
        match = pattern.search(job.name)
        return (match[1] if match.groups() and match[1] else match[0]) if match else "other"

    return matched


def _shape(run: Run) -> str:
    """Return the features known at submission: the tasks rounded down to a power of two, or the stages of Spark."""
    if not isinstance(run, MapReduceJob):
        return f"stages_{len({stage.stage for stage in run.stages if stage.launches})}"
    phases = phases_of(run)
    maps, reduces = (count and 2 ** (count.bit_length() - 1) for count in (phases.map.count, phases.reduce.count))
    return f"maps_{maps}_reduces_{reduces}" if reduces else f"maps_{maps}"


def clustered(features: Sequence[Sequence[float]], classes: int | None, seed: int) -> tuple[list[int], float | None]:
    """Return the cluster of each job, numbered by first appearance, and the silhouette, by k-means on log features.

    ``features`` are positive numbers, one row a job. Without ``classes`` it uses the number from 2 to 8 with the best
    silhouette, or 1 if that is below 0.25. Raises ImportError without scikit-learn.
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    rows = np.log1p(np.asarray(features, dtype=float))
    spread = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    distinct = len(np.unique(rows, axis=0))

    def labels(number: int) -> np.ndarray:
        clusters: np.ndarray = KMeans(number, n_init=10, random_state=seed).fit_predict(rows)
        return clusters

    def score(clusters: np.ndarray) -> float:
        return float(silhouette_score(rows, clusters)) if 1 < len(set(clusters.tolist())) < len(rows) else 0.0

    if classes is not None:
        best = labels(min(classes, distinct))
    else:
        tried = [labels(number) for number in range(2, min(8, distinct, len(rows) - 1) + 1)]
        best = max(tried, key=score, default=np.zeros(len(rows), dtype=int))
        if score(best) < 0.25:
            best = np.zeros(len(rows), dtype=int)
    numbers = {label: position for position, label in enumerate(dict.fromkeys(best.tolist()))}
    return [numbers[label] for label in best.tolist()], score(best) if len(numbers) > 1 else None


def features(run: Run) -> tuple[float | None, ...]:
    """Return the features for clustering: mean times and numbers of maps and reduces (Spark: tasks, stages), bytes
    read.

    None is unknown, as bytes are if a log has no such counter.
    """
    if isinstance(run, MapReduceJob):
        phases = phases_of(run)
        means = phases.map.average or 0.0, phases.reduce.average or 0.0
        return (*means, float(phases.map.count), float(phases.reduce.count), _known(run.input_bytes))
    durations = [value for stage in run.stages for value in stage.durations]
    return (
        sum(durations) / len(durations) if durations else 0.0,
        0.0,
        float(len(durations)),
        float(sum(bool(stage.launches) for stage in run.stages)),
        float(sum(stage.input_bytes for stage in run.stages)),
    )


def _known(value: int | None) -> float | None:
    return None if value is None else float(value)


def known_features(runs: Sequence[Run]) -> list[list[float]]:
    """Return the features that are known of all runs; otherwise clusters would separate formats, not jobs."""
    rows = [features(run) for run in runs]
    columns = [column for column in zip(*rows, strict=True) if None not in column]
    return [list(row) for row in zip(*columns, strict=True)]
