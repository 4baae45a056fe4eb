"""What was read, as tables for people: classes, the cluster as it was, what was left out and why."""

from __future__ import annotations

from collections import Counter

from mrdsl.core.result import Table
from mrdsl.profiling.profiles import Profiles


def report(profiles: Profiles) -> tuple[Table, ...]:
    """The quality of what was read: how far each class is to be trusted, and what does not count."""
    tables = []
    if profiles.classes:
        tables.append(_classes(profiles))
        tables.append(_cluster(profiles))
    if profiles.applications:
        tables.append(_applications(profiles))
    if profiles.left_out:
        reasons = Counter(each.reason for each in profiles.left_out)
        rows = [(reason, count) for reason, count in sorted(reasons.items())]
        tables.append(Table("Jobs left out", ("why", "jobs"), rows))
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
            f"{each.jobs_low}..{each.jobs_high}",
            100.0 * each.spread,
            each.failed + each.killed,
            "; ".join(each.warnings),
        )
        for each in profiles.classes
    ]
    columns = (
        "class",
        "runs",
        "maps",
        "map avg [s]",
        "map max [s]",
        "reduces",
        "reduce avg [s]",
        "at once",
        "spread [%]",
        "attempts lost",
        "beware",
    )
    return Table("Classes", columns, rows)


def _cluster(profiles: Profiles) -> Table:
    cluster = profiles.cluster
    rows = [
        ("map", cluster.map_slots, 100.0 * cluster.map_use),
        ("reduce", cluster.reduce_slots, 100.0 * cluster.reduce_use),
    ]
    return Table(f"The cluster as it was, over {cluster.hours:.2g} h", ("tasks", "most at once", "used [%]"), rows)


def _applications(profiles: Profiles) -> Table:
    rows = [
        (
            each.name,
            each.application,
            each.version,
            sum(not stage.skipped for stage in each.stages),
            sum(len(stage.durations) for stage in each.stages),
            sum(stage.failed + stage.killed for stage in each.stages),
            each.cores,
        )
        for each in profiles.applications
    ]
    return Table("Spark", ("application", "id", "version", "stages", "tasks", "attempts lost", "cores"), rows)
