"""What somebody who runs a schedule sets: the policy. Which VMs it rents when is its own, as jobs come."""

from __future__ import annotations

from mrdsl.contracts.operated import Operated, settings_of
from mrdsl.families.schedule.plan import SchedulePlan
from mrdsl.spec.spec import Spec

OWN = "which VMs are rented when, the policy decides as jobs come; `mrdsl compare` shows what that came to"


def operated(spec: Spec, _: SchedulePlan) -> Operated:
    """The policy's options."""
    return Operated(settings_of(spec.facts.policy, "policy"), OWN)
