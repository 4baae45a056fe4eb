"""The cluster of the logs that a spec comes from, to compare a plan with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from mrdsl.spec.schema import Node, block, quantities, quantity
from mrdsl.spec.typing import OptionalQuantity, Quantities, Quantity, Whole


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ObservedCluster(Node):
    """The cluster as it was; no plan depends on it."""

    EXAMPLE: ClassVar[str] = "{ vms = 8, time = 6 h, used = 40% }"

    vms: Whole = quantity("vms", "VMs that it had", at_least=1, whole=True)
    time: Quantity = quantity("time", "time from the first task of the logs to the last", above=0.0)
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
