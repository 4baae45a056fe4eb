"""Checks of a makespan spec beyond its schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic, Related, error, warning
from mrdsl.families.makespan.facts import Job, JobClass, MakespanFacts, MapTasks, ReduceTasks
from mrdsl.formulas.profiles import far_above, is_far_above
from mrdsl.spec.blocks import MapReduceSlots
from mrdsl.spec.columns import Columns, column, parts_of
from mrdsl.spec.spec import Spec


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
