"""The runs of a file, read again for verification: apart from the classes that are planned with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from typing import Any

from mrdsl.exchange.registry import JOBS, RUN_TABLES, named
from mrdsl.families.timetable.facts import Arrivals, JobClass, Runs, TimetableFacts
from mrdsl.spec.blocks import MapPhase, ReducePhase, ShufflePhase


def with_runs(facts: TimetableFacts) -> TimetableFacts:
    """Return the facts with the runs of their file as classes; the same facts without a file."""
    arrivals = facts.arrivals
    if arrivals is None:
        return facts
    assert arrivals.source is not None
    rows = list(_rows(arrivals))
    if named(RUN_TABLES, arrivals.source.reader) is None:
        return replace(facts, arrivals=None, classes=(*facts.classes, *(_of_row(row, arrivals) for row in rows)))
    classes = []
    for node in facts.classes:
        mine = [row for row in rows if row.name == node.name]
        if node.runs is None and mine:
            times = tuple(row.submit - arrivals.begin for row in mine)
            node = replace(node, runs=Runs(at=times, deadlines=tuple(row.deadline for row in mine)))
        if node.runs is not None:
            classes.append(node)
    return replace(facts, arrivals=None, classes=tuple(classes))


def _rows(arrivals: Arrivals) -> Iterator[Any]:
    assert arrivals.source is not None
    reader = named((*RUN_TABLES, *JOBS), arrivals.source.reader)
    assert reader is not None
    last = float("inf") if arrivals.end is None else arrivals.end
    yield from (row for row in reader.read(arrivals.source.path, []) if arrivals.begin <= row.submit < last)


def _of_row(row: Any, arrivals: Arrivals) -> JobClass:
    if hasattr(row, "map_tasks"):
        maps, reduces = row.map_tasks, row.reduce_tasks
        times = [row.map_time, row.shuffle_time, row.reduce_time]
        own = row.deadline
    else:
        maps, reduces = max(1, ceil(row.input_bytes / (arrivals.block or 1.0))), 0
        times, own = [row.input_bytes / maps / (arrivals.map_speed or 1.0) or 1.0, 0.0, 0.0], None
        if row.shuffle_bytes:
            reduces = ceil(row.shuffle_bytes / (arrivals.reduce_input or 1.0))
            speeds = arrivals.shuffle_speed or 1.0, arrivals.reduce_speed or 1.0
            times[1:] = [row.shuffle_bytes / reduces / speed for speed in speeds]
        times = [times[0] + arrivals.task_overhead, times[1], times[2] + (arrivals.task_overhead if reduces else 0.0)]
    deadline = own or arrivals.deadline
    if deadline is None:
        deadline = (arrivals.deadline_factor or 1.0) * (sum(times) if reduces else times[0])
    return JobClass(
        name=row.name,
        map=MapPhase(tasks=maps, avg=times[0], max=times[0]),
        shuffle=ShufflePhase(first_max=times[1], avg=times[1], max=times[1]) if reduces else None,
        reduce=ReducePhase(tasks=reduces, avg=times[2], max=times[2]) if reduces else None,
        slots=arrivals.slots,
        runs=Runs(at=(row.submit - arrivals.begin,)),
        deadline=deadline,
    )
