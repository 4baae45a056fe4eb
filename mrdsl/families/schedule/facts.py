"""Input data of jobs with deadlines on rented VMs (Vishal 2015, chapter 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mrdsl.core.units import HOUR
from mrdsl.exchange.registry import JOBS, names
from mrdsl.spec.blocks import JobFile, MapPhase, MapReduceSlots, OnDemand, ReducePhase, ShufflePhase
from mrdsl.spec.schema import Distribution, Node, Source, block, blocks, choice, distribution, path, quantity, text
from mrdsl.spec.typing import OptionalQuantity, OptionalRandom, Quantity, Random

__all__ = [
    "Arrivals",
    "Billing",
    "Distribution",
    "JobClass",
    "JobFile",
    "MapPhase",
    "MapReduceSlots",
    "OnDemand",
    "Policy",
    "ReducePhase",
    "ScheduleFacts",
    "ShufflePhase",
    "Source",
    "Spot",
    "Vm",
]

UNIFORM_1_3 = Distribution("uniform", (1.0, 3.0))


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Spot(Node):
    """The spot market: a price that moves, drawn from a distribution, recorded, or constant."""

    price: OptionalRandom = distribution(
        "price",
        "market price of one VM: a number, or a distribution, drawn anew at every move",
        default=None,
        above=0.0,
    )
    every: Quantity = quantity("time", "how often a drawn price moves", default=300.0, at_least=1.0)
    history: Source | None = path(
        "recorded prices, as `aws ec2 describe-spot-price-history` prints them (JSON)", default=None
    )
    zone: str | None = text("availability zone of the recorded prices, where there are several", default=None)
    instance_type: str | None = text(
        "instance type of the recorded prices; default the vm's name, where they have it", default=None
    )
    product: str | None = text('product of the recorded prices, such as "Linux/UNIX"', default=None)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Billing(Node):
    """Billing of a VM's time: by periods, every started one, unless the market ends it."""

    period: Quantity = quantity("time", "billing period: every started one is paid", default=HOUR, above=0.0)
    broken_period: str = choice(
        ("free", "paid"),
        "whether the period in which the market takes a spot VM is paid; EC2 did not charge it",
        default="free",
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Vm(Node):
    """The rented VM type, with the numbers of its map slots and of its reduce slots."""

    EXAMPLE: ClassVar[str] = "{ slots { map = 2, reduce = 1 }, on_demand { price = 0.192 USD/h } }"

    slots: MapReduceSlots = block(MapReduceSlots, "slots of one VM, both kinds at once", required=True)
    on_demand: OnDemand = block(OnDemand, "the price on demand", required=True)
    spot: Spot | None = block(Spot, "the spot market")
    billing: Billing | None = block(Billing, "how its time is paid; default by the hour", short="period")
    boot: Quantity = quantity(
        "time", "time from the request until a VM runs tasks; it is paid", default=0.0, at_least=0.0
    )

    @property
    def paid_by(self) -> Billing:
        """Billing of the VM, by default the default billing."""
        return self.billing or Billing()


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Arrivals(JobFile):
    """Jobs out of a file, and their deadlines if it has none."""

    deadline_factor: Random = distribution(
        "number",
        "deadline in multiples of the shortest possible completion",
        default=UNIFORM_1_3,
        above=0.0,
        symbol="D / T_min",
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class JobClass(Node):
    """Jobs of one kind that arrive at random (Poisson); all tasks of a phase take their average time."""

    EXAMPLE: ClassVar[str] = "{ rate = 6 /h, map { tasks = 64, avg = 30 s, max = 45 s } }"

    rate: Quantity = quantity("event_rate", "jobs that arrive per unit of time, on average", above=0.0)
    map: MapPhase = block(MapPhase, "the map phase", required=True)
    shuffle: ShufflePhase | None = block(ShufflePhase, "the shuffle phase")
    reduce: ReducePhase | None = block(ReducePhase, "the reduce phase")
    deadline: OptionalQuantity = quantity("time", "deadline of every job, from its arrival", default=None, above=0.0)
    deadline_factor: Random = distribution(
        "number",
        "deadline in multiples of the shortest possible completion, where `deadline` is not given",
        default=UNIFORM_1_3,
        above=0.0,
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Policy(Node):
    """Policy by which the cluster decides, event by event."""

    EXAMPLE: ClassVar[str] = "{ algorithm = mdasa, instances = on_demand }"

    algorithm: str = choice(("ndasa", "mdasa", "ep_edf", "ev_edf", "frugal"), "the scheduling policy")
    instances: str = choice(("on_demand", "spot", "hybrid"), "which VMs are rented", default="hybrid")
    sizing: str = choice(
        ("least_slots", "fixed_reduce"),
        "how slots follow from a deadline: (3.17-3.18) or (3.16)",
        default="least_slots",
    )
    idle: str = choice(
        ("all", "sized"),
        "ndasa, mdasa, ep_edf, ev_edf: idle slots that a job takes, all while it has "
        "tasks for them, or at most as many as its sizing says",
        default="all",
    )
    request: str = choice(
        ("missing", "sized", "tasks"),
        "ndasa, mdasa, ep_edf, ev_edf: slots that are rented where a job lacks some: the missing ones, all of its "
        "sizing, or one for every task, as lines 10 and 20 print",
        default="missing",
    )
    reliability: Quantity = quantity(
        "share", "chance with which a spot bid shall outlast the work it is made for", default=0.9, above=0.0, below=1.0
    )
    epoch: Quantity = quantity("time", "ep_edf: time between two decisions", default=60.0, above=0.0)
    low_utilization: Quantity = quantity(
        "share", "ev_edf: jobs wait while more of the slots than this work", default=0.7, above=0.0, at_most=1.0
    )
    late_within: OptionalQuantity = quantity(
        "time",
        "frugal: in what time either phase of a late job shall end; default one billing period",
        default=None,
        above=0.0,
    )
    tardy_share: Quantity = quantity(
        "share", "frugal, offline: share of the jobs that may be late", default=0.0, at_least=0.0, at_most=1.0
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ScheduleFacts(Node):
    """Jobs with deadlines that arrive over time, the VM type they run on, and the policy that decides."""

    ONE_OF: ClassVar[tuple[tuple[str, ...], ...]] = (("class", "arrivals"),)

    vms: Sequence[Vm] = blocks(Vm, "vm", "the VM type", required=True)
    arrivals: Arrivals | None = block(Arrivals, "jobs out of a file", sources=names(JOBS))
    classes: Sequence[JobClass] = blocks(JobClass, "class", "jobs that arrive at random", plural="classes")
    horizon: OptionalQuantity = quantity("time", "how long jobs of classes arrive", default=None, above=0.0)
    policy: Policy = block(Policy, "how the cluster decides", required=True)
