"""The contents of logs, gathered: classes of jobs and of applications, the cluster, omitted and known jobs.

Jobs belong to one class by their name without dates and numbers, by queue, by user or by a pattern.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import add
from statistics import median
from typing import TypeVar

import numpy as np

from mrdsl.exchange.logs.records import MapReduceJob, Run, SparkApplication
from mrdsl.formulas.stages import longest_path
from mrdsl.profiling.classes import MAX, P95, JobClass, LeftOut, Profiled, Summary, classes_of, sort_out
from mrdsl.profiling.cluster import Cluster, cluster_of
from mrdsl.profiling.losses import divided
from mrdsl.profiling.phases import phases_of
from mrdsl.profiling.stage_classes import (
    Grouped,
    StageClass,
    input_of,
    overhead_of,
    sort_out_applications,
    stage_classes_of,
)
from mrdsl.simulation.engine.draws import Floats, Samples, TaskTimes
from mrdsl.simulation.engine.world import Stage
from mrdsl.simulation.own_draws import OwnStage, drawn
from mrdsl.simulation.own_slots import blocks_of, job_times

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


RUNS, TASKS = 500, 100_000
"""Simulations of one job: so many, or fewer with so many tasks in total, but at least three."""


@dataclass(frozen=True)
class Part:
    """A stage of a job: its tasks, its predecessors, the time before it, and recorded times of its tasks [s].

    ``work`` are times after the shuffle, ``first`` and ``later`` those of the shuffle in the first wave and after it.
    """

    tasks: int
    after: tuple[int, ...]
    delay: float
    work: tuple[float, ...]
    first: tuple[float, ...] = ()
    later: tuple[float, ...] = ()
    pool: int = 0


@dataclass(frozen=True)
class Known:
    """A job: the time before its first task, its stages, and the time after its last task [s]."""

    before: float
    parts: tuple[Part, ...]
    end: float


def scaled(part: Part, own: Part) -> Part:
    """Return the part with the tasks of the own one, and its times with the means of the own ones."""
    work, first, later = (
        _scaled(values, wanted)
        for values, wanted in ((part.work, own.work), (part.first, own.first), (part.later, own.later))
    )
    return replace(part, tasks=own.tasks, work=work, first=first, later=later)


def _scaled(values: tuple[float, ...], wanted: tuple[float, ...]) -> tuple[float, ...]:
    mean = sum(values) / len(values) if values else 0.0
    if not mean or not wanted:
        return values
    factor = sum(wanted) / len(wanted) / mean
    return tuple(value * factor for value in values)


def together(jobs: Sequence[Known]) -> Known:
    """Return jobs as one: mean numbers of tasks, all task times, medians of times outside tasks.

    They are of one shape, but a job can lack the last parts of others.
    """
    longest = max(jobs, key=lambda job: len(job.parts)).parts
    parts = tuple(
        _pooled([job.parts[place] for job in jobs if place < len(job.parts)]) for place in range(len(longest))
    )
    return Known(median(job.before for job in jobs), parts, median(job.end for job in jobs))


def _pooled(parts: Sequence[Part]) -> Part:
    return replace(
        parts[0],
        tasks=max(1, round(sum(part.tasks for part in parts) / len(parts))),
        delay=median(part.delay for part in parts),
        work=tuple(value for part in parts for value in part.work),
        first=tuple(value for part in parts for value in part.first),
        later=tuple(value for part in parts for value in part.later),
    )


def simulated(job: Known, slots: Sequence[int], seed: int) -> float:
    """Return the mean time of a job alone on slots [s], with task times drawn from the recorded ones."""
    work = [
        TaskTimes(*(Samples(times) if times else None for times in (part.work, part.first, part.later)))  # type: ignore[arg-type]
        for part in job.parts
    ]
    runs = max(3, min(RUNS, TASKS // sum(part.tasks for part in job.parts)))
    stages = [
        Stage(f"s{place}", part.tasks, part.after, part.pool, delay=_delay(job, part))
        for place, part in enumerate(job.parts)
    ]
    return float(job_times(drawn(stages, work, runs, seed, even=True), tuple(slots)).mean()) + job.end


def repeated(job: Known, slots: Sequence[int]) -> float:
    """Return the time of a job alone on slots [s], with the recorded task times in their order."""
    return float(job_times(own_stages(job), tuple(slots))[0]) + job.end


def own_stages(job: Known) -> list[OwnStage]:
    """Return the stages of a job with the recorded task times in their order, repeated for tasks without times."""
    stages = []
    for part in job.parts:
        shape = (1, max(part.tasks, len(part.work)))
        work, first, later = (np.resize(times, shape) for times in (part.work, part.first, part.later))
        waves: tuple[Floats, Floats | None] = (work + later, work + first) if part.first else (work, None)
        stages.append(OwnStage(part.after, _delay(job, part), waves[0], waves[1], part.pool))
    return stages


def _delay(job: Known, part: Part) -> float:
    return part.delay + (0.0 if part.after else job.before)


def estimates(job: Known, slots: Sequence[int], longest: str = MAX) -> tuple[float, float, float]:
    """Return the lower bound, the middle and the upper bound of the time of a job alone on slots [s].

    Blocks of stages that run with no other one add. With their work W and critical path P, a block takes at least W/k
    and P of averages, and at most (W - P)/k + P with P of longest tasks, and P if every task has a slot (Graham 1969).
    ``longest`` is ``max`` or ``p95``, the maximum of task times.
    """
    low = high = job.end
    for block in blocks_of(job.parts):
        own = [job.parts[place] for place in block]
        lower, upper = _block_bounds(job, own, block[0], slots[min(own[0].pool, len(slots) - 1)], longest)
        low, high = low + lower, high + upper
    return low, (low + high) / 2.0, high


def _block_bounds(job: Known, parts: Sequence[Part], start: int, slots: int, longest: str) -> tuple[float, float]:
    parents = tuple(tuple(parent - start for parent in part.after if parent >= start) for part in parts)
    delays = [_delay(job, part) for part in parts]
    work = [_mean(part.work) + max(_mean(part.first), _mean(part.later)) for part in parts]
    least = [_mean(part.work) + min(_mean(part.first), _mean(part.later)) for part in parts]
    ends = [_longest(part.work, longest) + _longest(part.later, longest) for part in parts]
    first = [_longest(part.work, longest) + _longest(part.first, longest) for part in parts]

    def path(lengths: Sequence[float]) -> float:
        return sum(lengths[place] for place in longest_path(parents, lengths))

    def summed(means: Sequence[float]) -> float:
        return sum(part.tasks * mean for part, mean in zip(parts, means, strict=True))

    ends = list(map(max, ends, first))
    alone = delays[0] if len(parts) == 1 else 0.0
    chain = path(ends)
    lower = max(summed(least) / slots + alone, path(list(map(add, least, delays))))
    if sum(part.tasks for part in parts) <= slots:
        return lower, path(list(map(add, ends, delays)))
    return lower, max(0.0, summed(work) - chain) / slots + chain + path(delays)


def _mean(times: Sequence[float]) -> float:
    return sum(times) / len(times) if times else 0.0


def _longest(times: Sequence[float], longest: str) -> float:
    """Return the maximum, or the 95th percentile but at least the mean; 0 without times."""
    if not times:
        return 0.0
    if longest == P95:
        return max(_mean(times), float(np.quantile(times, 0.95, method="inverted_cdf")))
    return max(times)
