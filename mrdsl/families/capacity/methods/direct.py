"""``direct`` for capacity: problem P2 of paper 000 without a solver, on arrays of any length.

It has three steps. ``prepare`` reads the spec. ``fill`` solves the relaxation in closed form. P2 is a fractional
knapsack: the jobs of a class are worth their penalty per VM, ``p / gamma``, and VMs cost first the reserved, then the
on-demand price. ``whole_jobs`` rounds the solution and proves its gap; see :mod:`mrdsl.formulas.knapsack`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from mrdsl.contracts.pipeline import Draft, run_steps
from mrdsl.core.result import Limits, Result, Termination, relative_gap
from mrdsl.core.rounding import PROVEN, SAME_SUM, ceiling, floor
from mrdsl.families.capacity.constraints import (
    class_bounds_of,
    contradictions_of,
    refuse,
    refuse_completion,
    refuse_promises,
    serves,
)
from mrdsl.families.capacity.facts import MACHINES
from mrdsl.families.capacity.forms import as_solved, is_plain, wholeness_of
from mrdsl.families.capacity.instance import Instance, instance_of
from mrdsl.families.capacity.methods import direct_types
from mrdsl.families.capacity.methods.lane_prices import Task
from mrdsl.families.capacity.packed_plans import with_packing
from mrdsl.families.capacity.pairs import Floats
from mrdsl.families.capacity.plan import plan_of
from mrdsl.formulas.knapsack import VmCost, exchange
from mrdsl.spec.spec import Spec


@dataclass(frozen=True)
class Admission:
    """The numbers that the steps share.

    ``gamma`` are the VMs that one job takes; ``low`` and ``high`` bound the admitted jobs, ``subject to`` included.
    ``admitted`` is the relaxed optimum and ``price`` its dual price of one VM, once known.
    """

    instance: Instance
    vm_cost: VmCost
    gamma: Floats
    low: Floats
    high: Floats
    admitted: Floats | None = None
    price: float = 0.0

    def cost(self, jobs: Floats, vms: float) -> float:
        """Equation (5) with the cheapest split of ``vms`` VMs."""
        return float(self.vm_cost(vms)) + float(self.instance.penalty @ (self.instance.expected - jobs))


def prepare(draft: Draft) -> Draft:
    """Read the spec as arrays and the comparisons of ``subject to`` as bounds on the jobs of single classes.

    Raises MrdslError if ``subject to`` has other comparisons, which need a solver, or if a relaxation has whole slots.
    """
    return read(as_solved(draft.spec, draft.relax), draft)


def read(spec: Spec, draft: Draft) -> Draft:
    """:func:`prepare` of a spec as it is, whose slots may be whole though its jobs and VMs are not."""
    draft = replace(draft, spec=spec)
    refuse_promises(spec, "direct")
    refuse_completion(spec, "direct")
    class_bounds = class_bounds_of(spec)
    if not is_plain(spec.facts) or wholeness_of(spec.facts) == MACHINES:
        return direct_types.prepare(draft, class_bounds)
    refuse(class_bounds.others, "admitted(c) and completion(c)")
    instance = instance_of(spec)
    low = class_bounds.tighten(instance.names, "admitted", instance.low, at_most=False)
    high = class_bounds.tighten(instance.names, "admitted", instance.most, at_most=True)
    if not draft.relax:
        low, high = ceiling(low), floor(high)
    if bool((low > high).any()):
        contradictions = contradictions_of(spec, instance.names, low > high)
        return replace(draft, termination=Termination.INFEASIBLE, diagnostics=contradictions)
    prices = instance.prices
    pays = prices.reserved < prices.on_demand
    vm_cost = VmCost(prices.reserved, prices.on_demand, float(prices.available) if pays else 0.0)
    return replace(draft, state=Admission(instance, vm_cost, instance.vms_per_job(), low, high))


def fill(draft: Draft) -> Draft:
    """Return the relaxed optimum: its value is the bound, and it is the plan if you asked for the relaxation."""
    if isinstance(draft.state, Task):
        return direct_types.fill(draft, draft.state)
    admission: Admission = draft.state
    jobs, price = relaxed_optimum(admission)
    vms = float(admission.gamma @ jobs)
    bound = admission.cost(jobs, vms)
    draft = replace(draft, state=replace(admission, admitted=jobs, price=price), bound=bound)
    if not draft.relax:
        return draft
    plan = plan_of(admission.instance, admission.vm_cost.split(vms), jobs, relax=True)
    return replace(draft, plan=plan, value=plan.total, bound=plan.total, termination=Termination.OPTIMAL)


def relaxed_optimum(admission: Admission) -> tuple[Floats, float]:
    """Return the jobs of the relaxed P2 and the dual price of one VM (Theorem 4.3: between rho and delta).

    At the price nu, all jobs of a class are admitted if ``p > nu gamma``, and the fewest if ``p < nu gamma``. No VM is
    ever worth more than the on-demand price. If that price leaves reserved VMs idle, classes follow by penalty per VM.
    This ends when the reserved VMs are used up or no class is worth the reserved price.
    """
    penalty, gamma, low, high, vms = (
        admission.instance.penalty,
        admission.gamma,
        admission.low,
        admission.high,
        admission.vm_cost,
    )
    jobs = np.where(penalty > vms.on_demand * gamma, high, low)
    left = vms.available - float(gamma @ jobs)
    if left <= 0.0:
        return jobs, vms.on_demand
    follow = ((penalty > vms.reserved * gamma) & (penalty <= vms.on_demand * gamma)).nonzero()[0]
    worth = penalty[follow] / gamma[follow]
    order = np.argsort(-worth, kind="stable")
    follow = follow[order]
    used = np.cumsum(gamma[follow] * (high - low)[follow])
    full = int(np.searchsorted(used, left, side="right"))
    jobs[follow[:full]] = high[follow[:full]]
    if full == len(follow):
        return jobs, vms.reserved
    last = follow[full]
    before = float(used[full - 1]) if full else 0.0
    jobs[last] += (left - before) / gamma[last]
    return jobs, float(worth[order[full]])


def whole_jobs(draft: Draft, states: int = 20_000, classes: int = 400) -> Draft:
    """Return whole jobs and whole VMs near the relaxed optimum, by exchanges between classes; with a proven bound.

    ``states`` and ``classes`` limit the search. The bound accounts for all that the search leaves out.
    """
    if draft.relax:
        return draft
    if isinstance(draft.state, direct_types.Placement):
        return direct_types.whole_jobs(draft, draft.state)
    admission: Admission = draft.state
    assert admission.admitted is not None
    gap = PROVEN if draft.limits.gap is None else draft.limits.gap
    best = exchange(
        admission.admitted,
        admission.price,
        admission.instance.penalty,
        admission.gamma,
        admission.low,
        admission.high,
        admission.vm_cost,
        enough=gap * abs(draft.bound or 0.0),
        states=states,
        classes=classes,
        until=None if draft.limits.time is None else draft.started + draft.limits.time,
    )
    plan = plan_of(admission.instance, admission.vm_cost.split(best.vms), best.jobs, relax=False)
    value = plan.total
    bound = min(value, (draft.bound or 0.0) + best.proven)
    if (relative_gap(value, bound) or 0.0) <= SAME_SUM:
        bound = value
    proven = (relative_gap(value, bound) or 0.0) <= gap
    stopped = Termination.TIME_LIMIT if best.timed_out else Termination.COMPLETED
    return replace(draft, plan=plan, value=value, bound=bound, termination=Termination.OPTIMAL if proven else stopped)


def direct(spec: Spec, relax: bool, limits: Limits | None = None) -> Result | None:
    """Return the result of all three steps, a reference for solvers; None if ``subject to`` needs a solver."""
    if not serves(spec):
        return None
    draft = Draft(spec, relax, limits=limits or Limits(), started=time.monotonic())
    return run_steps([(prepare, {}), (fill, {}), (whole_jobs, {}), (packed, {})], draft)


def packed(draft: Draft) -> Draft:
    """Return the plan with its whole slots packed on VMs, and with more VMs if the packing needs them."""
    if draft.plan is None or draft.relax:
        return draft
    found = Result(draft.termination, plan=draft.plan, value=draft.value, bound=draft.bound, fixed=draft.fixed)
    found = with_packing(draft.spec, found, replace(draft.limits, time=draft.seconds_left()))
    told = (*draft.diagnostics, *found.diagnostics)
    return replace(draft, plan=found.plan, value=found.value, termination=found.termination, diagnostics=told)
