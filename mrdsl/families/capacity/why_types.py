"""Explanation of a plan of several VM types: lanes of classes, runners-up, the worth of contracts and quotas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from mrdsl.contracts.plan_expressions import SECOND
from mrdsl.core.result import Table
from mrdsl.core.rounding import ROUNDING
from mrdsl.core.units import HOUR
from mrdsl.families.capacity.constraints import class_bounds_of, quotas_in
from mrdsl.families.capacity.facts import LARGEST
from mrdsl.families.capacity.instance import mix_of
from mrdsl.families.capacity.market import GIB, ON_DEMAND, RESERVED, SPOT, Floats, Market
from mrdsl.families.capacity.methods.lane_prices import (
    NONE,
    Relaxed,
    Task,
    Ways,
    by_type,
    cheapest,
    costs_on_types,
)
from mrdsl.families.capacity.methods.relaxation import relaxed
from mrdsl.families.capacity.plan import SHOWN, CapacityPlan
from mrdsl.families.capacity.plan_parts import Mixture
from mrdsl.families.capacity.plan_warnings import taken_of
from mrdsl.model.market import added_price
from mrdsl.spec.spec import Spec, requested_quantities


@dataclass(frozen=True)
class RunnerUp:
    """The VM type that a class takes for ``cost`` a job, and the next one, for ``next_cost``.

    If a part of its VM time may be spot, both are the types of its firm VMs, and its spot VMs may be of any type. The
    runner-up wins if one VM of it costs less than ``wins_below`` an hour, without the fee, under the purchase option
    ``way``. That is on demand, or spot if the class would run on spot alone. It is None if the class has no other type.
    """

    vm: int
    cost: float
    runner_up: int | None = None
    next_cost: float | None = None
    way: str | None = None
    wins_below: float | None = None


def why_mix(spec: Spec, plan: CapacityPlan, mixture: Mixture) -> Iterator[Table | str]:
    """Yield the lanes of classes and their runners-up, at the marginal prices of VMs; then contracts and quotas."""
    task = task_of(spec)
    best = relaxed(task, ROUNDING)
    yield _places(spec, plan, mixture, task, best.prices)
    yield from _contracts(spec, task, plan, mixture)
    yield from _quotas(spec, task, best, mixture)
    market = mix_of(spec).market
    counts = {(each.vm, each.way, each.term): each.vms for each in mixture.bought}
    bought = np.array([counts.get(way, 0.0) for way in market.ways])
    used = market.cores_in_quotas(bought)
    if market.stored:
        stored = market.stored / GIB
        held = float(market.stored_by_lane[market.lane_of_offer] @ bought) - market.stored_on_all + stored
        yield f"The disks of firm VMs hold {held:.6g} GiB, and HDFS takes {stored:.6g} GiB with its copies."
        yield "HDFS is not part of the prices above: it may take VMs that no job needs."
    for quota, cores in zip(market.quotas, used.tolist(), strict=True):
        yield f"{cores:g} of {quota.limit:g} cores of quota {quota.name} are rented."
    if market.quotas:
        yield "Quotas of cores are not part of the prices above: they may hold jobs back, or VMs of some types."
    yield from _pools(spec, mixture)
    if quotas_in(class_bounds_of(spec).others)[1]:
        yield "Other comparisons under `subject to` are not part of this explanation: they may hold jobs back, or VMs."


def _pools(spec: Spec, mixture: Mixture) -> Iterator[str]:
    """Yield the type with most VMs or cores that are bought in one way, if a comparison mentions it."""
    mentioned = (each for each in requested_quantities(spec) if each.argument.endswith(f"{SECOND}{LARGEST}"))
    cores = {vm.name: vm.cores or 0.0 for vm in spec.facts.vms}
    for each in dict.fromkeys(mentioned):
        way, what = each.argument.partition(SECOND)[0], "VMs" if each.name == "share" else "cores"
        held = {name: mixture.total(way, name) * (1.0 if what == "VMs" else cores[name]) for name in mixture.types}
        name = max(held, key=lambda one: held[one])
        if held[name]:
            bought = {SPOT: "on spot", ON_DEMAND: "on demand"}.get(way, way)
            yield f"{held[name]:g} of {sum(held.values()):g} {what} {bought} are of {name}."


def why_groups(spec: Spec, plan: CapacityPlan) -> Table:
    """Return the VMs of classes that never run together, and those that decide how many their group takes."""
    facts, mixture = spec.facts, plan.mixture
    lanes = mixture.of_vm * 2 + mixture.spot
    rows = []
    for group in facts.never_together:
        members = np.array([name in group.classes for name in plan.names])
        for lane in np.unique(lanes[members[mixture.of_class]]).tolist():
            mine = np.flatnonzero((lanes == lane) & members[mixture.of_class])
            held = {
                plan.names[int(index)]: float(mixture.vms[mine][mixture.of_class[mine] == index].sum())
                for index in dict.fromkeys(mixture.of_class[mine].tolist())
            }
            most = max(held.values())
            named = mixture.types[lane // 2] + (" spot" if lane % 2 else "")
            rows += [(group.name, named, name, vms, "yes" if vms == most else "") for name, vms in held.items()]
    return Table(
        "Classes that never run together", ("group", "vm", "class", "VMs", "most of its group"), rows, most=SHOWN
    )


def task_of(spec: Spec) -> Task:
    """Return the relaxed problem of a spec with its quotas, but without other comparisons."""
    mix = mix_of(spec)
    quotas = quotas_in(class_bounds_of(spec).others)[0]
    said = [quotas.get(name, np.inf) for name in mix.market.names]
    available = np.minimum(mix.market.available, np.array(said))
    return Task(mix, mix.low, mix.expected, available, True)


def runners_up(spec: Spec, task: Task, prices: Floats, classes: int | None = None) -> list[RunnerUp]:
    """Return the type that each class takes and its runner-up, at ``prices`` of lanes for a period.

    ``classes`` limits this to the first ones.
    """
    market = task.market
    cost = costs_on_types(task, prices, len(task.mix) if classes is None else classes)
    order = np.argsort(cost, axis=0, kind="stable")
    ways = {vm: _ways_on(task, prices, vm) for vm in np.unique(order[1:2]).tolist()}
    found = []
    for index in range(cost.shape[1]):
        first = int(order[0, index])
        least = float(cost[first, index])
        if len(order) == 1 or not np.isfinite(cost[order[1, index], index]):
            found.append(RunnerUp(first, least))
            continue
        second = int(order[1, index])
        price, lane = _price_to_win(task, prices, ways[second], index, least)
        scarce = max(0.0, float(prices[lane]) - _endless(market, lane))
        fee = added_price(spec.facts.vms[second])
        below = max(0.0, (price - scarce) / spec.facts.period - fee) * HOUR
        way = SPOT if market.lanes[lane].spot else ON_DEMAND
        found.append(RunnerUp(first, least, second, float(cost[second, index]), way, below))
    return found


def _ways_on(task: Task, prices: Floats, vm: int) -> Ways:
    """Return the cheapest way of one job of each class on one type; its part on spot may be of any type."""
    beside = task.market.spot[:, None] & (task.mix.spot_share < 1.0)[None, :]
    there = (task.market.vm_of_lane == vm)[:, None] | beside
    return cheapest(replace(task, mix=replace(task.mix, gamma=np.where(there, task.mix.gamma, np.inf))), prices)


def _price_to_win(task: Task, prices: Floats, ways: Ways, index: int, least: float) -> tuple[float, int]:
    """Return the price of a VM of the way's lane at which a job costs ``least``, and the lane.

    Of a firm lane with a part on spot, the price of the firm VMs: with that part, or alone.
    """
    lane, spot, part = int(ways.lane[index]), int(ways.spot[index]), float(ways.part[index])
    gamma = task.mix.gamma[:, index]
    alone = least / float(gamma[lane])
    if spot == NONE:
        return alone, lane
    beside = part * float(prices[spot] * gamma[spot])
    return max(alone, (least - beside) / ((1.0 - part) * float(gamma[lane]))), lane


def _endless(market: Market, lane: int) -> float:
    """Return the price of VMs of a lane that are to be had in any number, but for a quota."""
    return min(o.price for o in market.offers if o.lane == lane and np.isinf(o.available))


def _places(spec: Spec, plan: CapacityPlan, mixture: Mixture, task: Task, prices: Floats) -> Table:
    money, mix = spec.currency, task.mix
    rows: list[tuple[object, ...]] = []
    places = runners_up(spec, task, prices, SHOWN)
    for index, name in enumerate(mix.names[:SHOWN]):
        found = places[index]
        mine = np.flatnonzero(mixture.of_class == index)
        runs = ", ".join(
            f"{mixture.types[int(mixture.of_vm[n])]}{' spot' if mixture.spot[n] else ''} {mixture.jobs[n]:g}"
            for n in mine
        )
        rows.append(
            (
                name,
                f"{plan.admitted[index]:g} of {mix.expected[index]:g}",
                runs or None,
                float(mix.penalty[index]),
                mix.market.names[found.vm] if np.isfinite(found.cost) else None,
                found.cost + float(mix.transfer[index]) if np.isfinite(found.cost) else None,
                None if found.runner_up is None else mix.market.names[found.runner_up],
                None if found.next_cost is None else found.next_cost + float(mix.transfer[index]),
                found.wins_below,
                found.way,
            )
        )
    if len(mix) > SHOWN:
        rows.append((f"... and {len(mix) - SHOWN:,} more", *([None] * 9)))
    return Table(
        "Where jobs run, and what comes next",
        (
            "class",
            "admitted",
            "jobs on",
            f"penalty [{money}]",
            "cheapest",
            f"a job costs [{money}]",
            "runner-up",
            f"a job costs there [{money}]",
            f"wins below [{money}/h]",
            "",
        ),
        rows,
    )


def _contracts(spec: Spec, task: Task, plan: CapacityPlan, mixture: Mixture) -> Iterator[str]:
    """Yield the used VMs of each contract, and the saving of the relaxed optimum from one more.

    A plan can have VMs without a further cost unused: those are the idle ones of their lane.
    """
    market = task.market
    free = {lane: _idle(market, plan, mixture, lane) for lane in range(len(market.lanes))}
    bought = {(each.vm, each.way, each.term): each.vms for each in mixture.bought}
    for number, offer in enumerate(market.offers):
        if offer.way != RESERVED:
            continue
        name = market.names[market.lanes[offer.lane].vm]
        used = bought[name, offer.way, offer.term]
        if offer.price == 0.0:
            idle = min(used, free[offer.lane])
            free[offer.lane] -= idle
            used -= idle
        term = f' "{offer.term}"' if offer.term else ""
        told = f"{used:g} of {offer.available:g} VMs of {name} reserved{term} are used"
        if used < offer.available:
            yield f"{told}, {offer.available - used:g} are not: one more would be worth nothing."
            continue
        more = replace(offer, available=offer.available + 1.0)
        offers = tuple(more if place == number else each for place, each in enumerate(market.offers))
        worth = _saved(task, replace(task, mix=replace(task.mix, market=replace(market, offers=offers))))
        yield f"{told}. One more would save {worth:g} {spec.currency} a period, parts of jobs and VMs allowed."


def _idle(market: Market, plan: CapacityPlan, mixture: Mixture, lane: int) -> float:
    """Whole VMs of a lane that the plan has and that hold neither jobs nor masters."""
    here = market.lanes[lane]
    had = sum(
        each.vms for each in mixture.bought if each.vm == market.names[here.vm] and (each.way == SPOT) == here.spot
    )
    return max(0.0, had - taken_of(market, plan, lane))


def _quotas(spec: Spec, task: Task, best: Relaxed, mixture: Mixture) -> Iterator[str]:
    """Yield the binding quotas, and the worth of one more VM."""
    taken = by_type(task.market, best.bought)
    for vm in np.flatnonzero(np.isfinite(task.available)).tolist():
        name, there = task.market.names[vm], float(task.available[vm])
        if taken[vm] < there * (1.0 - ROUNDING):
            continue
        available = task.available.copy()
        available[vm] += 1.0
        worth = _saved(task, replace(task, available=available))
        rented = mixture.total(vm=name)
        yield (
            f"{rented:g} of {there:g} VMs of {name} that may be rented are. One more would save {worth:g} "
            f"{spec.currency} a period, parts of jobs and VMs allowed."
        )


def _saved(task: Task, more: Task) -> float:
    saved = relaxed(task, ROUNDING).value - relaxed(more, ROUNDING).value
    return saved if saved > ROUNDING else 0.0
