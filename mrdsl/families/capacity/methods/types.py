"""The steps of ``direct`` where a spec has several VM types, or buys one in several ways."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import impossible, warning
from mrdsl.core.result import Termination, relative_gap
from mrdsl.core.tolerances import PROVEN, ROUNDING
from mrdsl.core.whole_numbers import ceiling, floor
from mrdsl.families.capacity.class_bounds import ClassBounds, quotas_in
from mrdsl.families.capacity.dominated_lanes import solved_mix
from mrdsl.families.capacity.facts import MACHINES
from mrdsl.families.capacity.instance import instance_of
from mrdsl.families.capacity.market import ON_DEMAND, Floats
from mrdsl.families.capacity.methods.few_lanes import on_few_lanes
from mrdsl.families.capacity.methods.lane_prices import Relaxed, Task, never_fits, relaxed
from mrdsl.families.capacity.methods.own_machines import on_own_machines
from mrdsl.families.capacity.methods.refusals import contradictions_of, refuse
from mrdsl.families.capacity.methods.whole_placements import whole_placement
from mrdsl.families.capacity.mix_plan import mix_plan_of
from mrdsl.families.capacity.plan import CapacityPlan, plan_of
from mrdsl.families.capacity.shape import is_plain
from mrdsl.spec.spec import Spec


@dataclass(frozen=True)
class Placement:
    """The task and its relaxed optimum, for the step that makes it whole."""

    task: Task
    relaxed: Relaxed


def prepare(draft: Draft, class_bounds: ClassBounds) -> Draft:
    """Reads the spec as arrays, ``subject to`` as bounds on jobs of single classes and on VMs of single types.

    Raises MrdslError where ``subject to`` compares anything else, which takes a solver.
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
    """The relaxed optimum: its value is the bound, and the plan itself where the relaxation was asked for."""
    until = _until(draft)
    found = relaxed(task, ROUNDING, until)
    if found.lacking > ROUNDING and never_fits(task, until):
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
    exact = (relative_gap(found.value, found.bound, draft.fixed) or 0.0) <= ROUNDING
    bound = found.value if exact and draft.relax else found.bound
    draft = replace(draft, state=Placement(task, found), bound=bound)
    if not draft.relax:
        return draft
    ended = Termination.OPTIMAL if exact else _stopped(draft)
    if found.lacking > ROUNDING:
        return replace(draft, termination=_stopped(draft))
    plan = mix_plan_of(task.mix, found.bought, found.jobs, relax=True)
    return replace(draft, plan=plan, value=plan.total, termination=ended)


def whole_jobs(draft: Draft, placement: Placement) -> Draft:
    """Whole jobs and VMs near the relaxed ones; the relaxation bounds what they may cost too much."""
    task, bound = placement.task, placement.relaxed.bound
    gap = PROVEN if draft.limits.gap is None else draft.limits.gap
    until = _until(draft)
    if task.mix.wholeness == MACHINES:
        alone = on_own_machines(task, placement.relaxed, gap, until)
        found, bound = alone.placed, alone.bound
    else:
        enough = bound + gap * abs(bound - draft.fixed)
        jobs = on_few_lanes(task, placement.relaxed.jobs, enough, until)
        found = whole_placement(task, jobs, enough, until)
    if found is None:
        told = warning(
            "no-plan-found",
            "direct found no whole jobs on whole VMs within the quotas; there may be some",
            draft.spec.facts.vms[0].span,
            "solve with --solver highs, which looks at all of them",
        )
        return replace(draft, diagnostics=(*draft.diagnostics, told), termination=_stopped(draft))
    plan = _plan(draft.spec, task, *found)
    bound = min(plan.total, bound)
    proven = (relative_gap(plan.total, bound, draft.fixed) or 0.0) <= gap
    ended = Termination.OPTIMAL if proven else _stopped(draft)
    return replace(draft, plan=plan, value=plan.total, bound=bound, termination=ended)


def _until(draft: Draft) -> float | None:
    """When the time is over, on the monotonic clock."""
    return None if draft.limits.time is None else draft.started + draft.limits.time


def _stopped(draft: Draft) -> Termination:
    """How a search ended that proved nothing: by itself, or at the time limit."""
    until = _until(draft)
    return Termination.COMPLETED if until is None or draft.clock() <= until else Termination.TIME_LIMIT


def _plan(spec: Spec, task: Task, jobs: Floats, bought: Floats) -> CapacityPlan:
    """Whole jobs by lane on whole VMs by offer; where there is one type alone, as a spec of one has them."""
    if not is_plain(spec.facts):
        return mix_plan_of(task.mix, bought, jobs, relax=False)
    firm = float(bought[[offer.way == ON_DEMAND for offer in task.market.offers]].sum())
    return plan_of(instance_of(spec), (firm, float(bought.sum()) - firm), jobs.sum(axis=0), relax=False)
