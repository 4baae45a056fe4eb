"""Batches that several tests share, built in Python: name, map tasks, map time, reduce tasks, reduce time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mrdsl.families.makespan.facts import Cluster, Job, MakespanFacts, MapTasks, ReduceTasks
from mrdsl.spec import Spec
from mrdsl.spec.blocks import MapReduceSlots

Row = tuple[str, int, float, int, float]

TWO_JOBS: tuple[Row, ...] = (("J1", 1, 20.0, 1, 2.0), ("J2", 1, 2.0, 1, 20.0))
TABLE_5_1: tuple[Row, ...] = (
    ("J1", 30, 4.0, 30, 5.0),
    ("J2", 30, 1.0, 30, 4.0),
    ("J3", 20, 30.0, 20, 4.0),
    ("J4", 20, 6.0, 20, 30.0),
    ("J5", 30, 2.0, 30, 3.0),
)


def spec(rows: Iterable[Row], map_slots: int, reduce_slots: int, **more: Any) -> Spec:
    """A makespan spec of the rows on so many slots."""
    jobs = tuple(
        Job(
            name=name,
            map=MapTasks(tasks=maps, time=map_time),
            reduce=ReduceTasks(tasks=reduces, time=reduce_time) if reduces else None,
        )
        for name, maps, map_time, reduces, reduce_time in rows
    )
    cluster = Cluster(slots=MapReduceSlots(map=map_slots, reduce=reduce_slots))
    return Spec(problem="makespan", facts=MakespanFacts(cluster=cluster, jobs=jobs), **more)
