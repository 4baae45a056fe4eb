"""On which lanes a whole plan runs, where a spec has many: each lane in use costs part of a VM that stands idle.

The relaxation takes the lanes on which work is cheapest by a hair, however large their VMs are and however little of
one is used. So lanes are shut and opened again, one at a time, as long as the plan that is rounded from the relaxed one
on the lanes that are open gets cheaper; jobs are then placed anew by integer programs, on the lanes that it uses and,
while these are few, on those of the plans that it began with.
The relaxation of all lanes stays the bound.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.tolerances import ROUNDING, SAME_SUM
from mrdsl.core.whole_numbers import ceiling
from mrdsl.families.capacity.dominated_lanes import dominated_without_limits
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_prices import Task, by_type, effort, vms_with_spare
from mrdsl.families.capacity.methods.lanes_program import improved, is_small
from mrdsl.families.capacity.methods.relaxation import relaxed
from mrdsl.families.capacity.methods.whole_placements import rounded
from mrdsl.families.capacity.mix import of_lanes

MANY = 24
"""With so many lanes or fewer, the relaxed plan itself is rounded."""
EFFORT = 100_000_000
"""So many steps (:func:`mrdsl.families.capacity.methods.lane_prices.effort`) are taken in all, in at most ``MOST_SETS``
sets of lanes."""
MOST_SETS = 1_000
CAPS = 12
"""Prices of VMs up to which a plan is made to begin with: large VMs stand idle in part."""


@dataclass(frozen=True)
class _Found:
    """Open lanes, whole jobs on them, and what these cost; infinite where the quotas leave them no room."""

    open: NDArray[np.bool_]
    jobs: Floats
    cost: float


def on_few_lanes(task: Task, jobs: Floats, enough: float, until: float | None) -> Floats:
    """Whole jobs on few lanes, where there are many lanes; else ``jobs``, the relaxed optimum.

    Stops at a cost of ``enough``, at ``until`` on the monotonic clock, or where no lane that shuts or opens pays.
    """
    lanes = len(task.market.lanes)
    if lanes <= MANY:
        return jobs
    budget = _Budget(MOST_SETS, EFFORT, until)
    found = [_found(task, np.ones(lanes, dtype=bool), jobs)]
    begins = (_tried(task, some, budget) for some in _first_lanes(task))
    found += [each for each in begins if each is not None]
    found.sort(key=lambda each: each.cost)
    found.insert(0, _best_lanes(task, found[0], enough, budget))
    plans = [(found[0].jobs, found[0].cost)]
    used = np.zeros(lanes, dtype=bool)
    for each in found:
        used |= each.jobs.sum(axis=1) > 0.0
        if plans[0][1] <= enough or budget.spent or not is_small(task, used):
            break
        placed, _ = improved(task, plans[0][0], used[:, None] & task.mix.possible, until)
        plans.append(_whole(task, placed))
        plans.sort(key=lambda plan: plan[1])
    return plans[0][0]


@dataclass
class _Budget:
    """How many sets of lanes may be tried still, with how many steps, and until when."""

    sets: int
    steps: int
    until: float | None

    @property
    def spent(self) -> bool:
        late = self.until is not None and time.monotonic() > self.until
        return self.sets <= 0 or self.steps <= 0 or late


def _first_lanes(task: Task) -> Iterator[NDArray[np.bool_]]:
    """Those of which limits aside no other is better in all, then lanes whose VMs cost no more than some price, the
    highest first."""
    best = ~dominated_without_limits(task.mix)
    if not best.all():
        yield best
    price = task.market.cheapest()
    caps = np.unique(np.quantile(price, np.linspace(0.0, 1.0, CAPS), method="lower"))
    for cap in reversed(caps[:-1].tolist()):
        yield price <= cap


def _best_lanes(task: Task, best: _Found, enough: float, budget: _Budget) -> _Found:
    """The open lanes on which the rounded plan costs least, shut and opened one at a time."""
    while best.cost > enough:
        better = best
        for open_lanes in _neighbours(best):
            tried = _tried(task, open_lanes, budget)
            if tried is not None and tried.cost < better.cost * (1.0 - SAME_SUM):
                better = tried
        if better is best:
            return best
        best = better
    return best


def _neighbours(found: _Found) -> Iterator[NDArray[np.bool_]]:
    """The sets of open lanes that lack one lane in use, or have one besides that is shut."""
    used = found.jobs.sum(axis=1) > 0.0
    for lane in np.flatnonzero(used | ~found.open).tolist():
        changed = found.open.copy()
        changed[lane] = not changed[lane]
        yield changed


def _tried(task: Task, open_lanes: NDArray[np.bool_], budget: _Budget) -> _Found | None:
    """The plan on some lanes; None where a class can run on none of them, they have too few VMs, or it is enough.

    A set that takes more steps than are left ends the search.
    """
    if budget.spent:
        return None
    budget.sets -= 1
    mix = task.mix
    alone = mix.possible & (~task.market.spot[:, None] | (mix.spot_share >= 1.0))
    if not alone[open_lanes].any(axis=0).all():
        return None
    there = np.flatnonzero(open_lanes | (task.market.masters_of_lane > 0.0))
    gamma = np.where(open_lanes[:, None], mix.gamma, np.inf)
    part = replace(task, mix=of_lanes(replace(mix, gamma=gamma), there))
    if effort(part, 0) > budget.steps:
        budget.steps = 0
        return None
    found = relaxed(part, ROUNDING, budget.until)
    budget.steps -= effort(part, found.rounds)
    if found.lacking > ROUNDING:
        return None
    placed = np.zeros_like(mix.gamma)
    placed[there] = found.jobs
    return _found(task, open_lanes, placed)


def _found(task: Task, open_lanes: NDArray[np.bool_], jobs: Floats) -> _Found:
    return _Found(open_lanes, *_whole(task, rounded(task, jobs)))


def _whole(task: Task, jobs: Floats) -> tuple[Floats, float]:
    """Whole jobs and what they cost on whole VMs."""
    return jobs, whole_cost(task, jobs)


def whole_cost(task: Task, jobs: Floats) -> float:
    """Return what jobs cost on whole VMs: infinite where the quotas leave no room or a class has too few."""
    bought = task.market.buy(np.asarray(ceiling(vms_with_spare(task.mix, jobs, task.spare))))
    fits = not bool((by_type(task.market, bought) > task.available + ROUNDING).any())
    fits &= not bool((jobs.sum(axis=0) < task.low).any())
    return task.mix.cost(bought, jobs) if fits else np.inf
