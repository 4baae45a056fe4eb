"""A plan and a bound for large specs with comparisons that ``direct`` does not know: its results without them.

``share(spot) <= s`` has a price. The limit is ``S - s (S + F) <= 0`` for S spot and F firm VMs, rented with jobs or
without.

**Theorem.** Take any ``mu >= 0``. Every plan that keeps the limit costs at least the least cost without it, of VMs that
cost ``mu (1 - s)`` more on spot and ``mu s`` less otherwise.

**Proof.** Such a plan costs at these prices its cost plus ``mu (S - s (S + F))``, which is no more than its cost. QED
(Geoffrion 1974, *Lagrangean relaxation for integer programming*).

The least cost is concave in ``mu``, and plans at two prices say where it is highest at most (Kelley 1960, *The cutting-
plane method for solving convex programs*). Firm prices do not become negative. At the highest price, firm VMs without
jobs are the cheapest way to keep the limit. A plan that has too few firm VMs rents as many of the cheapest as it lacks.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mrdsl.checking.comparisons import broken
from mrdsl.core.result import Limits, Result, SolutionStatus, Termination
from mrdsl.core.rounding import ROUNDING, ceiling, floor
from mrdsl.families.capacity.constraints import class_bounds_of, quotas_in
from mrdsl.families.capacity.forms import has_closed_form
from mrdsl.families.capacity.market import SPOT, Floats, market_of
from mrdsl.families.capacity.methods.direct import direct
from mrdsl.families.capacity.packed_plans import with_bought
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.verify import quantity
from mrdsl.spec.columns import Columns, Joined, column, parts_of
from mrdsl.spec.spec import Constraint, Spec, bounds_in

LESS_SPOT = (0.5, 0.25, 0.1, 0.0)
"""Parts of VMs on spot that are tried, since many comparisons limit spot."""
TURNS, NEAR = 6, 2e-3
"""Prices of a limit on spot that are tried, and the relative distance from the highest bound at which they end."""


def without_others(spec: Spec, relax: bool, limits: Limits) -> Result | None:
    """Return the result of ``direct`` without the other comparisons: its bound, and its plan if that keeps them.

    None if there are none: then ``direct`` does not know the spec itself. A plan that keeps the comparisons costs at
    least the least cost without them. If the plan breaks them, limits on spot get prices. If there is none, or no plan
    at these, plans with fewer classes on spot are tried.
    """
    others = class_bounds_of(spec).others
    others = others if has_closed_form(spec.facts) else quotas_in(others)[1]
    if not others:
        return None
    free = replace(spec, constraints=tuple(each for each in spec.constraints if each not in others))
    until = None if limits.time is None else time.monotonic() + limits.time
    found = direct(free, relax, limits)
    if found is None or not isinstance(found.plan, CapacityPlan) or _keeps(spec, found.plan):
        return found
    ended = Termination.COMPLETED if found.termination is Termination.OPTIMAL else found.termination
    none = replace(found, termination=ended, solution=SolutionStatus.NONE, plan=None, value=None)
    if not any(vm.spot is not None for vm in spec.facts.vms):
        return none
    share, best = None if relax else _most_on_spot(others), none
    if share is not None:
        best = _at_prices(spec, free, found.plan, none, share, until)
    for part in LESS_SPOT if share is None else (share, *LESS_SPOT):
        if until is not None and until <= time.monotonic():
            break
        tried = direct(_less_spot(spec, free, found.plan, part), relax, _left(limits, until))
        if tried is None or not isinstance(tried.plan, CapacityPlan):
            continue
        plan = tried.plan if share is None else _with_idle(spec, tried.plan, share)[0]
        if plan is not None and _keeps(spec, plan):
            best = _better(best, plan)
            break
    return best


def _left(limits: Limits, until: float | None) -> Limits:
    return limits if until is None else replace(limits, time=max(until - time.monotonic(), 0.0))


def _better(best: Result, plan: CapacityPlan) -> Result:
    """Return the result with a plan if this costs less than the known one."""
    if best.value is not None and best.value <= plan.total:
        return best
    return replace(best, plan=plan, value=plan.total, solution=SolutionStatus.FEASIBLE)


def _most_on_spot(others: Sequence[Constraint]) -> float | None:
    """Return the least limit on the part of VMs on spot, between 0 and 1; None without one."""
    bounds = [bound for each in others for bound in bounds_in(each) if bound is not None]
    known = [each for each in bounds if (each.quantity, each.name, each.comparison) == ("share", SPOT, "<=")]
    return min((each.value for each in known if 0.0 < each.value < 1.0), default=None)


def _at_prices(spec: Spec, free: Spec, first: CapacityPlan, best: Result, share: float, until: float | None) -> Result:
    """Return the best plan and bound at prices of a limit on spot, from its highest price and a ``first`` plan on."""
    market = market_of(spec.facts)
    price = float(market.prices[~market.spot[market.lane_of_offer]].min()) / share
    low, high = (0.0, first.total, share * _with_idle(spec, first, share)[1]), (np.inf, np.inf, -np.inf)
    for _ in range(TURNS):
        if not low[0] < price < high[0] or (until is not None and until <= time.monotonic()):
            break
        found = direct(_priced(spec, free, price, share), False, _left(Limits(), until))
        if found is None or found.bound is None or not isinstance(found.plan, CapacityPlan):
            break
        bound = max(found.bound, -np.inf if best.bound is None else best.bound)
        best = replace(best, bound=bound)
        plan, lacks = _with_idle(spec, found.plan, share)
        if plan is not None and _keeps(spec, plan):
            best = _better(best, plan)
        at = price, found.plan.total, share * lacks
        low, high = (at, high) if lacks > 0.0 else (low, at)
        if high[0] == np.inf or low[2] - high[2] <= ROUNDING:
            break
        step = (low[1] - high[1] + high[2] * (high[0] - low[0])) / (high[2] - low[2])
        price = low[0] + step
        if bound >= (low[1] + low[2] * step) * (1.0 - NEAR):
            break
    return best


def _priced(spec: Spec, free: Spec, price: float, share: float) -> Spec:
    """Return a spec without the comparisons whose VMs cost the price of a limit on spot."""
    each = price / spec.facts.period
    vms = [
        replace(vm, fee=vm.fee - each * share, spot=vm.spot and replace(vm.spot, price=vm.spot.price + each))
        for vm in spec.facts.vms
    ]
    return replace(free, facts=replace(spec.facts, vms=tuple(vms)))


def _with_idle(spec: Spec, plan: CapacityPlan, share: float) -> tuple[CapacityPlan | None, float]:
    """Return the plan with the cheapest firm VMs that a limit on spot lacks, and how many it lacks, below 0 if none.

    It has no plan if quotas have no room for them.
    """
    market = market_of(spec.facts)
    there = {(each.vm, each.way, each.term): each.vms for each in plan.mixture.bought}
    bought = np.array([there.get(key, 0.0) for key in market.ways])
    firm = ~market.spot[market.lane_of_offer]
    lacks = float(bought[~firm].sum()) * (1.0 - share) / share - float(bought[firm].sum())
    more = float(ceiling(max(lacks, 0.0)))
    types = market.vm_of_lane[market.lane_of_offer]
    left = market.available - np.bincount(types, bought, len(market.names))
    cores, each = market.quota_limits - market.cores_in_quotas(bought), market.cores_of_quotas[:, market.lane_of_offer]
    for place in np.argsort(np.where(firm, market.prices, np.inf), kind="stable").tolist():
        if more <= 0.0 or not firm[place]:
            break
        counted = each[:, place] > 0.0
        rooms: Floats = np.append(floor(cores[counted] / each[counted, place]), [left[types[place]], more])
        count = max(0.0, min(float(rooms.min()), float(market.there[place] - bought[place])))
        bought[place] += count
        left[types[place]] -= count
        cores = cores - count * each[:, place]
        more -= count
    return (None if more > ROUNDING else with_bought(plan, market, bought)), lacks


def _keeps(spec: Spec, plan: CapacityPlan) -> bool:
    return not any(broken(spec, partial(quantity, spec, plan)))


def _less_spot(spec: Spec, free: Spec, plan: CapacityPlan, most: float) -> Spec:
    """Return the spec in which only classes with few VMs on spot may have some: at most a part of all VMs.

    The last of these has a part of its VMs there.
    """
    mixture = plan.mixture
    held = np.bincount(mixture.of_class, np.where(mixture.spot, mixture.vms, 0.0), minlength=len(plan.names))
    order = np.argsort(held, kind="stable")
    left = most * float(mixture.vms.sum()) - np.cumsum(held[order]) + held[order]
    parts = np.zeros(len(held))
    parts[order] = np.clip(left / np.maximum(held[order], ROUNDING), 0.0, 1.0)
    found: list[Sequence[Any]] = []
    before = 0
    for part in parts_of(spec.facts.classes):
        stays = parts[before : before + len(part)]
        before += len(part)
        if isinstance(part, Columns):
            spot = stays * column(part, "spot", missing=1.0)
            found.append(Columns(part.node_type, part.names, {**part.values, "spot": spot}, part.span_at, part.group))
        else:
            spots = [(1.0 if node.spot is None else node.spot) * stay for node, stay in zip(part, stays, strict=True)]
            found.append(tuple(replace(node, spot=spot) for node, spot in zip(part, spots, strict=True)))
    return replace(free, facts=replace(spec.facts, classes=found[0] if len(found) == 1 else Joined(found)))
