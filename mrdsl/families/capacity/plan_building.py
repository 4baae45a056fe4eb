"""The plan for numbers of jobs by lane and of VMs by offer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import FEASIBILITY, ceiling
from mrdsl.families.capacity.facts import NO
from mrdsl.families.capacity.groups import total
from mrdsl.families.capacity.instance import Mix
from mrdsl.families.capacity.lanes import SpareSlots
from mrdsl.families.capacity.market import ON_DEMAND, RESERVED, Floats
from mrdsl.families.capacity.plan import NO_EXECUTORS, CapacityPlan
from mrdsl.families.capacity.plan_parts import ESTIMATES, UNKNOWN, Bought, Mixture, summed
from mrdsl.formulas import mapreduce


def mix_plan_of(
    mix: Mix, bought: Floats, jobs: Floats, relax: bool, spare: tuple[Floats, Floats] | None = None
) -> CapacityPlan:
    """Make the plan that runs ``jobs``, of shape (lanes, classes), on VMs of each offer; rounded unless ``relax``.

    ``spare`` are map and reduce slots beyond the fewest, by default those that the part of each class on spot asks for.
    """
    bought, jobs = np.asarray(bought, dtype=np.float64), np.asarray(jobs, dtype=np.float64)
    if not relax:
        bought, jobs = np.rint(bought), np.rint(jobs)
    mixture = _mixture(mix, bought, jobs, SpareSlots(mix).of_all(jobs) if spare is None else spare)
    count = len(mix)

    def by_class(values: Floats) -> Floats:
        return summed(mixture.of_class, values, count)

    admitted = jobs.sum(axis=0)
    rejected = np.maximum(mix.expected - admitted, 0.0)
    slowest = [_slowest(mixture, times, count) for times in mixture.completion]
    return CapacityPlan(
        vm=", ".join(name for name in mixture.types if mixture.total(vm=name)),
        on_demand=mixture.total(ON_DEMAND),
        reserved=mixture.total(RESERVED),
        names=mix.names,
        admitted=admitted,
        rejected=rejected,
        map_slots=by_class(mixture.map_slots),
        reduce_slots=by_class(mixture.reduce_slots),
        vms=by_class(mixture.vms),
        completion_lower=slowest[0],
        completion_average=slowest[1],
        completion_upper=slowest[2],
        completion_mean=slowest[3] if len(slowest) > 3 else UNKNOWN,
        own=mix.own,
        deadline=mix.deadline,
        penalty=mix.penalty * rejected,
        vm_cost=mix.vm_cost(bought),
        whole=not relax,
        stages=mix.stages,
        dags=mix.dags,
        mix=mixture,
        wholeness=mix.wholeness,
        executor_tasks=NO_EXECUTORS if mix.tasks is None else mix.tasks.astype(np.int64),
        disk_cost=mix.market.cost_of_disks(bought),
        transfer_cost=float(mix.transfer @ admitted),
    )


def rented_plan(mix: Mix, bought: Floats, jobs: Floats, relax: bool, spare: tuple[Floats, Floats]) -> CapacityPlan:
    """Return the plan of a solution; VMs missing within a solver's tolerance are from the most expensive offer."""
    if not relax:
        jobs, bought = np.rint(jobs), np.rint(bought)
        spare = _within_room(mix, bought, jobs, spare)
    taken, bought = taken_vms(mix, jobs, spare), bought.copy()
    for lane in range(len(mix.market.lanes)):
        mine = [number for number, offer in enumerate(mix.market.offers) if offer.lane == lane]
        near = 1.0 if mix.sizes is None else 1.0 - FEASIBILITY
        needed = float(taken[lane]) if relax else float(ceiling(float(taken[lane] * near)))
        bought[mine[0]] += max(needed - float(bought[mine].sum()), 0.0)
    return mix_plan_of(mix, bought, jobs, relax, spare)


def _within_room(mix: Mix, bought: Floats, jobs: Floats, spare: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Remove the fractions of spare slots that exceed whole VMs within a solver's tolerance."""
    if mix.wholeness != NO or mix.sizes is not None:
        return spare
    there = np.bincount(mix.market.lane_of_offer, weights=bought, minlength=len(jobs))
    over, vms = taken_vms(mix, jobs, spare) - there, spare_vms(mix, spare).sum(axis=1)
    little = (over > 0.0) & (over <= FEASIBILITY * np.maximum(1.0, there)) & (over <= vms)
    part = np.where(little, 1.0 - over / np.where(little, vms, 1.0), 1.0)[:, None]
    return spare[0] * part, spare[1] * part


def taken_vms(mix: Mix, jobs: Floats, spare: tuple[Floats, Floats]) -> Floats:
    """Return the VMs of each lane that jobs, of shape (lanes, classes), their spare slots and masters take."""
    if mix.sizes is not None:
        both = zip((mix.map_slots, mix.reduce_slots), spare, strict=True)
        slots = [np.where(jobs > 0.0, fewest, 0.0) * jobs + more for fewest, more in both]
        return np.asarray(total(mix.taken(*slots), mix.groups).max(axis=0) + mix.market.masters_of_lane)
    used = np.where(jobs > 0.0, mix.gamma, 0.0) * jobs + spare_vms(mix, spare)
    return np.asarray(total(used, mix.groups) + mix.market.masters_of_lane)


def spare_vms(mix: Mix, spare: tuple[Floats, Floats]) -> Floats:
    """Return the VMs, of shape (lanes, classes), that slots beyond the fewest take."""
    vms, pairs = mix.market.vm_of_lane, mix.pairs
    return np.asarray(spare[0] / pairs.map_per_vm[vms] + spare[1] / pairs.reduce_per_vm[vms])


def places_of(mix: Mix) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return class and lane of every pair that may have jobs, class by class: the order of the variables of P2."""
    of_class, of_lane = mix.possible.T.nonzero()
    return of_class, of_lane


def _mixture(mix: Mix, bought: Floats, jobs: Floats, spare: tuple[Floats, Floats]) -> Mixture:
    """Return the shares in the order of classes."""
    market = mix.market
    of_class, lanes = (axis.astype(np.int64) for axis in (jobs.T > 0.0).nonzero())
    of_vm, count = market.vm_of_lane[lanes], jobs[lanes, of_class]
    fewest = mix.map_slots, mix.reduce_slots
    slots = [count * each[lanes, of_class] + more[lanes, of_class] for each, more in zip(fewest, spare, strict=True)]
    limits = mix.pairs.limits
    useful = [
        np.minimum(each * kept[lanes, of_class], most[of_vm, of_class] * count)
        for each, kept, most in zip(
            slots, (mix.map_kept, mix.reduce_kept), (limits.map_most, limits.reduce_most), strict=True
        )
    ]
    names = [*ESTIMATES, *(("mean",) if "mean" in mix.pairs.estimates else ())]
    times = [mapreduce.completion(mix.pairs.estimates[name].at((of_vm, of_class)), count, *useful) for name in names]
    return Mixture(
        types=market.names,
        masters=market.masters,
        bought=tuple(Bought(*way, vms) for way, vms in zip(market.ways, bought.tolist(), strict=True)),
        sunk=market.sunk,
        of_class=of_class,
        of_vm=of_vm,
        spot=market.spot[lanes],
        jobs=count,
        map_slots=slots[0] if mix.tasks is None else slots[0] * np.maximum(mix.tasks, 1.0)[of_class],
        reduce_slots=slots[1],
        vms=count * mix.gamma[lanes, of_class] + spare_vms(mix, spare)[lanes, of_class]
        if mix.sizes is None
        else slots[0] / mix.pairs.map_per_vm[of_vm, of_class] + slots[1] / mix.pairs.reduce_per_vm[of_vm, of_class],
        lower=times[0],
        average=times[1],
        upper=times[2],
        mean=times[3] if len(times) > 3 else UNKNOWN,
        masters_cost=float(market.prices @ market.buy(market.masters_of_lane, bought)),
    )


def _slowest(mixture: Mixture, times: Floats, classes: int) -> Floats:
    """Return the time of each class's slowest share [s]; NaN if it has none, or if one of its shares has none."""
    slowest = np.full(classes, -np.inf)
    np.maximum.at(slowest, mixture.of_class, np.where(np.isnan(times), np.inf, times))
    return np.where(np.isfinite(slowest), slowest, np.nan)
