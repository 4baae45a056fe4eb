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
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_prices import Task, by_type, relaxed, vms_of
from mrdsl.families.capacity.methods.lanes_program import improved, is_small
from mrdsl.families.capacity.methods.whole_placements import rounded

MANY = 24
"""With so many lanes or fewer, the relaxed plan itself is rounded."""
EFFORT = 4_000_000
"""So many pairs of lanes and classes are planned in all, in at most ``MOST_SETS`` sets of lanes."""
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
    budget = _Budget(min(MOST_SETS, EFFORT // (lanes * len(task.mix))), until)
    found = [_found(task, np.ones(lanes, dtype=bool), jobs)]
    found += [each for each in (_tried(task, small, budget) for small in _small_lanes(task)) if each is not None]
    found.sort(key=lambda each: each.cost)
    found.insert(0, _best_lanes(task, found[0], enough, budget))
    plans = [(found[0].jobs, found[0].cost)]
    used = np.zeros(lanes, dtype=bool)
    for each in found:
        used |= each.jobs.sum(axis=1) > 0.0
        if plans[0][1] <= enough or budget.spent or not is_small(task, used):
            break
        plans.append(_whole(task, improved(task, plans[0][0], used)))
        plans.sort(key=lambda plan: plan[1])
    return plans[0][0]


@dataclass
class _Budget:
    """How many sets of lanes may be tried still, and until when."""

    sets: int
    until: float | None

    @property
    def spent(self) -> bool:
        return self.sets <= 0 or (self.until is not None and time.monotonic() > self.until)


def _small_lanes(task: Task) -> Iterator[NDArray[np.bool_]]:
    """Lanes whose VMs cost no more than some price, the highest first."""
    price = np.full(len(task.market.lanes), np.inf)
    for offer in task.market.offers:
        price[offer.lane] = min(price[offer.lane], offer.price)
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
    """The plan on some lanes; None where a class can run on none of them, they have too few VMs, or it is enough."""
    if budget.spent:
        return None
    budget.sets -= 1
    gamma = np.where(open_lanes[:, None], task.mix.gamma, np.inf)
    if not np.isfinite(gamma).any(axis=0).all():
        return None
    found = relaxed(replace(task, mix=replace(task.mix, gamma=gamma)), ROUNDING)
    return None if found.lacking > ROUNDING else _found(task, open_lanes, found.jobs)


def _found(task: Task, open_lanes: NDArray[np.bool_], jobs: Floats) -> _Found:
    return _Found(open_lanes, *_whole(task, rounded(task, jobs)))


def _whole(task: Task, jobs: Floats) -> tuple[Floats, float]:
    """Whole jobs and what they cost on whole VMs."""
    bought = task.market.buy(np.asarray(ceiling(vms_of(task.mix, jobs))))
    fits = not bool((by_type(task.market, bought) > task.available + ROUNDING).any())
    return jobs, task.mix.cost(bought, jobs) if fits else np.inf
