"""Input data of a hybrid spec: a private cloud in time slots, queues of tasks, and the controller's weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mrdsl.core import budgets
from mrdsl.spec.schema import Node, Source, block, blocks, distribution, path, quantity, reference
from mrdsl.spec.typing import OptionalRandom, Quantity, Random, Whole

__all__ = [
    "Bursts",
    "Control",
    "HybridFacts",
    "Queue",
    "Source",
    "Vm",
]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Vm(Node):
    """A type of VM in the private cloud."""

    EXAMPLE: ClassVar[str] = "{ available = 10 }"

    available: Whole = quantity("vms", "VMs of this type in the private cloud", at_least=0, whole=True, symbol="m_i")
    preemption_cost: Quantity = quantity("money", "what one preemption on this type costs", default=0.0, at_least=0.0)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Bursts(Node):
    """On-off arrivals: both kinds of stretches have geometric lengths; the run starts between two bursts."""

    on: Whole = quantity("slots", "average length of a burst", at_least=1, whole=True)
    off: Whole = quantity("slots", "average time between two bursts", at_least=1, whole=True)
    arrivals: Random = distribution("tasks", "tasks that arrive in one slot of a burst", at_least=0.0)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Queue(Node):
    """Tasks of one kind: their VM type, size and promised delay."""

    EXAMPLE: ClassVar[str] = "{ vm = NAME, size = 2, delay = 4, arrivals = 3, arrivals_max = 5, outsourcing = 1 USD }"

    vm: str = reference("VM type on which the queue's tasks run")
    size: Whole = quantity("slots", "slots of time that a task runs", at_least=1, whole=True, symbol="l")
    delay: Whole = quantity(
        "slots", "slots of time within which a task must be served", at_least=1, whole=True, symbol="d"
    )
    arrivals: OptionalRandom = distribution(
        "tasks", "tasks that arrive in one slot, unless a table records them", default=None, at_least=0.0, symbol="S(t)"
    )
    arrivals_max: Whole = quantity(
        "tasks", "most tasks that arrive in one slot", at_least=1, whole=True, symbol="S_max"
    )
    outsourcing: Quantity = quantity("money", "what one task costs outside", at_least=0.0)
    bursts: Bursts | None = block(Bursts, "times in which more tasks arrive than usually")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Control(Node):
    """The weights of the drift-plus-penalty controller; None where they are to be worked out (`bounds.control_of`)."""

    V: Quantity = quantity(
        "number", "weight of cost against backlog", default=None, at_least=0.0, symbol="V", automatic=True
    )
    preemption_weight: Quantity = quantity(
        "number", "weight of preemptions against other costs", default=1.0, at_least=0.0, symbol="beta"
    )
    acceptance: Quantity = quantity(
        "share", "share of each queue's tasks that is admitted", default=0.95, at_least=0.0, at_most=1.0, symbol="alpha"
    )
    outsource_limit: Whole = quantity(
        "tasks",
        "most tasks of one queue that leave in one slot",
        default=None,
        at_least=0,
        whole=True,
        symbol="D_max",
        automatic=True,
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class HybridFacts(Node):
    """A private cloud, its queues, and how long it is watched."""

    horizon: Whole = quantity(
        "slots", "how many slots of time are simulated", at_least=1, at_most=budgets.SIMULATED_SLOTS, whole=True
    )
    vms: Sequence[Vm] = blocks(Vm, "vm", "types of VMs in the private cloud", required=True)
    queues: Sequence[Queue] = blocks(Queue, "queue", "kinds of tasks", required=True)
    recorded: Source | None = path("table of recorded arrivals: a column per queue, a row per slot", default=None)
    control: Control | None = block(Control, "the controller's weights")
