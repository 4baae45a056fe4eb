"""A plan of whole slots with its packing, and with the VMs that it takes where those that it rents are too few.

That the slots of all classes add up to no more than the VMs is not enough, see :mod:`mrdsl.formulas.packing`. What is
found without the packing bounds the cost from below; where VMs are added, that is told with what they cost.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mrdsl.core.diagnostics import Diagnostic, note, warning
from mrdsl.core.result import Result, SolutionStatus, Termination, relative_gap
from mrdsl.core.tolerances import PROVEN
from mrdsl.core.whole_numbers import ceiling
from mrdsl.families.capacity.facts import NO
from mrdsl.families.capacity.instance import class_runs_of, prices_of
from mrdsl.families.capacity.market import Floats, Market, market_of
from mrdsl.families.capacity.methods.lane_prices import by_type
from mrdsl.families.capacity.mixture import Bought
from mrdsl.families.capacity.packing import Held, PackedLane, joined, packed
from mrdsl.families.capacity.pairs import slots_on_types
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.spec.spec import Spec


def with_packing(spec: Spec, result: Result, gap: float | None = None) -> Result:
    """The result with its plan packed, on more VMs where it takes more; not called optimal beyond the ``gap`` then."""
    plan = result.plan
    if not isinstance(plan, CapacityPlan) or plan.wholeness == NO:
        return result
    lanes = [packed(held) for held in held_by_lane(spec, plan)]
    fitting = _enough(spec, plan, lanes)
    if fitting is None:
        return replace(
            result,
            termination=_not_proven(result.termination),
            solution=SolutionStatus.NONE,
            plan=None,
            value=None,
            diagnostics=(*result.diagnostics, _no_room(spec)),
        )
    fitting = replace(fitting, packing=joined(lanes))
    if fitting.total == plan.total:
        return replace(result, plan=fitting)
    value = fitting.total
    told = _told(spec, plan, fitting, lanes)
    proven = result.bound is not None and (relative_gap(value, result.bound) or 0.0) <= (gap or PROVEN)
    if not proven:
        result = replace(result, termination=_not_proven(result.termination), solution=SolutionStatus.FEASIBLE)
    return replace(result, plan=fitting, value=value, diagnostics=(*result.diagnostics, told))


def held_by_lane(spec: Spec, plan: CapacityPlan) -> list[Held]:
    """The whole slots of each lane that has some, by class and kind."""
    if plan.mix is None:
        per_vm = class_runs_of(spec.facts).per_vm
        every = np.arange(len(plan.names))
        return [_held(0, False, every, per_vm, (plan.map_slots, plan.reduce_slots))]
    mix, on_types = plan.mix, slots_on_types(spec.facts)
    found = []
    for vm in range(len(mix.types)):
        for spot in (False, True):
            mine = np.flatnonzero((mix.of_vm == vm) & (mix.spot == spot))
            classes = mix.of_class[mine]
            per_vm = np.maximum(on_types[0][vm, classes], 1.0), np.maximum(on_types[1][vm, classes], 1.0)
            found.append(_held(vm, spot, classes, per_vm, (mix.map_slots[mine], mix.reduce_slots[mine])))
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
    """The plan with as many VMs as its packing takes; None where a quota has no room for them."""
    if plan.mix is None:
        lacking = max(0.0, lanes[0].vms - plan.on_demand - plan.reserved)
        prices = prices_of(spec.facts)
        free = prices.available - plan.reserved if prices.reserved < prices.on_demand else 0.0
        reserved = min(lacking, max(0.0, free))
        vms = plan.on_demand + lacking - reserved, plan.reserved + reserved
        return replace(plan, on_demand=vms[0], reserved=vms[1], vm_cost=prices.cost(*vms)) if lacking else plan
    market = market_of(spec.facts)
    bought = np.array([each.vms for each in plan.mix.bought])
    more = _bought_more(market, bought, lanes)
    if more is None or bool((more == bought).all()):
        return None if more is None else plan
    rented = tuple(replace(each, vms=vms) for each, vms in zip(plan.mix.bought, more.tolist(), strict=True))
    return _with_bought(replace(plan, vm_cost=float(market.prices @ more)), rented)


def _with_bought(plan: CapacityPlan, bought: tuple[Bought, ...]) -> CapacityPlan:
    assert plan.mix is not None
    mix = replace(plan.mix, bought=bought)
    return replace(
        plan,
        vm=", ".join(name for name in mix.types if mix.total(vm=name)),
        on_demand=mix.total("on_demand"),
        reserved=mix.total("reserved"),
        mix=mix,
    )


def _bought_more(market: Market, bought: Floats, lanes: list[PackedLane]) -> Floats | None:
    """VMs by offer with what each lane lacks, the cheapest offers first; None where there are too few."""
    more = bought.copy()
    needed = {(lane.held.vm, lane.held.spot): float(lane.vms) for lane in lanes}
    for number, lane in enumerate(market.lanes):
        offers = [place for place, offer in enumerate(market.offers) if offer.lane == number]
        lacking = needed.get((lane.vm, lane.spot), 0.0) + market.masters_of_lane[number] - more[offers].sum()
        for place in sorted(offers, key=lambda place: market.offers[place].price):
            added = min(max(lacking, 0.0), market.offers[place].available - more[place])
            more[place] += added
            lacking -= added
    over = by_type(market, more) > market.available
    return None if bool(over.any()) else more


def _told(spec: Spec, plan: CapacityPlan, fitting: CapacityPlan, lanes: list[PackedLane]) -> Diagnostic:
    """What the packing costs beside the sum of the parts that slots take of VMs."""
    parts = sum(float(ceiling(float((lane.held.slots / lane.held.per_vm).sum()))) for lane in lanes)
    return note(
        "packing-costs",
        f"slots that add up to {parts:g} VMs take {sum(lane.vms for lane in lanes)}, as none is on two of them: "
        f"{fitting.total - plan.total:.4g} {spec.currency} more",
        spec.facts.vms[0].span,
        "another number of slots on a VM, or of jobs, may fill VMs better",
    )


def _no_room(spec: Spec) -> Diagnostic:
    return warning(
        "no-plan-found",
        "the whole slots take more VMs than their parts add up to, and the quotas have no room for those",
        spec.facts.vms[0].span,
        "raise available, or write whole = no",
    )


def _not_proven(termination: Termination) -> Termination:
    return Termination.COMPLETED if termination is Termination.OPTIMAL else termination
