"""What somebody who runs a bounds plan sets: the slots of every class, where the spec asks for them."""

from __future__ import annotations

from mrdsl.contracts.operated import GIVE, Operated, Setting
from mrdsl.families.bounds.plan import BoundsPlan
from mrdsl.spec.spec import Spec

ESTIMATES = "it estimates completion times, and gives no slots"


def operated(_: Spec, plan: BoundsPlan) -> Operated:
    """The settings of a plan: none of one that estimates only."""
    if not plan.sizes:
        return Operated((), ESTIMATES)
    classes = plan.document()["classes"]
    return Operated(
        tuple(
            Setting(GIVE, f"each job of class {name}", slots, key.replace("_", " "))
            for name, got in classes.items()
            for key, slots in got.items()
            if key.endswith("_slots")
        )
    )
