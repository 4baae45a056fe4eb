"""What somebody who runs a capacity plan sets: VMs to rent; slots and jobs of every class."""

from __future__ import annotations

from collections.abc import Iterator

from mrdsl.contracts.operated import ADMIT, GIVE, RENT, Operated, Setting
from mrdsl.families.capacity.market import RESERVED
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.spec.spec import Spec


def operated(_: Spec, plan: CapacityPlan) -> Operated:
    """The settings of a plan; VMs of each contract that has a name apart from those of the one without."""
    return Operated(tuple(_settings(plan)))


def _settings(plan: CapacityPlan) -> Iterator[Setting]:
    document = plan.document()
    for vm, counts in document["vms"].items():
        terms = counts.get("terms", {})
        for kind, count in counts.items():
            if kind != "terms":
                unnamed = count - sum(terms.values()) if kind == RESERVED else count
                yield Setting(RENT, f"{vm} {kind.replace('_', ' ')}", unnamed)
        for term, count in terms.items():
            yield Setting(RENT, f'{vm} reserved "{term}"', count)
    for name, got in document["classes"].items():
        for kind, slots in got["whole_slots"].items():
            yield Setting(GIVE, f"class {name}", slots, f"{kind} slots")
        yield Setting(ADMIT, f"class {name}", got["admitted"], "jobs")
