"""Tables and files of profiles: classes, the cluster, omitted jobs with reasons, and recorded task times.

Task times of each class are files of one number a line, in seconds, from which simulations draw. Tables have a
row for each job, stage or class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mrdsl.core.result import Table
from mrdsl.exchange.logs.records import AttemptEnd, MapReduceJob, SparkApplication, TaskKind
from mrdsl.profiling.classes import JobClass, Profiled, Summary
from mrdsl.profiling.gathering import Gathered
from mrdsl.profiling.losses import NAMES, lost_tasks, usable
from mrdsl.profiling.phases import Durations, phases_of
from mrdsl.profiling.profiles import Profiles
from mrdsl.profiling.spec_text import jobs_at_once, times_of, words_of
from mrdsl.profiling.stage_classes import StageClass, overhead_of


def report(profiles: Profiles) -> tuple[Table, ...]:
    """Return the quality of the data: the reliability of each class, and omitted jobs."""
    tables = []
    if profiles.classes:
        tables.append(_classes(profiles))
    if profiles.stage_classes:
        tables.append(_stage_classes(profiles))
    tables += _growth(profiles.classes, profiles.stage_classes)
    tables += _cluster(profiles)
    if profiles.applications:
        tables.append(_applications(profiles))
    if losses := _losses(profiles):
        columns = ("application", "id", "stage", "title", "tasks", "read", "read [%]")
        tables.append(Table("Ends of tasks that the logs lost", columns, losses))
    tables.append(_read(profiles))
    if profiles.left_out or profiles.gathered.dropped_time:
        reasons = Counter(each.reason for each in profiles.left_out)
        held = Counter[str]()
        for each in profiles.left_out:
            held[each.reason] += each.slot_time  # type: ignore[assignment]
        rows: list[tuple[Any, ...]] = [(reason, count, held[reason]) for reason, count in sorted(reasons.items())]
        if time := profiles.gathered.dropped_time:
            rows.append(("jobs of runs in classes, which failed or did not end", None, time))
        tables.append(Table("Left out", ("why", "runs", "slot time [s]"), rows))
    return tuple(tables)


def _classes(profiles: Profiles) -> Table:
    rows = [
        (
            each.name,
            each.runs,
            each.map_tasks,
            each.map.average,
            each.map.longest,
            each.reduce_tasks,
            each.reduce.average if each.reduce is not None else None,
            *_trust(each, profiles.gathered),
        )
        for each in profiles.classes
    ]
    columns = ("class", "runs", "maps", "map avg [s]", "map max [s]", "reduces", "reduce avg [s]", *_TRUST)
    return Table("Classes", columns, rows)


_TRUST = (
    "of work [%]",
    "at once",
    "spread [%]",
    "input grows [%]",
    "attempts lost",
    "time lost [s]",
    "lost [%]",
    "beware",
)


def _trust(each: Summary, gathered: Gathered) -> tuple[Any, ...]:
    return (
        100.0 * gathered.share([each]),
        jobs_at_once(each),
        100.0 * each.spread if each.runs > 1 else None,
        None if each.grows is None else 100.0 * each.grows,
        each.overhead.attempts,
        each.overhead.time,
        100.0 * each.overhead.share,
        "; ".join(each.warnings),
    )


def _stage_classes(profiles: Profiles) -> Table:
    rows = [
        (
            each.name,
            each.runs,
            len(each.stages),
            sum(stage.tasks for stage in each.stages),
            sum(stage.tasks * stage.times.average for stage in each.stages),
            *_trust(each, profiles.gathered),
        )
        for each in profiles.stage_classes
    ]
    return Table("Classes of stages", ("class", "runs", "stages", "tasks", "work [s]", *_TRUST), rows)


def _growth(jobs: Sequence[JobClass], classes: Sequence[StageClass]) -> Iterator[Table]:
    grown = [
        (each.name, f"s{place}", what, growth.constant, growth.slope, growth.interval)
        for each in classes
        for place, stage in enumerate(each.stages)
        for what, growth in (("tasks", stage.more_tasks), ("mean task time [s]", stage.longer))
        if growth is not None
    ]
    grown += [
        (each.name, "map", "tasks", each.more_maps.constant, each.more_maps.slope, each.more_maps.interval)
        for each in jobs
        if each.more_maps is not None
    ]
    if grown:
        columns: tuple[str, ...] = ("class", "stage", "what", "at 0 MiB", "for each MiB", "± (95 %)")
        yield Table("Growth of stages with the input", columns, grown)
    runs = [
        (each.name, known.runs, known.least, known.most, *known.coefficients, known.interval, off, known.warning)
        for each in classes
        if (known := each.growth) is not None
        for off in (None if known.held_out is None else 100.0 * known.held_out,)
    ]
    if runs:
        columns = (
            "class",
            "runs",
            "input from [MiB]",
            "to [MiB]",
            *NAMES,
            "± (95 %) [s]",
            "off on other m [%]",
            "warning",
        )
        yield Table("Time of runs [s] by input n [MiB] and slots m", columns, runs)


def _cluster(profiles: Profiles) -> Iterator[Table]:
    cluster = profiles.cluster
    rows: list[tuple[Any, ...]] = [
        (f"{kind} tasks", slots.most, slots.on_one or None, 100.0 * slots.use)
        for kind, slots in (("map", cluster.map), ("reduce", cluster.reduce), ("Spark", cluster.task))
        if slots.most
    ]
    if cluster.vms:
        rows.append(("VMs", cluster.vms, None, None))
    if cluster.most_pods:
        rows.append(("pods", cluster.most_pods, None, None))
    if profiles.price is not None and (cost := cluster.cost(profiles.price.hourly)) is not None:
        rows.append((f"cost [{profiles.price.currency}/h]", cost, None, None))
        whole = profiles.price.hourly * cluster.machines.hours
        rows.append((f"cost over the logs [{profiles.price.currency}]", whole, None, None))
    title = f"The cluster as it was, over {times_of(profiles.gathered)}"
    yield Table(title, ("what", "most at once", "on one VM", "used [%]"), rows)
    parts = *cluster.machines.parts("VMs"), *cluster.pods.parts("pods of Kubernetes, which are not VMs,")
    if parts:
        named = [[name for name, _ in (*hosts.kept, *hosts.passing)] for _, hosts in parts]
        times = [
            (what, len(names), hosts.hours, ", ".join(names[:3]))
            for (what, hosts), names in zip(parts, named, strict=True)
        ]
        yield Table("Hosts of the logs", ("hosts", "number", "time [h]", "such as"), times)


def _read(profiles: Profiles) -> Table:
    rows = [
        ("logs", profiles.logs),
        ("of them without a job or application", profiles.barren),
        ("jobs and applications", len(profiles.runs)),
        ("of them in classes", profiles.gathered.runs),
        ("of them left out", len(profiles.left_out)),
        ("broken or cut: lines, objects, files", profiles.lost),
    ]
    if profiles.silhouette is not None:
        rows.append(("silhouette of the clusters", profiles.silhouette))  # type: ignore[arg-type]
    return Table("Read", ("what", "number"), rows)


def _applications(profiles: Profiles) -> Table:
    rows = [
        (
            each.name,
            each.application,
            each.version,
            len(each.jobs),
            len(usable(each).dropped_jobs),
            sum(not stage.skipped for stage in each.stages),
            sum(len(stage.durations) for stage in each.stages),
            (lost := overhead_of(each)).attempts,
            lost.time,
            each.cores,
        )
        for each in profiles.applications
    ]
    columns = ("application", "id", "version", "jobs", "left out", "stages", "tasks", "attempts lost", "time lost [s]")
    return Table("Spark", (*columns, "cores"), rows)


def _losses(profiles: Profiles) -> list[tuple[Any, ...]]:
    return [
        (
            each.name,
            each.application,
            loss.stage,
            loss.title,
            loss.tasks,
            loss.read,
            100.0 * loss.read / loss.tasks,
        )
        for each in profiles.applications
        for loss in lost_tasks(each)
    ]


LEAST = 0.001


def sample_files(gathered: Gathered) -> dict[str, str]:
    """Return texts by name of file: ``CLASS-map.txt``, ``CLASS-reduce.txt`` with the shuffle included,
    ``CLASS-s0.txt``.
    """
    words = words_of([*gathered.classes, *gathered.stage_classes])
    files: dict[str, list[float]] = {}
    for each, word in zip(gathered.classes, words, strict=False):
        jobs = [job for job, _, name in gathered.jobs if name == each.name]
        files[f"{word}-map.txt"] = [value for job in jobs for value in _maps(job)]
        if each.reduce_tasks:
            files[f"{word}-reduce.txt"] = [value for job in jobs for value in _reduces(job)]
    for staged, word in zip(gathered.stage_classes, words[len(gathered.classes) :], strict=True):
        for place, stage in enumerate(staged.stages):
            files[f"{word}-s{place}.txt"] = [value / 1000 for value in stage.durations.values]
    return {name: _text(values) for name, values in files.items() if values}


def _text(values: Iterable[float]) -> str:
    return "".join(f"{max(value, LEAST):.3f}\n" for value in values)


def _maps(job: MapReduceJob) -> Iterator[float]:
    for each in job.attempts:
        if each.kind is TaskKind.MAP and each.end is AttemptEnd.SUCCEEDED and each.finish and each.start is not None:
            yield (each.finish - each.start) / 1000


def _reduces(job: MapReduceJob) -> Iterator[float]:
    """Yield the times from the start of each reduce, or the end of the last map if that is later, to its end."""
    good = [each for each in job.attempts if each.end is AttemptEnd.SUCCEEDED and each.finish is not None]
    last_map = max((each.finish or 0 for each in good if each.kind is TaskKind.MAP), default=0)
    for each in good:
        if each.kind is TaskKind.REDUCE and each.start is not None and each.finish is not None:
            begin = each.start if not job.phases_known else max(each.start, last_map)
            if each.finish >= begin:
                yield (each.finish - begin) / 1000


JOB_COLUMNS = (
    "source",
    "job",
    "status",
    "submit_ms",
    "finish_ms",
    "total_maps",
    "total_reduces",
    "map_n",
    "map_avg_ms",
    "map_max_ms",
    "first_shuffle_n",
    "first_shuffle_avg_ms",
    "first_shuffle_max_ms",
    "typ_shuffle_n",
    "typ_shuffle_avg_ms",
    "typ_shuffle_max_ms",
    "sort_n",
    "sort_avg_ms",
    "sort_max_ms",
    "reduce_n",
    "reduce_avg_ms",
    "reduce_max_ms",
)
STAGE_COLUMNS = (
    "file",
    "app",
    "stage",
    "attempt",
    "task_type",
    "tasks_ok",
    "tasks_failed",
    "avg_ms",
    "max_ms",
    "min_launch_ms",
    "max_finish_ms",
    "shuffle_read_bytes",
    "shuffle_write_bytes",
    "parents",
)
_SHUFFLE = ("shuffle.first_avg [s]", "shuffle.first_max [s]", "shuffle.avg [s]", "shuffle.max [s]")
_REDUCE = ("reduce.tasks", "reduce.avg [s]", "reduce.max [s]")


def job_rows(jobs: Iterable[MapReduceJob]) -> Iterable[Sequence[Any]]:
    """Yield one row a job, with the phases of its successful attempts."""
    for job in jobs:
        phases = phases_of(job)
        parts = (phases.map, phases.first_shuffle, phases.typical_shuffle, phases.sort, phases.reduce)
        yield (
            job.source,
            job.job,
            job.status,
            job.submitted,
            job.finished,
            job.total_maps,
            job.total_reduces,
            *(cell for part in parts for cell in _cells(part)),
        )


def _cells(part: Durations) -> tuple[int, float | None, int | None]:
    return part.count, None if part.average is None else round(part.average, 3), part.longest


def stage_rows(applications: Iterable[SparkApplication]) -> Iterable[Sequence[Any]]:
    """Yield one row an attempt at a stage that ran."""
    for application in applications:
        for stage in application.stages:
            if stage.skipped:
                continue
            done = Durations(stage.durations)
            yield (
                application.source,
                application.name,
                stage.stage,
                stage.attempt,
                stage.task_type,
                done.count,
                stage.failed + stage.killed,
                None if done.average is None else round(done.average, 3),
                done.longest,
                min(stage.launches, default=None),
                max(stage.finishes, default=None),
                stage.shuffle_read,
                stage.shuffle_write,
                str(list(stage.parents)),
            )


def class_table(classes: Sequence[JobClass]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Return columns and rows, one a class, as ``classes from "profiles.csv"`` reads them.

    If no class has reduce tasks there are no columns for them; otherwise classes without any have zeros.
    """
    reducing = any(each.reduce_tasks for each in classes)
    columns = ("name", "map.tasks", "map.avg [s]", "map.max [s]", *((*_SHUFFLE, *_REDUCE) if reducing else ()), "jobs")
    return columns, [_class_row(each, reducing) for each in classes]


def _class_row(each: JobClass, reducing: bool) -> tuple[Any, ...]:
    cells: list[Any] = [each.name, each.map_tasks, each.map.average, each.map.longest]
    if reducing:
        for part in (each.first_shuffle, each.typical_shuffle):
            known = part is not None and each.reduce_tasks > 0
            cells += [part.average, part.longest] if part is not None and known else [0, 0]
        reduces = each.reduce if each.reduce_tasks else None
        cells += [0, 0, 0] if reduces is None else [each.reduce_tasks, reduces.average, reduces.longest]
    jobs = each.jobs_high if each.jobs_low == each.jobs_high else f"{each.jobs_low}..{each.jobs_high}"
    return (*cells, jobs)


ARRIVAL_COLUMNS = (
    "name",
    "submit [s]",
    "map.tasks",
    "map.avg [s]",
    "reduce.tasks",
    "shuffle.avg [s]",
    "reduce.avg [s]",
)


def arrival_rows(jobs: Iterable[Profiled]) -> Iterable[Sequence[Any]]:
    """Yield one row a job as ``arrivals from "jobs.csv"`` reads them, in the order of their submission, from 0 s."""
    known = [(phases.times.begin, job.job, phases) for job, phases, _ in jobs if phases.times.begin is not None]
    known.sort(key=lambda each: each[:2])
    for submitted, name, phases in known:
        shuffle = phases.typical_shuffle if phases.typical_shuffle.count else phases.first_shuffle
        reduce = (phases.reduce.average or 0.0) + (phases.sort.average or 0.0)
        yield (
            name,
            (submitted - known[0][0]) / 1000,
            phases.map.count,
            max(1.0, phases.map.average or 0.0) / 1000,
            phases.reduce.count,
            (shuffle.average or 0.0) / 1000 if phases.reduce.count else 0,
            max(1.0, reduce) / 1000 if phases.reduce.count else 0,
        )
