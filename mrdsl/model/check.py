"""Ledgers compared with the facts of a spec: prices, contracts, availability, quotas, masters, disks, spot parts.

Every family that rents converts its plan to a :class:`~mrdsl.model.ledger.Ledger`, and calls :func:`check`. The module
reads facts as they are written, and imports no code that builds plans.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import translate
from itertools import chain
from math import ceil, inf
from typing import Any

import numpy as np

from mrdsl.core.diagnostics import Diagnostic, Span, error
from mrdsl.core.lazy import kept
from mrdsl.core.rounding import FEASIBILITY
from mrdsl.model.ledger import ON_DEMAND, RESERVED, SPOT, Ledger, Placements, Rental, Way
from mrdsl.spec.blocks import ONE, any_rows, shared_rows
from mrdsl.spec.columns import column, names_of

SLACK = 1e-6
"""Largest difference of two times that count as equal [s]."""


@dataclass(frozen=True)
class Offer:
    """A way of buying a VM: the price of one, with its fee and its disk [1/s], and how many there are."""

    price: float
    available: float = inf


def offers_of(facts: Any) -> Mapping[Way, Offer]:
    """Read every way of buying a VM: a contract that is paid in any case costs the fee and the disk alone."""
    return kept(facts, "offers to check", lambda: dict(_offers(facts)))


def _offers(facts: Any) -> Iterator[tuple[Way, Offer]]:
    for vm in facts.vms:
        more = vm.fee + _disk_price(vm)
        yield (vm.name, ON_DEMAND, ""), Offer(vm.on_demand.price + more)
        if vm.spot is not None:
            yield (vm.name, SPOT, ""), Offer(vm.spot.price + more)
        for term in contracts_of(vm):
            price = more if term.prepaid == "yes" else term.price + more
            yield (vm.name, RESERVED, term.name), Offer(price, float(term.available))


def contracts_of(vm: Any) -> list[Any]:
    """List the contracts of a type; the only one has an empty name."""
    return [*([] if vm.reserved is None else [vm.reserved]), *vm.terms]


def _disk_price(vm: Any) -> float:
    return 0.0 if vm.disk is None else float(vm.disk.price) * float(vm.disk.size)


def paid_time(billing: Any, seconds: float) -> float:
    """Return the time that a rental is paid for: whole billing periods, at least the minimum [s]."""
    return float(max(ceil(seconds / billing.period) * billing.period, billing.minimum))


def cost_of(facts: Any, rentals: Iterable[Rental], times: Iterable[float] | None = None) -> float:
    """Compute the cost of rentals, without those that the spec does not offer.

    ``times``: how long each is paid for [s], by default from its beginning to its end.
    """
    offers, total = offers_of(facts), 0.0
    known = list(rentals)
    for each, seconds in zip(known, [one.end - one.begin for one in known] if times is None else times, strict=True):
        if each.bought in offers:
            total += each.count * (seconds * offers[each.bought].price)
    return total


def cost_of_disks(facts: Any, rentals: Iterable[Rental]) -> float:
    """Compute the part of the cost that pays for disks."""
    priced = {vm.name: _disk_price(vm) for vm in facts.vms}
    return sum(each.count * (each.end - each.begin) * priced[each.vm] for each in rentals)


def prepaid_cost(facts: Any, seconds: float) -> float:
    """Compute the cost of prepaid contracts over a time that begins after a boot, whether or not VMs are used."""
    both = [(vm, each) for vm in facts.vms for each in contracts_of(vm) if each.prepaid == "yes"]
    return float(sum(each.price * each.available * (seconds + vm.boot) for vm, each in both))


def committed_cost(facts: Any, counts: Mapping[tuple[str, str], float]) -> float:
    """Compute what so many VMs of each contract, by type and name, cost in any period [1/s]; prepaid ones nothing."""
    known = {(vm.name, each.name): each.price for vm in facts.vms for each in contracts_of(vm) if each.prepaid == "no"}
    return float(sum(known.get(key, 0.0) * count for key, count in counts.items()))


def masters_of(facts: Any) -> dict[str, int]:
    """Count the masters of each VM type that has some."""
    own = getattr(facts, "master", None)
    named = {} if own is None else {own.vm: own.count}
    counts = [(vm.name, vm.masters + named.get(vm.name, 0)) for vm in facts.vms]
    return {name: count for name, count in counts if count}


def most_at_once(rentals: Iterable[Rental], each_takes: Mapping[str, float] | None = None) -> float:
    """Return the most VMs at once, or the most that they take; one that ends as another begins is not beside it."""
    events = []
    for each in rentals:
        taken = each.count * (1.0 if each_takes is None else each_takes[each.vm])
        slack = min(SLACK, (each.end - each.begin) / 4)
        events += [(each.begin + slack, taken), (each.end - slack, -taken)]
    most = there = 0.0
    for _, change in sorted(events):
        there += change
        most = max(most, there)
    return most


def misfit(facts: Any, rentals: Sequence[Rental]) -> str:
    """Return why rentals are not of the VM types of the spec, or not bought in its ways; an empty text if they are."""
    names = set(names_of(facts.vms))
    for each in rentals:
        if each.vm not in names:
            return f"a rental is of {each.vm}, which the spec does not have"
        if each.bought not in offers_of(facts) or (each.master and each.spot):
            way = f"{each.way.replace('_', ' ')} {each.term}".strip()
            return f"a rental of {each.vm} is {'on ' if each.spot else ''}{way}, which the spec does not have"
    return ""


def check(facts: Any, ledger: Ledger, relax: bool) -> Iterator[Diagnostic]:
    """Yield the violations of the facts by a ledger that is no :func:`misfit`; counts are whole without ``relax``."""
    of_type: dict[str, list[Rental]] = {}
    for each in ledger.rentals:
        of_type.setdefault(each.vm, []).append(each)
    nodes = {vm.name: vm for vm in facts.vms}
    for name, rentals in of_type.items():
        yield from _type(facts, nodes[name], rentals, ledger, relax)
    yield from _quotas(facts, [*ledger.rentals, *ledger.room])
    yield from _masters(facts, ledger)
    yield from _disks(facts, ledger)
    if ledger.placements is not None:
        yield from _placements(facts, ledger.placements, relax)


def _type(facts: Any, vm: Any, rentals: Sequence[Rental], ledger: Ledger, relax: bool) -> Iterator[Diagnostic]:
    """Check the numbers of VMs of one type, those under contract, and how many are there."""
    if not all(-FEASIBILITY <= each.count < inf for each in rentals):
        yield _broken("a number of VMs is negative, or no number", vm.span)
        return
    for each in rentals:
        if not relax and abs(each.count - round(each.count)) > FEASIBILITY:
            yield _broken(f"{each.count:g} VMs of {vm.name} are not a whole number", vm.span)
    for term in contracts_of(vm):
        most = most_at_once(each for each in rentals if each.bought == (vm.name, RESERVED, term.name))
        if beyond(most, term.available):
            label = f"{RESERVED} {term.name}".strip()
            yield _broken(f"{most:g} VMs of {vm.name} are {label} at once of {term.available:g}", vm.span)
    if vm.available is not None:
        room = [each for each in ledger.room if each.vm == vm.name]
        most = most_at_once(each for each in (*rentals, *room) if ledger.masters_count or not each.master)
        if beyond(most, vm.available):
            beside = ", with those of second attempts," if room else ""
            message = f"{most:g} VMs of {vm.name} are rented at once{beside} of {vm.available}"
            yield _broken(message, vm.span_of("available"))


def _quotas(facts: Any, rentals: Sequence[Rental]) -> Iterator[Diagnostic]:
    for quota in facts.quotas:
        patterns = [re.compile(translate(each)) for each in quota.types]
        patterns += [re.compile(rf"{re.escape(each)}([\W\d_].*)?$") for each in quota.families]
        cores = {
            vm.name: vm.cores or 0.0
            for vm in facts.vms
            if not patterns or vm.name in quota.types or any(each.match(vm.name) for each in patterns)
        }
        counted = [each for each in rentals if each.vm in cores and each.spot == (quota.spot == "yes")]
        used = most_at_once(counted, cores)
        if beyond(used, quota.cores):
            message = f"{used:g} cores of quota {quota.name} are needed at once, which has {quota.cores:g}"
            yield _broken(message, quota.span_of("cores"))


def _masters(facts: Any, ledger: Ledger) -> Iterator[Diagnostic]:
    """Find a time in which masters of a type are not rented; those of one time are not those of another."""
    for name, number in masters_of(facts).items() if ledger.managed else ():
        left: dict[tuple[float, float], float] = {}
        for each in ledger.rentals:
            if each.master and each.vm == name:
                left[each.begin, each.end] = left.get((each.begin, each.end), 0.0) + each.count
        for begin, end in ledger.managed:
            missing = float(number)
            for there in chain([(begin, end)], left):
                if there in left and there[0] < begin + SLACK and there[1] > end - SLACK:
                    part = min(left[there], missing)
                    left[there], missing = left[there] - part, missing - part
                if missing <= FEASIBILITY:
                    break
            if missing > FEASIBILITY:
                yield _broken(f"VMs are rented from {begin:g} s to {end:g} s without {number} masters of {name}")
                return


def _disks(facts: Any, ledger: Ledger) -> Iterator[Diagnostic]:
    """Check that the disks of firm VMs without masters hold the data of HDFS."""
    hdfs = getattr(facts, "hdfs", None)
    if hdfs is None:
        return
    wanted, sizes = hdfs.data * hdfs.replication, {vm.name: vm.disk.size for vm in facts.vms if vm.disk is not None}
    held = sum(each.count * sizes.get(each.vm, 0.0) for each in ledger.workers if not each.spot)
    if not held >= wanted * (1.0 - FEASIBILITY):
        message = f"disks hold {held:g} B, and HDFS takes {wanted:g} B with its copies"
        yield _broken(message, facts.span_of("hdfs"))


def _placements(facts: Any, placed: Placements, relax: bool) -> Iterator[Diagnostic]:
    """Check the types of each class, one or those it may use, and the part of its VM time that is on spot VMs.

    With ``relax``, jobs that stay together are on several types.
    """
    classes, names, count = facts.classes, names_of(facts.vms), len(facts.classes)
    period = np.zeros_like(placed.of_class) if placed.period is None else placed.period
    if any_rows(classes, "types"):
        listed = shared_rows(classes, "types")
        trios = np.unique(np.stack([period, placed.of_class, placed.of_vm]), axis=1).T.tolist()
        used: dict[tuple[int, int], int] = {}
        for at, index, vm in trios:
            used[at, index] = used.get((at, index), 0) + 1
            if listed[index] and listed[index] != (ONE,) and names[vm] not in listed[index]:
                message = f"jobs of class {classes[index].name} run on {names[vm]}, which the class may not use"
                yield _broken(message, classes[index].span_of("types"))
        for (_, index), number in used.items():
            if listed[index] == (ONE,) and number > 1 and not relax:
                message = f"jobs of class {classes[index].name} run on {number} types, not on one"
                yield _broken(message, classes[index].span_of("types"))
    if placed.spot.any():
        most = np.nan_to_num(column(classes, "spot", missing=1.0), nan=1.0)
        place = period * count + placed.of_class
        every = np.bincount(place, weights=placed.vms)
        spot = np.bincount(place, weights=placed.vms * placed.spot)
        limit = most[np.arange(len(every)) % count] * every
        for at in np.flatnonzero(~(spot <= limit + FEASIBILITY * np.maximum(1.0, every))).tolist():
            node = classes[at % count]
            message = f"class {node.name} has {spot[at]:g} of {every[at]:g} on spot VMs, above {limit[at]:g}"
            yield _broken(message, node.span_of("spot"))


def beyond(used: float, most: float) -> bool:
    """Return True if a number is above its limit by more than a rounding."""
    return not used <= most + FEASIBILITY * max(1.0, most)


def claimed(what: str, said: float, right: float, span: Span | None, size: float | None = None) -> Iterator[Diagnostic]:
    """Compare a cost in a plan with the cost of its parts; differences count in relation to ``size``."""
    if not abs(said - right) <= FEASIBILITY * (max(1.0, abs(right)) if size is None else size):
        yield _broken(f"the plan claims a cost of {said:g} for {what}, not {right:g}", span)


def with_commitments(facts: Any, counts: Mapping[tuple[str, str], float]) -> Any:
    """Return the facts of one period: with so many VMs of each contract by type and name, which cost nothing there."""

    def there(vm: Any, term: Any) -> Any:
        if term is None or term.prepaid == "yes":
            return term
        return replace(term, price=0.0, available=counts.get((vm.name, term.name), 0))

    vms = (
        replace(vm, reserved=there(vm, vm.reserved), terms=tuple(there(vm, term) for term in vm.terms))
        for vm in facts.vms
    )
    return replace(facts, vms=tuple(vms))


def check_commitments(facts: Any, counts: Mapping[tuple[str, str], float], relax: bool) -> Iterator[Diagnostic]:
    """Check that a contract covers as many VMs as there are, all of them if they are prepaid."""
    known = {(vm.name, term.name): term for vm in facts.vms for term in contracts_of(vm)}
    for key, count in counts.items():
        term = known.get(key)
        most = 0.0 if term is None else float(term.available)
        least = most if term is not None and term.prepaid == "yes" else 0.0
        if not least - FEASIBILITY <= count <= most + FEASIBILITY or (not relax and count != round(count)):
            span = facts.span if term is None else term.span_of("available")
            yield _broken(f"the plan has {count:.6g} VMs of {' '.join(key).strip()} under contract of {most:g}", span)


def _broken(message: str, span: Span | None = None) -> Diagnostic:
    return error("broken-plan", message, span)
