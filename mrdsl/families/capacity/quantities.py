"""What a plan is worth, and what ``subject to`` may ask of it, from the facts and the plan alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.verify import measure
from mrdsl.families.capacity.verify_prices import vm_cost, vms_of
from mrdsl.families.capacity.verify_promises import share_kept, shown_limits
from mrdsl.families.capacity.verify_shares import completion, shares_of
from mrdsl.spec.spec import Spec


def quantity(spec: Spec, plan: CapacityPlan, name: str, argument: str) -> float:
    """Compute the plan's value of a quantity that ``subject to`` may mention.

    ``completion(c)`` is :func:`promised_times`.
    """
    if name == "cost":
        return vm_cost(spec.facts, plan, argument) if argument else measure(spec, plan)
    if name == "vms":
        return sum(count for way, count in vms_of(spec.facts, plan).items() if argument in ("", way[0]))
    if name == "share":
        bought = vms_of(spec.facts, plan)
        total = sum(bought.values())
        return sum(count for way, count in bought.items() if way[1] == argument) / total if total else float("nan")
    index = list(plan.names).index(argument)
    if name == "admitted":
        return float(plan.admitted[index])
    if name == "kept":
        return share_kept(spec, plan, shares_of(spec.facts, plan), argument)
    if name == "completion":
        return float(promised_times(spec, plan)[index])
    raise KeyError(name)


def promised_times(spec: Spec, plan: CapacityPlan) -> NDArray[np.float64]:
    """Compute completion times of classes by their guaranteed estimate [s], of the slowest share; NaN without jobs.

    A class with `guarantee = p95` takes at most the limit within which the plan's runs kept that.
    """
    times = completion(spec.facts, shares_of(spec.facts, plan))
    for index, limit in shown_limits(spec, plan):
        times[index] = np.minimum(times[index], limit)
    return times
