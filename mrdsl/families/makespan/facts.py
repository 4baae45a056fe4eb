"""Input data of a makespan spec: the slots of a cluster and the jobs of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mrdsl.spec.blocks import MapReduceSlots, ShufflePhase
from mrdsl.spec.schema import Node, block, blocks, quantity
from mrdsl.spec.simulated import Spread, spread_block
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
