"""The search of ``direct`` for whole jobs on several VM types, or with several purchase options of one.

If cores and memory of containers have to fit, ``direct`` weighs both resources of a type as one.

Jobs that fit the cores and the memory of VMs fit any weighting of both. At weights of a type, a slot takes the weighted
sum of its parts of a VM. Each job has the pair of slots that takes the least by Theorem 4.1. The rest is as with one
resource, and it bounds the cost from below for all weights. This is a surrogate constraint (Glover 1965, *A multiphase-
dual algorithm for the zero-one integer programming problem*). The weights are those at which all expected jobs on the
type take the most: there cores and memory are filled alike, or one of them is idle.

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
from mrdsl.families.capacity.instance import Mix, instance_of, of_lanes
from mrdsl.families.capacity.lanes import limited_classes
from mrdsl.families.capacity.market import ON_DEMAND, Floats
from mrdsl.families.capacity.methods.few_lanes import MANY, is_scarce, on_few_lanes, within_quotas
from mrdsl.families.capacity.methods.lane_prices import Places, Relaxed, Task, by_type, vms_with_spare
from mrdsl.families.capacity.methods.own_machines import on_own_machines
from mrdsl.families.capacity.methods.relaxation import relaxed
from mrdsl.families.capacity.methods.whole_placements import whole_placement
from mrdsl.families.capacity.packed_plans import beyond_quotas
from mrdsl.families.capacity.plan import CapacityPlan, plan_of
from mrdsl.families.capacity.plan_building import mix_plan_of, taken_vms
from mrdsl.spec.spec import Spec

LEAST = 1e-7
"""The least weight of a resource: a slot that takes nothing of one still takes something."""
STEPS = 40
CLASSES = 64
"""So many classes are weighed to choose the weights of a type."""


def weighed(task: Task) -> tuple[Task, Task]:
    """Return the task to plan with and the task that bounds the cost; both are the task itself for one resource.

    If a part of a class may be on spot VMs, VM time is counted by the slots per VM. The class is then planned on the
    slots that take least of that, and the bound ignores its limit on spot.
    """
    mix = task.mix
    if mix.sizes is None:
        return task, task
    gamma, maps, reduces = _least(mix, _weights(mix))
    limited = np.zeros(len(mix), dtype=bool)
    limited[limited_classes(mix)] = True
    bound = replace(
        mix, gamma=gamma, map_slots=maps, reduce_slots=reduces, spot_share=np.where(limited, 1.0, mix.spot_share)
    )
    kept = [
        np.where(limited, old, new)
        for old, new in ((mix.gamma, gamma), (mix.map_slots, maps), (mix.reduce_slots, reduces))
    ]
    plan = replace(mix, gamma=kept[0], map_slots=kept[1], reduce_slots=kept[2])
    return replace(task, mix=plan), replace(task, mix=bound)


def needed_vms(task: Task, jobs: Floats, relax: bool) -> Floats:
    """Return the VMs of each lane that the scarcer resource asks for."""
    vms = taken_vms(task.mix, jobs, task.spare.of_all(jobs))
    return vms if relax else np.asarray(ceiling(vms))


def by_scarcer_resource(mix: Mix) -> Mix:
    """Return the mix in which jobs count for their scarcer resource: jobs that fit then fit both resources.

    Classes with a limited part on spot VMs are unchanged, since that part is of VM time.
    """
    limited = np.zeros(len(mix), dtype=bool)
    limited[limited_classes(mix)] = True
    taken = mix.taken(mix.map_slots, mix.reduce_slots).max(axis=0)
    return replace(mix, gamma=np.where(limited, mix.gamma, np.maximum(mix.gamma, taken)))


def _weights(mix: Mix) -> Floats:
    """Return the weight of cores in each lane at which jobs take the most, by golden section; memory has the rest."""
    some = np.argsort(-mix.expected, kind="stable")[:CLASSES]
    expected = mix.expected[some]
    low, high = np.full(len(mix.gamma), LEAST), np.full(len(mix.gamma), 1.0 - LEAST)

    def taken(weights: Floats) -> Floats:
        gamma = _least(mix, weights, some, whole=False)[0]
        return np.asarray((np.where(np.isfinite(gamma), gamma, 0.0) * expected).sum(axis=1))

    part = (5.0**0.5 - 1.0) / 2.0
    for _ in range(STEPS):
        one, two = high - part * (high - low), low + part * (high - low)
        less = taken(one) < taken(two)
        low, high = np.where(less, one, low), np.where(less, high, two)
    return np.asarray((low + high) / 2.0)


def _least(
    mix: Mix, weights: Floats, at: Places | None = None, whole: bool | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return the weighted part of a VM that one job takes, and its map and reduce slots, (lanes, classes).

    ``at`` selects classes.
    """
    assert mix.sizes is not None
    vms, classes = mix.market.vm_of_lane, np.arange(len(mix)) if at is None else at
    both = np.stack([weights, 1.0 - weights])[:, :, None]
    maps_part, reduces_part = ((mix.sizes.parts[kind][:, vms[:, None], classes] * both).sum(axis=0) for kind in (0, 1))
    lanes = np.arange(len(vms))
    pairs = (mix.pairs if at is None else mix.pairs.of_classes(at)).in_lanes(vms, (1.0 / maps_part, 1.0 / reduces_part))
    kept = mix.map_kept[:, classes], mix.reduce_kept[:, classes]
    maps, reduces = pairs.slots_with_losses(lanes, kept, mix.wholeness != NO if whole is None else whole)
    maps, reduces = (np.where(mix.possible[:, classes], each, np.inf) for each in (maps, reduces))
    return maps * maps_part + reduces * reduces_part, maps, reduces


TURNS, EXACT_TURNS = 8, 4
"""So often quotas are made smaller by what packing takes beyond them; after some turns jobs count for more besides."""
MARGIN = 0.02
"""How much more jobs count for then in each turn: what is left of VMs is room for packing."""
MOVES = 2_000_000
"""So many pairs of lanes for a job of each class are looked at in one move of all of them."""


@dataclass(frozen=True)
class Placement:
    """The task, its relaxed optimum and what every plan costs at least, for the step that makes it whole."""

    task: Task
    relaxed: Relaxed
    bound: float


def with_room(
    draft: Draft, placement: Placement, found: tuple[Floats, Floats] | None, gap: float
) -> tuple[Floats, Floats] | None:
    """Return ``found`` if quotas have room for its packing; otherwise a result for quotas less the packing's excess."""
    task = placement.task
    if found is None and task.mix.sizes is not None:
        task = replace(task, mix=by_scarcer_resource(task.mix))
        found = _again(draft, placement, task, gap)
    best = found
    for turn in range(TURNS):
        plan = None if found is None else plan_in(draft.spec, task, *found)
        if found is None or plan is None or plan.mix is None or plan.wholeness == NO:
            break
        over = beyond_quotas(draft.spec, plan)
        if not over.any():
            return found
        task = replace(task, available=np.maximum(task.available - over, task.market.masters))
        if turn >= EXACT_TURNS:
            task = replace(task, mix=replace(task.mix, gamma=(1.0 + MARGIN) * task.mix.gamma))
        found = _again(draft, placement, task, gap)
    return best if found is None else found


def _again(draft: Draft, placement: Placement, task: Task, gap: float) -> tuple[Floats, Floats] | None:
    """Return whole jobs by lane and VMs by offer for a task with smaller quotas; None if none are found."""
    best = relaxed(task, gap, until_of(draft))
    if best.lacking > ROUNDING:
        return None
    return placed(draft, replace(placement, task=task, relaxed=best), gap)[0]


def placed(draft: Draft, placement: Placement, gap: float) -> tuple[tuple[Floats, Floats] | None, float]:
    """Return whole jobs by lane and VMs by offer, None if they exceed the quotas, and a bound."""
    task, bound, until = placement.task, placement.bound, until_of(draft)
    if task.mix.wholeness == MACHINES:
        alone = on_own_machines(task, placement.relaxed, gap, until)
        found, proven = alone.placed, alone.bound
    else:
        enough = bound + gap * abs(bound - draft.fixed)
        jobs, proven = _whole_near(task, placement.relaxed, enough, until)
        found = _moved(task, jobs, enough, until)
        if is_scarce(task) and len(task.market.lanes) <= MANY:
            found = _cheaper(task, found, whole_placement(task, placement.relaxed.jobs, enough, until))
    return _as_needed(task, found), max(bound, proven) if task.mix.sizes is None else bound


def _as_needed(task: Task, found: tuple[Floats, Floats] | None) -> tuple[Floats, Floats] | None:
    """Return whole jobs on as many VMs as cores and memory require; None if that exceeds the quotas."""
    if found is None or task.mix.sizes is None:
        return found
    bought = task.market.buy(needed_vms(task, found[0], relax=False))
    lacking = bool((by_type(task.market, bought) > task.available + ROUNDING).any())
    return None if lacking else (found[0], bought)


def _whole_near(task: Task, relaxed: Relaxed, enough: float, until: float | None) -> tuple[Floats, float]:
    """Return jobs on few lanes, or within quotas if there are some, and another lower bound on their cost."""
    if is_scarce(task):
        return within_quotas(task, relaxed, enough, until)
    return on_few_lanes(task, relaxed.jobs, enough, until), -np.inf


def _cheaper(task: Task, *plans: tuple[Floats, Floats] | None) -> tuple[Floats, Floats] | None:
    """Return the plan that costs less, of those that there are."""
    return min((each for each in plans if each), key=lambda plan: task.mix.cost(plan[1], plan[0]), default=None)


def _moved(task: Task, jobs: Floats, enough: float, until: float | None) -> tuple[Floats, Floats] | None:
    """Return whole jobs by lane and VMs by offer after moves of single jobs (of many lanes, among those in use)."""
    market = task.market
    if jobs.size * len(jobs) <= MOVES:
        return whole_placement(task, jobs, enough, until)
    lanes = np.flatnonzero((jobs > 0.0).any(axis=1) | (market.masters_of_lane > 0.0))
    found = whole_placement(replace(task, mix=of_lanes(task.mix, lanes)), jobs[lanes], enough, until)
    if found is None:
        return None
    placed = np.zeros_like(jobs)
    placed[lanes] = found[0]
    return placed, market.buy(np.asarray(ceiling(vms_with_spare(task.mix, placed, task.spare))))


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
