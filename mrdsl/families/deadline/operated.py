"""What somebody who runs a deadline plan sets: how long every task may take after its predecessors."""

from __future__ import annotations

from mrdsl.contracts.operated import SET, Operated, Setting
from mrdsl.families.deadline.plan import DeadlinePlan
from mrdsl.spec.spec import Spec


def operated(_: Spec, plan: DeadlinePlan) -> Operated:
    """The settings of a plan."""
    delays = zip(plan.names, plan.delay.tolist(), strict=True)
    return Operated(tuple(Setting(SET, f"the delay of {name}", delay, "s") for name, delay in delays))
