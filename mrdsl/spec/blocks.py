"""Blocks that several families share: profiles, slots, prices, machines, stages and settings of simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from mrdsl.spec.columns import Columns, names_of, parts_of
from mrdsl.spec.platforms import PLATFORMS
from mrdsl.spec.schema import Node, Source, block, blocks, choice, path, quantity, references
from mrdsl.spec.simulated import DISTRIBUTIONS, SCHEDULERS, Run, preemption_item
from mrdsl.spec.typing import OptionalQuantity, OptionalWhole, Quantity, Whole

if TYPE_CHECKING:
    from numpy.typing import NDArray


GUARANTEES = ("lower", "average", "upper")
"""The estimates of a completion time that can be promised."""
YES_OR_NO = ("yes", "no")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MapPhase(Node):
    """The map tasks of one job."""

    EXAMPLE: ClassVar[str] = "{ tasks = 64, avg = 30 s, max = 45 s }"

    tasks: Whole = quantity("number", "number of map tasks of one job", at_least=1, whole=True, symbol="N_M")
    avg: Quantity = quantity("time", "average duration of a map task", above=0.0, symbol="M_avg")
    max: Quantity = quantity("time", "longest duration of a map task", above=0.0, symbol="M_max")
    min: OptionalQuantity = quantity(
        "time", "shortest duration of a map task", default=None, at_least=0.0, symbol="M_min"
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ShufflePhase(Node):
    """The transfers to the reduce tasks; of the first wave, only the part that does not overlap the map phase
    counts.
    """

    first_avg: OptionalQuantity = quantity(
        "time",
        "average duration of a first-wave shuffle; default first_max",
        default=None,
        at_least=0.0,
        symbol="Sh1_avg",
    )
    first_max: Quantity = quantity("time", "longest duration of a first-wave shuffle", at_least=0.0, symbol="Sh1_max")
    avg: Quantity = quantity("time", "average duration of a typical shuffle", at_least=0.0, symbol="Sh_avg")
    max: Quantity = quantity("time", "longest duration of a typical shuffle", at_least=0.0, symbol="Sh_max")
    first_min: OptionalQuantity = quantity(
        "time", "shortest duration of a first-wave shuffle", default=None, at_least=0.0, symbol="Sh1_min"
    )
    min: OptionalQuantity = quantity(
        "time", "shortest duration of a typical shuffle", default=None, at_least=0.0, symbol="Sh_min"
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ReducePhase(Node):
    """The reduce tasks of one job; without any, the shuffle vanishes too."""

    tasks: Whole = quantity("number", "number of reduce tasks of one job", at_least=0, whole=True, symbol="N_R")
    avg: Quantity = quantity("time", "average duration of a reduce task", default=0.0, at_least=0.0, symbol="R_avg")
    max: Quantity = quantity("time", "longest duration of a reduce task", default=0.0, at_least=0.0, symbol="R_max")
    min: OptionalQuantity = quantity(
        "time", "shortest duration of a reduce task", default=None, at_least=0.0, symbol="R_min"
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Coefficients(Node):
    """Equation (4) as measured elsewhere: one job takes A/s_M + B/s_R + C on s_M map and s_R reduce slots."""

    A: Quantity = quantity("time", "map work of one job, in slot-seconds", above=0.0, symbol="A")
    B: Quantity = quantity("time", "reduce work of one job, in slot-seconds", at_least=0.0, symbol="B")
    C: Quantity = quantity("time", "the part that no slots shorten; may be negative", symbol="C")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Slots(Node):
    """Numbers of concurrent tasks: map and reduce tasks, or tasks of stages."""

    EXAMPLE: ClassVar[str] = "{ map = 2, reduce = 1 }"

    map: OptionalWhole = quantity(
        "slots", "map tasks that run side by side", default=None, at_least=1, whole=True, symbol="c_M"
    )
    reduce: OptionalWhole = quantity(
        "slots", "reduce tasks that run side by side", default=None, at_least=1, whole=True, symbol="c_R"
    )
    task: OptionalWhole = quantity(
        "slots", "tasks of stages that run side by side", default=None, at_least=1, whole=True, symbol="c"
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MapReduceSlots(Node):
    """Numbers of concurrent map and reduce tasks."""

    EXAMPLE: ClassVar[str] = "{ map = 2, reduce = 1 }"

    map: Whole = quantity("slots", "map tasks that run side by side", at_least=1, whole=True, symbol="c_M")
    reduce: Whole = quantity("slots", "reduce tasks that run side by side", at_least=1, whole=True, symbol="c_R")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class OnDemand(Node):
    """A VM rented by the hour."""

    EXAMPLE: ClassVar[str] = "{ price = 0.192 USD/h }"

    price: Quantity = quantity(
        "price", "price of one VM on demand; 0 for machines of one's own", at_least=0.0, symbol="delta"
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Reserved(Node):
    """VMs under a long contract."""

    price: Quantity = quantity(
        "price", "price of one reserved VM; 0 for machines of one's own", at_least=0.0, symbol="rho"
    )
    available: Whole = quantity(
        "vms", "how many VMs are reserved; with `demand`, how many may be", at_least=0, whole=True, symbol="r-bar"
    )
    prepaid: str = choice(
        YES_OR_NO,
        "whether they are paid for in any case, used or not: the cost of a plan then includes the fee alone",
        default="no",
        was="paid",
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Stage(Node):
    """Alike tasks of one job, which may all run side by side once the stages that it comes after have ended."""

    tasks: Whole = quantity("number", "number of tasks of the stage in one job", at_least=1, whole=True, symbol="N_s")
    slots: Whole = quantity(
        "slots", "slots of one executor that each task takes, as for several CPUs", default=1, at_least=1, whole=True
    )
    barrier: str = choice(
        YES_OR_NO,
        "whether its tasks only run all at once, as in Spark's barrier mode: a job has slots for all of them",
        default="no",
    )
    avg: Quantity = quantity("time", "average duration of a task", above=0.0, symbol="avg_s")
    max: Quantity = quantity("time", "longest duration of a task", above=0.0, symbol="max_s")
    delay: Quantity = quantity(
        "time",
        "time between the end of the stages before and the first task, as for the driver; it takes no slot",
        default=0.0,
        at_least=0.0,
    )
    after: tuple[str, ...] = references("stages of the class that must have ended before this one starts", of="stage")
    shuffle: OptionalQuantity = quantity(
        "data",
        "bytes that its tasks fetch from shuffles: exports take the partitions from stages that fetch some",
        default=None,
        at_least=0.0,
    )
    distribution: str | None = choice(
        DISTRIBUTIONS, "how its task times spread (simulated); default: as in the class", default=None
    )
    samples: Source | None = path(
        "recorded times of its tasks in seconds, one a line (simulated)", default=None, called="distribution"
    )

    @property
    def width(self) -> int:
        """The slots of all its tasks at once."""
        return self.tasks * self.slots

    @property
    def together(self) -> int:
        """The fewest slots on which it runs: one for each task of a barrier stage."""
        return self.width if self.barrier == "yes" else self.slots


def is_plain(stages: Sequence[Stage]) -> bool:
    """Return True if each task takes one slot and waits for no other one, so that no slot is idle while tasks wait."""
    return all(stage.together == 1 for stage in stages)


def stage_blocks() -> Any:
    """Return the declaration of ``stage NAME { ... }`` in a class."""
    return blocks(Stage, "stage", "a stage of one job, in place of map, shuffle and reduce")


def stages_of(classes: Sequence[Any]) -> Sequence[tuple[Stage, ...]]:
    """Return the stages of every class, in spec order; () for a class without."""
    stages: list[tuple[Stage, ...]] = []
    for part in parts_of(classes):
        if isinstance(part, Columns):
            stages += [tuple(part.values.get("stages", ()))] * len(part)
        else:
            stages += [tuple(getattr(node, "stages", ())) for node in part]
    return stages


def partitions_of(stages: Sequence[Stage], reduce: ReducePhase | None) -> int | None:
    """Return the number of shuffle partitions of a job: the tasks of its widest stage that shuffles, or its reduces.

    If no stage states its `shuffle`, those with a predecessor count. None if there is no shuffle.
    """
    known = any(stage.shuffle is not None for stage in stages)
    widths = [stage.tasks for stage in stages if (stage.shuffle if known else stage.after)]
    if reduce is not None and not stages and reduce.tasks:
        widths.append(reduce.tasks)
    return max(widths, default=None)


def longest_idle(startup: float, stages: Sequence[Stage]) -> float:
    """Return the longest time of a job in which no task of it runs [s]: its startup, or the delay of a stage."""
    return max([startup, *(stage.delay for stage in stages)])


def any_stages(classes: Sequence[Any]) -> bool:
    """Return True if some class consists of stages; without a look at every row of a table."""
    return any(
        bool(part.values.get("stages"))
        if isinstance(part, Columns)
        else any(len(getattr(node, "stages", ())) for node in part)
        for part in parts_of(classes)
    )


def dags_of(classes: Sequence[Any]) -> dict[str, tuple[Stage, ...]]:
    """Return the classes of stages by name, in spec order."""
    if not any_stages(classes):
        return {}
    return {name: stages for name, stages in zip(names_of(classes), stages_of(classes), strict=True) if stages}


ONE = "one"
"""``types = one``: all jobs of the class on one type."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Spot(Node):
    """VMs that the provider may take back at any moment."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "notice": "interruptions lose the running tasks, whatever their notice: remove it, and write"
            " `simulation { shuffle_service = yes }` if map output survives"
        }
    )

    price: Quantity = quantity("price", "price of one spot VM", at_least=0.0)
    interruptions: Quantity = quantity("event_rate", "how often the provider takes one VM back", at_least=0.0)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Disk(Node):
    """Block storage of each VM of a type."""

    EXAMPLE: ClassVar[str] = "{ size = 100 GiB, price = 0.0001 USD/GiB/h }"

    size: Quantity = quantity("data", "size for each VM, however it is bought", above=0.0)
    price: Quantity = quantity(
        "storage_price", "price of the storage; 0 if it is part of the VM", default=0.0, at_least=0.0
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Quota(Node):
    """A limit of the provider on the cores of all rented VMs of a group of types."""

    EXAMPLE: ClassVar[str] = "{ cores = 512, families = [c, m, r] }"

    cores: Quantity = quantity("number", "most cores of all its VMs, masters included", at_least=0.0)
    types: tuple[str, ...] = references(
        'the VM types that count, by names or patterns such as `"m5.*"`; default without `families`: all', of="vm"
    )
    families: tuple[str, ...] = references(
        "the families whose VM types count: the letters at the beginning of their names, `m` for `m5.xlarge`"
    )
    spot: str = choice(YES_OR_NO, "`yes`: only VMs on spot count; `no`: only the others", default="no")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class System(Node):
    """Cores and memory of a VM that its operating system and its platform take."""

    platform: str | None = choice(
        PLATFORMS, "the published figures of a platform, by the name of the type, its cores and memory", default=None
    )
    cores: OptionalQuantity = quantity("number", "cores of the system", default=None, at_least=0.0)
    memory: OptionalQuantity = quantity("data", "memory of the system", default=None, at_least=0.0)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Resources(Node):
    """Resources of one task."""

    cores: OptionalQuantity = quantity("number", "cores of one task", default=None, above=0.0)
    memory: OptionalQuantity = quantity("data", "memory of one task", default=None, above=0.0)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Executor(Node):
    """Resources of one executor, which runs several tasks of stages; a job has whole executors."""

    cores: OptionalQuantity = quantity("number", "cores of one executor", default=None, above=0.0)
    memory: OptionalQuantity = quantity(
        "data", "memory of one executor: heap, overhead and off-heap together", default=None, above=0.0
    )
    overhead: OptionalQuantity = quantity(
        "data", "the part of its memory that is overhead, for exports; default: Spark's own", default=None, at_least=0.0
    )
    off_heap: OptionalQuantity = quantity(
        "data", "the part of its memory that is off-heap, for exports", default=None, at_least=0.0
    )
    tasks: Whole = quantity("slots", "tasks that one executor runs side by side", at_least=1, whole=True)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Driver(Node):
    """Resources of the driver of a job, or of its application master."""

    cores: OptionalQuantity = quantity("number", "cores of the driver", default=None, above=0.0)
    memory: OptionalQuantity = quantity("data", "memory of the driver: heap and overhead", default=None, above=0.0)
    overhead: OptionalQuantity = quantity(
        "data", "the part of its memory that is overhead, for exports; default: Spark's own", default=None, at_least=0.0
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Container(Node):
    """Resources of tasks, which give the slots of every VM type by cores and by memory."""

    cores: OptionalQuantity = quantity(
        "number", "cores of each task, of the kinds without a block of their own", default=None, above=0.0
    )
    memory: OptionalQuantity = quantity(
        "data", "memory of each task, of the kinds without a block of their own", default=None, above=0.0
    )
    map: Resources | None = block(Resources, "one map task")
    reduce: Resources | None = block(Resources, "one reduce task")
    task: Resources | None = block(Resources, "one task of a stage")
    executor: Executor | None = block(Executor, "one executor, in place of task")

    def of(self, kind: str) -> Resources | None:
        """Return the resources of one task of a kind; those of all tasks replace what its block leaves out."""
        own = getattr(self, kind)
        if self.cores is None and self.memory is None:
            return own  # type: ignore[no-any-return]
        if own is None:
            return Resources(cores=self.cores, memory=self.memory, span=self.span)
        cores, memory = (mine or every for mine, every in ((own.cores, self.cores), (own.memory, self.memory)))
        return Resources(cores=cores, memory=memory, span=own.span)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class OnType(Node):
    """A class on the VM type of that name; items that are left out are the same as on other types."""

    slots: Slots | None = block(Slots, "what one VM of the type hosts, in place of what holds for all types")
    speed: Quantity = quantity(
        "number",
        "map and reduce tasks, A, B and C take 1/speed of their time; the shuffle does not",
        default=1.0,
        above=0.0,
    )
    map: MapPhase | None = block(MapPhase, "the map phase as measured on the type")
    shuffle: ShufflePhase | None = block(ShufflePhase, "the shuffle as measured on the type")
    reduce: ReducePhase | None = block(ReducePhase, "the reduce phase as measured on the type")
    stages: Sequence[Stage] = stage_blocks()
    coefficients: Coefficients | None = block(Coefficients, "A, B and C as measured on the type, in place of a profile")

    @property
    def described(self) -> bool:
        """True if it has its own profile."""
        return bool(self.stages) or any(
            part is not None for part in (self.map, self.shuffle, self.reduce, self.coefficients)
        )


def shared_rows(nodes: Sequence[Any], field: str) -> list[tuple[Any, ...]]:
    """Return a tuple-valued field of every node, such as nested blocks or names, without building nodes of columns."""
    rows: list[tuple[Any, ...]] = []
    for part in parts_of(nodes):
        if not isinstance(part, Columns):
            rows += [tuple(getattr(node, field)) for node in part]
            continue
        value = part.values.get(field, ())
        alike = not getattr(value, "ndim", 0)
        rows += [tuple(value)] * len(part) if alike else [tuple(each) for each in _listed(value)]
    return rows


def _listed(value: NDArray[Any]) -> list[Any]:
    listed: list[Any] = value.tolist()
    return listed


def any_rows(nodes: Sequence[Any], field: str) -> bool:
    """Return True if some node has such a tuple that is not empty; without a look at every row of a table of alike
    ones.
    """
    for part in parts_of(nodes):
        if not isinstance(part, Columns):
            if any(len(getattr(node, field)) for node in part):
                return True
            continue
        value = part.values.get(field, ())
        if any(map(len, value)) if getattr(value, "ndim", 0) else len(value):
            return True
    return False


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class JobFile(Node):
    """Jobs out of a file: a SWIM trace, whose bytes the speeds turn into tasks and seconds, or a table of jobs."""

    source: Source | None = None
    block: float | None = quantity("data", "input of one map task, at most", default=None, above=0.0)
    map_speed: float | None = quantity(
        "data_rate", "bytes that one map task reads each second", default=None, above=0.0
    )
    shuffle_speed: float | None = quantity(
        "data_rate", "bytes that one reduce task fetches each second", default=None, above=0.0
    )
    reduce_speed: float | None = quantity(
        "data_rate", "bytes that one reduce task reduces each second", default=None, above=0.0
    )
    reduce_input: float | None = quantity(
        "data", "shuffled bytes for one reduce task, at most", default=None, above=0.0
    )
    task_overhead: float = quantity("time", "what every task takes besides its bytes", default=0.0, at_least=0.0)
    begin: float = quantity(
        "time", "jobs submitted before are left out, and time counts from here", default=0.0, at_least=0.0
    )
    end: float | None = quantity("time", "jobs submitted from here on are left out", default=None, above=0.0)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MachineFailures(Node):
    """Failures of machines, which end the tasks that run on them and lose their map output."""

    rate: Quantity = quantity("event_rate", "random failures of each machine", default=0.0, at_least=0.0)
    repair_time: Quantity = quantity("time", "time until a replacement starts", default=120.0, at_least=0.0, was="back")
    permanent: Whole = quantity(
        "vms",
        "machines that fail for good after the warm-up, of every class if classes do not share idle slots",
        default=0,
        at_least=0,
        whole=True,
        was="machines",
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Simulation(Run):
    """Settings of a simulation run."""

    scheduler: str = choice(
        SCHEDULERS,
        "fair: every job of a class alike; capacity: the oldest job of each class first; fifo: the oldest job of all",
        default="fair",
    )
    work_conserving: str = choice(
        YES_OR_NO,
        "whether a class's idle slots are lent to other classes, one for one",
        default="no",
        was="lending",
    )
    preemption: OptionalQuantity = preemption_item()
    machine_failures: MachineFailures | None = block(MachineFailures, "machines that fail", was="losses")
    shuffle_service: str = choice(
        YES_OR_NO, "whether map output stays when its machine goes, such as on a service of its own", default="no"
    )


def simulation_block() -> Any:
    """Return the declaration of ``simulation { ... }``."""
    return block(Simulation, "how the plan is run by `mrdsl simulate`")
