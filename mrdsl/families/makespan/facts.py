"""Input data of a makespan spec: the slots of a cluster and the jobs of a batch; and its checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic, Related, error, warning
from mrdsl.formulas.profiles import far_above, is_far_above
from mrdsl.spec.blocks import MapReduceSlots, ShufflePhase
from mrdsl.spec.columns import Columns, column, parts_of
from mrdsl.spec.schema import Node, block, blocks, quantity
from mrdsl.spec.simulated import Spread, spread_block
from mrdsl.spec.spec import Spec
from mrdsl.spec.typing import OptionalQuantity, Whole

__all__ = [
    "Cluster",
    "Job",
    "JobClass",
    "MakespanFacts",
    "MapReduceSlots",
    "MapTasks",
    "ReduceTasks",
    "ShufflePhase",
    "Spread",
]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MapTasks(Node):
    """The map tasks of one job: the time of each, or a profile with it."""

    EXAMPLE: ClassVar[str] = "{ tasks = 64, time = 30 s }"

    tasks: Whole = quantity("number", "number of map tasks", at_least=1, whole=True, symbol="N_M")
    time: OptionalQuantity = quantity("time", "duration of one map task", default=None, above=0.0)
    avg: OptionalQuantity = quantity(
        "time", "average duration, from a profile", default=None, above=0.0, symbol="M_avg"
    )
    max: OptionalQuantity = quantity(
        "time", "longest duration, from a profile", default=None, above=0.0, symbol="M_max"
    )
    min: OptionalQuantity = quantity(
        "time", "shortest duration, from a profile", default=None, at_least=0.0, symbol="M_min"
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ReduceTasks(Node):
    """The reduce tasks of one job, which start when all its map tasks have ended; a job can have none."""

    tasks: Whole = quantity("number", "number of reduce tasks", at_least=0, whole=True, symbol="N_R")
    time: OptionalQuantity = quantity("time", "duration of one reduce task", default=None, above=0.0)
    avg: OptionalQuantity = quantity(
        "time", "average duration, from a profile", default=None, at_least=0.0, symbol="R_avg"
    )
    max: OptionalQuantity = quantity(
        "time", "longest duration, from a profile", default=None, at_least=0.0, symbol="R_max"
    )
    min: OptionalQuantity = quantity(
        "time", "shortest duration, from a profile", default=None, at_least=0.0, symbol="R_min"
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Job(Node):
    """One job of the batch: tasks and their times, or a profile from which the performance model takes them."""

    EXAMPLE: ClassVar[str] = "{ map { tasks = 64, time = 30 s } }"

    map: MapTasks = block(MapTasks, "the map phase", required=True)
    shuffle: ShufflePhase | None = block(ShufflePhase, "the transfers of a profile; not beside `time`")
    reduce: ReduceTasks | None = block(ReduceTasks, "the reduce phase; none for a map-only job")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class JobClass(Job):
    """A profile, and how many jobs of the batch are like it; they are called NAME-1, NAME-2, and so on."""

    jobs: Whole = quantity("jobs", "how many jobs of this class the batch holds", default=1, at_least=1, whole=True)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Cluster(Node):
    """The machines that the batch shares."""

    EXAMPLE: ClassVar[str] = "{ slots { map = 2, reduce = 1 } }"

    slots: MapReduceSlots = block(
        MapReduceSlots, "map and reduce slots of the whole cluster, held at once", required=True
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MakespanFacts(Node):
    """The top level of a makespan spec."""

    ONE_OF: ClassVar[tuple[tuple[str, ...], ...]] = (("job", "class"),)

    cluster: Cluster = block(Cluster, "the cluster that runs the batch", required=True)
    jobs: Sequence[Job] = blocks(Job, "job", "the jobs of the batch")
    classes: Sequence[JobClass] = blocks(
        JobClass, "class", "profiles of which the batch holds `jobs` each", plural="classes"
    )
    simulation: Spread | None = spread_block()


def check(spec: Spec) -> Iterable[Diagnostic]:
    """Yield every error, in the order of the input data."""
    facts: MakespanFacts = spec.facts
    if not len(facts.jobs) and not len(facts.classes):
        yield error(
            "missing-block",
            "the batch is empty: there is no `job` and no `class`",
            spec.span,
            "add a job: job J1 { map { tasks = 30, time = 4 s }, reduce { tasks = 30, time = 5 s } }",
        )
    too_many = list(_too_many_waves(facts))
    if too_many:
        yield from too_many
        return
    yield from _clashes(facts)
    for job in (*_suspects(facts.jobs), *_suspects(facts.classes)):
        yield from _check_job(job)


def _too_many_waves(facts: MakespanFacts) -> Iterator[Diagnostic]:
    """Yield a budget for what every evaluation of an order runs through: jobs, and waves of their tasks."""
    most = 0.0
    place = None
    total = 0.0
    for jobs in (facts.jobs, facts.classes):
        if not len(jobs):
            continue
        waves = _waves(jobs, facts.cluster.slots)
        total += sum(waves)
        if max(waves) > most:
            most, place = max(waves), jobs[waves.index(max(waves))]
    if total > budgets.WAVES and place is not None:
        yield error(
            "too-large",
            f"the batch runs in {total:.6g} waves of tasks, {most:.6g} of them of {place.name}; "
            f"no more than {budgets.WAVES} are simulated",
            place.span,
            "count fewer jobs and tasks, or give the cluster its slots",
        )


def _waves(jobs: Sequence[Job], slots: MapReduceSlots) -> list[float]:
    """Estimate the number of waves of each job, or of all jobs of a class, on the whole cluster.

    Jobs in the spec use plain numbers, since `check` of a small batch does not load numpy.
    """

    def waves(alike: Any, maps: Any, reduces: Any) -> Any:
        return alike * (2.0 + maps / slots.map + reduces / slots.reduce)

    counted: list[float] = []
    for part in parts_of(jobs):
        if isinstance(part, Columns):
            alike = column(part, "jobs") if issubclass(part.node_type, JobClass) else 1.0
            counted += waves(alike, column(part, "map.tasks"), column(part, "reduce.tasks", 0.0)).tolist()
        else:
            for job in part:
                alike = job.jobs if isinstance(job, JobClass) else 1
                counted.append(waves(alike, job.map.tasks, job.reduce.tasks if job.reduce is not None else 0))
    return counted


def _suspects(jobs: Sequence[Job]) -> Iterator[Job]:
    """Yield the jobs that may have an error: all, or of a long table only those that are not clearly correct."""
    if not isinstance(jobs, Columns):
        yield from jobs
        return
    map_time, reduce_time = column(jobs, "map.time"), column(jobs, "reduce.time")
    profiled = column(jobs, "map.avg") + column(jobs, "reduce.avg") + column(jobs, "shuffle.avg")
    plain = (map_time > 0) & (reduce_time > 0) & (profiled != profiled)
    for index in (~plain).nonzero()[0]:
        yield jobs[int(index)]


def _check_job(job: Job) -> Iterator[Diagnostic]:
    yield from _check_phase(job, "map", job.map)
    if job.reduce is not None and job.reduce.tasks:
        yield from _check_phase(job, "reduce", job.reduce)
    if job.shuffle is None:
        return
    if job.reduce is None or not job.reduce.tasks:
        yield warning(
            "unused",
            f"the shuffle of {job.name} has no effect: the job has no reduce tasks",
            job.span_of("shuffle"),
            "remove the shuffle, or add a `reduce` block",
        )
    elif job.reduce.time is not None:
        yield error(
            "time-and-profile",
            f"{job.name} gives both `reduce {{ time }}` and a shuffle",
            job.shuffle.span,
            "a reduce task's `time` holds its shuffle: leave out one of the two",
        )
    elif job.shuffle.avg > job.shuffle.max:
        yield error(
            "max-below-avg",
            f"the shuffle of {job.name} has `avg` = {job.shuffle.avg:g} s, above `max`, {job.shuffle.max:g} s",
            job.shuffle.span_of("max"),
            "raise `max` to at least `avg`, or lower `avg`",
        )
    elif is_far_above(job.shuffle.avg, job.shuffle.max):
        what = f"the longest shuffle of {job.name}"
        yield far_above(what, job.shuffle.avg, job.shuffle.max, job.shuffle.span_of("max"))


def _check_phase(job: Job, phase: str, tasks: MapTasks | ReduceTasks) -> Iterator[Diagnostic]:
    profile = [item for item in ("avg", "max", "min") if getattr(tasks, item) is not None]
    if tasks.time is not None:
        if profile:
            yield error(
                "time-and-profile",
                f"the {phase} phase of {job.name} gives both `time` and `{profile[0]}`",
                tasks.span_of(profile[0]),
                "`time` alone, or a profile: avg and max, and min if known",
            )
        return
    if tasks.avg is None or tasks.max is None:
        lacking = "time" if not profile else "avg" if tasks.avg is None else "max"
        yield error(
            "missing-item",
            f"the {phase} phase of {job.name} lacks `{lacking}`",
            tasks.span,
            "`time = 4 s` per task, or a profile: avg = 4 s, max = 6 s",
        )
    elif tasks.avg > tasks.max:
        yield error(
            "max-below-avg",
            f"the {phase} phase of {job.name} has `avg` = {tasks.avg:g} s, above `max`, {tasks.max:g} s",
            tasks.span_of("max"),
            "raise `max` to at least `avg`, or lower `avg`",
        )
    elif tasks.min is not None and tasks.min > tasks.avg:
        yield error(
            "min-above-avg",
            f"the {phase} phase of {job.name} has `min` = {tasks.min:g} s, above `avg`, {tasks.avg:g} s",
            tasks.span_of("min"),
            "lower `min` to at most `avg`, or raise `avg`",
        )
    elif is_far_above(tasks.avg, tasks.max):
        yield far_above(f"the longest {phase} task of {job.name}", tasks.avg, tasks.max, tasks.span_of("max"))
    elif tasks.max == 0.0:
        yield error(
            "out-of-range",
            f"the {phase} tasks of {job.name} take 0 s",
            tasks.span_of("max"),
            "write a `max` above 0 s, or remove the phase",
        )


def _clashes(facts: MakespanFacts) -> Iterator[Diagnostic]:
    """Yield pairs of jobs with one name, one of them from a class."""
    jobs = {job.name: job for job in facts.jobs} if len(facts.classes) else {}
    for cls in facts.classes:
        names = [cls.name] if cls.jobs == 1 else [f"{cls.name}-{i}" for i in range(1, cls.jobs + 1)]
        clash = next((jobs[name] for name in names if name in jobs), None)
        if clash is not None:
            yield error(
                "duplicate",
                f"the class {cls.name} makes a job {clash.name}, and there is one already",
                cls.span,
                "give the class or the job another name",
                Related(f"the job {clash.name} is here", clash.span),
            )
