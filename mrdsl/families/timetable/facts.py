"""The blocks of a timetable spec: VM types, classes of runs, and how machines are rented."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from mrdsl.exchange.registry import JOBS, RUN_TABLES, names
from mrdsl.spec.blocks import (
    YES_OR_NO,
    Container,
    Disk,
    JobFile,
    MapPhase,
    OnDemand,
    OnType,
    Quota,
    ReducePhase,
    Reserved,
    ShufflePhase,
    Slots,
    Spot,
    Stage,
    System,
)
from mrdsl.spec.rented import (
    Billing,
    ObservedCluster,
    PlacedClass,
    RentedVm,
    observed_block,
    spot_share_item,
    startup_item,
    took_item,
)
from mrdsl.spec.schema import Node, Source, block, blocks, choice, moment, moments, quantity
from mrdsl.spec.simulated import (
    Recorded,
    SimulatedClass,
    Speculation,
    Stragglers,
    TaskFailures,
    max_running_item,
)
from mrdsl.spec.typing import OptionalQuantity, OptionalWhole, Quantities, Quantity, Whole

__all__ = [
    "Arrivals",
    "Billing",
    "Container",
    "Disk",
    "JobClass",
    "JobFile",
    "MachineFailures",
    "MapPhase",
    "OnDemand",
    "OnType",
    "Quota",
    "Recorded",
    "ReducePhase",
    "Reserved",
    "Runs",
    "ShufflePhase",
    "Simulation",
    "Slots",
    "Source",
    "Speculation",
    "Spot",
    "Stage",
    "Stragglers",
    "System",
    "TaskFailures",
    "TimetableFacts",
    "VmType",
]

RENTS = ("constant", "elastic", "per_job", "cheapest")
"""Ways to rent machines."""


class VmType(RentedVm, without={"terms": ""}):
    """A VM type that may be rented: runs on spot VMs have time for a second attempt."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Runs(Node):
    """Releases of the runs of a class: from a start time at a fixed interval, or at listed times."""

    from_: float | str | None = moment("the release of the first run", default=None)
    every: OptionalQuantity = quantity("time", "time between two releases", default=None, above=0.0)
    times: OptionalWhole = quantity("number", "number of runs", default=None, at_least=1, whole=True)
    at: tuple[float | str, ...] = moments("the release of each run, in order", default=())
    deadlines: tuple[float | None, ...] = ()

    def __post_init__(self) -> None:
        """Take lists as tuples, since facts are hashed."""
        for name in ("at", "deadlines"):
            if isinstance(getattr(self, name), list):
                object.__setattr__(self, name, tuple(getattr(self, name)))


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Arrivals(JobFile):
    """Runs out of a file: of the classes of the spec, or jobs that each have tasks of their own."""

    slots: Slots | None = block(Slots, "how many tasks of the file's own jobs one VM hosts")
    deadline: OptionalQuantity = quantity(
        "time", "by when jobs of the file without a deadline end, from their release", default=None, above=0.0
    )
    deadline_factor: OptionalQuantity = quantity(
        "number",
        "the same in multiples of the shortest possible completion, in place of `deadline`",
        default=None,
        at_least=1.0,
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class JobClass(SimulatedClass, PlacedClass):
    """Runs of one job: its tasks, its start times and its deadline."""

    EXAMPLE: ClassVar[str] = (
        "{ map { tasks = 64, avg = 30 s, max = 45 s }, slots { map = 2, reduce = 1 }, "
        "runs { from = 22:00, every = 2 min, times = 200 }, deadline = 15 min }"
    )
    ELSEWHERE: ClassVar[Mapping[str, str]] = MappingProxyType(
        dict.fromkeys(
            ("arrivals", "burst", "submissions", "think", "jobs"),
            "runs have start times here: write runs { from = 22:00, every = 2 min, times = 200 }, or "
            'arrivals from jobs("jobs.csv") at the top level',
        )
        | {
            "driver": "remove it: take what drivers need off each VM, such as system { cores = 1, memory = 2 GiB }",
            "transfer": "remove it, and subtract the price of these data from `penalty` if a run has one",
        }
    )

    startup: Quantity = startup_item()
    runs: Runs | None = block(Runs, "when the runs are released, unless `arrivals` says it", short="at")
    deadline: OptionalQuantity = quantity("time", "by when each run ends, from its release", default=None, above=0.0)
    due: float | str | None = moment(
        "when each run is due, in place of `deadline`: the first such clock time after its release", default=None
    )
    start_within: OptionalQuantity = quantity(
        "time", "a run starts at most this long after its release; default: any time", default=None, at_least=0.0
    )
    penalty: OptionalQuantity = quantity(
        "money", "price of not running a run; default: every run is mandatory", default=None, at_least=0.0
    )
    guarantee: str | None = choice(
        ("average", "upper", "mean"),
        "which task times are planned with: `average`, the default, takes `avg`, `upper` takes `max`; p95: 95 % of the "
        "runs end on time, in simulation; `mean`: the simulated mean time of each run is on time",
        default=None,
        percentiles=True,
    )
    took: Quantities = took_item()
    spot: OptionalQuantity = spot_share_item()


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MachineFailures(Node):
    """Failures of machines, which end the tasks that run on them and lose their output."""

    rate: Quantity = quantity("event_rate", "random failures of each machine", default=0.0, at_least=0.0)
    repair_time: Quantity = quantity("time", "time until a replacement starts", default=120.0, at_least=0.0)
    permanent: Whole = quantity(
        "vms", "machines of a constant cluster that are never there", default=0, at_least=0, whole=True
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Simulation(Node):
    """Settings of simulated runs of the plan."""

    max_running: OptionalWhole = max_running_item()
    stragglers: Stragglers | None = block(Stragglers, "tasks that take long at random")
    task_failures: TaskFailures | None = block(TaskFailures, "attempts that fail")
    speculation: Speculation | None = block(Speculation, "copies of tasks that take long")
    machine_failures: MachineFailures | None = block(MachineFailures, "machines that fail")
    shuffle_service: str = choice(
        YES_OR_NO, "whether map output stays when its machine goes, such as on a service of its own", default="no"
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TimetableFacts(Node):
    """Classes of runs with start times, the VM types that they run on, and how these are rented."""

    ONE_OF: ClassVar[tuple[tuple[str, ...], ...]] = (("class", "arrivals"),)
    ELSEWHERE: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "master": "write `masters = 1` in a `vm`",
            "transfer": "remove it: the price of the data is the same in every plan that runs all jobs",
            "never_together": "remove it: runs with other start times share VMs anyway",
        }
    )

    rent: str = choice(
        RENTS,
        "how machines are rented: `constant`, as many from the first run to the last; `elastic`, each machine while it "
        "is worth its price; `per_job`, machines of its own for each run; `cheapest`, the cheapest of the three",
        default=RENTS[0],
    )
    begin: float | str | None = moment(
        "the origin of clock times without a date: earlier ones are on the next day; default: the release from which "
        "on all releases take the shortest time, or midnight",
        default=None,
    )
    billing: Billing | None = block(Billing, "how rentals of all VM types are paid", short="period")
    vms: Sequence[VmType] = blocks(VmType, "vm", "the VM types that may be rented", required=True)
    arrivals: Arrivals | None = block(
        Arrivals, "runs out of a file, in place of `runs`", sources=names((*RUN_TABLES, *JOBS))
    )
    classes: Sequence[JobClass] = blocks(JobClass, "class", "the classes of runs", plural="classes")
    quotas: Sequence[Quota] = blocks(Quota, "quota", "limits on the cores of groups of VM types at any time")
    horizon: float | str | None = moment("when the plan ends; no run may be due later", default=None)
    simulation: Simulation | None = block(Simulation, "how the plan is run by `mrdsl simulate`")
    observed: ObservedCluster | None = observed_block()
