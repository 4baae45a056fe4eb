"""What is left of an earlier plan in a spec of today: its jobs, by the names of classes and types.

Its VMs are not taken over: prices and what a job takes may have changed, and jobs alone say what is rented best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mrdsl.core.linear_program import INTEGRALITY
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.mix import Mix
from mrdsl.families.capacity.plan import CapacityPlan


def admitted_again(plan: object, names: Sequence[str], expected: Floats) -> Floats | None:
    """The whole jobs of each class of ``names`` that the plan admits, at most ``expected``; None where it has none.

    A class that the plan does not know has no jobs.
    """
    if not isinstance(plan, CapacityPlan):
        return None
    before = dict(zip(plan.names, plan.admitted.tolist(), strict=True))
    if not any(name in before for name in names):
        return None
    return np.minimum(_whole(np.array([before.get(name, 0.0) for name in names])), expected)


def placed_again(plan: object, mix: Mix) -> Floats | None:
    """The same by lane and class, of shape (lanes, classes); jobs whose lane is not there today are left out."""
    if not isinstance(plan, CapacityPlan) or not set(mix.names) & set(plan.names):
        return None
    market = mix.market
    class_of = {name: number for number, name in enumerate(mix.names)}
    vm_of = {name: number for number, name in enumerate(market.names)}
    lane_of = {(lane.vm, lane.spot): number for number, lane in enumerate(market.lanes)}
    jobs = np.zeros_like(mix.gamma)
    for name, vm, spot, count in _shares(plan):
        lane = lane_of.get((vm_of.get(vm, -1), spot))
        if name in class_of and lane is not None:
            jobs[lane, class_of[name]] += count
    within = np.minimum(np.cumsum(np.where(mix.possible, _whole(jobs), 0.0), axis=0), mix.expected)
    return np.asarray(np.diff(within, axis=0, prepend=0.0))


def _whole(jobs: Floats) -> Floats:
    return np.asarray(np.floor(jobs + INTEGRALITY))


def _shares(plan: CapacityPlan) -> Iterator[tuple[str, str, bool, float]]:
    """Class, type, whether it is spot, and jobs of every share."""
    mixture = plan.mix
    if mixture is None:
        for name, count in zip(plan.names, plan.admitted.tolist(), strict=True):
            yield name, plan.vm, False, count
        return
    columns = (mixture.of_class, mixture.of_vm, mixture.spot, mixture.jobs)
    for index, vm, spot, count in zip(*(each.tolist() for each in columns), strict=True):
        yield plan.names[index], mixture.types[vm], spot, count
