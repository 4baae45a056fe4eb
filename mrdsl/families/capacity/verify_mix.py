"""A finished plan of several VM types, checked from the facts and the slots of its shares: no closed form, no model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import Diagnostic, error, warning
from mrdsl.core.source import Span
from mrdsl.core.tolerances import FEASIBILITY
from mrdsl.core.whole_numbers import ceiling
from mrdsl.families.capacity.facts import NO
from mrdsl.families.capacity.market import ON_DEMAND, RESERVED, SPOT, Floats
from mrdsl.families.capacity.mix import Mix, mix_of
from mrdsl.families.capacity.mixture import ESTIMATES, Mixture, summed
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.formulas import mapreduce
from mrdsl.formulas.mapreduce import Coefficients
from mrdsl.spec.columns import words
from mrdsl.spec.spec import Spec


def verify_mix(spec: Spec, plan: CapacityPlan, mixture: Mixture, relax: bool) -> Iterator[Diagnostic]:
    """What of the spec the shares, the VMs and the sums over them break."""
    mix = mix_of(spec)
    yield from _sums(spec, plan, mixture)
    yield from _shares(spec, mixture, mix, relax)
    yield from _vms(spec, mixture, mix, relax)
    yield from _limits_of_classes(spec, mixture, mix, relax)


def told_of_spot(spec: Spec, mixture: Mixture) -> Iterator[Diagnostic]:
    """A warning where the upper estimate is promised to jobs on spot VMs, once for a spec."""
    promised = words(spec.facts.classes, "guarantee") == "upper"
    concerned = sorted(set(mixture.of_class[mixture.spot & promised[mixture.of_class]].tolist()))
    if concerned:
        node, others = spec.facts.classes[concerned[0]], len(concerned) - 1
        more = f" (and {others} more {'class' if others == 1 else 'classes'})" if others else ""
        yield warning(
            "no-upper-bound",
            f"the upper estimate of class {node.name} is no bound for its jobs on spot VMs{more}: what interruptions "
            "take is expected work, and a job may lose more",
            node.span_of("guarantee"),
            "write spot = 0% where the deadline has to be kept in any case",
        )


def vm_cost(mix: Mix, mixture: Mixture, vm: str | None = None) -> float:
    """What the VMs of a plan, or those of one type, cost for one period."""
    prices = {
        (mix.market.names[mix.market.lanes[offer.lane].vm], offer.way, offer.term): offer.price
        for offer in mix.market.offers
    }
    return sum(prices[b.vm, b.way, b.term] * b.vms for b in mixture.bought if vm in (None, b.vm))


def share_of(mixture: Mixture, way: str) -> float:
    """The part of all VMs that is bought in one way; NaN where there are none."""
    total = mixture.total()
    return mixture.total(way) / total if total else float("nan")


def _sums(spec: Spec, plan: CapacityPlan, mixture: Mixture) -> Iterator[Diagnostic]:
    count = len(plan.names)
    for what, shown, parts in (
        ("jobs", plan.admitted, mixture.jobs),
        ("map slots", plan.map_slots, mixture.map_slots),
        ("reduce slots", plan.reduce_slots, mixture.reduce_slots),
        ("VMs", plan.vms, mixture.vms),
    ):
        total = summed(mixture.of_class, parts, count)
        for index in _over(np.abs(total - shown), 0.0, total):
            yield _broken(
                f"the {what} of class {plan.names[index]} on all types are {total[index]:g}, not {shown[index]:g}",
                spec.facts.classes[index].span,
            )
    for name, total_of, shown_of in (
        ("on demand", mixture.total(ON_DEMAND), plan.on_demand),
        ("reserved", mixture.total(RESERVED), plan.reserved),
    ):
        if abs(total_of - shown_of) > FEASIBILITY * max(1.0, total_of):
            yield _broken(f"{total_of:g} VMs are bought {name}, not {shown_of:g}", spec.span)


def _shares(spec: Spec, mixture: Mixture, mix: Mix, relax: bool) -> Iterator[Diagnostic]:
    """Every share runs where its class may, within the range of the estimates, and keeps its deadline."""
    classes, pairs = mix.names, mix.pairs
    lanes = _lanes(mixture, mix)
    at = (mixture.of_vm, mixture.of_class)

    def told(flags: NDArray[np.bool_], message: str) -> Iterator[Diagnostic]:
        for place in flags.nonzero()[0].tolist():
            index, vm = int(mixture.of_class[place]), mixture.types[int(mixture.of_vm[place])]
            yield _broken(f"jobs of class {classes[index]} on {vm} {message}", spec.facts.classes[index].span)

    yield from told(~pairs.allowed[at] | (lanes < 0), "cannot run there")
    if (lanes < 0).any():
        return
    if not relax:
        yield from told(mixture.jobs != np.rint(mixture.jobs), "are no whole number")
    yield from told(mixture.jobs <= 0.0, "are none")
    kept = tuple(each[lanes, mixture.of_class] for each in (mix.map_kept, mix.reduce_kept))
    tasks = [most[at] * mixture.jobs for most in (pairs.limits.map_most, pairs.limits.reduce_most)]
    slots_of_kinds = mixture.map_slots, mixture.reduce_slots
    useful = [np.minimum(s * k, most) for s, k, most in zip(slots_of_kinds, kept, tasks, strict=True)]
    work = _at(pairs.work, at)
    time = mapreduce.completion(work, mixture.jobs, *useful)
    yield from told(~(time <= pairs.completion_limit[mixture.of_class] * (1 + FEASIBILITY)), "end after their deadline")
    for slots, least, most, part in (
        (slots_of_kinds[0], pairs.limits.map_least[at], pairs.limits.map_most[at], kept[0]),
        (slots_of_kinds[1], pairs.limits.reduce_least[at], pairs.limits.reduce_most[at], kept[1]),
    ):
        yield from told(slots < least * mixture.jobs * (1 - FEASIBILITY), "have less than one slot each")
        with np.errstate(divide="ignore", invalid="ignore"):  # where nothing is kept, no number of slots is enough
            held = most / part
        limit = (held if mix.wholeness == NO else ceiling(held)) * mixture.jobs
        yield from told(slots > limit * (1 + FEASIBILITY) + FEASIBILITY, "have more slots than tasks")
    taken = mixture.map_slots / pairs.map_per_vm[at] + mixture.reduce_slots / pairs.reduce_per_vm[at]
    yield from told(np.abs(taken - mixture.vms) > FEASIBILITY * np.maximum(1.0, taken), "take other VMs than is said")
    for name, shown in zip(ESTIMATES, mixture.completion, strict=True):
        real = mapreduce.completion(_at(pairs.estimates[name], at), mixture.jobs, *useful)
        wrong = (np.isnan(real) != np.isnan(shown)) | (
            np.abs(real - shown) > FEASIBILITY * np.maximum(1.0, np.abs(real))
        )
        yield from told(wrong, f"have another {name} time than is said")


def _vms(spec: Spec, mixture: Mixture, mix: Mix, relax: bool) -> Iterator[Diagnostic]:
    """What is bought holds what is taken, and there is as much of it."""
    market, facts = mix.market, spec.facts
    bought = {(each.vm, each.way, each.term): each.vms for each in mixture.bought}
    for offer in market.offers:
        vm = market.lanes[offer.lane].vm
        count = bought.get((market.names[vm], offer.way, offer.term), 0.0)
        at = facts.vms[vm].span
        if count < -FEASIBILITY:
            yield _broken("a number of VMs is negative", at)
        if count > offer.available + FEASIBILITY:
            yield _broken(f"{count:g} VMs of {market.names[vm]} are {offer.label} of {offer.available:g}", at)
        if not relax and count != round(count):
            yield _broken(f"{count:g} VMs of {market.names[vm]} are no whole number", at)
    for number, lane in enumerate(market.lanes):
        name, way = market.names[lane.vm], SPOT if lane.spot else "firm"
        mine = (mixture.of_vm == lane.vm) & (mixture.spot == lane.spot)
        taken = float(mixture.vms[mine].sum() + market.masters_of_lane[number])
        there = sum(bought.get((name, offer.way, offer.term), 0.0) for offer in market.offers if offer.lane == number)
        if taken > there + FEASIBILITY * max(1.0, taken) or (taken > 0.0 and there <= 0.0):
            yield _broken(f"{taken:g} {way} VMs of {name} are taken, {there:g} are rented", facts.vms[lane.vm].span)
    for vm, name in enumerate(market.names):
        if mixture.total(vm=name) > market.available[vm] + FEASIBILITY:
            yield _broken(
                f"{mixture.total(vm=name):g} VMs of {name} are rented of {market.available[vm]:g}",
                facts.vms[vm].span_of("available"),
            )


def _limits_of_classes(spec: Spec, mixture: Mixture, mix: Mix, relax: bool) -> Iterator[Diagnostic]:
    """Jobs that are kept together, and the part of a class's VM time that may be spot."""
    count = len(mix)
    every = summed(mixture.of_class, mixture.vms, count)
    spot = summed(mixture.of_class, np.where(mixture.spot, mixture.vms, 0.0), count)
    for index in _over(spot, mix.spot_share * every, every):
        node = spec.facts.classes[index]
        yield _broken(
            f"{spot[index]:g} of {every[index]:g} VMs of class {node.name} are spot, above {mix.spot_share[index]:g}",
            node.span_of("spot"),
        )
    if relax:
        return
    pairs = np.unique(np.stack([mixture.of_class, mixture.of_vm]), axis=1)
    types = np.bincount(pairs[0], minlength=count)
    for index in (mix.together & (types > 1)).nonzero()[0].tolist():
        node = spec.facts.classes[index]
        yield _broken(f"jobs of class {node.name} run on {types[index]} types, not on one", node.span_of("types"))


def _lanes(mixture: Mixture, mix: Mix) -> NDArray[np.int64]:
    """The lane of every share; -1 where there is none."""
    return mix.market.lanes_at(mixture.of_vm, mixture.spot)


def _at(work: Coefficients, at: tuple[object, object]) -> Coefficients:
    return Coefficients(*(part[at] for part in (work.map_work, work.reduce_work, work.constant)))  # type: ignore[index]


def _over(values: Floats, limits: Floats | float, size: Floats) -> list[int]:
    found: list[int] = (values > limits + FEASIBILITY * np.maximum(1.0, size)).nonzero()[0].tolist()
    return found


def _broken(message: str, span: Span | None) -> Diagnostic:
    return error("broken-plan", message, span)
