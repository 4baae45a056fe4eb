"""The packing of a finished plan, checked from the facts and the slots of its classes: nothing of how it was found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mrdsl.contracts.wholeness import OF_A_MODEL, RELAXED, where_fractions_are_meant
from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.tolerances import ROUNDING
from mrdsl.families.capacity.facts import MACHINES, NO, CapacityFacts
from mrdsl.families.capacity.market import Floats, market_of
from mrdsl.families.capacity.packing import Packing
from mrdsl.families.capacity.pairs import slots_on_types
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.promises import is_about_runs
from mrdsl.families.capacity.wholeness import WHOLENESS
from mrdsl.spec.spec import Spec


def verify_wholeness(spec: Spec, plan: CapacityPlan, relax: bool) -> Iterator[Diagnostic]:
    """What of the plan is not whole that has to be, and what of it its machines do not hold."""
    mistake = WHOLENESS.mistake(spec.facts, plan.wholeness, relax)
    if mistake:
        yield _broken(spec, mistake)
    if plan.wholeness == NO and plan.packing is None:
        yield from WHOLENESS.implied(spec.facts, NO, spec.facts.vms[0].span, *_why_fractions(spec, plan, relax))
        return
    if plan.wholeness != NO:
        yield from _whole_per_job(spec, plan)
    if plan.packing is None:
        yield _broken(spec, "its slots are whole, and it does not say which VM holds which")
        return
    if not _is_of(spec, plan, plan.packing):
        yield _broken(spec, "its packing is of patterns, classes or VM types that there are not")
        return
    yield from _held(spec, plan, plan.packing)
    yield from _machines(spec, plan, plan.packing)


def _why_fractions(spec: Spec, plan: CapacityPlan, relax: bool) -> tuple[str, str]:
    """Why the plan has fractions where the spec leaves it open, and what to write instead."""
    if not relax and (plan.calibration is not None or is_about_runs(spec)):
        return (
            "where runs decide, classes have whole slots, which their jobs share",
            "write whole = no, and it is meant",
        )
    return RELAXED if relax else OF_A_MODEL, where_fractions_are_meant("P2 and direct")


def _is_of(spec: Spec, plan: CapacityPlan, packing: Packing) -> bool:
    """Whether all that the packing numbers is there: it may come from a file."""
    patterns, entries = len(packing.count), len(packing.slots)
    lengths = (packing.of_vm, patterns), (packing.spot, patterns), (packing.of_pattern, entries)
    if any(len(each) != length for each, length in (*lengths, (packing.of_class, entries), (packing.reduces, entries))):
        return False
    limits = (packing.of_vm, len(spec.facts.vms)), (packing.of_pattern, patterns), (packing.of_class, len(plan.names))
    return all(not len(each) or 0 <= int(each.min()) <= int(each.max()) < limit for each, limit in limits)


def _whole_per_job(spec: Spec, plan: CapacityPlan) -> Iterator[Diagnostic]:
    """Every job has a whole number of slots of each kind."""
    places = plan if plan.mix is None else plan.mix
    jobs = plan.admitted if plan.mix is None else plan.mix.jobs
    names = np.arange(len(plan.names)) if plan.mix is None else plan.mix.of_class
    for kind, slots in (("map", places.map_slots), ("reduce", places.reduce_slots)):
        each = np.divide(slots, jobs, out=np.zeros_like(slots), where=jobs > 0.0)
        for place in np.flatnonzero(np.abs(each - np.rint(each)) > ROUNDING * np.maximum(1.0, each)).tolist():
            name = plan.names[int(names[place])]
            yield _broken(spec, f"jobs of class {name} have {each[place]:g} {kind} slots each, no whole number")


def _held(spec: Spec, plan: CapacityPlan, packing: Packing) -> Iterator[Diagnostic]:
    """All slots of every class lie on VMs of the type where they run, firm or spot."""
    where = _where(spec, plan)
    count = len(plan.names)
    wanted = [(vm, spot, kind, classes, slots) for vm, spot, classes, both in where for kind, slots in enumerate(both)]
    at = packing.of_pattern
    held = packing.of_vm[at], packing.spot[at], packing.reduces, packing.of_class, packing.count[at] * packing.slots
    keys, slots = [], []
    for sign, (vm, spot, kind, classes, number) in [(1.0, each) for each in wanted] + [(-1.0, held)]:
        keys.append(((vm * 2 + np.asarray(spot, dtype=np.int64)) * 2 + kind) * count + classes)
        slots.append(sign * number)
    places, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    lacking = np.bincount(inverse, weights=np.concatenate(slots))
    size = max(1.0, float(np.abs(np.concatenate(slots)).max(initial=0.0)))
    for place in np.flatnonzero(np.abs(lacking) > ROUNDING * size).tolist():
        lane, index = divmod(int(places[place]), count)
        what_kind = f"{('map', 'reduce')[lane % 2]} slots of class {plan.names[index]}"
        vms = f"{'spot' if lane // 2 % 2 else 'firm'} VMs of {spec.facts.vms[lane // 4].name}"
        what = "lie on none" if lacking[place] > 0.0 else "are too many"
        yield _broken(spec, f"{abs(lacking[place]):g} {what_kind} on {vms} {what}")


def _where(spec: Spec, plan: CapacityPlan) -> list[tuple[Any, Any, Any, tuple[Floats, Floats]]]:
    """Types, whether they are spot, classes, and their map and reduce slots there."""
    if plan.mix is None:
        every = np.arange(len(plan.names))
        return [(0, False, every, (plan.map_slots, plan.reduce_slots))]
    mix = plan.mix
    return [(mix.of_vm, mix.spot, mix.of_class, (mix.map_slots, mix.reduce_slots))]


def _machines(spec: Spec, plan: CapacityPlan, packing: Packing) -> Iterator[Diagnostic]:
    """No VM holds more than it can, nor slots of two classes where none is shared; there are as many as are used."""
    facts: CapacityFacts = spec.facts
    per_vm = slots_on_types(facts)
    at = packing.of_pattern
    hosted = np.where(
        packing.reduces, per_vm[1][packing.of_vm[at], packing.of_class], per_vm[0][packing.of_vm[at], packing.of_class]
    )
    parts = np.bincount(at, weights=packing.slots / hosted, minlength=len(packing.count))
    for pattern in np.flatnonzero(~(parts <= 1.0 + ROUNDING)).tolist():
        yield _broken(spec, f"slots that take {parts[pattern]:.10g} VMs lie on one")
    if bool((packing.slots < 1).any() or (packing.count < 1).any()):
        yield _broken(spec, "a number of slots, or of VMs that hold them, is none")
    if plan.wholeness == MACHINES:
        pairs = np.unique(np.stack([at, packing.of_class]), axis=1)
        for pattern in np.flatnonzero(np.bincount(pairs[0], minlength=len(packing.count)) > 1).tolist():
            both = [plan.names[index] for index in pairs[1][pairs[0] == pattern][:2].tolist()]
            yield _broken(spec, f"classes {both[0]} and {both[1]} share a VM")
    for (vm, spot), rented in _rented(spec, plan).items():
        used = float(packing.count[(packing.of_vm == vm) & (packing.spot == spot)].sum())
        if used > rented + ROUNDING:
            what = f"{'spot' if spot else 'firm'} VMs of {facts.vms[vm].name}"
            yield _broken(spec, f"slots lie on {used:g} {what}, of which {rented:g} are there")


def _rented(spec: Spec, plan: CapacityPlan) -> dict[tuple[int, bool], float]:
    """The VMs of each type, firm and spot, that hold slots."""
    if plan.mix is None:
        return {(0, False): plan.on_demand + plan.reserved}
    market = market_of(spec.facts)
    found: dict[tuple[int, bool], float] = {}
    for lane, masters in zip(market.lanes, market.masters_of_lane.tolist(), strict=True):
        mine = [b.vms for b in plan.mix.bought if b.vm == market.names[lane.vm] and (b.way == "spot") == lane.spot]
        found[lane.vm, lane.spot] = sum(mine) - masters
    return found


def _broken(spec: Spec, message: str) -> Diagnostic:
    return error("broken-plan", message, spec.facts.span_of("whole") or spec.facts.vms[0].span)
