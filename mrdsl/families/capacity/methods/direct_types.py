"""The steps of ``direct`` where a spec has several VM types, or buys one in several ways."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import impossible, warning
from mrdsl.core.result import Termination, relative_gap
from mrdsl.core.rounding import PROVEN, ROUNDING, ceiling, floor
from mrdsl.families.capacity.constraints import ClassBounds, contradictions_of, quotas_in, refuse
from mrdsl.families.capacity.facts import MACHINES, NO
from mrdsl.families.capacity.forms import is_plain
from mrdsl.families.capacity.instance import instance_of, of_lanes
from mrdsl.families.capacity.lanes import solved_mix
from mrdsl.families.capacity.market import ON_DEMAND, Floats
from mrdsl.families.capacity.methods import within_quotas
from mrdsl.families.capacity.methods.few_lanes import MANY, improved, on_few_lanes
from mrdsl.families.capacity.methods.lane_prices import Relaxed, Task, by_type, vms_with_spare
from mrdsl.families.capacity.methods.own_machines import on_own_machines
from mrdsl.families.capacity.methods.pair_program import weighed
from mrdsl.families.capacity.methods.relaxation import has_program, never_fits, relaxed
from mrdsl.families.capacity.methods.whole_placements import whole_placement
from mrdsl.families.capacity.methods.within_quotas import Whole
from mrdsl.families.capacity.packed_plans import beyond_quotas, held_by_lane
from mrdsl.families.capacity.packing import sizes_of
from mrdsl.families.capacity.plan import CapacityPlan, plan_of
from mrdsl.families.capacity.plan_building import mix_plan_of, taken_vms
from mrdsl.formulas.packing import pack
from mrdsl.spec.spec import Spec

MOST_PAIRS = 1_500
"""With so few pairs of lanes and classes one integer program has all of them."""
NODES = 100
TURNS, SEARCHED = 8, 2
"""So often whole jobs are placed anew where packing took more VMs than they add up to, at first with a search."""
MANY_PAIRS, NEAR = 20_000, 1e-4
"""Of more pairs the relaxation is solved to this relative gap."""
CLOSE = 2e-3
"""A plan is not looked for anew where packing costs no more than this part of it."""
MOVES = 2_000_000
"""So many pairs of lanes for a job of each class are looked at in one move of all of them."""


@dataclass(frozen=True)
class Placement:
    """The task, its relaxed optimum and what every plan costs at least, for the step that makes it whole."""

    task: Task
    relaxed: Relaxed
    bound: float


def prepare(draft: Draft, class_bounds: ClassBounds) -> Draft:
    """Read the spec as arrays, and ``subject to`` as bounds on jobs of single classes and on VMs of single types.

    Raises MrdslError if ``subject to`` has other comparisons, which need a solver.
    """
    spec, relax = draft.spec, draft.relax
    quotas, others = quotas_in(class_bounds.others)
    refuse(others, "admitted(c), completion(c) and from above on vms(TYPE)")
    mix = solved_mix(spec)
    low = class_bounds.tighten(mix.names, "admitted", mix.low, at_most=False)
    high = class_bounds.tighten(mix.names, "admitted", mix.expected, at_most=True)
    available = mix.market.available.copy()
    for number, name in enumerate(mix.market.names):
        available[number] = min(available[number], quotas.get(name, np.inf))
    if not relax:
        low, high, available = ceiling(low), floor(high), floor(available)
    if bool((low > high).any()):
        found = contradictions_of(spec, mix.names, low > high)
        return replace(draft, termination=Termination.INFEASIBLE, diagnostics=found)
    return replace(draft, state=Task(mix, low, high, available, same_type=not relax), fixed=mix.market.of_masters)


def fill(draft: Draft, task: Task) -> Draft:
    """Return the relaxed optimum: its value is the bound, and it is the plan if you asked for the relaxation."""
    until = _until(draft)
    task, below = weighed(task)
    found = relaxed(task, ROUNDING if task.mix.gamma.size <= MANY_PAIRS else NEAR, until)
    least = found.bound if below is task or has_program(task) else relaxed(below, ROUNDING, until).bound
    if found.lacking > ROUNDING and never_fits(below, until):
        limited = np.flatnonzero(np.isfinite(task.available))
        vms = draft.spec.facts.vms
        names = ", ".join(vms[int(number)].name for number in limited)
        told = impossible(
            "impossible-quota",
            f"the least jobs of all classes take more VMs than are available of {names}",
            vms[int(limited[0])].span_of("available"),
            "raise available, lower the least jobs of classes, or add a vm type",
        )
        return replace(draft, termination=Termination.INFEASIBLE, diagnostics=(told,))
    if draft.relax and below is not task:
        bought = task.market.buy(needed_vms(task, found.jobs, relax=True))
        found = replace(found, bought=bought, value=task.mix.cost(bought, found.jobs))
    exact = (relative_gap(found.value, least, draft.fixed) or 0.0) <= ROUNDING
    bound = found.value if exact and draft.relax else least
    draft = replace(draft, state=Placement(task, found, least), bound=bound)
    if not draft.relax:
        return draft
    ended = Termination.OPTIMAL if exact else _stopped(draft)
    if found.lacking > ROUNDING:
        return replace(draft, termination=_stopped(draft))
    plan = mix_plan_of(task.mix, found.bought, found.jobs, relax=True)
    return replace(draft, plan=plan, value=plan.total, termination=ended)


def needed_vms(task: Task, jobs: Floats, relax: bool) -> Floats:
    """The VMs of each lane that the scarcer resource asks for."""
    vms = taken_vms(task.mix, jobs, task.spare.of_all(jobs))
    return vms if relax else np.asarray(ceiling(vms))


def whole_jobs(draft: Draft, placement: Placement) -> Draft:
    """Return whole jobs and VMs near the relaxed ones; the relaxation bounds their excess cost."""
    gap = PROVEN if draft.limits.gap is None else draft.limits.gap
    task = placement.task
    if task.mix.wholeness == MACHINES:
        found, bound = _on_own_machines(draft, placement, gap)
    elif has_program(task):
        found, bound = _within_quotas(draft, placement, gap)
        if found is None and len(task.market.lanes) <= MANY:
            found, _ = _on_few_lanes(draft, placement, gap)
    else:
        found, bound = _on_few_lanes(draft, placement, gap)
    if found is None:
        told = warning(
            "no-plan-found",
            "direct found no whole jobs on whole VMs within the quotas; there may be some",
            draft.spec.facts.vms[0].span,
            "solve with --solver highs, which looks at all of them",
        )
        return replace(draft, diagnostics=(*draft.diagnostics, told), termination=_stopped(draft))
    plan = _plan(draft.spec, task, found)
    bound = min(plan.total, bound)
    proven = (relative_gap(plan.total, bound, draft.fixed) or 0.0) <= gap
    ended = Termination.OPTIMAL if proven else _stopped(draft)
    return replace(draft, plan=plan, value=plan.total, bound=bound, termination=ended)


def _within_quotas(draft: Draft, placement: Placement, gap: float) -> tuple[Whole | None, float]:
    """The cheapest whole jobs found whose packing has room within the quotas, and a bound.

    Where packing takes more VMs than slots add up to, they count for as much more in the next turn.
    """
    task, bound, until = placement.task, placement.bound, _until(draft)
    enough = bound + gap * abs(bound - draft.fixed)
    best: Whole | None = None
    scale = np.ones(len(task.market.lanes))
    for turn in range(TURNS):
        search_to = enough if turn < SEARCHED else np.inf
        found = within_quotas.whole_jobs(placement.relaxed, search_to, until, scale)
        if found is None:
            break
        if _is_small(task):
            found, bound = _by_one_program(task, found, bound, until)
        vms, taken = _packed_vms(draft.spec, task, found), needed_vms_of(task, found)
        bought = task.market.buy(np.maximum(vms, ceiling(taken)))
        if not bool((by_type(task.market, bought) > task.available + ROUNDING).any()):
            fitting = replace(found, bought=bought, cost=task.mix.cost(bought, found.jobs))
            best = fitting if best is None or fitting.cost < best.cost else best
        more = vms > ceiling(taken) + ROUNDING
        near = best is not None and (turn >= SEARCHED or best.cost <= max(enough, found.cost * (1.0 + CLOSE)))
        if near or not more.any():
            break
        scale = np.where(more, np.maximum(scale, vms / np.where(more, taken, 1.0)), scale)
    return best, bound


def _is_small(task: Task) -> bool:
    return task.mix.sizes is None and int(task.mix.possible.sum()) <= MOST_PAIRS


def _by_one_program(task: Task, found: Whole, bound: float, until: float | None) -> tuple[Whole, float]:
    """Whole jobs by one integer program of all pairs, and its bound; those that were found where it finds none."""
    jobs, proven = improved(task, found.jobs, task.mix.possible, until, NODES)
    bought = task.market.buy(np.asarray(ceiling(vms_with_spare(task.mix, jobs, task.spare))))
    if bool((by_type(task.market, bought) > task.available + ROUNDING).any()):
        return found, max(bound, proven)
    better = Whole(jobs, None, bought, task.mix.cost(bought, jobs))
    return min(found, better, key=lambda each: each.cost), max(bound, proven)


def needed_vms_of(task: Task, found: Whole) -> Floats:
    """The VMs of each lane, in parts, that whole jobs take."""
    return taken_vms(task.mix, found.jobs, task.spare.of_all(found.jobs) if found.more is None else found.more)


def _packed_vms(spec: Spec, task: Task, found: Whole) -> Floats:
    """The VMs of each lane on which the whole slots of jobs are packed, masters included; none of parts of slots."""
    vms = np.zeros(len(task.market.lanes))
    plan = _plan(spec, task, found)
    if plan.mix is None or plan.wholeness == NO:
        return vms
    places = {(lane.vm, lane.spot): number for number, lane in enumerate(task.market.lanes)}
    taken = np.asarray(ceiling(needed_vms_of(task, found)))
    for held in held_by_lane(spec, plan):
        if len(held.slots):
            lane = places[held.vm, held.spot]
            masters = task.market.masters_of_lane[lane]
            vms[lane] = pack(*sizes_of(held), float(taken[lane] - masters), quick=True).vms + masters
    return vms


def _on_own_machines(draft: Draft, placement: Placement, gap: float) -> tuple[Whole | None, float]:
    """Whole jobs on machines of each class, whose packing has room within the quotas, and a bound."""
    task, until = placement.task, _until(draft)
    alone = on_own_machines(task, placement.relaxed, gap, until)
    bound = max(placement.bound, alone.bound) if task.mix.sizes is None else placement.bound
    for _ in range(TURNS):
        if alone.placed is None:
            return None, bound
        found = Whole(alone.placed[0], None, alone.placed[1], 0.0)
        plan = _plan(draft.spec, task, found)
        over = np.zeros(0) if plan.mix is None else beyond_quotas(draft.spec, plan)
        if not over.any():
            return found, bound
        task = replace(task, available=np.maximum(task.available - over, task.market.masters))
        alone = on_own_machines(task, relaxed(task, gap, until), gap, until)
    return None, bound


def _on_few_lanes(draft: Draft, placement: Placement, gap: float) -> tuple[Whole | None, float]:
    """Whole jobs on few lanes of which there are VMs in any number, and a bound."""
    task, bound, until = placement.task, placement.bound, _until(draft)
    enough = bound + gap * abs(bound - draft.fixed)
    found = _moved(task, on_few_lanes(task, placement.relaxed.jobs, enough, until), enough, until)
    if found is None:
        return None, bound
    jobs, bought = found
    if task.mix.sizes is not None:
        bought = task.market.buy(needed_vms(task, jobs, relax=False))
    over = bool((by_type(task.market, bought) > task.available + ROUNDING).any())
    return None if over else Whole(jobs, None, bought, task.mix.cost(bought, jobs)), bound


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


def _until(draft: Draft) -> float | None:
    """Return the time limit on the monotonic clock [s]; None without a limit."""
    return None if draft.limits.time is None else draft.started + draft.limits.time


def _stopped(draft: Draft) -> Termination:
    """Return the termination of a search without a proof: its regular end, or the time limit."""
    until = _until(draft)
    return Termination.COMPLETED if until is None or draft.clock() <= until else Termination.TIME_LIMIT


def _plan(spec: Spec, task: Task, found: Whole) -> CapacityPlan:
    """Whole jobs by lane on whole VMs by offer; where there is one type alone, as a spec of one has them."""
    bought, jobs = found.bought, found.jobs
    if not is_plain(spec.facts):
        return mix_plan_of(task.mix, bought, jobs, relax=False, spare=found.more)
    firm = float(bought[[offer.way == ON_DEMAND for offer in task.market.offers]].sum())
    return plan_of(instance_of(spec), (firm, float(bought.sum()) - firm), jobs.sum(axis=0), relax=False)
