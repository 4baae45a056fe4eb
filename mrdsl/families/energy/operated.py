"""What somebody who runs an energy plan sets: VMs for every job, and their tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from mrdsl.contracts.operated import GIVE, RENT, Operated, Setting
from mrdsl.families.energy.plan import EnergyPlan
from mrdsl.spec.spec import Spec


def operated(_: Spec, plan: EnergyPlan) -> Operated:
    """The settings of a plan."""
    return Operated(tuple(_settings(plan)))


def _settings(plan: EnergyPlan) -> Iterator[Setting]:
    for (kind, job), count in Counter((use.type, use.job) for use in plan.vms).items():
        yield Setting(RENT, f"{kind} for {job}", count)
    for use in plan.vms:
        yield Setting(GIVE, f"{use.label} of {use.job}", use.map_tasks, "map tasks")
        yield Setting(GIVE, f"{use.label} of {use.job}", use.reduce_tasks, "reduce tasks")
