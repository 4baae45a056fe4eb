"""Warnings about a capacity plan: fractions, idle VMs, deadlines met on average only."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from math import ceil, floor, isfinite

import numpy as np
from numpy.typing import NDArray

from mrdsl.checking.comparisons import broken as violated
from mrdsl.contracts.plan_warnings import IMPOSSIBLE, UNPRICED, firm, priced, sharing_warnings, soft_deadline_warnings
from mrdsl.contracts.wholeness import OF_A_MODEL, RELAXED, fractional_slots_hint
from mrdsl.core.diagnostics import Diagnostic, MrdslError, number_of, warning
from mrdsl.core.lazy import kept
from mrdsl.core.result import SolutionStatus
from mrdsl.core.rounding import FEASIBILITY, ceiling
from mrdsl.core.units import HOUR, MINUTE, show
from mrdsl.families.capacity.constraints import is_about_runs, promises_of
from mrdsl.families.capacity.facts import NO
from mrdsl.families.capacity.forms import WHOLENESS, as_planned, is_plain
from mrdsl.families.capacity.instance import class_runs_of, instance_of, mix_of
from mrdsl.families.capacity.market import SPOT, Market, market_of
from mrdsl.families.capacity.methods.direct import direct
from mrdsl.families.capacity.methods.least_cost import bound
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.plan_parts import Mixture
from mrdsl.families.capacity.verify import promised_times, quantity
from mrdsl.families.capacity.verify import verify as broken
from mrdsl.spec.columns import words
from mrdsl.spec.estimates import default_guarantee
from mrdsl.spec.expression import quantities_in
from mrdsl.spec.spec import Constraint, Spec


def beyond_period_warnings(spec: Spec, plan: CapacityPlan) -> Iterator[Diagnostic]:
    """Yield one warning if admitted classes take longer than the period, with the period that the longest needs."""
    period, times = spec.facts.period, promised_times(spec, plan)
    beyond = np.isfinite(times) & (times > period * (1.0 + FEASIBILITY))
    if not beyond.any():
        return
    index = int(np.where(beyond, times, -np.inf).argmax())
    longest, others = float(times[index]), int(beyond.sum()) - 1
    node = spec.facts.classes[index]
    more = f" (and {number_of(others, 'more class')} beyond it)" if others else ""
    yield warning(
        "beyond-period",
        f"jobs of class {node.name} take {_shown(longest)}{more}, and the cost is that of "
        f"{show(period, 'time')}: the rest of their time is not paid for",
        spec.facts.span_of("period") or node.span_of("deadline"),
        f"write `period = {show(enough(longest), 'time')}` or more, which then is the time that the cost is for",
    )


def _shown(longest: float) -> str:
    return f"{longest / HOUR:.3g} h" if longest > HOUR else show(longest, "time")


def enough(longest: float) -> float:
    """Return the time, rounded up to a number that people write [s]: to minutes from an hour on, to seconds below."""
    step = MINUTE if longest > HOUR else 1.0
    return step * ceil(longest / step * (1.0 - FEASIBILITY))


MOST_PRICED = 2000
"""Most classes times lanes that are solved again to name a price; of more, only the deadlines are reported."""


LEAST = "at least "


def price(spec: Spec, plan: CapacityPlan, relax: bool, soft: NDArray[np.bool_]) -> str:
    """Return, in words, the cost of the best plan that meets the upper estimates of some classes, and of this one."""
    plain = is_plain(spec.facts)
    if len(spec.facts.classes) * (1 if plain else len(market_of(spec.facts).lanes)) > MOST_PRICED:
        return UNPRICED
    found = kept(spec, f"upper estimates kept of {soft.tobytes().hex()}, {relax}", lambda: _bounded(spec, relax, soft))
    if isinstance(found, str):
        return found
    value, words = found
    return UNPRICED if words == LEAST and value <= plan.total else priced(value, plan.total, spec.currency, words)


def _bounded(spec: Spec, relax: bool, soft: NDArray[np.bool_]) -> str | tuple[float, str]:
    """Return the cost of a plan that meets the upper estimates with introductory words, or why it is unknown.

    It is a bound if the spec is large.
    """
    firmer = firm(spec, soft)
    if not (instance_of(firmer).kept() if is_plain(spec.facts) else mix_of(firmer).possible.any(axis=0)).all():
        return IMPOSSIBLE
    least = None if relax else bound(firmer)
    if least is not None:
        return (least, LEAST) if isfinite(least) else IMPOSSIBLE
    try:
        found = direct(firmer, relax)
    except MrdslError:  # a comparison under `subject to` that takes a solver
        return UNPRICED
    if found is None or found.value is None:
        return UNPRICED
    return found.value, "" if found.solution is SolutionStatus.OPTIMAL else "at most "


def idle_vm_warnings(spec: Spec, plan: CapacityPlan) -> Iterator[Diagnostic]:
    """Yield a warning if at least one whole paid VM is idle because of a comparison of a share.

    A comparison such as ``vms >= 40`` asks for VMs, but a plan can reach a share by renting VMs that no job needs. A
    search that a limit ended can leave others idle, without which the plan meets the comparison too.
    """
    for asks in filter(_compares_share, spec.constraints):
        idle = [*_idle_vms(replace(spec, constraints=(asks,)), plan)]
        if idle:
            told = ", ".join(f"{number_of(count, f'{kind} VM'.strip(), 'g')} of {vm}" for vm, kind, count, _ in idle)
            cost = sum(count * price for _, _, count, price in idle)
            yield warning(
                "idle-vms",
                f"{told} are rented for {cost:.2f} {spec.currency} a period or more, and no job uses them: "
                f"`{asks.text or 'a share'}` counts all rented VMs, also idle ones",
                asks.span,
                "ask for less of it, or let classes use them: `spot` and `types` in a class select its VMs",
            )
            return


def _compares_share(constraint: Constraint) -> bool:
    sides = constraint.left, constraint.right
    return any(each.name in ("share", "cores") for side in sides for each in quantities_in(side))


def _idle_vms(spec: Spec, plan: CapacityPlan) -> Iterator[tuple[str, str, float, float]]:
    """Type, firm or spot, the idle paid VMs that the comparisons of the spec require, and the least price of those."""
    market = market_of(spec.facts)
    for number, lane in enumerate(market.lanes):
        if market.stored_on_all and market.stored_by_lane[number]:
            continue  # its disks hold data
        prices = {(offer.way, offer.term): offer.price for offer in market.offers if offer.lane == number}
        mine = [
            (place, each, prices.get((each.way, each.term), 0.0))
            for place, each in enumerate(plan.mixture.bought)
            if each.vm == market.names[lane.vm] and (each.way == SPOT) == lane.spot
        ]
        paid = [(place, each.vms, price) for place, each, price in mine if price and each.vms]
        spare = sum(each.vms for _, each, _ in mine) - taken_of(market, plan, number)
        idle = min(
            (
                min(spare, vms) - _removable(spec, plan, place, floor(min(spare, vms) + FEASIBILITY))
                for place, vms, _ in paid
            ),
            default=0.0,
        )
        if idle >= 1.0 - FEASIBILITY:
            kind = ("spot" if lane.spot else "firm") if market.spot.any() else ""
            yield market.names[lane.vm], kind, round(idle, 6), min(price for _, _, price in paid)


def _removable(spec: Spec, plan: CapacityPlan, place: int, most: int) -> int:
    """Return how many VMs of one purchase, at most ``most``, the plan could leave out and meet the comparisons."""
    bought = plan.mixture.bought

    def violates(fewer: int) -> bool:
        less = replace(bought[place], vms=bought[place].vms - fewer)
        changed = replace(plan, mix=replace(plan.mixture, bought=(*bought[:place], less, *bought[place + 1 :])))
        return any(True for _ in violated(spec, partial(quantity, spec, changed)))

    return bisect_left(range(1, most + 1), True, key=violates)


def taken_of(market: Market, plan: CapacityPlan, number: int) -> float:
    """Return the whole VMs of a lane that jobs and masters take."""
    lane, mixture = market.lanes[number], plan.mixture
    taken = float(mixture.vms[(mixture.of_vm == lane.vm) & (mixture.spot == lane.spot)].sum())
    if plan.packing is not None:
        holding = (plan.packing.of_vm == lane.vm) & (plan.packing.spot == lane.spot)
        taken = float(plan.packing.count[holding].sum())
    return float(ceiling(taken + float(market.masters_of_lane[number])))


def verify(spec: Spec, plan: CapacityPlan, relax: bool) -> Iterator[Diagnostic]:
    """Yield the violations that verification finds in a plan, then warnings about it."""
    found = tuple(broken(spec, plan, relax))
    yield from found
    yield from warnings_of(spec, plan, relax, not found)


def warnings_of(spec: Spec, plan: CapacityPlan, relax: bool, right: bool) -> Iterator[Diagnostic]:
    """Yield warnings about a plan; if it is not ``right``, only those that follow from the spec."""
    yield from _fractions(spec, plan, relax)
    whole_ones = "solve with P2 or direct" if spec.facts.whole is None else "write whole = slots"
    spec = as_planned(spec, plan.wholeness)
    if plan.mix is not None:
        yield from _upper_on_spot(spec, plan.mix)
    if not right:
        return
    if plan.mix is None and not relax and plan.wholeness == NO:
        yield from _hosting(spec, plan, f"{whole_ones}, which plans for whole ones")
    yield from idle_vm_warnings(spec, plan)
    yield from beyond_period_warnings(spec, plan)
    by_runs = [promise.index for promise in promises_of(spec) if not promise.beside]
    upper = plan.completion_upper.copy()
    upper[by_runs] = np.nan
    by = default_guarantee(spec.facts, plan.wholeness != NO)
    yield from soft_deadline_warnings(spec, upper, partial(price, spec, plan, relax), by)


def _fractions(spec: Spec, plan: CapacityPlan, relax: bool) -> Iterator[Diagnostic]:
    """Explain why the plan has fractions if the spec does not decide that, and suggest a setting."""
    if plan.wholeness != NO or plan.packing is not None:
        return
    why, hint = RELAXED if relax else OF_A_MODEL, fractional_slots_hint("P2 and direct")
    if not relax and (plan.calibration is not None or is_about_runs(spec)):
        why = "where runs decide, classes have whole slots, which their jobs share"
        hint = "write whole = no, and it is meant"
    yield from WHOLENESS.implied(spec.facts, NO, spec.facts.vms[0].span, why, hint)


def _upper_on_spot(spec: Spec, mixture: Mixture) -> Iterator[Diagnostic]:
    """Warn if jobs on spot VMs have the upper estimate as a guarantee, once for a spec."""
    promised = words(spec.facts.classes, "guarantee") == "upper"
    concerned = sorted(set(mixture.of_class[mixture.spot & promised[mixture.of_class]].tolist()))
    if concerned:
        node, others = spec.facts.classes[concerned[0]], len(concerned) - 1
        more = f" (and {number_of(others, 'more class')})" if others else ""
        yield warning(
            "no-upper-bound",
            f"the upper estimate of class {node.name} is not a bound for its jobs on spot VMs{more}: they lose "
            "expected work to interruptions, and a job may lose more",
            node.span_of("guarantee"),
            "write spot = 0% if every job must meet its deadline",
        )


def _hosting(spec: Spec, plan: CapacityPlan, instead: str) -> Iterator[Diagnostic]:
    """Warn about the VMs that the slots take once they are whole for every class; ``instead`` is the remedy."""
    map_per_vm, reduce_per_vm = class_runs_of(spec.facts).per_vm

    def hosting(map_slots: NDArray[np.float64], reduce_slots: NDArray[np.float64]) -> float:
        return float((ceiling(map_slots) / map_per_vm + ceiling(reduce_slots) / reduce_per_vm).sum())

    needed, rented = hosting(plan.map_slots, plan.reduce_slots), plan.rented
    if needed <= rented:
        return
    instance = instance_of(spec)
    per_job = [np.where(np.isfinite(each), each, 0.0) for each in instance.slots_per_job]
    held = plan.map_slots, plan.reduce_slots
    fewest = all(np.allclose(each * plan.admitted, slots) for each, slots in zip(per_job, held, strict=True))
    most = hosting(*(each * instance.expected for each in per_job)) if fewest else None
    yield from sharing_warnings(needed, rented, most, spec.facts.vms[0].span, instead)
