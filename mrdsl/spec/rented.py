"""Fields of VM types, job classes and clusters in several families, and demand over periods.

Base classes declare nested blocks, names and choices. Functions declare quantities, since mypy gives an inherited one
the type of its argument, a number or a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, ClassVar

from mrdsl.core.diagnostics import Diagnostic, error, warning
from mrdsl.spec.blocks import (
    ONE,
    Coefficients,
    Container,
    Disk,
    Driver,
    MapPhase,
    OnDemand,
    OnType,
    ReducePhase,
    Reserved,
    ShufflePhase,
    Slots,
    Spot,
    Stage,
    System,
    stage_blocks,
)
from mrdsl.spec.schema import Node, Source, block, blocks, choice, path, quantities, quantity, references
from mrdsl.spec.simulated import ArrivingClass
from mrdsl.spec.typing import OptionalQuantity, OptionalWhole, Quantities, Quantity, Whole


def startup_item() -> Any:
    """Return the declaration of ``startup`` of a class."""
    what = "time of a job outside its tasks, such as its start; it takes no slot"
    return quantity("time", what, default=0.0, at_least=0.0)


def spot_share_item() -> Any:
    """Return the declaration of ``spot`` of a class."""
    what = "the part of its VM time that may be on spot VMs; default: all of it"
    return quantity("share", what, default=None, at_least=0.0, at_most=1.0)


def think_item() -> Any:
    """Return the declaration of ``think`` of a class whose users do not think by default."""
    what = "mean time between a job's end and the user's next one (simulated)"
    return quantity("time", what, default=0.0, at_least=0.0)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Billing(Node):
    """Billing of the time of a rental."""

    period: Quantity = quantity(
        "time", "billing period: each rental is paid for whole ones", default=1.0, at_least=0.001
    )
    minimum: Quantity = quantity("time", "least time that each rental is paid for", default=60.0, at_least=0.0)

    def paid(self, seconds: float) -> float:
        """Return the time that a rental of so many seconds is paid for."""
        return max(self.minimum, ceil(round(seconds / self.period, 9)) * self.period)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RentedVm(Node):
    """A VM type that can be rented. The type of a family leaves out the fields that it does not use."""

    EXAMPLE: ClassVar[str] = "{ on_demand { price = 0.192 USD/h } }"

    on_demand: OnDemand = block(OnDemand, "renting by time, as many as wanted", required=True)
    reserved: Reserved | None = block(
        Reserved,
        "VMs under a long contract, a limited number; over several periods the plan chooses how many to pay for",
    )
    spot: Spot | None = block(Spot, "VMs that the provider may take back")
    system: System | None = block(
        System, "what is not for containers; default: all cores and memory are", short="platform"
    )
    terms: Sequence[Reserved] = blocks(Reserved, "reserved", "one of several long contracts", plural="reserved_terms")
    disk: Disk | None = block(Disk, "block storage of each VM, paid while it is rented", short="size")
    boot: Quantity = quantity(
        "time", "time from the request until a VM runs tasks; it is paid", default=0.0, at_least=0.0
    )
    billing: Billing | None = block(Billing, "how its time is paid; default: as at the top level", short="period")
    fee: Quantity = quantity(
        "price",
        "what the platform adds for each VM, however it is bought",
        default=0.0,
        at_least=0.0,
        share_of="on_demand.price",
    )
    available: OptionalWhole = quantity(
        "vms",
        "how many there are of the type at once, however bought; default: any number",
        default=None,
        at_least=0,
        whole=True,
    )
    cores: OptionalQuantity = quantity(
        "number", "cores that tasks may use, and the part of its system if it has one", default=None, above=0.0
    )
    memory: OptionalQuantity = quantity(
        "data", "memory that tasks may use, and the part of its system if it has one", default=None, above=0.0
    )
    masters: Whole = quantity(
        "vms", "VMs of the type that hold no slots, paid while any VM is", default=0, at_least=0, whole=True
    )

    def __post_init__(self) -> None:
        """Refuse fields that the type of a family leaves out. Raises TypeError."""
        for name in RentedVm.__dataclass_fields__.keys() - self.__dataclass_fields__.keys():
            if getattr(self, name):
                raise TypeError(f"{type(self).__qualname__} has no `{name}`")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ProfiledClass(Node):
    """A job class with a profile: phases or stages."""

    map: MapPhase | None = block(MapPhase, "the map tasks of one job")
    shuffle: ShufflePhase | None = block(ShufflePhase, "the transfers to the reduce tasks; not for map-only jobs")
    reduce: ReducePhase | None = block(ReducePhase, "the reduce tasks of one job; left out for map-only jobs")
    stages: Sequence[Stage] = stage_blocks()


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PlacedClass(ProfiledClass):
    """A job class whose tasks run on the VM types of a spec."""

    slots: Slots | None = block(Slots, "what one VM hosts, of any type: map tasks or reduce tasks, or tasks of stages")
    container: Container | None = block(Container, "what a task takes of a VM, in place of slots")
    on: Sequence[OnType] = blocks(OnType, "on", "how the class runs on one VM type", plural="on_types", of="vm")
    types: tuple[str, ...] = references(
        "`one` keeps all jobs of the class on one VM type; a list of types limits it to those", of="vm", words=(ONE,)
    )


def described_on(node: Any, row: OnType) -> Any:
    """Return a class as measured on one type: blocks of ``on`` replace the general ones."""
    phases = dict.fromkeys(("map", "shuffle", "reduce"))
    if row.coefficients is None and not row.stages:
        phases = {name: getattr(row, name) or getattr(node, name) for name in phases}
    coefficients = {"coefficients": row.coefficients} if hasattr(node, "coefficients") else {}
    return replace(node, stages=() if row.coefficients is not None else row.stages, **phases, **coefficients)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class AdmittedClass(ArrivingClass, PlacedClass):
    """A job class of which a plan admits a number of jobs that run at once."""

    EXAMPLE: ClassVar[str] = (
        "{ map { tasks = 64, avg = 30 s, max = 45 s }, slots { map = 2, reduce = 1 }, "
        "jobs = 10, deadline = 15 min, penalty = 12.50 USD }"
    )
    ONE_OF: ClassVar[tuple[tuple[str, ...], ...]] = (("slots", "container"), ("map", "stage", "coefficients"))

    coefficients: Coefficients | None = block(Coefficients, "A, B and C in place of a profile")
    driver: Driver | None = block(Driver, "what the driver of each job takes of a VM, besides its tasks")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ObservedCluster(Node):
    """The cluster as it was; no plan depends on it."""

    EXAMPLE: ClassVar[str] = "{ vms = 8, time = 6 h, used = 40% }"

    vms: Whole = quantity("vms", "VMs that it had at once, at most", at_least=1, whole=True)
    time: Quantity = quantity("time", "time from the first request of the logs to the last end", above=0.0)
    held: Quantities = quantities(
        "time", "how long each of its VMs was there; default: `vms` of them for all of `time`", default=(), at_least=0.0
    )
    requests: Quantities = quantities(
        "time",
        "time from the first request to the last one, in each part of `time` with VMs; plans of `capacity` add "
        "the time that their jobs take; default: one part, without the longest `took` at its end",
        default=(),
        at_least=0.0,
    )
    price: OptionalQuantity = quantity(
        "price", "what one VM cost; default: as the first VM type of the spec, on demand", default=None, at_least=0.0
    )
    used: OptionalQuantity = quantity(
        "share", "the part of the slot time of its VMs in which tasks ran", default=None, at_least=0.0, at_most=1.0
    )
    busy: Quantities = quantities(
        "number", "mean number of running tasks in equal parts of the time", default=(), at_least=0.0
    )
    slots: Quantities = quantities(
        "number", "mean number of slots in equal parts of the time", default=(), at_least=0.0
    )


def observed_block() -> Any:
    """Return the declaration of ``observed { ... }``."""
    return block(ObservedCluster, "the cluster of the logs that the spec comes from, to compare a plan with")


def took_item() -> Any:
    """Return the declaration of the times that runs of a class took in the logs."""
    return quantities(
        "time", "how long runs took in the logs, to compare a plan with `observed`", default=(), at_least=0.0
    )


DAYS = FLAT, BIMODAL = ("flat", "bimodal")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Demand(Node):
    """Expected demand over several periods: a table with a column per class or service, or a typical day."""

    periods: Whole = quantity("number", "how many periods are planned", at_least=1, whole=True)
    from_: Source | None = path("a CSV file with one column per class or service, one row per period", default=None)
    floor: OptionalQuantity = quantity(
        "share",
        "the part of the expected demand that must be served; default: as in each `jobs` and `rate`",
        default=None,
        at_least=0.0,
        at_most=1.0,
    )
    day: str = choice(
        DAYS,
        "without a table: every period as in `jobs` and `rate`, or those at the peak of a two-peaked day",
        default="flat",
    )
    noise: Quantity = quantity("share", "standard deviation of the noise on a typical day", default=0.0, at_least=0.0)


def check_demand(demand: Demand, seed: int | None) -> Iterator[Diagnostic]:
    """Yield contradictions between the items of a demand block."""
    if demand.from_ is not None and demand.day != "flat":
        yield error(
            "demand-twice",
            "the demand has both `from` and `day`, but only one of them can define it",
            demand.span_of("day"),
            "remove `day` to use the table, or remove `from` to use the typical day",
        )
    if demand.day != "flat" and seed is None:
        yield error(
            "missing-seed",
            "a typical day is drawn at random, but the spec has no seed",
            demand.span_of("day"),
            "write `seed = 42` at the top level",
        )
    if demand.noise > 0 and demand.day == "flat":
        yield warning(
            "unused",
            "`noise` has no effect without `day = bimodal`",
            demand.span_of("noise"),
            "leave it out, or add `day = bimodal`",
        )
