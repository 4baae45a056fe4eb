"""The search of ``direct`` for whole jobs on several VM types, or with several purchase options of one.

If cores and memory of containers have to fit, ``direct`` weighs both resources of a type as one.

A plan has the pairs of its weights, and as many VMs as the scarcer resource requires.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.result import Termination
from mrdsl.core.rounding import ROUNDING, ceiling
from mrdsl.families.capacity.facts import MACHINES, NO
from mrdsl.families.capacity.forms import is_plain
from mrdsl.families.capacity.instance import instance_of
from mrdsl.families.capacity.lanes import limited_classes
from mrdsl.families.capacity.market import ON_DEMAND, Floats
from mrdsl.families.capacity.methods.filled_lanes import filled
from mrdsl.families.capacity.methods.lane_columns import LaneProgram, dived, program_of_plans
from mrdsl.families.capacity.methods.lane_prices import Relaxed, Task, by_type, exceeds
from mrdsl.families.capacity.methods.own_machines import on_own_machines, rounded
from mrdsl.families.capacity.methods.relaxation import relaxed
from mrdsl.families.capacity.methods.rental import Spread, as_hosted, planned, rented, spread
from mrdsl.families.capacity.methods.vector_program import Placed
from mrdsl.families.capacity.methods.weighing import weighed
from mrdsl.families.capacity.packed_plans import beyond_quotas
from mrdsl.families.capacity.plan import CapacityPlan, plan_of
from mrdsl.families.capacity.plan_building import mix_plan_of, taken_vms
from mrdsl.spec.spec import Spec


def needed_vms(task: Task, jobs: Floats, relax: bool) -> Floats:
    """Return the VMs of each lane that the scarcer resource asks for."""
    vms = taken_vms(task.mix, jobs, task.spare.of_all(jobs))
    return vms if relax else np.asarray(ceiling(vms))


TURNS = 8
"""So often quotas are made smaller by what packing takes beyond them."""
FILLED_TURNS = 3
"""So often cheap lanes are filled with containers."""


@dataclass(frozen=True)
class Placement:
    """The task, its relaxed optimum and what every plan costs at least, for the step that makes it whole.

    ``asked`` is the task of the spec, ``below`` the one that bounds the cost, and ``program`` that of its columns
    within quotas. Jobs of the task may be ``begun`` near it. ``near`` is a plan of containers by both resources.
    """

    task: Task
    asked: Task
    below: Task
    relaxed: Relaxed
    bound: float
    program: LaneProgram | None = None
    begun: Floats | None = None
    near: Placed | None = None


def near_relaxed(task: Task, until: float | None) -> Placed | None:
    """Return whole jobs near the relaxation of one resource, or of both as one; None if they have no room."""
    task = weighed(task)[0]
    found = relaxed(task, ROUNDING, until)
    if found.lacking > ROUNDING:
        return None
    jobs = rounded(task, found.jobs)
    bought = task.market.buy(needed_vms(task, jobs, relax=False))
    return None if exceeds(task, bought, ROUNDING) else Placed(task, jobs, bought)


def near_both(draft: Draft, task: Task) -> Placed | None:
    """Return whole jobs near the relaxation of both resources; None if they do not fit."""
    if task.mix.together.any():
        return None
    left = replace(task, mix=as_hosted(task.mix))
    for _ in range(TURNS):
        found = spread(rented(draft.spec, left, until_of(draft)), until_of(draft))
        if found is None:
            return None
        mine = replace(task, mix=replace(found.mix, market=task.market, sizes=task.mix.sizes))
        jobs = rounded(mine, found.jobs)
        for index in limited_classes(task.mix).tolist():
            if mine.spare.vms(index, jobs[:, index]) is None:
                return None
        bought = task.market.buy(needed_vms(mine, jobs, relax=False))
        if not exceeds(task, bought, ROUNDING):
            plan = plan_in(draft.spec, mine, jobs, bought)
            types, cores = beyond_quotas(draft.spec, plan) if plan.wholeness != NO else (np.zeros(1), np.zeros(1))
        else:
            types = np.maximum(by_type(task.market, bought) - task.available, 0.0)
            cores = np.maximum(task.market.cores_in_quotas(bought) - task.market.quota_limits, 0.0)
        if not (types.any() or cores.any()):
            return Placed(mine, jobs, bought)
        market = left.market.with_fewer_cores(cores)
        available = np.maximum(left.available - types, left.market.masters)
        left = replace(left, mix=replace(left.mix, market=market), available=available)
    return None


def near_full(task: Task, found: Relaxed | Spread, until: float | None) -> Placed | None:
    """Return whole jobs that fill the cheapest lanes within quotas; None if they do not fit."""
    plan = filled(task, found, until)
    if plan is None:
        return None
    bought = task.market.buy(plan[1] + task.market.masters_of_lane)
    return None if exceeds(task, bought, ROUNDING) else Placed(task, plan[0], bought)


def near_filled(draft: Draft, found: Spread, until: float | None) -> Placed | None:
    """Return :func:`near_full` of containers with the pairs of slots of a relaxation; None if they do not pack.

    VMs that packing takes beyond quotas are left out in the next turn. Slots in fractions do not pack VM by VM.
    """
    task: Task = draft.state
    if task.mix.wholeness == NO:
        return None
    left = replace(task, mix=replace(found.mix, market=task.market))
    mine = replace(left, mix=replace(left.mix, sizes=task.mix.sizes))
    for _ in range(FILLED_TURNS):
        plan = near_full(left, found, until)
        if plan is None:
            return None
        types, cores = beyond_quotas(draft.spec, plan_in(draft.spec, mine, plan.jobs, plan.bought))
        if not (types.any() or cores.any()):
            return Placed(mine, plan.jobs, plan.bought)
        idle = np.maximum(left.market.quota_limits - left.market.cores_in_quotas(plan.bought), 0.0)
        market = left.market.with_fewer_cores(np.where(cores > 0.0, cores + idle, 0.0))
        left = replace(left, mix=replace(left.mix, market=market))
        left = replace(left, available=np.maximum(left.available - types, task.market.masters))
    return None


def by_columns(draft: Draft, placement: Placement) -> tuple[Placement, Placed | None]:
    """Return the placement with jobs near the program of columns; and these with VMs on which they pack, if enough.

    Jobs of containers have the pairs of slots of the program. If the firm VM time is too short for the parts of classes
    on spot, these classes have none there.
    """
    task, program, until = placement.task, placement.program, until_of(draft)
    if program is None:
        return placement, None
    limited = limited_classes(task.mix).tolist()
    for limits in (True, False) if limited else (False,):
        jobs, vms, slots = dived(program_of_plans(task.without_quotas, program, limits, until), until)
        bought = task.market.buy(vms + task.market.masters_of_lane)
        enough, mine = bool((jobs.sum(axis=0) >= task.low).all()), task
        if task.mix.sizes is not None:
            mix = program.task.mix
            maps, reduces = (
                np.where(jobs > 0.0, slots[..., kind], each)
                for kind, each in enumerate((mix.map_slots, mix.reduce_slots))
            )
            mine = replace(task, mix=replace(mix, market=task.market, map_slots=maps, reduce_slots=reduces))
        short = any(each.spare.vms(index, jobs[:, index]) is None for each in (task, mine) for index in limited)
        if not (short or exceeds(task, bought, ROUNDING)) and (enough or not limits):
            return replace(placement, begun=jobs), Placed(mine, jobs, bought) if enough else None
    return placement, None


def placed(draft: Draft, placement: Placement, gap: float) -> tuple[Placed | None, float]:
    """Return whole jobs and VMs, None if no room is found for them, and a bound."""
    task, bound, until = placement.task, placement.bound, until_of(draft)
    if task.mix.wholeness == MACHINES:
        alone = on_own_machines(task, placement.below, placement.relaxed, gap, until)
        return None if alone.placed is None else Placed(task, *alone.placed), max(bound, alone.bound)
    best: Placed | None = None
    for plan, proven in planned(draft.spec, rented(draft.spec, placement.asked, until), gap, until):
        bound = max(bound, proven)
        best = best if plan is None else as_placed(placement.asked, plan)
    return best, bound


def as_placed(task: Task, plan: CapacityPlan) -> Placed:
    """Return a packed plan on several types as jobs by lane and VMs by offer."""
    market, mixture = task.market, plan.mixture
    number_of = {(lane.vm, lane.spot): number for number, lane in enumerate(market.lanes)}
    jobs, there = np.zeros_like(task.mix.gamma), {(each.vm, each.way, each.term): each.vms for each in mixture.bought}
    columns = (mixture.of_vm, mixture.spot, mixture.of_class, mixture.jobs)
    for vm, spot, index, count in zip(*(each.tolist() for each in columns), strict=True):
        jobs[number_of[vm, spot], index] += count
    return Placed(task, jobs, np.array([there.get(way, 0.0) for way in market.ways]), plan)


def until_of(draft: Draft) -> float | None:
    """Return the time limit on the monotonic clock [s]; None without a limit."""
    return None if draft.limits.time is None else draft.started + draft.limits.time


def stopped(draft: Draft) -> Termination:
    """Return the termination of a search without a proof: its regular end, or the time limit."""
    until = until_of(draft)
    return Termination.COMPLETED if until is None or draft.clock() <= until else Termination.TIME_LIMIT


def plan_in(spec: Spec, task: Task, jobs: Floats, bought: Floats, relax: bool = False) -> CapacityPlan:
    """Return the plan of jobs by lane on VMs by offer; for one type, in the form of a one-type spec."""
    if not is_plain(spec.facts):
        return mix_plan_of(task.mix, bought, jobs, relax)
    firm = float(bought[[offer.way == ON_DEMAND for offer in task.market.offers]].sum())
    return plan_of(instance_of(spec), (firm, float(bought.sum()) - firm), jobs.sum(axis=0), relax)
