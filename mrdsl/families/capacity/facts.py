"""The blocks of a capacity spec: VM types, job classes, and the period that prices are summed over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from mrdsl.core.units import HOUR
from mrdsl.spec.blocks import (
    GUARANTEES,
    ONE,
    Coefficients,
    Container,
    Disk,
    Driver,
    MapPhase,
    OnDemand,
    OnType,
    Quota,
    ReducePhase,
    Reserved,
    ShufflePhase,
    Simulation,
    Slots,
    Spot,
    Stage,
    System,
    on_type_blocks,
    simulation_block,
    stage_blocks,
    startup_item,
)
from mrdsl.spec.demand import Demand
from mrdsl.spec.observed import ObservedCluster, observed_block, took_item
from mrdsl.spec.schema import (
    BUDGET_HINT,
    Node,
    Source,
    block,
    blocks,
    choice,
    quantity,
    reference,
    references,
    value_range,
)
from mrdsl.spec.simulated import (
    Recorded,
    arrivals_item,
    burst_item,
    distribution_item,
    recorded_block,
    samples_item,
    submissions_item,
    think_item,
)
from mrdsl.spec.typing import OptionalQuantity, OptionalWhole, Quantities, Quantity, RangeOf, Whole

__all__ = [
    "CapacityFacts",
    "Coefficients",
    "Container",
    "Demand",
    "Disk",
    "Hdfs",
    "JobClass",
    "MapPhase",
    "Master",
    "NeverTogether",
    "OnDemand",
    "OnType",
    "Quota",
    "Recorded",
    "ReducePhase",
    "Reserved",
    "ShufflePhase",
    "Simulation",
    "Slots",
    "Source",
    "Spot",
    "Stage",
    "Transfer",
    "TransferPrices",
    "VmType",
]

WAYS = ("on_demand", "reserved", "spot")
"""Contracts of a VM."""
LARGEST = "largest"
"""In `share(spot, largest)` and `cores(spot, largest)`: the VM type with most of them."""
WHOLE = SLOTS, MACHINES, NO = ("slots", "machines", "no")
"""Unit that is whole: the slots of each job, the VMs of each class, which then shares none, or neither."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Hdfs(Node):
    """Data that the disks of the cluster hold: those of firm VMs, masters not among them."""

    EXAMPLE: ClassVar[str] = "{ data = 2 TiB }"

    data: Quantity = quantity("data", "amount of data, without its copies", at_least=0.0)
    replication: Whole = quantity("number", "copies of each block", default=3, at_least=1, whole=True)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Transfer(Node):
    """Data that each job of a class moves into and out of the cloud."""

    EXAMPLE: ClassVar[str] = "{ output = 20 GiB }"

    input: Quantity = quantity("data", "data that one job moves in", default=0.0, at_least=0.0)
    output: Quantity = quantity("data", "data that one job moves out", default=0.0, at_least=0.0)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TransferPrices(Node):
    """Prices of data that jobs move into and out of the cloud."""

    EXAMPLE: ClassVar[str] = "{ input = 0 USD/GiB, output = 0.09 USD/GiB }"

    input: OptionalQuantity = quantity("data_price", "price of data moved in", default=None, at_least=0.0)
    output: OptionalQuantity = quantity("data_price", "price of data moved out", default=None, at_least=0.0)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class VmType(Node):
    """A VM type that can be rented."""

    EXAMPLE: ClassVar[str] = "{ on_demand { price = 0.192 USD/h } }"

    on_demand: OnDemand = block(OnDemand, "renting by the hour, as many as wanted", required=True)
    reserved: Reserved | None = block(Reserved, "VMs under a long contract, a limited number")
    terms: Sequence[Reserved] = blocks(Reserved, "reserved", "one of several long contracts", plural="reserved_terms")
    spot: Spot | None = block(Spot, "VMs that the provider may take back")
    fee: Quantity = quantity(
        "price",
        "what the platform adds for each VM, however it is bought",
        default=0.0,
        at_least=0.0,
        share_of="on_demand.price",
    )
    disk: Disk | None = block(Disk, "block storage of each VM", short="size")
    available: OptionalWhole = quantity(
        "vms",
        "how many there are of the type, however bought; default: any number",
        default=None,
        at_least=0,
        whole=True,
    )
    cores: OptionalQuantity = quantity(
        "number", "cores that tasks may use, and those of its system if it has one", default=None, above=0.0
    )
    memory: OptionalQuantity = quantity(
        "data", "memory that tasks may use, and that of its system if it has one", default=None, above=0.0
    )
    system: System | None = block(
        System, "what is not for containers; default: all cores and memory are", short="platform"
    )
    masters: Whole = quantity(
        "vms", "VMs of the type that hold no slots and are paid all the same", default=0, at_least=0, whole=True
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Master(Node):
    """The master of the cluster, or several for high availability."""

    EXAMPLE: ClassVar[str] = '{ vm = "m5.xlarge" }'

    vm: str = reference("its VM type, which need not run tasks")
    count: Whole = quantity("vms", "number of masters", default=1, at_least=1, whole=True)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Discount(Node):
    """The discount of a savings plan on one VM type."""

    discount: Quantity = quantity("share", "off its price on demand", at_least=0.0, below=1.0)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SavingsPlan(Node):
    """Money per hour that is paid in any case, and that pays for VMs on demand at a discount."""

    EXAMPLE: ClassVar[str] = "{ discount = 28% }"

    discount: Quantity = quantity("share", "off the prices on demand of its VM types", at_least=0.0, below=1.0)
    available: OptionalQuantity = quantity(
        "price", "most money per time to commit; default: any amount", default=None, at_least=0.0
    )
    types: tuple[str, ...] = references("the VM types that it pays for; default: all", of="vm")
    on: Sequence[Discount] = blocks(Discount, "on", "its discount on one VM type", plural="on_types", of="vm")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class JobClass(Node):
    """Jobs with one profile, one deadline and one penalty."""

    EXAMPLE: ClassVar[str] = (
        "{ map { tasks = 64, avg = 30 s, max = 45 s }, slots { map = 2, reduce = 1 }, "
        "jobs = 10, deadline = 15 min, penalty = 12.50 USD }"
    )
    ONE_OF: ClassVar[tuple[tuple[str, ...], ...]] = (("slots", "container"), ("map", "stage", "coefficients"))

    map: MapPhase | None = block(MapPhase, "the map phase of one job")
    shuffle: ShufflePhase | None = block(ShufflePhase, "the shuffle of one job; not for map-only classes")
    reduce: ReducePhase | None = block(ReducePhase, "the reduce phase of one job; left out for map-only classes")
    stages: Sequence[Stage] = stage_blocks()
    startup: Quantity = startup_item()
    coefficients: Coefficients | None = block(Coefficients, "A, B and C in place of a profile")
    slots: Slots | None = block(
        Slots, "what one VM hosts, of any type: either so many map or so many reduce tasks, or tasks of stages"
    )
    container: Container | None = block(Container, "what a task takes of a VM, in place of slots")
    driver: Driver | None = block(Driver, "what the driver of each job takes of a VM, besides its tasks")
    on: Sequence[OnType] = on_type_blocks()
    types: tuple[str, ...] = references(
        "`one` keeps all jobs of the class on one VM type; a list of types limits it to those",
        of="vm",
        words=(ONE,),
    )
    spot: OptionalQuantity = quantity(
        "share",
        "the part of its VM time that may be on spot VMs; default: all of it",
        default=None,
        at_least=0.0,
        at_most=1.0,
    )
    jobs: RangeOf = value_range(
        "jobs",
        "at least the low end is admitted, the high end is expected; whole jobs",
        at_least=0.0,
        symbol="H_low .. H_up",
    )
    deadline: Quantity = quantity("time", "by when each job of the class is done", above=0.0, symbol="D")
    penalty: Quantity = quantity("money", "for each expected job that is turned away", at_least=0.0, symbol="p")
    transfer: Transfer | None = block(Transfer, "data that each admitted job moves into and out of the cloud")
    guarantee: str | None = choice(
        GUARANTEES,
        "which estimate meets the deadline, default average; p95: 95 % of the jobs do, in simulation",
        default=None,
        percentiles=True,
    )
    distribution: str = distribution_item()
    samples: Source | None = samples_item()
    think: Quantity = think_item()
    arrivals: OptionalQuantity = arrivals_item()
    burst: Whole = burst_item()
    submissions: Source | None = submissions_item()
    recorded: Recorded | None = recorded_block()
    took: Quantities = took_item()


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class NeverTogether(Node):
    """Classes of which at most one runs at a time: they take turns on the same VMs."""

    EXAMPLE: ClassVar[str] = "{ classes = [extract, report] }"

    classes: tuple[str, ...] = references("two classes or more, each in one such block", of="class")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CapacityFacts(Node):
    """The facts of a capacity spec."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = BUDGET_HINT

    vms: Sequence[VmType] = blocks(
        VmType, "vm", "the VM types that may be rented", required=True, catalogues=("ec2", "instance_types")
    )
    master: Master | None = block(Master, "VMs of one type that hold no slots and are paid all the same, firm")
    hdfs: Hdfs | None = block(Hdfs, "data on the disks of the cluster, which need enough firm VMs")
    transfer: TransferPrices | None = block(TransferPrices, "prices of the data that jobs move")
    quotas: Sequence[Quota] = blocks(Quota, "quota", "limits on the cores of groups of VM types")
    classes: Sequence[JobClass] = blocks(JobClass, "class", "the job classes", plural="classes", required=True)
    never_together: Sequence[NeverTogether] = blocks(
        NeverTogether,
        "never_together",
        "classes of which at most one runs at a time, so that they take the VMs of the most demanding one",
        plural="never_together",
    )
    demand: Demand | None = block(Demand, "the demand over several periods, for which VMs are committed")
    savings_plans: Sequence[SavingsPlan] = blocks(
        SavingsPlan, "savings_plan", "money per hour to commit, for which VMs on demand cost less"
    )
    simulation: Simulation | None = simulation_block()
    observed: ObservedCluster | None = observed_block()
    period: Quantity = quantity("time", "how long the VMs are paid for in the objective", default=HOUR, above=0.0)
    whole: str | None = choice(
        WHOLE,
        "`slots`, the default: each job has whole slots; `machines`: and no VM is shared; `no`: slots are fractions",
        default=None,
    )
