"""Choice of the lanes on which a whole plan runs: each lane in use has a VM that is partly idle.

The relaxation takes the lanes with the lowest unit cost, even if their VMs are large and hardly used. So the search
closes and opens one lane at a time while the rounded plan on the open lanes gets cheaper. Integer programs then place
the jobs anew, on the lanes of that plan and, if these are few, on those of the initial plans. The relaxation of all
lanes remains the bound.

Whole jobs and VMs on a few lanes by one integer program: it finds plans that single moves of jobs miss. The program is
small because it has only some of the lanes; its optimum is therefore not a bound for all lanes.

Whole jobs for scarce VMs: from the relaxed plan, one job after another into the lanes that have room.

The relaxation fills lanes to their quotas with parts of jobs. Their whole parts stay. Each remaining job takes its
cheapest lane, the most expensive jobs first. Its price is between that of the whole VMs that it begins and that of the
part of a VM that it takes. Neither end is better on all specs, so the search tries several parts. An integer program
over the pairs that are cheap or in use then places the jobs of all classes together.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.linear_program import LinearProgram
from mrdsl.core.rounding import ROUNDING, SAME_SUM, ceiling, floor
from mrdsl.families.capacity.instance import Mix, of_lanes
from mrdsl.families.capacity.lanes import dominated_without_limits
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_columns import LaneProgram
from mrdsl.families.capacity.methods.lane_prices import Relaxed, Task, by_type, effort, exceeds, vms_of, vms_with_spare
from mrdsl.families.capacity.methods.relaxation import relaxed
from mrdsl.families.capacity.methods.whole_placements import rounded
from mrdsl.families.capacity.models.arrays import program_of

Flags = NDArray[np.bool_]
MOST_OF_PROGRAM = 600
"""Most pairs of lanes and classes of a program: with more, rounding of VMs and jobs matters little."""
GAP, FEW_NODES = 5e-3, 20
"""Relative gap on the lanes at which the program ends, and most nodes; no clock decides, except with a time limit."""
LEAST_TIME = 0.01


def is_small(task: Task, lanes: Flags) -> bool:
    """Return True if a program of these lanes is looked at."""
    return int(task.mix.possible[lanes].sum()) <= MOST_OF_PROGRAM


def improved(
    task: Task, jobs: Floats, pairs: Flags, until: float | None = None, nodes: int = FEW_NODES
) -> tuple[Floats, float]:
    """Find the cheapest whole jobs on some pairs of lanes and classes, and a lower bound on the cost of such jobs.

    If the search finds none, it returns ``jobs``, which run there. A class that stays on one type stays on its current
    one unless all pairs are available. If a part of a class may be on spot, jobs on other slots can cost less, so no
    bound is known. ``until`` is the time limit on the monotonic clock [s].
    """
    mix, used = task.mix, np.flatnonzero(pairs.any(axis=1) | (task.market.masters_of_lane > 0.0))
    part = _part(task, jobs, pairs, used)
    if bool((~part.possible.any(axis=0) & (task.low > 0.0)).any()):
        return jobs, -np.inf
    written = program_of(part, relax=False)
    found, bound = _solved(written.program, until, nodes)
    other_slots = bool((mix.possible & mix.market.spot[:, None] & (mix.spot_share < 1.0)).any())
    if other_slots or (task.same_type and bool((mix.together & ~part.together).any())):
        bound = -np.inf
    if found is None:
        return jobs, bound
    columns = written.pairs
    better = np.zeros_like(jobs)
    better[used[columns.of_lane], columns.of_class] = np.rint(found[columns.first : columns.first + len(columns.gamma)])
    over = any(task.spare.vms(index, better[:, index]) is None for index in task.spare.entries)
    return jobs if over else better, bound


def _part(task: Task, jobs: Floats, pairs: Flags, used: NDArray[np.int64]) -> Mix:
    """Return the mix on some pairs, with the bounds of the task; a class of one type can run only on its type."""
    mix, market = task.mix, task.market
    gamma = np.where(pairs, mix.gamma, np.inf)
    together = mix.together & (task.same_type and bool((pairs == mix.possible).all()))
    if task.same_type and mix.together.any() and not together.any():
        mine = np.zeros((len(market.names), len(mix)), dtype=bool)
        np.logical_or.at(mine, market.vm_of_lane, jobs > 0.0)
        gamma = np.where(mine[market.vm_of_lane] | ~mix.together, gamma, np.inf)
    bounds = replace(market, available=task.available)
    return of_lanes(replace(mix, market=bounds, gamma=gamma, low=task.low, expected=task.high, together=together), used)


def _solved(program: LinearProgram, until: float | None, nodes: int) -> tuple[Floats | None, float]:
    """Return values of the columns, None if there are none, and a bound.

    The gap is relative to the whole objective, its constant part included.
    """
    from mrdsl.solving.backends.highs import integer_point

    whole = replace(
        program,
        costs=np.append(program.costs, 1.0),
        lower=np.append(program.lower, program.offset),
        upper=np.append(program.upper, program.offset),
        integer=np.append(program.integer, False),
        offset=0.0,
    )
    found, bound = integer_point(
        whole, GAP, nodes, None if until is None else max(until - time.monotonic(), LEAST_TIME)
    )
    return None if found is None else found[:-1], bound


MANY = 24
"""Most lanes for which the relaxed plan itself is rounded."""
EFFORT = 100_000_000
"""Most steps in total (:func:`mrdsl.families.capacity.methods.lane_prices.effort`), in at most ``MOST_SETS`` sets of
lanes."""
MOST_SETS = 1_000
CAPS = 12
"""Number of limits on the price of VMs from which plans start: large VMs are partly idle."""


@dataclass(frozen=True)
class _Found:
    """Open lanes, whole jobs on them, and their cost; infinite if the quotas have no room for them."""

    open: NDArray[np.bool_]
    jobs: Floats
    cost: float


def on_few_lanes(task: Task, jobs: Floats, enough: float, until: float | None) -> Floats:
    """Return whole jobs on few lanes if there are many lanes; otherwise ``jobs``, the relaxed optimum.

    The search stops at a cost of ``enough``, at ``until`` on the monotonic clock, or when no change of a lane pays.
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
    """Limits of the search: remaining sets of lanes, steps, and time."""

    sets: int
    steps: int
    until: float | None

    @property
    def spent(self) -> bool:
        late = self.until is not None and time.monotonic() > self.until
        return self.sets <= 0 or self.steps <= 0 or late


def _first_lanes(task: Task) -> Iterator[NDArray[np.bool_]]:
    """Yield the lanes that no other lane dominates without quotas, then lanes up to a price, the highest first."""
    best = ~dominated_without_limits(task.mix)
    if not best.all():
        yield best
    price = task.market.cheapest()
    caps = np.unique(np.quantile(price, np.linspace(0.0, 1.0, CAPS), method="lower"))
    for cap in reversed(caps[:-1].tolist()):
        yield price <= cap


def _best_lanes(task: Task, best: _Found, enough: float, budget: _Budget) -> _Found:
    """Return the open lanes on which the rounded plan costs least, shut and opened one at a time."""
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
    """Yield the sets of open lanes without one lane in use, or with one more lane."""
    used = found.jobs.sum(axis=1) > 0.0
    for lane in np.flatnonzero(used | ~found.open).tolist():
        changed = found.open.copy()
        changed[lane] = not changed[lane]
        yield changed


def _tried(task: Task, open_lanes: NDArray[np.bool_], budget: _Budget) -> _Found | None:
    """Return the plan on some lanes, or None.

    There is none if a class cannot run on them, if they have too few VMs, or if the budget is spent. A set that takes
    more steps than are left ends the search.
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
    """Return whole jobs and their cost on whole VMs."""
    return jobs, whole_cost(task, jobs)


def whole_cost(task: Task, jobs: Floats) -> float:
    """Return the cost of jobs on whole VMs: infinite if the quotas have no room or a class has too few jobs."""
    bought = task.market.buy(np.asarray(ceiling(vms_with_spare(task.mix, jobs, task.spare))))
    fits = not exceeds(task, bought, ROUNDING)
    fits &= not bool((jobs.sum(axis=0) < task.low).any())
    return task.mix.cost(bought, jobs) if fits else np.inf


PARTS = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Shares of a job's price that the used part of a VM determines, in the plans that are tried."""
MOST_PAIRS = 1_500
"""Pairs of lanes and classes of the integer program."""
FEWEST = 3
"""With fewer lanes to choose from for each class the program is left out."""
FEWEST_NODES, NODES = 100, 150_000
"""Fewest nodes of the integer program, and the most nodes times pairs."""
SLACK = 1e-7


def is_scarce(task: Task) -> bool:
    """Return whether quotas, of the types or of all their lanes, leave too few of the VMs that are cheapest."""
    return bool(np.isfinite(task.available).any())


def within_quotas(
    task: Task,
    relaxed: Relaxed,
    program: LaneProgram | None,
    begun: Floats | None,
    enough: float,
    until: float | None,
) -> tuple[Floats, float]:
    """Find whole jobs, shape (lanes, classes), that fit the quotas unless that is too hard, and a bound.

    ``program`` bounds the cost, and some jobs may be ``begun``. The bound is that of the integer program if it has all
    pairs of lanes that a cheaper plan can use, otherwise minus infinity.
    """
    plans = [placed_in_turn(task, relaxed.jobs, part) for part in PARTS]
    if begun is not None:
        plans += [placed_in_turn(task, relaxed.jobs, part, begun) for part in PARTS]
    costs = [whole_cost(task, jobs) for jobs in plans]
    best = int(np.argmin(costs))
    jobs, cost, bound = plans[best], costs[best], -np.inf
    if cost <= enough:
        return jobs, bound
    useful = task.mix.possible
    if program is not None and program.task is task:
        useful = useful & (program.with_a_vm() < cost)[:, None]
    pairs = _candidates(task, relaxed, plans, useful)
    if pairs.any() and int(pairs.sum()) <= MOST_PAIRS:
        nodes = max(FEWEST_NODES, NODES // int(pairs.sum()))
        found, bound = improved(task, jobs, pairs, until, nodes)
        if whole_cost(task, found) < cost:
            jobs = found
        bound = -np.inf if bool((useful & ~pairs).any()) else min(bound, cost)
    return jobs, bound


def placed_in_turn(task: Task, relaxed: Floats, part: float, begun: Floats | None = None) -> Floats:
    """Place the whole parts of relaxed jobs, then the rest of each class, the most expensive jobs first.

    If jobs are ``begun``, they stay instead. ``part`` is the weight, in a job's price, of the price of the part of a VM
    that it takes. Jobs without room are left out, even if a class then has too few jobs.
    """
    mix = task.mix
    room = _Room(task, part)
    total = np.clip(np.rint(relaxed.sum(axis=0)), task.low, task.high)
    for index in range(len(mix)):
        if mix.together[index] and task.same_type:
            continue
        whole = _within_share(task, index, floor(relaxed[:, index] + SLACK)) if begun is None else begun[:, index]
        room.put(index, whole)
    with np.errstate(invalid="ignore"):
        price = np.where(mix.possible, task.prices[:, None] * mix.gamma, np.inf).min(axis=0)
    left = total - room.jobs.sum(axis=0)
    size = np.where(mix.together & task.same_type, price * np.maximum(total, 1.0), price)
    for index in np.argsort(-size, kind="stable").tolist():
        if mix.together[index] and task.same_type:
            room.put_together(index, float(total[index]))
            continue
        for _ in range(int(left[index])):
            if not room.put_one(index):
                break
    return room.jobs


def _within_share(task: Task, index: int, jobs: Floats) -> Floats:
    """Leave jobs out on spot VMs until no more of the class's VMs than its part are spot."""
    spot, share = task.market.spot, float(task.mix.spot_share[index])
    gamma = np.where(task.mix.possible[:, index], task.mix.gamma[:, index], 0.0)
    jobs = np.minimum(jobs, np.where(task.mix.possible[:, index], np.inf, 0.0))
    while float(gamma[spot] @ jobs[spot]) > share * float(gamma @ jobs) + ROUNDING:
        jobs[int(np.where(spot, jobs, 0.0).argmax())] -= 1.0
    return np.asarray(jobs)


class _Room:
    """Jobs by lane and class, and the VMs that they take of each lane."""

    def __init__(self, task: Task, part: float) -> None:
        self.task, self.part = task, part
        self.gamma = np.where(task.mix.possible, task.mix.gamma, np.inf)
        self.jobs = np.zeros_like(task.mix.gamma)
        self.needed = vms_of(task.mix, self.jobs)
        self.price = task.prices

    def put(self, index: int, jobs: Floats) -> None:
        """Add jobs of a class by lane."""
        lanes = np.flatnonzero(jobs)
        self.jobs[lanes, index] += jobs[lanes]
        self.needed[lanes] += self.gamma[lanes, index] * jobs[lanes]

    def put_one(self, index: int) -> bool:
        """Add one job of a class in its cheapest lane; return False if no lane has room."""
        jobs, spot, share = self.jobs[:, index], self.task.market.spot, float(self.task.mix.spot_share[index])
        vms = np.where(np.isfinite(self.gamma[:, index]), self.gamma[:, index], 0.0) * jobs
        on_spot, total = float(vms[spot].sum()), float(vms.sum())
        with np.errstate(invalid="ignore"):
            fits = ~spot | (on_spot + self.gamma[:, index] <= share * (total + self.gamma[:, index]) + ROUNDING)
        lane = self._cheapest(index, 1.0, fits)
        if lane is not None:
            self.jobs[lane, index] += 1.0
            self.needed[lane] += self.gamma[lane, index]
        return lane is not None

    def put_together(self, index: int, count: float) -> None:
        """Add all jobs of a class in the one lane that is cheapest for them, if one has room."""
        alone = ~self.task.market.spot | (float(self.task.mix.spot_share[index]) >= 1.0)
        lane = self._cheapest(index, count, alone) if count else None
        if lane is not None:
            self.jobs[lane, index] += count
            self.needed[lane] += self.gamma[lane, index] * count

    def _cheapest(self, index: int, count: float, allowed: Flags) -> int | None:
        task, vms = self.task, self.task.market.vm_of_lane
        taken = np.where(np.isfinite(self.gamma[:, index]), self.gamma[:, index], 0.0) * count
        whole, after = ceiling(self.needed), ceiling(self.needed + taken)
        by_vm = by_type(task.market, task.market.buy(np.asarray(whole)))
        fits = allowed & np.isfinite(self.gamma[:, index])
        fits &= by_vm[vms] + after - whole <= task.available[vms] + ROUNDING
        for limit, cores in zip(task.market.quota_limits, task.market.cores_of_quotas, strict=True):
            fits &= (cores <= 0.0) | (float(cores @ whole) + cores * (after - whole) <= limit + ROUNDING)
        price = self.price * ((1.0 - self.part) * (after - whole) + self.part * taken)
        cost = np.where(fits, price, np.inf)
        lane = int(cost.argmin())
        return lane if np.isfinite(cost[lane]) else None


def _candidates(task: Task, relaxed: Relaxed, plans: list[Floats], useful: Flags) -> Flags:
    """Mark all useful pairs if they are few; otherwise those of the plans and the cheapest useful pairs of each class.

    The cheapest are by the relaxed prices, for all jobs of the class on whole VMs, and for one job. If that leaves
    little choice, none is marked.
    """
    mix = task.mix
    used = np.logical_or.reduce([jobs > 0.0 for jobs in plans]) | (relaxed.jobs > ROUNDING)
    if int((useful | used).sum()) <= MOST_PAIRS:
        return np.asarray((useful | used) & mix.possible)
    each = (MOST_PAIRS - int(used.sum())) // (3 * len(mix))
    if each < FEWEST:
        return np.zeros_like(used)
    with np.errstate(invalid="ignore"):
        gamma = np.where(useful, mix.gamma, np.inf)
        at_prices = relaxed.prices[:, None] * gamma
        whole = task.prices[:, None] * np.ceil(gamma * np.maximum(task.high, 1.0) - SLACK)
        for_one = task.prices[:, None] * np.ceil(gamma - SLACK)
    for cost in (at_prices, whole, for_one):
        order = np.argsort(cost, axis=0, kind="stable")[:each]
        used[order, np.arange(len(mix))] = True
    return np.asarray(used & mix.possible)
