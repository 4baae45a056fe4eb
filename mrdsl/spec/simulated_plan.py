"""What a spec says of how its plan is run: the scheduler, what classes lend, machines that go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mrdsl.spec.blocks import YES_OR_NO
from mrdsl.spec.schema import Node, block, choice, quantity
from mrdsl.spec.simulated import SCHEDULERS, Run, preemption_item


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Losses(Node):
    """Machines that go, with the tasks that run on them and their map output."""

    rate: float = quantity("rate", "how often each machine goes, at random", default=0.0, at_least=0.0)
    back: float = quantity("time", "how long it takes until another stands there", default=120.0, at_least=0.0)
    machines: int = quantity(
        "vms",
        "how many go for good once the warm-up is over, of every class where classes lend no slots",
        default=0,
        at_least=0,
        whole=True,
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Simulation(Run):
    """How the plan is run, and how long."""

    scheduler: str = choice(
        SCHEDULERS,
        "fair: every job of a class alike; capacity: the oldest job of each class first; fifo: the oldest job of all",
        default="fair",
    )
    lending: str = choice(
        YES_OR_NO, "whether a class's idle slots are lent to other classes, one for one", default="no"
    )
    preemption: float | None = preemption_item()
    losses: Losses | None = block(Losses, "machines that go")
    shuffle_service: str = choice(
        YES_OR_NO, "whether map output stays when its machine goes, such as on a service of its own", default="no"
    )


def simulation_block() -> Any:
    """The declaration of ``simulation { ... }``."""
    return block(Simulation, "how the plan is run by `mrdsl simulate`")
