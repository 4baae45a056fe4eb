"""VMs that a plan rents and no job uses, which only a comparison under ``subject to`` can ask for."""

from __future__ import annotations

from collections.abc import Iterator

from mrdsl.core.diagnostics import Diagnostic, warning
from mrdsl.core.tolerances import FEASIBILITY
from mrdsl.core.whole_numbers import ceiling
from mrdsl.families.capacity.market import Market, market_of
from mrdsl.families.capacity.mixture import Mixture
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.spec.expression import quantities_in
from mrdsl.spec.spec import Constraint, Spec


def told_of_idle(spec: Spec, plan: CapacityPlan) -> Iterator[Diagnostic]:
    """A warning where a whole VM and more is paid for and idle, at the first comparison of a share.

    Who writes ``vms >= 40`` asks for VMs; a share can be had by renting some that nobody needs.
    """
    asks = next((each for each in spec.constraints if _compares_share(each)), None)
    if asks is None:
        return
    market = market_of(spec.facts)
    idle = _idle_of_one(plan, market) if plan.mix is None else _idle_lanes(market, plan, plan.mix)
    if idle:
        told = ", ".join(f"{count:g} {kind} VMs of {vm}".replace("  ", " ") for vm, kind, count, _ in idle)
        cost = sum(count * price for _, _, count, price in idle)
        yield warning(
            "idle-vms",
            f"{told} are rented for {cost:.2f} {spec.currency} a period or more, and no job uses them: "
            f"`{asks.text or 'a share'}` counts VMs, used or not",
            asks.span,
            "ask for less of it, or let classes use them: `spot` and `types` in a class say what it may run on",
        )


def _compares_share(constraint: Constraint) -> bool:
    sides = constraint.left, constraint.right
    return any(each.name == "share" for side in sides for each in quantities_in(side))


def _idle_lanes(market: Market, plan: CapacityPlan, mixture: Mixture) -> list[tuple[str, str, float, float]]:
    """Type, firm or spot, the idle VMs that cost something, and the least price of those."""
    found = []
    bought = {(each.vm, each.way, each.term): each.vms for each in mixture.bought}
    for number, lane in enumerate(market.lanes):
        name = market.names[lane.vm]
        offers = [offer for offer in market.offers if offer.lane == number]
        counts = [bought.get((name, offer.way, offer.term), 0.0) for offer in offers]
        paid = [(count, offer.price) for count, offer in zip(counts, offers, strict=True) if offer.price and count]
        idle = min(sum(counts) - taken_of(market, plan, mixture, number), sum(count for count, _ in paid))
        if idle >= 1.0 - FEASIBILITY:
            kind = ("spot" if lane.spot else "firm") if market.spot.any() else ""
            found.append((name, kind, round(idle, 6), min(price for _, price in paid)))
    return found


def taken_of(market: Market, plan: CapacityPlan, mixture: Mixture, number: int) -> float:
    """The whole VMs of a lane that jobs and masters take."""
    lane = market.lanes[number]
    taken = float(mixture.vms[(mixture.of_vm == lane.vm) & (mixture.spot == lane.spot)].sum())
    if plan.packing is not None:
        holding = (plan.packing.of_vm == lane.vm) & (plan.packing.spot == lane.spot)
        taken = float(plan.packing.count[holding].sum())
    return float(ceiling(taken + float(market.masters_of_lane[number])))


def taken_of_one(plan: CapacityPlan) -> float:
    """The whole VMs that jobs take, of a plan of one type."""
    taken = float(ceiling(float(plan.vms.sum())))
    return taken if plan.packing is None else max(taken, float(plan.packing.count.sum()))


def _idle_of_one(plan: CapacityPlan, market: Market) -> list[tuple[str, str, float, float]]:
    counts = (plan.on_demand, plan.reserved)
    prices = [offer.price for offer in market.offers]
    paid = [(count, price) for count, price in zip(counts, prices, strict=False) if count and price]
    idle = min(sum(counts) - taken_of_one(plan), sum(count for count, _ in paid))
    return [(plan.vm, "", round(idle, 6), min(price for _, price in paid))] if idle >= 1.0 - FEASIBILITY else []
