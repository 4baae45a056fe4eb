"""What somebody who runs a makespan plan sets: the slots of every pool, the pool of every job, the order in each."""

from __future__ import annotations

from collections.abc import Iterator

from mrdsl.contracts.operated import GIVE, PLACE, SET, Operated, Setting
from mrdsl.families.makespan.plan import MakespanPlan
from mrdsl.spec.spec import Spec


def operated(_: Spec, plan: MakespanPlan) -> Operated:
    """The settings of a plan."""
    return Operated(tuple(_settings(plan)))


def _settings(plan: MakespanPlan) -> Iterator[Setting]:
    for number, pool in enumerate(plan.pools):
        yield Setting(GIVE, f"pool {number}", pool.map_slots, "map slots")
        yield Setting(GIVE, f"pool {number}", pool.reduce_slots, "reduce slots")
        yield Setting(SET, f"the order of pool {number}", ", ".join(pool.order))
    for name, times in plan.jobs.items():
        yield Setting(PLACE, f"job {name}", f"pool {times.pool}")
