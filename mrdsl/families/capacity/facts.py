"""The blocks of a capacity spec: VM types, job classes, and the period that prices are summed over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from mrdsl.core.units import HOUR
from mrdsl.model.ledger import WAYS as WAYS
from mrdsl.spec.blocks import (
    GUARANTEES,
    Coefficients,
    Container,
    Disk,
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
    simulation_block,
)
from mrdsl.spec.estimates import estimates_item, sharing_item
from mrdsl.spec.rented import (
    AdmittedClass,
    Demand,
    ObservedCluster,
    RentedVm,
    observed_block,
    spot_share_item,
    startup_item,
    think_item,
    took_item,
)
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
)
from mrdsl.spec.typing import OptionalQuantity, Quantities, Quantity, RangeOf, Whole

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


class VmType(RentedVm, without={"boot": "", "billing": ""}):
    """A VM type that can be rented."""


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
class JobClass(AdmittedClass):
    """Jobs with one profile, one deadline and one penalty."""

    startup: Quantity = startup_item()
    spot: OptionalQuantity = spot_share_item()
    jobs: RangeOf = value_range(
        "jobs",
        "at least the low end is admitted, the high end is expected; whole jobs",
        at_least=0.0,
        symbol="H_low .. H_up",
    )
    deadline: Quantity = quantity("time", "by when each job of the class is done", above=0.0, symbol="D")
    penalty: Quantity = quantity("money", "for each expected job that is turned away", at_least=0.0, symbol="p")
    transfer: Transfer | None = block(Transfer, "data that each admitted job moves into and out of the cloud")
    sharing: str | None = sharing_item()
    guarantee: str | None = choice(
        (*GUARANTEES, "mean"),
        "which estimate meets the deadline, default mean, or average in fractions and with `estimates = paper`; p95: "
        "95 % of the jobs do, in simulation",
        default=None,
        percentiles=True,
    )
    took: Quantities = took_item()
    think: Quantity = think_item()
    arrivals: OptionalQuantity = arrivals_item()
    burst: Whole = burst_item()


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
    estimates: str | None = estimates_item()
    period: Quantity = quantity("time", "how long the VMs are paid for in the objective", default=HOUR, above=0.0)
    whole: str | None = choice(
        WHOLE,
        "`slots`, the default: each job has whole slots; `machines`: and no VM is shared; `no`: slots are fractions",
        default=None,
    )
