"""Input data of a joint spec: one cluster, its MapReduce classes, its web services and their demand over time.

The cluster has private VMs of one kind, or rented VMs of several types.

``whole = slots | no`` sets which values of a plan are whole. A relaxation has fractions of everything, and P0 and P1
have separate slots. ``concurrency = fractional`` has fractions of jobs: they take slots as fractions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from mrdsl.contracts.wholeness import Wholeness
from mrdsl.core.units import HOUR
from mrdsl.spec.blocks import (
    GUARANTEES,
    ONE,
    Coefficients,
    Container,
    Driver,
    MapPhase,
    Quota,
    ReducePhase,
    ShufflePhase,
    Simulation,
    Slots,
    Stage,
    simulation_block,
)
from mrdsl.spec.estimates import estimates_item, sharing_item
from mrdsl.spec.rented import (
    AdmittedClass,
    Demand,
    RentedVm,
    spot_share_item,
    startup_item,
    think_item,
)
from mrdsl.spec.schema import (
    BUDGET_HINT,
    Node,
    Source,
    block,
    blocks,
    choice,
    quantity,
    references,
    value_range,
)
from mrdsl.spec.simulated import (
    Recorded,
    arrivals_item,
    burst_item,
)
from mrdsl.spec.typing import OptionalQuantity, OptionalRange, OptionalWhole, Quantity, Whole

__all__ = [
    "Cluster",
    "Coefficients",
    "Demand",
    "JobClass",
    "JointFacts",
    "MapPhase",
    "Recorded",
    "ReducePhase",
    "Service",
    "ShufflePhase",
    "Simulation",
    "Slots",
    "Source",
    "Stage",
]

SLOTS, NO = "slots", "no"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Cluster(Node):
    """The cluster: private VMs of one kind, of one size all day, or rented VMs of several types."""

    EXAMPLE: ClassVar[str] = "{ size = 50, vm_cost = 0.192 USD/h }"
    EXAMPLE_BESIDE: ClassVar[Mapping[str, str]] = MappingProxyType({"vms": "{ period = 1 h }"})

    size: OptionalWhole = quantity(
        "vms",
        "how many VMs there are; required without `vm`, and with it the most of all types; default: any number",
        default=None,
        at_least=1,
        whole=True,
        symbol="V-bar",
    )
    vm_cost: OptionalQuantity = quantity(
        "price", "what a running VM costs; required without `vm`", default=None, above=0.0, symbol="rho"
    )
    period: Quantity = quantity("time", "how long one allocation stands", default=HOUR, above=0.0, symbol="T")
    sharing: str = choice(
        ("shared", "partitioned"),
        "whether classes and services take any VM, or each kind only its own part, split by daily peaks",
        default="shared",
    )
    concurrency: str = choice(
        ("whole", "fractional"),
        "jobs of a class at once: whole ones in whole rounds, or the paper's share, which may break deadlines",
        default="whole",
    )
    reuse: str | None = choice(
        ("any", "paper", "exact", "floor"),
        "rounds of jobs in a period: `any` number that keeps the deadline, the default, or that of jobs which take all "
        "of it, as in the paper; with `concurrency = fractional` period / deadline (`exact`) or its `floor`",
        default=None,
    )


class VmType(
    RentedVm,
    without={
        "masters": "joint plans VMs for classes and services alone: add the cost of masters by hand",
        **dict.fromkeys(("terms", "boot", "billing"), ""),
    },
):
    """A VM type that can be rented, period by period; services use none on spot."""

    EXAMPLE: ClassVar[str] = "{ on_demand { price = 0.192 USD/h }, available = 40 }"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class JobClass(AdmittedClass):
    """MapReduce jobs with one profile, one deadline and one penalty."""

    container: Container | None = block(Container, "what a task takes of a VM, in place of slots; only with `vm`")
    driver: Driver | None = block(Driver, "the driver of each job; only in `capacity`")
    types: tuple[str, ...] = references(
        "`one` keeps all jobs of a period on one VM type; a list of types limits them to those",
        of="vm",
        words=(ONE,),
    )
    startup: Quantity = startup_item()
    spot: OptionalQuantity = spot_share_item()
    jobs: OptionalRange = value_range(
        "jobs",
        "jobs of one period, run in period / deadline rounds: at least .. expected",
        default=None,
        at_least=0.0,
        symbol="H",
    )
    deadline: Quantity = quantity("time", "by when a job must be done", above=0.0, symbol="D-bar")
    penalty: Quantity = quantity("money", "for each expected job that is turned away", at_least=0.0, symbol="p_M")
    sharing: str | None = sharing_item()
    guarantee: str | None = choice(
        (*GUARANTEES, "mean"),
        "which estimate meets the deadline; default mean, average in fractions or with `estimates = paper`",
        default=None,
    )
    shift: Quantity = quantity("time", "how far the class's time zone is ahead of the demand table's", default=0.0)
    think: Quantity = think_item()
    arrivals: OptionalQuantity = arrivals_item()
    burst: Whole = burst_item()


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class OnServiceType(Node):
    """A service on the VM type of that name."""

    EXAMPLE: ClassVar[str] = "{ speed = 1.8 }"

    speed: Quantity = quantity("number", "requests take 1/speed of their service time", above=0.0)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Service(Node):
    """Requests of one web service: an M/G/1 processor-sharing queue on every VM, with a network delay."""

    rate: OptionalRange = value_range(
        "rate", "requests per second: at least .. expected", default=None, at_least=0.0, symbol="Lambda"
    )
    service_rate: Quantity = quantity("rate", "requests per second that one VM can work off", above=0.0, symbol="mu")
    delay: Quantity = quantity("time", "network delay of a request", default=0.0, at_least=0.0, symbol="L")
    response: Quantity = quantity("time", "bound on the mean response time", above=0.0, symbol="R-bar")
    penalty: Quantity = quantity("money", "for each expected request that is turned away", at_least=0.0, symbol="p_W")
    on: Sequence[OnServiceType] = blocks(
        OnServiceType, "on", "how fast one VM type answers", plural="on_types", of="vm"
    )
    types: tuple[str, ...] = references("the VM types that may answer; default: all", of="vm")
    shift: Quantity = quantity("time", "how far the service's time zone is ahead of the demand table's", default=0.0)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class JointFacts(Node):
    """One private cluster shared by MapReduce classes and web services, period by period."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = MappingProxyType(
        {**BUDGET_HINT, "master": "joint plans VMs for classes and services alone: add the cost of masters by hand"}
    )
    ONE_OF: ClassVar[tuple[tuple[str, ...], ...]] = (("class", "service"),)

    cluster: Cluster = block(Cluster, "the cluster and its periods", required=True)
    vms: Sequence[VmType] = blocks(
        VmType,
        "vm",
        "the VM types that may be rented, in place of VMs of one kind",
        catalogues=("ec2", "instance_types"),
    )
    quotas: Sequence[Quota] = blocks(Quota, "quota", "limits on the cores of groups of VM types")
    classes: Sequence[JobClass] = blocks(JobClass, "class", "MapReduce jobs of one kind", plural="classes")
    services: Sequence[Service] = blocks(Service, "service", "requests of one web service")
    demand: Demand | None = block(Demand, "the demand over several periods")
    simulation: Simulation | None = simulation_block()
    estimates: str | None = estimates_item()
    whole: str | None = choice(
        (SLOTS, NO),
        "`slots`, the default: each job has whole slots, on whole VMs of its class; `no`: slots are fractions",
        default=None,
    )


WHOLENESS = Wholeness(
    default=lambda facts: NO if facts.cluster.concurrency == "fractional" else SLOTS,
    fractions=NO,
)
wholeness_of, as_solved = WHOLENESS.of, WHOLENESS.as_solved
in_fractions, as_planned = WHOLENESS.in_fractions, WHOLENESS.as_planned
