"""The observed cluster of a spec, as its logs say, next to a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mrdsl.contracts.family import Family
from mrdsl.core.result import Plan
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from mrdsl.core.charts import Series
    from mrdsl.core.today import Today


def today_of(spec: Spec, family: Family, plan: Plan | None) -> Today | None:
    """Return the observed cluster and the plan; None without a plan, or without `observed` in the spec."""
    node = getattr(spec.facts, "observed", None)
    if node is None or plan is None or family.today is None:
        return None
    from mrdsl.core.today import Today, Use

    vm = next(iter(spec.facts.vms))
    price = node.price if node.price is not None else vm.on_demand.price + vm.fee
    time = node.vms * node.time
    slots, busy = (_steps(values, node.time) for values in (node.slots, node.busy))
    return Today(
        Use(node.vms, time, time * price, node.used, late(spec.facts.classes), slots, busy), family.today(spec, plan)
    )


def late(classes: Sequence[Any]) -> float | None:
    """Return the part of the recorded runs that took longer than the deadline of their class; None without any."""
    runs = [(took, node.deadline) for node in classes if node.deadline is not None for took in node.took]
    return sum(took > deadline for took, deadline in runs) / len(runs) if runs else None


def _steps(values: Sequence[float], time: float) -> Series | None:
    """Return values of equal parts of a time as steps, the last one until its end."""
    if not values:
        return None
    from mrdsl.core.charts import Series

    times = [time * place / len(values) for place in range(len(values) + 1)]
    return Series("", times, [*values, values[-1]])
