"""The packing of a finished plan, checked from the facts and the slots of its shares."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.tolerances import ROUNDING
from mrdsl.families.capacity.facts import MACHINES, NO, SLOTS, CapacityFacts
from mrdsl.families.capacity.packing import Packing
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.verify_prices import vms_of
from mrdsl.families.capacity.verify_shares import Shares
from mrdsl.families.capacity.verify_types import Rows
from mrdsl.spec.spec import Spec


def verify_wholeness(spec: Spec, plan: CapacityPlan, shares: Shares, relax: bool) -> Iterator[Diagnostic]:
    """Check that what has to be whole is whole, and that the machines hold it."""
    said = spec.facts.whole
    fitting = (NO,) if relax else (SLOTS, NO) if said is None else (said,)
    if plan.wholeness not in fitting:
        yield _broken(spec, f"whole is `{plan.wholeness}` in the plan, not `{fitting[0]}`")
    if plan.wholeness == NO and plan.packing is None:
        return
    if plan.wholeness != NO:
        yield from _whole_per_job(spec, shares)
    if plan.packing is None:
        yield _broken(spec, "its slots are whole, and it does not say which VM holds which")
        return
    if not _is_of(spec, plan, plan.packing):
        yield _broken(spec, "its packing is of patterns, classes or VM types that there are not")
        return
    yield from _held(spec, shares, plan.packing)
    yield from _machines(spec, plan, plan.packing)


def _is_of(spec: Spec, plan: CapacityPlan, packing: Packing) -> bool:
    """Return True if all that the packing numbers is there: it may come from a file."""
    patterns, entries = len(packing.count), len(packing.slots)
    lengths = (packing.of_vm, patterns), (packing.spot, patterns), (packing.of_pattern, entries)
    if any(len(each) != length for each, length in (*lengths, (packing.of_class, entries), (packing.reduces, entries))):
        return False
    limits = (packing.of_vm, len(spec.facts.vms)), (packing.of_pattern, patterns), (packing.of_class, len(plan.names))
    return all(not len(each) or 0 <= int(each.min()) <= int(each.max()) < limit for each, limit in limits)


def _whole_per_job(spec: Spec, shares: Shares) -> Iterator[Diagnostic]:
    """Check that the jobs of a share have whole slots of each kind; not all of them need have as many."""
    for kind, slots in zip(("map", "reduce"), shares.slots, strict=True):
        for place in np.flatnonzero(~(np.abs(slots - np.rint(slots)) <= ROUNDING * np.maximum(1.0, slots))).tolist():
            name = spec.facts.classes[int(shares.rows.of_class[place])].name
            yield _broken(spec, f"jobs of class {name} have {slots[place]:g} {kind} slots, which is not a whole number")


def _held(spec: Spec, shares: Shares, packing: Packing) -> Iterator[Diagnostic]:
    """Check that all slots of every class lie on VMs of the type where they run, firm or spot."""
    rows, count = shares.rows, len(spec.facts.classes)
    wanted = [(rows.of_vm, shares.spot, kind, rows.of_class, slots) for kind, slots in enumerate(shares.slots)]
    at = packing.of_pattern
    held = packing.of_vm[at], packing.spot[at], packing.reduces, packing.of_class, packing.count[at] * packing.slots
    keys, slots = [], []
    for sign, (vm, spot, kind, classes, number) in [(1.0, each) for each in wanted] + [(-1.0, held)]:
        keys.append(((vm * 2 + np.asarray(spot, dtype=np.int64)) * 2 + kind) * count + classes)
        slots.append(sign * number)
    places, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    lacking = np.bincount(inverse, weights=np.concatenate(slots))
    size = max(1.0, float(np.abs(np.concatenate(slots)).max(initial=0.0)))
    for place in np.flatnonzero(~(np.abs(lacking) <= ROUNDING * size)).tolist():
        lane, index = divmod(int(places[place]), count)
        what_kind = f"{('map', 'reduce')[lane % 2]} slots of class {spec.facts.classes[index].name}"
        vms = f"{'spot' if lane // 2 % 2 else 'firm'} VMs of {spec.facts.vms[lane // 4].name}"
        what = "lie on none" if lacking[place] > 0.0 else "are too many"
        yield _broken(spec, f"{abs(lacking[place]):g} {what_kind} on {vms} {what}")


def _machines(spec: Spec, plan: CapacityPlan, packing: Packing) -> Iterator[Diagnostic]:
    """Check that no VM holds more than its resources, nor two classes where none is shared, and that it is rented."""
    facts: CapacityFacts = spec.facts
    at, patterns = packing.of_pattern, len(packing.count)
    each = Rows(facts, packing.of_class, packing.of_vm[at])
    taken = np.where(packing.reduces, each.parts[1], each.parts[0]) * packing.slots
    parts = np.array([np.bincount(at, weights=resource, minlength=patterns) for resource in taken]).max(axis=0)
    for pattern in np.flatnonzero(~(parts <= 1.0 + ROUNDING)).tolist():
        yield _broken(spec, f"slots that take {parts[pattern]:.10g} VMs lie on one")
    hosted = np.where(packing.reduces, each.per_vm[1], each.per_vm[0])
    if bool((packing.slots < 1).any() or (packing.count < 1).any()):
        yield _broken(spec, "a number of slots, or of VMs that hold them, is none")
    if bool((hosted < 1.0).any()):
        yield _broken(spec, "slots lie on a VM that cannot host them")
    if plan.wholeness == MACHINES:
        pairs = np.unique(np.stack([at, packing.of_class]), axis=1)
        for pattern in np.flatnonzero(np.bincount(pairs[0], minlength=patterns) > 1).tolist():
            both = [plan.names[index] for index in pairs[1][pairs[0] == pattern][:2].tolist()]
            yield _broken(spec, f"classes {both[0]} and {both[1]} share a VM")
    bought = vms_of(facts, plan)
    used = np.bincount(packing.of_vm * 2 + packing.spot, weights=packing.count, minlength=2 * len(facts.vms))
    for place in np.flatnonzero(used).tolist():
        vm, spot = facts.vms[place // 2], bool(place % 2)
        rented = sum(count for way, count in bought.items() if way[0] == vm.name and (way[1] == "spot") == spot)
        rented -= 0 if spot else vm.masters
        if used[place] > rented + ROUNDING:
            what = f"{'spot' if spot else 'firm'} VMs of {vm.name}"
            yield _broken(spec, f"slots lie on {used[place]:g} {what}, of which {rented:g} are there")


def _broken(spec: Spec, message: str) -> Diagnostic:
    return error("broken-plan", message, spec.facts.span_of("whole") or spec.facts.vms[0].span)
