"""The blocks of a bounds spec: one shared cluster, the classes that run on it, and how it is simulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mrdsl.spec.blocks import (
    YES_OR_NO,
    MapPhase,
    ReducePhase,
    ShufflePhase,
    Slots,
    Stage,
    any_stages,
    stages_of,
)
from mrdsl.spec.columns import words
from mrdsl.spec.estimates import OWN, PAPER, estimates_item, sharing_item
from mrdsl.spec.rented import ProfiledClass, startup_item
from mrdsl.spec.schema import Node, Source, block, blocks, choice, quantity
from mrdsl.spec.simulated import (
    SCHEDULERS,
    ArrivingClass,
    Recorded,
    Run,
    arrivals_item,
    burst_item,
    preemption_item,
)
from mrdsl.spec.typing import OptionalQuantity, Quantity, Whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "BoundsFacts",
    "Cluster",
    "JobClass",
    "MapPhase",
    "Recorded",
    "ReducePhase",
    "Run",
    "ShufflePhase",
    "Slots",
    "Source",
    "Stage",
]

GUARANTEES = ("average", "mean", "upper", "lower", "waves", "fractional_waves")
SIZINGS = ("least_slots", "fixed_reduce")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Cluster(Node):
    """The shared cluster and its scheduler."""

    slots: Slots | None = block(
        Slots, "how many map and how many reduce tasks run side by side, both at once; or one pool for all tasks"
    )
    scheduler: str = choice(
        SCHEDULERS,
        "fair: every job alike; capacity: a queue per class, the oldest job first; fifo: the oldest job first",
        default="fair",
    )
    work_conserving: str = choice(YES_OR_NO, "whether a class's idle slots are lent to others", default="yes")
    pools: str = choice(
        ("separate", "common"),
        "whether map and reduce tasks have slots of their own or take any of the same ones",
        default="separate",
    )
    masters: str = choice(
        YES_OR_NO, "whether every job holds one more slot while it runs, as YARN's masters do (simulated)", default="no"
    )
    preemption: OptionalQuantity = preemption_item()


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class JobClass(ArrivingClass, ProfiledClass):
    """Jobs with one profile, submitted by as many users as run at the same time."""

    EXAMPLE: ClassVar[str] = "{ map { tasks = 64, avg = 30 s, max = 45 s } }"

    startup: Quantity = startup_item()
    jobs: Whole = quantity("jobs", "jobs that run at the same time", default=1, at_least=1, whole=True, symbol="h")
    share: OptionalQuantity = quantity(
        "share",
        "the class's part of the slots; default: by its number of jobs",
        default=None,
        above=0.0,
        at_most=1.0,
        symbol="alpha",
    )
    minimum_share: OptionalQuantity = quantity(
        "share",
        "the part that it gets first while it has tasks to run (simulated)",
        default=None,
        above=0.0,
        at_most=1.0,
    )
    deadline: OptionalQuantity = quantity(
        "time", "by when a job must be done, for `minimize slots`", default=None, above=0.0, symbol="D"
    )
    sharing: str | None = sharing_item()
    guarantee: str | None = choice(
        GUARANTEES, "which estimate meets the deadline; default mean, average with `estimates = paper`", default=None
    )
    profiled_on: OptionalQuantity = quantity(
        "data", "the input that the profile was measured on", default=None, above=0.0
    )
    data: OptionalQuantity = quantity(
        "data", "the input of the jobs to come; default: as profiled", default=None, above=0.0
    )
    think: OptionalQuantity = quantity(
        "time",
        "mean time between a job's end and the user's next one (simulated); default: a tenth of the average estimate",
        default=None,
        at_least=0.0,
    )
    arrivals: OptionalQuantity = arrivals_item()
    burst: Whole = burst_item()


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class BoundsFacts(Node):
    """The input data of a bounds spec."""

    cluster: Cluster | None = block(Cluster, "the shared cluster")
    classes: Sequence[JobClass] = blocks(JobClass, "class", "jobs of one kind", plural="classes", required=True)
    estimates: str | None = estimates_item()
    sizing: str = choice(
        SIZINGS,
        "for `minimize slots`: the least sum of map and reduce slots, or one reduce slot for every reduce task",
        default="least_slots",
    )
    simulation: Run | None = block(Run, "how long is simulated, and what goes wrong with tasks")


def sizes_of(slots: Slots) -> tuple[int, int]:
    """Return the numbers of concurrent map and reduce tasks; the size of the pool for both if tasks have one pool."""
    if slots.task is not None:
        return slots.task, slots.task
    assert slots.map is not None
    assert slots.reduce is not None
    return slots.map, slots.reduce


def is_common(cluster: Cluster) -> bool:
    """Return True if all tasks take any of the same slots."""
    return cluster.pools == "common" or (cluster.slots is not None and cluster.slots.task is not None)


def has_own_slots(facts: BoundsFacts) -> bool:
    """Return True if every job has reserved slots, used or not."""
    cluster = facts.cluster
    return cluster is not None and cluster.work_conserving == "no" and cluster.scheduler == "fair"


def own_classes(facts: BoundsFacts) -> NDArray[np.bool_]:
    """Return the classes whose jobs have their own slots, by `sharing`: by default those of stages."""
    import numpy as np

    said = words(facts.classes, "sharing")
    staged = np.zeros(len(said), dtype=bool)
    if facts.estimates != PAPER and any_stages(facts.classes):
        staged = np.array([bool(stages) for stages in stages_of(facts.classes)])
    return np.asarray((said == OWN) | ((said == "") & staged))


def is_fifo(facts: BoundsFacts) -> bool:
    """Return True if jobs run one after another on the whole cluster."""
    return facts.cluster is not None and facts.cluster.scheduler == "fifo"
