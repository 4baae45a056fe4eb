"""How times spread that a plan takes for fixed: the ``simulation { ... }`` of plans without queues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mrdsl.spec.schema import Node, block, choice, quantity
from mrdsl.spec.simulated import DISTRIBUTIONS, Stragglers


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Spread(Node):
    """How the times spread that the plan takes for fixed, and how often its limits must hold then."""

    distribution: str = choice(DISTRIBUTIONS, "how the time of a task spreads around what is stated", default="uniform")
    longest: float = quantity(
        "number",
        "how many times what is stated the longest task takes; 1 where times do not spread",
        default=1.0,
        at_least=1.0,
    )
    stragglers: Stragglers | None = block(Stragglers, "tasks that take long at random")
    kept: float | None = quantity(
        "share",
        "in which part of all runs a deadline or limit must hold; default: on average",
        default=None,
        above=0.0,
        below=1.0,
    )

    @property
    def spreads(self) -> bool:
        """Whether any task may take another time than what is stated."""
        wide = self.distribution == "exponential" or (self.longest > 1.0 and self.distribution != "fixed")
        return wide or (self.stragglers is not None and self.stragglers.share > 0.0 and self.stragglers.factor > 1.0)


def spread_block() -> Any:
    """The declaration of ``simulation { ... }`` where a plan says when every task runs."""
    return block(Spread, "how task times spread while `mrdsl simulate` runs the plan")
