"""The plan behind numbers of jobs by lane and of VMs by offer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.whole_numbers import ceiling
from mrdsl.families.capacity.market import ON_DEMAND, RESERVED, Floats
from mrdsl.families.capacity.mix import Mix
from mrdsl.families.capacity.mixture import ESTIMATES, Bought, Mixture, summed
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.formulas import mapreduce
from mrdsl.formulas.mapreduce import Coefficients


def mix_plan_of(mix: Mix, bought: Floats, jobs: Floats, relax: bool) -> CapacityPlan:
    """The plan that runs ``jobs``, of shape (lanes, classes), on VMs of each offer; rounded unless ``relax``."""
    bought, jobs = np.asarray(bought, dtype=np.float64), np.asarray(jobs, dtype=np.float64)
    if not relax:
        bought, jobs = np.rint(bought), np.rint(jobs)
    mixture = _mixture(mix, bought, jobs)
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
        deadline=mix.deadline,
        penalty=mix.penalty * rejected,
        vm_cost=mix.vm_cost(bought),
        whole=not relax,
        stages=mix.stages,
        dags=mix.dags,
        mix=mixture,
        wholeness=mix.wholeness,
    )


def rented_plan(mix: Mix, bought: Floats, jobs: Floats, relax: bool) -> CapacityPlan:
    """The plan at a solution; VMs that it lacks within a solver's tolerance are bought, the dearest way."""
    if not relax:
        jobs, bought = np.rint(jobs), np.rint(bought)
    taken, bought = taken_vms(mix, jobs), bought.copy()
    for lane in range(len(mix.market.lanes)):
        mine = [number for number, offer in enumerate(mix.market.offers) if offer.lane == lane]
        needed = float(taken[lane]) if relax else float(ceiling(float(taken[lane])))
        bought[mine[0]] += max(needed - float(bought[mine].sum()), 0.0)
    return mix_plan_of(mix, bought, jobs, relax)


def taken_vms(mix: Mix, jobs: Floats) -> Floats:
    """The VMs of each lane that jobs, of shape (lanes, classes), and masters take."""
    used = np.where(jobs > 0.0, mix.gamma, 0.0) * jobs
    return np.asarray(used.sum(axis=1) + mix.market.masters_of_lane)


def places_of(mix: Mix) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Class and lane of every pair that may have jobs, class by class: the order of the variables of P2."""
    of_class, of_lane = mix.possible.T.nonzero()
    return of_class, of_lane


def _mixture(mix: Mix, bought: Floats, jobs: Floats) -> Mixture:
    """The shares in the order of classes."""
    market = mix.market
    of_class, lanes = (axis.astype(np.int64) for axis in (jobs.T > 0.0).nonzero())
    of_vm, count = market.vm_of_lane[lanes], jobs[lanes, of_class]
    slots = [count * each[lanes, of_class] for each in (mix.map_slots, mix.reduce_slots)]
    limits = mix.pairs.limits
    useful = [
        np.minimum(each * kept[lanes, of_class], most[of_vm, of_class] * count)
        for each, kept, most in zip(
            slots, (mix.map_kept, mix.reduce_kept), (limits.map_most, limits.reduce_most), strict=True
        )
    ]
    times = [
        mapreduce.completion(_at(mix.pairs.estimates[name], of_vm, of_class), count, *useful) for name in ESTIMATES
    ]
    return Mixture(
        types=market.names,
        masters=market.masters,
        bought=tuple(
            Bought(market.names[market.lanes[offer.lane].vm], offer.way, offer.term, vms)
            for offer, vms in zip(market.offers, bought.tolist(), strict=True)
        ),
        sunk=market.sunk,
        of_class=of_class,
        of_vm=of_vm,
        spot=market.spot[lanes],
        jobs=count,
        map_slots=slots[0],
        reduce_slots=slots[1],
        vms=count * mix.gamma[lanes, of_class],
        lower=times[0],
        average=times[1],
        upper=times[2],
    )


def _at(work: Coefficients, vms: object, classes: object) -> Coefficients:
    return Coefficients(*(part[vms, classes] for part in (work.map_work, work.reduce_work, work.constant)))  # type: ignore


def _slowest(mixture: Mixture, times: Floats, classes: int) -> Floats:
    """The time of each class's slowest share; NaN where it has none, or a share of it has none."""
    slowest = np.full(classes, -np.inf)
    np.maximum.at(slowest, mixture.of_class, np.where(np.isnan(times), np.inf, times))
    return np.where(np.isfinite(slowest), slowest, np.nan)
