"""A plan of whole slots with its packing, and with more VMs if the rented ones are too few.

If the slots of all classes add up to no more than the VMs, they still need not fit, see :mod:`mrdsl.formulas.packing`.
A solution without the packing bounds the cost from below. If VMs are added, a message gives their cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from mrdsl.checking.comparisons import broken
from mrdsl.contracts.family import SolveModel
from mrdsl.contracts.plan_expressions import aim_of, worth
from mrdsl.core.diagnostics import Diagnostic, impossible, note, number_of, warning
from mrdsl.core.result import Limits, Result, SolutionStatus, Termination, relative_gap
from mrdsl.core.rounding import FEASIBILITY, PROVEN
from mrdsl.families.capacity.facts import MACHINES, NO
from mrdsl.families.capacity.forms import is_plain
from mrdsl.families.capacity.groups import groups_in
from mrdsl.families.capacity.instance import class_runs_of, prices_of
from mrdsl.families.capacity.lanes import is_exact, leaves_lanes_out, limited_classes, solved_mix
from mrdsl.families.capacity.market import SPOT, Floats, Market, market_of
from mrdsl.families.capacity.methods.lane_prices import by_type
from mrdsl.families.capacity.packing import Held, PackedLane, Packing, by_class, joined, packed
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.plan_parts import Bought
from mrdsl.families.capacity.slot_choices import in_fractions, slots_by_vector
from mrdsl.families.capacity.turns import packed_in_turns
from mrdsl.families.capacity.verify import quantity
from mrdsl.formulas.containers import tasks_of_slots
from mrdsl.formulas.pairs import slot_sizes
from mrdsl.spec.spec import Spec


def with_packing(spec: Spec, result: Result, limits: Limits, solve: SolveModel | None = None) -> Result:
    """Return the result with its plan packed; if the plan's VMs do not hold its slots, with another plan.

    That is the best one by ``solve`` if there is a solver and the VMs have few enough contents, otherwise the same plan
    on more VMs. The result is optimal only within the gap of the ``limits``.
    """
    result = _of_any_slots(spec, result, limits, solve)
    plan = result.plan
    if not isinstance(plan, CapacityPlan) or plan.wholeness == NO or plan.packing is not None:
        return result
    held = held_by_lane(spec, plan)
    groups = groups_in(spec.facts)
    if groups is not None:
        lanes, solve = [packed_in_turns(each, groups) for each in held], None
    else:
        lanes = [packed(each) for each in (by_class(held) if plan.wholeness == MACHINES else held)]
    fitting = _enough(spec, plan, lanes)
    if fitting is not None and fitting.total == plan.total:
        return replace(result, plan=replace(fitting, packing=_joined(spec, lanes)))
    if solve is not None:
        best = _by_patterns(spec, limits, solve)
        if best is not None and best.bound is None and best.plan is not None:
            best = _graded(replace(best, bound=result.bound), limits.gap)
        if best is not None:
            return _beside(spec, result, best)
    fitting = None if fitting is None else replace(fitting, packing=_joined(spec, lanes))
    if fitting is None or any(broken(spec, partial(quantity, spec, fitting))):
        ended, told = _not_proven(result.termination), (*result.diagnostics, _no_room(spec))
        return replace(result, termination=ended, solution=SolutionStatus.NONE, plan=None, value=None, diagnostics=told)
    value = worth(spec, partial(quantity, spec, fitting), fitting.total)
    return _beside(spec, result, _graded(replace(result, value=value, plan=fitting), limits.gap))


def _joined(spec: Spec, lanes: Sequence[PackedLane]) -> Packing:
    return joined(lanes).in_tasks(tasks_of_slots(spec.facts.classes))


def as_packed(spec: Spec, plan: CapacityPlan) -> CapacityPlan | None:
    """Return the plan with whole slots by class, which its jobs share, with its packing and the VMs for it.

    None if quotas have no room for these VMs.
    """
    return packed_on_more(spec, plan)[0]


Lacking = dict[tuple[int, bool], tuple[PackedLane, float]]
"""By VM type and whether it is spot: a packing on more VMs than the plan rents, and those that it rents."""


def packed_on_more(spec: Spec, plan: CapacityPlan) -> tuple[CapacityPlan | None, Lacking]:
    """Return the plan as in :func:`as_packed`, and the lanes that lack VMs."""
    market = market_of(spec.facts)
    rented = {(number, spot): 0.0 for number in range(len(market.names)) for spot in (False, True)}
    if plan.mix is not None:
        number_of = {name: number for number, name in enumerate(market.names)}
        for each in plan.mix.bought:
            rented[number_of[each.vm], each.way == SPOT] += each.vms
        for number, masters in enumerate(market.masters.tolist()):
            rented[number, False] -= masters
    else:
        rented[0, False] = plan.rented
    lanes, lacking = [], Lacking()
    for held in held_by_lane(spec, plan):
        at = held.vm, held.spot
        lanes.append(packed(held, rented[at]))
        if lanes[-1].vms > rented[at]:
            lacking[at] = lanes[-1], rented[at]
    fitting = _enough(spec, plan, lanes)
    return None if fitting is None else replace(fitting, packing=_joined(spec, lanes)), lacking


def beyond_quotas(spec: Spec, plan: CapacityPlan) -> tuple[Floats, Floats]:
    """Return what the packing of a plan on several types takes in excess: VMs of each type, cores of each quota."""
    held, market = held_by_lane(spec, plan), market_of(spec.facts)
    taken = np.array(market.masters, dtype=np.float64)
    on_lanes = market.masters_of_lane.copy()
    lanes = {(lane.vm, lane.spot): number for number, lane in enumerate(market.lanes)}
    alone = plan.wholeness == MACHINES
    for each in by_class(held) if alone else held:
        enough = 0.0 if alone else market.available[each.vm] - taken[each.vm]
        vms = packed(each, enough).vms
        taken[each.vm] += vms
        if vms:
            on_lanes[lanes[each.vm, each.spot]] += vms
    cores = market.cores_of_quotas @ on_lanes - market.quota_limits
    return np.maximum(taken - market.available, 0.0), np.where(cores > FEASIBILITY, cores, 0.0)


def _of_any_slots(spec: Spec, result: Result, limits: Limits, solve: SolveModel | None) -> Result:
    """Return the result with a bound on plans of any slots if the solved model did not have all of them."""
    if solve is None or is_plain(spec.facts):
        return result
    if knows_all_slots(spec):
        return result
    from mrdsl.contracts.subject_to import add_comparisons
    from mrdsl.families.capacity.models.linear import build
    from mrdsl.families.capacity.models.patterns import BOUND

    model = build(spec, False, BOUND)
    add_comparisons(spec, model)
    answer = solve(model, limits)
    if result.termination is Termination.INFEASIBLE:
        same = answer.termination is Termination.INFEASIBLE
        return result if same else replace(result, termination=Termination.COMPLETED, diagnostics=(_no_room(spec),))
    return result if result.plan is None else _graded(replace(result, bound=answer.bound), limits.gap)


def knows_all_slots(spec: Spec) -> bool:
    """Return True if P2 has all slots of jobs, or only fewer that are as good."""
    mix = solved_mix(spec)
    limited = len(limited_classes(mix)) > 0 and mix.wholeness != NO
    if mix.sizes is None:
        return not limited or (is_exact(mix) and not leaves_lanes_out(spec))
    return not limited and slots_by_vector(mix, in_fractions(mix, False)).complete


def _graded(result: Result, gap: float | None) -> Result:
    """Return the result, without the status optimal if its bound does not prove it."""
    away = relative_gap(result.value, result.bound, result.fixed)
    if away is not None and away <= (gap or PROVEN):
        return result
    return replace(result, termination=_not_proven(result.termination), solution=SolutionStatus.FEASIBLE)


def _by_patterns(spec: Spec, limits: Limits, solve: SolveModel) -> Result | None:
    """Return the best plan by the model with the contents of VMs; None if it was not found."""
    from mrdsl.contracts.subject_to import add_comparisons
    from mrdsl.families.capacity.models.linear import build, decode
    from mrdsl.families.capacity.models.patterns import SOME, is_complete

    model = build(spec, False, SOME)
    if not hasattr(model, "packing_groups"):
        return None
    add_comparisons(spec, model)
    answer = solve(model, limits)
    if answer.termination is Termination.INFEASIBLE and is_complete(model):
        return Result(answer.termination, diagnostics=(_never_fits(spec),))
    plan = None if answer.solution is SolutionStatus.NONE else decode(spec, model, False)
    if plan is None or plan.packing is None:
        return None
    bound = answer.bound if is_complete(model) else None
    return Result(answer.termination, answer.solution, plan, answer.value, bound, size=answer.size, fixed=answer.fixed)


def _beside(spec: Spec, before: Result, found: Result) -> Result:
    """Return the new result with the better of both bounds, and the cost of packing in addition to the sum of parts."""
    told = found.diagnostics
    if isinstance(before.plan, CapacityPlan) and isinstance(found.plan, CapacityPlan):
        told = (_told(spec, before.plan, found.plan),)
    bounds = [bound for bound in (before.bound, found.bound) if bound is not None]
    aim = aim_of(spec)
    tightest = min if aim is not None and aim.maximizes else max
    return replace(
        found, bound=tightest(bounds, default=None), diagnostics=tuple(dict.fromkeys((*before.diagnostics, *told)))
    )


def held_by_lane(spec: Spec, plan: CapacityPlan) -> list[Held]:
    """Return the whole slots of each lane that has some, by class and kind."""
    if plan.mix is None:
        per_vm = class_runs_of(spec.facts).per_vm
        every = np.arange(len(plan.names))
        return [_held(0, False, every, per_vm, (plan.map_slots, plan.reduce_slots))]
    mix, sizes = plan.mix, slot_sizes(spec.facts)
    executors = mix.map_slots / tasks_of_slots(spec.facts.classes)[mix.of_class]
    found = []
    lanes = 2 * mix.of_vm + mix.spot
    for lane in np.unique(lanes).tolist():
        vm, spot, mine = lane // 2, bool(lane % 2), np.flatnonzero(lanes == lane)
        classes = mix.of_class[mine]
        per_vm = sizes.keys[0][vm, classes].astype(float), sizes.keys[1][vm, classes].astype(float)
        held = _held(vm, spot, classes, per_vm, (executors[mine], mix.reduce_slots[mine]))
        found.append(replace(held, vectors=sizes) if sizes.vectors else held)
    return found


def _held(
    vm: int, spot: bool, classes: np.ndarray, per_vm: tuple[Floats, Floats], slots: tuple[Floats, Floats]
) -> Held:
    count = np.rint(np.concatenate(slots)).astype(np.int64)
    some = count > 0
    return Held(
        vm,
        spot,
        np.concatenate([classes, classes])[some],
        np.repeat([False, True], len(classes))[some],
        np.rint(np.concatenate(np.broadcast_arrays(*per_vm))).astype(np.int64)[some],
        count[some],
    )


def _enough(spec: Spec, plan: CapacityPlan, lanes: list[PackedLane]) -> CapacityPlan | None:
    """Return the plan with as many VMs as its packing takes; None if a quota has no room for them."""
    if plan.mix is None:
        lacking = max(0.0, sum(lane.vms for lane in lanes) - plan.on_demand - plan.reserved)
        prices = prices_of(spec.facts)
        free = prices.available - plan.reserved if prices.reserved < prices.on_demand else 0.0
        reserved = min(lacking, max(0.0, free))
        vms = plan.on_demand + lacking - reserved, plan.reserved + reserved
        costs = prices.cost(*vms), prices.disk * sum(vms)
        return (
            replace(plan, on_demand=vms[0], reserved=vms[1], vm_cost=costs[0], disk_cost=costs[1]) if lacking else plan
        )
    market = market_of(spec.facts)
    there = {(each.vm, each.way, each.term): each.vms for each in plan.mix.bought}
    bought = np.array([there.get(key, 0.0) for key in market.ways])
    more = _bought_more(market, bought, lanes)
    if more is None or bool((more == bought).all()):
        return None if more is None else plan
    return with_bought(plan, market, more)


def with_bought(plan: CapacityPlan, market: Market, bought: Floats) -> CapacityPlan:
    """Return the plan on several types with these VMs by offer, at the prices of a market."""
    mix = plan.mixture
    rented = tuple(Bought(*key, vms) for key, vms in zip(market.ways, bought.tolist(), strict=True))
    of_masters = float(market.prices @ market.buy(market.masters_of_lane, bought))
    mix = replace(mix, bought=rented, masters_cost=of_masters)
    return replace(
        plan,
        vm_cost=float(market.prices @ bought),
        disk_cost=market.cost_of_disks(bought),
        vm=", ".join(name for name in mix.types if mix.total(vm=name)),
        on_demand=mix.total("on_demand"),
        reserved=mix.total("reserved"),
        mix=mix,
    )


def _bought_more(market: Market, bought: Floats, lanes: list[PackedLane]) -> Floats | None:
    """Return VMs by offer with those that each lane lacks, the cheapest offers first; None if there are too few."""
    more = bought.copy()
    needed: dict[tuple[int, bool], float] = {}
    for part in lanes:
        at = part.held.vm, part.held.spot
        needed[at] = needed.get(at, 0.0) + float(part.vms)
    offers_of: list[list[int]] = [[] for _ in market.lanes]
    for place, offer in enumerate(market.offers):
        offers_of[offer.lane].append(place)
    for number, (lane, offers) in enumerate(zip(market.lanes, offers_of, strict=True)):
        lacking = needed.get((lane.vm, lane.spot), 0.0) + market.masters_of_lane[number] - more[offers].sum()
        for place in sorted(offers, key=lambda place: market.offers[place].price):
            added = min(max(lacking, 0.0), market.offers[place].available - more[place])
            more[place] += added
            lacking -= added
    over = by_type(market, more) > market.available
    beyond = market.cores_in_quotas(more) > market.quota_limits * (1.0 + FEASIBILITY)
    return None if bool(over.any()) or bool(beyond.any()) else more


def _told(spec: Spec, plan: CapacityPlan, fitting: CapacityPlan) -> Diagnostic:
    """Return a note on the extra cost of whole slots on VMs over the minimum by parts of VMs."""
    return note(
        "packing-costs",
        f"whole slots do not fit the {number_of(plan.rented, 'VM', 'g')} that they add up to, "
        "and none lies on two of them: the plan "
        f"rents {fitting.rented:g} and costs {fitting.total - plan.total:.4g} {spec.currency} more",
        spec.facts.vms[0].span,
        "another number of slots on a VM, or of jobs, may fill VMs better",
    )


def _no_room(spec: Spec) -> Diagnostic:
    return warning(
        "no-plan-found",
        "whole slots take more VMs than they add up to, and there is no room for those",
        spec.facts.vms[0].span,
        "solve with --solver highs, which searches all plans; or raise the limits on VMs, or write whole = no",
    )


def _never_fits(spec: Spec) -> Diagnostic:
    return impossible(
        "impossible-packing",
        "the least jobs have whole slots that add up to the VMs that there may be, and do not fit them",
        spec.facts.vms[0].span,
        "raise the limits on VMs, or write whole = no",
    )


def _not_proven(termination: Termination) -> Termination:
    return Termination.COMPLETED if termination is Termination.OPTIMAL else termination
