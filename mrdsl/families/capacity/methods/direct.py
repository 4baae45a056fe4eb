"""``direct`` for capacity: problem P2 of paper 000 without a solver, on arrays of any length.

It has three steps. ``prepare`` reads the spec. ``fill`` solves the relaxation, on one VM type in closed form. P2 is
then a fractional knapsack: the jobs of a class are worth their penalty per VM, ``p / gamma``, and VMs cost first the
reserved, then the on-demand price. ``whole_jobs`` rounds the solution and proves its gap; see
:mod:`mrdsl.formulas.knapsack`, and of several types :mod:`mrdsl.families.capacity.methods.direct_types`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mrdsl.contracts.pipeline import Draft, run_steps
from mrdsl.core.diagnostics import Diagnostic, chained, impossible, warning
from mrdsl.core.lazy import kept
from mrdsl.core.result import Limits, Result, Termination, relative_gap
from mrdsl.core.rounding import PROVEN, ROUNDING, SAME_SUM, ceiling, floor
from mrdsl.core.watching import stopped_by
from mrdsl.families.capacity.constraints import (
    class_bounds_of,
    contradictions_of,
    quotas_in,
    refuse,
    refuse_completion,
    refuse_hdfs,
    refuse_promises,
    serves,
)
from mrdsl.families.capacity.facts import MACHINES, NO
from mrdsl.families.capacity.forms import as_solved, has_closed_form, wholeness_of
from mrdsl.families.capacity.groups import refuse_groups
from mrdsl.families.capacity.lanes import limited_classes, solved_mix
from mrdsl.families.capacity.market import Floats, Market
from mrdsl.families.capacity.methods.class_columns import tightened
from mrdsl.families.capacity.methods.contents_program import by_contents
from mrdsl.families.capacity.methods.direct_types import (
    Placement,
    as_placed,
    by_columns,
    near_both,
    near_filled,
    near_full,
    near_relaxed,
    needed_vms,
    placed,
    plan_in,
    stopped,
    until_of,
)
from mrdsl.families.capacity.methods.lane_columns import MOST_CLASSES, LaneProgram, Lanes, program_of_lanes
from mrdsl.families.capacity.methods.lane_prices import Relaxed, Task, costs_by_way
from mrdsl.families.capacity.methods.relaxation import never_fits, relaxed
from mrdsl.families.capacity.methods.rental import Rented, Spread, has_rows, planned, rented, spread
from mrdsl.families.capacity.methods.slot_prices import on_slots, priced
from mrdsl.families.capacity.methods.vector_lanes import VectorLanes, Vessels
from mrdsl.families.capacity.methods.vector_program import Placed, by_program
from mrdsl.families.capacity.methods.weighing import weighed
from mrdsl.families.capacity.packed_plans import as_packed, with_packing
from mrdsl.formulas.knapsack import VmCost, exchange
from mrdsl.solving.processes import is_kept
from mrdsl.spec.spec import Spec

FEW_CLASSES = 20
MANY_PAIRS = 200_000
"""With this number of classes by lanes, the plan of containers within quotas fills the cheapest lanes."""
CLOSE, CLOSE_OF_MANY, CLOSE_OF_VECTORS, CLOSE_OF_MANY_VECTORS = 5e-3, 0.03, 0.05, 0.08
"""Relative distance to the bound at which a plan is not compared with others, of few and of more classes, and of
containers. The integer program of containers ends at the first."""


def prepare(draft: Draft) -> Draft:
    """Read the spec as arrays and the comparisons of ``subject to`` as bounds on the jobs of single classes.

    Raises MrdslError if ``subject to`` has other comparisons, which need a solver, or if a relaxation has whole slots.
    """
    return draft if _is_planned(draft) else read(as_solved(draft.spec, draft.relax), draft)


def _is_planned(draft: Draft) -> bool:
    """Return True if the spec has several periods, which a step before has planned."""
    return draft.spec.facts.demand is not None


def read(spec: Spec, draft: Draft) -> Draft:
    """:func:`prepare` of a spec as it is, whose slots may be whole though its jobs and VMs are not."""
    refuse_promises(spec, "direct")
    refuse_completion(spec, "direct")
    refuse_hdfs(spec.facts, "direct")
    refuse_groups(spec.facts, "direct")
    others = class_bounds_of(spec).others
    if has_closed_form(spec.facts):
        refuse(others, "admitted(c) and completion(c)")
    else:
        refuse(quotas_in(others)[1], "admitted(c), completion(c) and from above on vms(TYPE)")
    return _read(spec, draft)


def _read(spec: Spec, draft: Draft) -> Draft:
    draft = replace(draft, spec=spec)
    class_bounds, mix = class_bounds_of(spec), solved_mix(spec)
    quotas = quotas_in(class_bounds.others)[0]
    low = class_bounds.tighten(mix.names, "admitted", mix.low, at_most=False)
    most = np.where(mix.possible.any(axis=0), mix.expected, 0.0)
    high = class_bounds.tighten(mix.names, "admitted", most, at_most=True)
    said = np.array([quotas.get(name, np.inf) for name in mix.market.names])
    available = np.minimum(mix.market.available, said)
    if not draft.relax:
        low, high, available = ceiling(low), floor(high), floor(available)
    if bool((low > high).any()):
        contradictions = contradictions_of(spec, mix.names, low > high)
        return replace(draft, termination=Termination.INFEASIBLE, diagnostics=contradictions)
    if bool((available < 0.0).any()):  # such as vms(m5) <= -1
        return replace(draft, termination=Termination.INFEASIBLE)
    task = Task(mix, low, high, available, same_type=not draft.relax)
    return replace(draft, state=task, fixed=mix.market.of_masters)


def fill(draft: Draft) -> Draft:
    """Return the relaxed optimum: its value is the bound, and it is the plan if you asked for the relaxation."""
    if _is_planned(draft):
        return draft
    spec, until = draft.spec, until_of(draft)
    if _is_rented(draft):
        program = rented(spec, draft.state, until)
        if program.is_impossible(until):
            return replace(draft, termination=Termination.INFEASIBLE, diagnostics=(_no_room(spec, draft.state),))
        return replace(draft, state=program, bound=program.bound)
    task, below = weighed(draft.state)
    alone = task.mix.wholeness == MACHINES and not draft.relax
    counted = tightened(below) if alone else task
    found = on_one_lane(task) if has_closed_form(spec.facts) else relaxed(counted, ROUNDING, until)
    least = found.bound if alone or below is task else relaxed(below, ROUNDING, until).bound
    if found.lacking > ROUNDING and never_fits(counted if alone else below, until):
        return replace(draft, termination=Termination.INFEASIBLE, diagnostics=(_no_room(spec, task),))
    if draft.relax and below is not task:
        bought = task.market.buy(needed_vms(task, found.jobs, relax=True))
        found = replace(found, bought=bought, value=task.mix.cost(bought, found.jobs))
    columns = None
    if found.cores is not None:
        same, task = below is task, replace(task, of_cores=found.cores)
        below = task if same else replace(below, of_cores=found.cores)
    near = None
    by_lanes = task.has_limits and not task.market.quotas and len(task.mix) <= MOST_CLASSES
    by_lanes &= not len(limited_classes(task.mix))
    both = None
    if task.mix.sizes is not None and not (alone or draft.relax):
        large = task.has_limits and np.count_nonzero(task.mix.possible) > MANY_PAIRS
        program = rented(spec, draft.state, until)
        both, least = spread(program, until), max(least, program.bound)
        if both is not None and not by_lanes:
            near = near_filled(draft, both, until) if large else None
            near = near_both(draft, draft.state) if near is None else near
    elif task.has_limits and task.mix.sizes is None and not (alone or draft.relax or found.lacking > ROUNDING):
        near = near_full(task, found, until)
    close = near is not None and _is_close(draft, near, least)
    if task.has_limits and not (alone or draft.relax or close or found.lacking > ROUNDING or _is_divided(task)):
        below, columns, least = _by_columns(task, below, found, least, until, both)
    draft = replace(draft, state=Placement(task, draft.state, below, found, least, columns, near=near), bound=least)
    if not draft.relax:
        return draft
    if found.lacking > ROUNDING:
        return replace(draft, termination=stopped(draft))
    plan = plan_in(spec, task, found.jobs, found.bought, relax=True)
    exact = (relative_gap(found.value, least, draft.fixed) or 0.0) <= ROUNDING
    bound, ended = (plan.total, Termination.OPTIMAL) if exact else (least, stopped(draft))
    return replace(draft, plan=plan, value=plan.total, bound=bound, termination=ended)


def _is_rented(draft: Draft) -> bool:
    """Return True if the rental program alone finds the plan: no VM type is limited, and classes share VMs."""
    task: Task = draft.state
    if not serves(draft.spec):
        return True
    if draft.relax or task.mix.wholeness == MACHINES or has_closed_form(draft.spec.facts):
        return False
    return not np.isfinite(task.available).any()


def _no_room(spec: Spec, task: Task) -> Diagnostic:
    """Return the error that the fewest jobs have no room within the quotas of types and of cores."""
    limited = np.flatnonzero(np.isfinite(task.available))
    vms, quotas = spec.facts.vms, spec.facts.quotas
    names = chained([vms[int(number)].name for number in limited] + [f"quota {each.name}" for each in quotas], ", ")
    return impossible(
        "impossible-quota",
        f"the least jobs of all classes take more VMs than are available of {names}",
        vms[int(limited[0])].span_of("available") if len(limited) else quotas[0].span_of("cores"),
        "raise available or cores, lower the least jobs of classes, or add a vm type",
    )


def _by_columns(
    task: Task, below: Task, found: Relaxed, least: float, until: float | None, both: Spread | None
) -> tuple[Task, LaneProgram | None, float]:
    """Return the task that bounds the cost, its program of columns, and the best bound.

    Containers are weighed at prices of slots, if these are known. Quotas of cores are left out of the program, in which
    cores have prices.
    """
    task, below, worth = task.without_quotas, below.without_quotas, task.of_limits
    at_prices = None if task.mix.wholeness == NO else priced(task, until)
    if task.mix.sizes is not None and at_prices is None:
        return below, None, least
    if at_prices is not None:
        gamma, maps, reduces = at_prices
        below = replace(below, mix=replace(below.mix, gamma=gamma, map_slots=maps, reduce_slots=reduces))
        found = relaxed(below, ROUNDING, until)
        least = max(least, found.bound - worth)
    lanes: Lanes = Lanes(below)
    if at_prices is not None:
        mine = replace(task, mix=on_slots(task.mix, maps, reduces))
        lanes = VectorLanes(mine, Vessels(mine.mix, below.mix))
    first = costs_by_way(below, found.prices)
    if both is not None:
        first = np.stack([both.costs, both.costs])
    columns = program_of_lanes(lanes, first, until)
    return below, columns, least if columns is None else max(least, columns.bound - worth)


def on_one_lane(task: Task) -> Relaxed:
    """Return the relaxed P2 of one VM type and the dual price of one VM (Theorem 4.3: between rho and delta).

    At the price nu, all jobs of a class are admitted if ``p > nu gamma``, and the fewest if ``p < nu gamma``. No VM is
    ever worth more than the on-demand price. If that price leaves reserved VMs idle, classes follow by penalty per VM.
    This ends when the reserved VMs are used up or no class is worth the reserved price.
    """
    penalty, gamma, vms = task.mix.worth, _gamma(task), _vm_cost(task.market)
    low, high = task.low, task.high
    jobs, price = np.where(penalty > vms.on_demand * gamma, high, low), vms.on_demand
    left = vms.available - float(gamma @ jobs)
    if left > 0.0:
        follow = ((penalty > vms.reserved * gamma) & (penalty <= vms.on_demand * gamma)).nonzero()[0]
        worth = penalty[follow] / gamma[follow]
        order = np.argsort(-worth, kind="stable")
        follow = follow[order]
        used = np.cumsum(gamma[follow] * (high - low)[follow])
        full = int(np.searchsorted(used, left, side="right"))
        jobs[follow[:full]] = high[follow[:full]]
        price = vms.reserved
        if full < len(follow):
            last = follow[full]
            before = float(used[full - 1]) if full else 0.0
            jobs[last] += (left - before) / gamma[last]
            price = float(worth[order[full]])
    bought = task.market.buy(np.array([float(gamma @ jobs)]))
    value = task.mix.cost(bought, jobs[None])
    return Relaxed(jobs[None], bought, np.array([price]), np.zeros(1), value, value)


def _gamma(task: Task) -> Floats:
    return np.where(task.mix.possible[0], task.mix.gamma[0], 0.0)


def _vm_cost(market: Market) -> VmCost:
    """Return the prices of the one type: contracts count only if they are cheaper."""
    on_demand, *contract = market.offers
    if not contract or contract[0].price >= on_demand.price:
        return VmCost(on_demand.price, on_demand.price, 0.0)
    return VmCost(contract[0].price, on_demand.price, contract[0].available)


def whole_jobs(draft: Draft, states: int = 20_000, classes: int = 400) -> Draft:
    """Return whole jobs near the relaxed optimum, packed on whole VMs, with a proven bound.

    After a Ctrl-C, this is the best plan so far. On one VM type jobs are found by exchanges between classes. ``states``
    and ``classes`` limit that search, and the bound accounts for all that it leaves out.
    """
    if draft.relax or _is_planned(draft):
        return draft
    placement: Placement = draft.state
    gap = PROVEN if draft.limits.gap is None else draft.limits.gap
    found: Placed | None
    found, bound, interrupted = None, placement.bound, False
    if isinstance(draft.state, Rented) or not has_closed_form(draft.spec.facts):
        results = _rented(draft, gap) if isinstance(draft.state, Rented) else _improved(draft, placement, gap)
        try:
            for best in results:
                found, bound = best
        except KeyboardInterrupt:
            if found is None or not is_kept():
                raise
            interrupted = True
    else:
        found, bound = _exchanged(draft, placement, gap, states, classes)
    if found is None:
        told = warning(
            "no-plan-found",
            "direct found no whole jobs on whole VMs within the quotas; there may be some",
            draft.spec.facts.vms[0].span,
            "solve with --solver highs, which looks at all of them",
        )
        return replace(draft, diagnostics=(*draft.diagnostics, told), termination=stopped(draft))
    plan = found.plan or plan_in(draft.spec, found.task, found.jobs, found.bought)
    total = plan.total if found.task.mix.sizes is None else _packed(draft, found)
    total = total if np.isfinite(total) else plan.total
    bound = max(bound, -np.inf if draft.bound is None else draft.bound)
    bound = min(total, bound)
    away = relative_gap(total, bound, draft.fixed) or 0.0
    bound = total if away <= SAME_SUM else bound
    ended = Termination.INTERRUPTED if interrupted else stopped(draft)
    ended = Termination.OPTIMAL if away <= gap else ended
    return _with_packing(replace(draft, plan=plan, value=plan.total, bound=bound, termination=ended))


def _improved(draft: Draft, placement: Placement, gap: float) -> Iterator[tuple[Placed | None, float]]:
    """Yield the best whole plan so far and a bound; the last plan may be None."""
    near = placement.near
    if near is not None:
        yield near, placement.bound
        if _is_close(draft, near, placement.bound):
            return
    placement, found = by_columns(draft, placement)
    task, bound, program = placement.task, placement.bound, placement.program
    found = _cheapest(draft, near, found)
    if found is not None:
        yield found, bound
    cost, chosen = np.inf if found is None else _packed(draft, found), False
    if program is not None and cost - bound > gap * abs(bound - draft.fixed):
        for other, proven in by_contents(task, program, cost, gap, until_of(draft)):
            bound, chosen = max(bound, proven), chosen or bool(np.isfinite(proven))
            found = _cheapest(draft, found, other)
            if found is not None:
                yield found, bound
    if found is not None and not chosen and task.mix.sizes is not None:
        found, _, bound = _by_program(draft, placement, found, gap)
    cost = np.inf if found is None else _packed(draft, found)
    of_one = CLOSE if len(task.mix) <= FEW_CLASSES else CLOSE_OF_MANY
    close = max(gap, of_one if task.mix.sizes is None else CLOSE_OF_VECTORS)
    if found is None or (not chosen and cost - bound > close * abs(bound - draft.fixed)):
        last, proven = placed(draft, placement, gap)
        bound = max(bound, proven)
        found = _cheapest(draft, found, last) or last
    yield found, bound


def _rented(draft: Draft, gap: float) -> Iterator[tuple[Placed | None, float]]:
    """Yield the best plan of the rental program so far, and a bound."""
    program: Rented = draft.state
    first = near_relaxed(program.task, until_of(draft)) if serves(draft.spec) else None
    yield _cheapest(draft, first), program.bound
    for plan, bound in planned(draft.spec, program, gap, until_of(draft)):
        best = None if plan is None else as_placed(program.task, plan)
        yield _cheapest(draft, first, best), bound


def _cheapest(draft: Draft, *plans: Placed | None) -> Placed | None:
    """Return the cheapest packed plan of those that there are; None if quotas have no room for any."""
    there = [each for each in plans if each is not None and np.isfinite(_packed(draft, each))]
    return min(there, key=lambda each: _packed(draft, each), default=None)


def _by_program(draft: Draft, placement: Placement, own: Placed, gap: float) -> tuple[Placed, float, float]:
    """Return the better of a plan of containers and those of an integer program if this is small; cost and bound.

    With quotas of cores the program has prices of cores in their place, so that its bounds on lanes do not hold.
    """
    task, program, bound = placement.task, placement.program, placement.bound
    cost = _packed(draft, own)
    if program is None or task.market.quotas or cost - bound <= gap * abs(bound - draft.fixed):
        return own, cost, bound
    for found, proven in by_program(task, program, cost, until_of(draft)):
        bound = max(bound, proven)
        if found is not None:
            total = _packed(draft, found)
            if total < cost:
                own, cost = found, total
        if cost - bound <= max(gap, CLOSE) * abs(bound - draft.fixed):
            break
    return own, cost, bound


def _is_divided(task: Task) -> bool:
    """Return True if many classes of containers have a part on spot: columns take minutes."""
    return task.mix.sizes is not None and len(limited_classes(task.mix)) > FEW_CLASSES


def _is_close(draft: Draft, near: Placed, bound: float) -> bool:
    """Return True if a packed plan is so close to the bound that no other plan is looked for."""
    classes = len(near.task.mix)
    close = CLOSE if classes <= MOST_CLASSES else CLOSE_OF_MANY_VECTORS
    if near.task.mix.sizes is None:
        close = PROVEN if classes <= FEW_CLASSES else CLOSE
    return _packed(draft, near) - bound <= close * abs(bound - draft.fixed)


def _packed(draft: Draft, found: Placed) -> float:
    """Return the cost of jobs by lane on VMs by offer, and on the VMs in addition that their packing takes.

    It is infinite if quotas have no room for these. Classes that share no VM have whole VMs of their own already.
    """

    def cost() -> float:
        if found.plan is not None:
            return found.plan.total
        plan = plan_in(draft.spec, found.task, found.jobs, found.bought)
        if plan.wholeness in (NO, MACHINES):
            return plan.total
        fitting = as_packed(draft.spec, plan)
        return np.inf if fitting is None else fitting.total

    return kept(found, "cost", cost)


def _exchanged(draft: Draft, placement: Placement, gap: float, states: int, classes: int) -> tuple[Placed, float]:
    """Return whole jobs and VMs by exchanges between classes, in the form of several types, and a bound."""
    task, (jobs,), bound = placement.task, placement.relaxed.jobs, placement.bound
    best = exchange(
        jobs,
        float(placement.relaxed.prices[0]),
        task.mix.worth,
        _gamma(task),
        task.low,
        task.high,
        _vm_cost(task.market),
        enough=gap * abs(bound),
        states=states,
        classes=classes,
        until=until_of(draft),
    )
    return Placed(task, best.jobs[None], task.market.buy(np.array([best.vms]))), bound + best.proven


def direct(spec: Spec, relax: bool, limits: Limits | None = None) -> Result | None:
    """Return the result of all three steps, a reference for solvers; None if ``subject to`` needs a solver."""
    if not serves(spec):
        return None
    draft = Draft(spec, relax, limits=limits or Limits(), started=time.monotonic())
    return run_steps([(prepare, {}), (fill, {}), (whole_jobs, {})], draft)


def with_comparisons(spec: Spec, limits: Limits) -> Result | None:
    """Return the result of the rental program for a spec with comparisons of VMs or jobs, or with data on disks.

    None if classes share no VMs or never run together, or if a comparison has no row.
    """
    if wholeness_of(spec.facts) == MACHINES or len(spec.facts.never_together) or not has_rows(spec):
        return None
    draft = Draft(spec, False, limits=limits, started=time.monotonic())
    return run_steps([(lambda draft: _read(spec, draft), {}), (fill, {}), (whole_jobs, {})], draft)


def _with_packing(draft: Draft) -> Draft:
    """Return the plan with its whole slots packed on VMs, and with more VMs if the packing needs them."""
    found = Result(draft.termination, plan=draft.plan, value=draft.value, bound=draft.bound, fixed=draft.fixed)
    limits = replace(draft.limits, time=draft.seconds_left())
    try:
        found = with_packing(draft.spec, found, limits)
    except KeyboardInterrupt:
        if not is_kept():
            raise
        with stopped_by(None):
            found = with_packing(draft.spec, replace(found, termination=Termination.INTERRUPTED), limits)
    told = (*draft.diagnostics, *found.diagnostics)
    return replace(draft, plan=found.plan, value=found.value, termination=found.termination, diagnostics=told)
