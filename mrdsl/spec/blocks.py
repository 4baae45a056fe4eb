"""Blocks that several families share: profiles, coefficients, slots, prices."""

from __future__ import annotations

from dataclasses import dataclass

from mrdsl.spec.schema import Node, choice, quantity

GUARANTEES = ("lower", "average", "upper")
"""The estimates of a completion time that can be promised."""
YES_OR_NO = ("yes", "no")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MapPhase(Node):
    """The map tasks of one job."""

    tasks: int = quantity("number", "number of map tasks of one job", at_least=1, whole=True, symbol="N_M")
    avg: float = quantity("time", "average duration of a map task", above=0.0, symbol="M_avg")
    max: float = quantity("time", "longest duration of a map task", above=0.0, symbol="M_max")
    min: float | None = quantity("time", "shortest duration of a map task", default=None, at_least=0.0, symbol="M_min")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ShufflePhase(Node):
    """The transfers to the reduce tasks; the first wave counts only what does not overlap the map phase."""

    first_avg: float | None = quantity(
        "time",
        "average duration of a first-wave shuffle; default first_max",
        default=None,
        at_least=0.0,
        symbol="Sh1_avg",
    )
    first_max: float = quantity("time", "longest duration of a first-wave shuffle", at_least=0.0, symbol="Sh1_max")
    avg: float = quantity("time", "average duration of a typical shuffle", at_least=0.0, symbol="Sh_avg")
    max: float = quantity("time", "longest duration of a typical shuffle", at_least=0.0, symbol="Sh_max")
    first_min: float | None = quantity(
        "time", "shortest duration of a first-wave shuffle", default=None, at_least=0.0, symbol="Sh1_min"
    )
    min: float | None = quantity(
        "time", "shortest duration of a typical shuffle", default=None, at_least=0.0, symbol="Sh_min"
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ReducePhase(Node):
    """The reduce tasks of one job; without any, the shuffle vanishes too."""

    tasks: int = quantity("number", "number of reduce tasks of one job", at_least=0, whole=True, symbol="N_R")
    avg: float = quantity("time", "average duration of a reduce task", default=0.0, at_least=0.0, symbol="R_avg")
    max: float = quantity("time", "longest duration of a reduce task", default=0.0, at_least=0.0, symbol="R_max")
    min: float | None = quantity(
        "time", "shortest duration of a reduce task", default=None, at_least=0.0, symbol="R_min"
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Coefficients(Node):
    """Equation (4) as measured elsewhere: one job takes A/s_M + B/s_R + C on s_M map and s_R reduce slots."""

    A: float = quantity("time", "map work of one job, in slot-seconds", above=0.0, symbol="A")
    B: float = quantity("time", "reduce work of one job, in slot-seconds", at_least=0.0, symbol="B")
    C: float = quantity("time", "the part that no slots shorten; may be negative", symbol="C")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Slots(Node):
    """How many tasks run side by side: map and reduce tasks, or tasks of stages."""

    map: int | None = quantity(
        "slots", "map tasks that run side by side", default=None, at_least=1, whole=True, symbol="c_M"
    )
    reduce: int | None = quantity(
        "slots", "reduce tasks that run side by side", default=None, at_least=1, whole=True, symbol="c_R"
    )
    task: int | None = quantity(
        "slots", "tasks of stages that run side by side", default=None, at_least=1, whole=True, symbol="c"
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MapReduceSlots(Node):
    """How many map and reduce tasks run side by side."""

    map: int = quantity("slots", "map tasks that run side by side", at_least=1, whole=True, symbol="c_M")
    reduce: int = quantity("slots", "reduce tasks that run side by side", at_least=1, whole=True, symbol="c_R")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class OnDemand(Node):
    """A VM rented by the hour."""

    price: float = quantity(
        "price", "price of one VM on demand; 0 for machines of one's own", at_least=0.0, symbol="delta"
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Reserved(Node):
    """VMs under a long contract."""

    price: float = quantity(
        "price", "price of one reserved VM; 0 for machines of one's own", at_least=0.0, symbol="rho"
    )
    available: int = quantity("vms", "how many VMs are reserved", at_least=0, whole=True, symbol="r-bar")
    paid: str = choice(
        YES_OR_NO,
        "whether they are paid for in any case, used or not: using them then costs the fee alone",
        default="no",
    )
