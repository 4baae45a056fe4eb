"""Verification of VMs of several types in a joint plan, from the input data alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mrdsl.checking.rows import APART, MOST, Losses, Rows, late, losses_of, phases
from mrdsl.checking.scheduled import mean_of
from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.lazy import kept
from mrdsl.core.rounding import FEASIBILITY, ceiling
from mrdsl.families.joint.facts import NO, JointFacts, VmType
from mrdsl.families.joint.plan import JointPlan, LanePlan
from mrdsl.model.check import check, check_commitments, committed_cost, offers_of, with_commitments
from mrdsl.model.check import misfit as not_offered
from mrdsl.model.ledger import ON_DEMAND, RESERVED, SPOT, Ledger, Placements, Rental
from mrdsl.simulation.stated import stated_jobs
from mrdsl.spec.blocks import OnDemand
from mrdsl.spec.columns import column, names_of

if TYPE_CHECKING:
    from mrdsl.spec.spec import Spec

Floats = NDArray[np.float64]

MOST_TURNS = 1_000
"""Turns in a period, or periods of a turn, up to which they are played through; more are a quotient."""


def with_types(spec: Spec, plan: JointPlan) -> tuple[Spec, JointPlan]:
    """Return a cluster of one kind of VMs, and its plan, as VMs of one type on demand; others as they are."""
    facts: JointFacts = spec.facts
    if len(facts.vms):
        return spec, plan
    price, got, services = float(facts.cluster.vm_cost or 0.0), plan.classes, plan.services
    only = VmType(name="vm", on_demand=OnDemand(price=price), span=facts.cluster.span)
    parts = got.vms, got.at_once, got.map_slots, got.reduce_slots, services.vms, services.rate
    lanes = LanePlan(["vm"], [ON_DEMAND], np.array([price * facts.cluster.period]), *(each[:, None] for each in parts))
    typed = kept(spec, "with types", lambda: replace(spec, facts=replace(facts, vms=(only,))))
    return typed, replace(plan, by_type=lanes)


def most_vms(facts: JointFacts) -> int | None:
    """Return the most VMs of all types: `size`, or the sum of `available`; None if one type is not limited."""
    if facts.cluster.size is not None:
        return facts.cluster.size
    there = [vm.available for vm in facts.vms]
    return None if None in there else sum(each for each in there if each is not None)


def vms_by_type(facts: JointFacts, plan: JointPlan, name: str) -> Floats:
    """Count the VMs of a type in each period."""
    lanes = lanes_of(plan)
    return np.asarray(lanes.vms[:, [vm == name for vm in lanes.vm]].sum(axis=1))


def lanes_of(plan: JointPlan) -> LanePlan:
    """Return the part of a plan by type."""
    assert plan.by_type is not None
    return plan.by_type


def operation(facts: JointFacts, plan: JointPlan) -> Floats:
    """Compute the cost of the VMs in each period."""
    return np.asarray(_costs(facts, plan).sum(axis=1))


def _committed(facts: JointFacts, plan: JointPlan) -> Mapping[tuple[str, str], float]:
    """Return the VMs under contract of each lane."""
    lanes = lanes_of(plan)
    pairs = [(vm, "" if way == ON_DEMAND else way) for vm, way in zip(lanes.vm, lanes.way, strict=True)]
    return dict(zip(pairs, lanes.committed.tolist(), strict=True)) if len(lanes.committed) else {}


def _costs(facts: JointFacts, plan: JointPlan) -> Floats:
    """Compute the cost of the VMs of each lane, those under contract used first, shape (periods, lanes)."""
    lanes, counts = lanes_of(plan), _committed(facts, plan)
    offers, total = offers_of(with_commitments(facts, counts)), np.zeros_like(lanes.vms)
    for n, (vm, way) in enumerate(zip(lanes.vm, lanes.way, strict=True)):
        used, held = lanes.vms[:, n], counts.get((vm, ""), 0.0) if way == ON_DEMAND else 0.0
        firm = offers.get((vm, RESERVED, ""), offers[vm, way, ""])
        under = np.minimum(used, held)
        total[:, n] = (used - under) * offers[vm, way, ""].price + under * firm.price
        total[:, n] += committed_cost(facts, {(vm, ""): held})
    return np.asarray(facts.cluster.period * total)


def _prices(facts: JointFacts, plan: JointPlan) -> Iterator[Diagnostic]:
    """Check the price of a VM of each lane, and the cost of those of each lane, contracts included."""
    lanes, offers = lanes_of(plan), offers_of(facts)
    for n, (name, way) in enumerate(zip(lanes.vm, lanes.way, strict=True)):
        price = facts.cluster.period * offers[name, way, ""].price
        if not np.isclose(lanes.prices[n], price, rtol=FEASIBILITY, atol=0.0):
            message = f"the plan claims {lanes.prices[n]:.6g} for a VM of {_name(lanes, n)} and period, not {price:.6g}"
            yield error("broken-plan", message, facts.span)
    if not np.allclose(lanes.costs, _costs(facts, plan), rtol=FEASIBILITY, atol=FEASIBILITY):
        yield error("broken-plan", "the plan claims other costs of VM types than its VMs have", facts.span)


def response(facts: JointFacts, plan: JointPlan) -> Floats:
    """Compute the mean response of each service on each lane, (2) [s]: infinite if VMs are full, NaN without a VM."""
    lanes, services = lanes_of(plan), facts.services
    mu = np.array([[_service_rate(service, name) for service in services] for name in lanes.vm])
    vms, rate = lanes.service_vms, lanes.rate
    mu = mu.reshape(len(lanes.vm), len(services))
    with np.errstate(divide="ignore", invalid="ignore"):
        time = np.where(mu * vms > rate, vms / (mu * vms - rate), np.inf) + column(services, "delay")
    return np.where(vms > 0.0, time, np.nan)


def worst_response(facts: JointFacts, plan: JointPlan) -> Floats:
    """Compute the worst mean response of each service on any type, (periods, services); NaN without a VM."""
    found = response(facts, plan)
    worst = np.where(np.isnan(found), -np.inf, found).max(axis=1)
    return np.where(np.isneginf(worst), np.nan, worst)


def _service_rate(service: object, vm: str) -> float:
    speeds = {row.name: row.speed for row in service.on}  # type: ignore[attr-defined]
    return float(service.service_rate * speeds.get(vm, 1.0))  # type: ignore[attr-defined]


def misfit(facts: JointFacts, plan: JointPlan) -> str:
    """Explain why the plan does not have the types of the spec; return an empty text if it does."""
    lanes, periods = plan.by_type, len(plan.vms)
    if lanes is None:
        return "the plan has no VM types"
    pairs = list(zip(lanes.vm, lanes.way, strict=True))
    if len(set(pairs)) < len(pairs) or lanes.prices.shape != (len(pairs),):
        return "the plan is of other VM types"
    other = not_offered(facts, [Rental(vm, 1.0, 0.0, 0.0, way) for vm, way in pairs])
    if other:
        return other
    contracts = lanes.committed, lanes.contract_prices, lanes.saved
    if not all(part.shape == (len(pairs),) for part in contracts) and any(len(part) for part in contracts):
        return "the plan has VMs under contract of other types"
    ends = {"class_vms": len(plan.class_names), "at_once": len(plan.class_names)}
    ends |= {"map_slots": len(plan.class_names), "reduce_slots": len(plan.class_names)}
    ends |= {"service_vms": len(plan.service_names), "rate": len(plan.service_names)}
    for name, units in ends.items():
        part = getattr(lanes, name)
        if part.shape != (periods, len(pairs), units) or not bool((part >= -FEASIBILITY).all()):
            return "a number of the plan by type is negative, or missing"
    return ""


def verify_fleet(spec: Spec, plan: JointPlan, relax: bool) -> Iterator[Diagnostic]:
    """Check times, slots, requests and limits of each type."""
    facts: JointFacts = spec.facts
    yield from _sums(facts, plan)
    yield from _classes(facts, plan, relax)
    yield from _services(facts, plan)
    yield from _limits(facts, plan, relax)
    yield from _prices(facts, plan)


def _broken(node: object, what: str, item: str = "") -> Diagnostic:
    span = node.span_of(item) if item else node.span  # type: ignore[attr-defined]
    return error("broken-plan", f"the plan breaks the spec: {node.name} {what}", span)  # type: ignore[attr-defined]


def _sums(facts: JointFacts, plan: JointPlan) -> Iterator[Diagnostic]:
    """Check that the totals of classes and services are those of their types."""
    lanes = lanes_of(plan)
    for what, total, parts in (
        ("VMs of classes", plan.classes.vms, lanes.class_vms),
        ("jobs at once", plan.classes.at_once, lanes.at_once),
        ("map slots", plan.classes.map_slots, lanes.map_slots),
        ("reduce slots", plan.classes.reduce_slots, lanes.reduce_slots),
        ("VMs of services", plan.services.vms, lanes.service_vms),
        ("requests", plan.services.rate, lanes.rate),
    ):
        if not np.allclose(total, parts.sum(axis=1), rtol=FEASIBILITY, atol=FEASIBILITY):
            yield error("broken-plan", f"the {what} of the plan are not the sum of those by type", facts.span)


Index = NDArray[np.int64]


def _jobs_alike(
    facts: JointFacts, plan: JointPlan
) -> tuple[tuple[Index, Index, Index], Index, Index, Rows, Losses, tuple[Floats, Floats]]:
    """Group the classes in lanes and periods that have equal slots for a job.

    Returns:
        Period, lane and class of each; the first of each group; the group of each; rows, losses and slots by group.
    """
    lanes, names = lanes_of(plan), list(names_of(facts.vms))
    of_vm = np.array([names.index(name) for name in lanes.vm], dtype=np.int64)
    on_spot = np.array([way == "spot" for way in lanes.way], dtype=bool)
    held = np.argwhere(lanes.at_once > 0.0)
    t, lane, index = held.T if len(held) else np.zeros((3, 0), dtype=np.int64)
    each = [slots[t, lane, index] / lanes.at_once[t, lane, index] for slots in (lanes.map_slots, lanes.reduce_slots)]
    alike, first, places = np.unique(
        np.stack([lane, index, *each], axis=1), axis=0, return_index=True, return_inverse=True
    )
    rows = Rows(facts, index[first], of_vm[lane[first]], mean_of(stated_jobs) if plan.whole != NO else None)
    losses = losses_of(rows, on_spot[lane[first]])
    return (t, lane, index), first, places.reshape(-1), rows, losses, (alike[:, 2], alike[:, 3])


def room_of_types(facts: JointFacts, plan: JointPlan, turns: Floats) -> Floats:
    """Count the jobs of each class and period for which there is a turn, (periods, classes).

    A place takes at least ``turns`` (classes,) jobs in a period, and more if a job ends early enough for them.
    """
    lanes, period = lanes_of(plan), facts.cluster.period
    (t, lane, index), first, places, rows, losses, one = _jobs_alike(facts, plan)
    most, best = plan.classes.admitted.max(axis=0, initial=0.0), turns[index[first]]
    longest = column(facts.classes, "deadline").max(initial=0.0) / period
    counts = [1.0 / count for count in range(min(ceil(longest), MOST_TURNS), 1, -1)]
    for count in (*counts, *map(float, range(1, min(ceil(most.max(initial=0.0)), MOST_TURNS) + 1))):
        end = np.full(len(first), period / count)
        on_time = ~late(rows, losses, one, (end, end), plan.whole != NO)
        best = np.where(on_time, np.maximum(best, count), best)
        if not on_time.any():
            break
    room = np.zeros_like(plan.classes.at_once)
    np.add.at(room, (t, index), best[places] * lanes.at_once[t, lane, index])
    return room


def _classes(facts: JointFacts, plan: JointPlan, relax: bool) -> Iterator[Diagnostic]:
    """Check jobs of each class in each lane: types that host them, slots, deadlines (3), hosting VMs (4)."""
    lanes, whole = lanes_of(plan), plan.whole != NO
    (t, lane, index), first, places, rows, losses, one = _jobs_alike(facts, plan)
    jobs, vms = lanes.at_once[t, lane, index], lanes.class_vms[t, lane, index]
    deadline = column(facts.classes, "deadline")[index[first]]
    lost = losses.lost(*phases(rows, *one))
    wrong = {"cannot run there": ~rows.allowed, "end after their deadline": np.zeros(len(first), dtype=bool)}
    if len(first):
        wrong["end after their deadline"] = late(rows, losses, one, (deadline, deadline), whole)
    for kind, count, tasks, part in zip(("map", "reduce"), one, rows.tasks, lost, strict=True):
        least = np.minimum(tasks, 1.0)
        most = tasks / (1.0 - np.minimum(APART * part, MOST))
        most = ceiling(most) if whole else most
        fits = (count >= least * (1 - FEASIBILITY)) & (count <= most * (1 + FEASIBILITY) + FEASIBILITY)
        wrong[f"have too few or too many {kind} slots"] = ~fits
        if whole:
            wrong[f"have {kind} slots that are not whole"] = np.abs(count - np.rint(count)) > FEASIBILITY
    with np.errstate(divide="ignore", invalid="ignore"):
        taken = [np.where(count > 0.0, count / hosted, 0.0) for count, hosted in zip(one, rows.per_vm, strict=True)]
    needed = jobs * (taken[0] + taken[1])[places]
    needed = ceiling(needed) if whole and not relax else needed
    short = ~(needed <= vms + FEASIBILITY * np.maximum(1.0, vms))
    wrong["have fewer VMs than their slots take"] = np.isin(np.arange(len(first)), places[short])
    for what, flags in wrong.items():
        for place in np.flatnonzero(flags).tolist():
            number = int(lane[first[place]])
            yield _broken(facts.classes[int(index[first[place]])], f"has jobs on {_name(lanes, number)} that {what}")


def _services(facts: JointFacts, plan: JointPlan) -> Iterator[Diagnostic]:
    """Check the requests of each service in each lane: allowed types, responses (5), firm VMs."""
    lanes, found = lanes_of(plan), response(facts, plan)
    for t, lane, k in np.argwhere((lanes.rate > FEASIBILITY) | (lanes.service_vms > FEASIBILITY)).tolist():
        node, where = facts.services[k], _name(lanes, lane)
        if lanes.way[lane] != "on_demand" or (node.types and lanes.vm[lane] not in node.types):
            yield _broken(node, f"has VMs of {where}, which it may not use")
        elif lanes.rate[t, lane, k] > FEASIBILITY and not found[t, lane, k] <= node.response * (1 + FEASIBILITY):
            said = f"answers in {found[t, lane, k]:.6g} s on {where} in period {t}, past its {node.response:.6g} s"
            yield _broken(node, said)


def _limits(facts: JointFacts, plan: JointPlan, relax: bool) -> Iterator[Diagnostic]:
    """Check types and shares on spot, whole VMs, those under contract, and the VMs of each different period."""
    lanes = lanes_of(plan)
    parts = [lanes.class_vms, lanes.service_vms]
    parts += [lanes.at_once] if facts.cluster.concurrency == "whole" else []
    if not relax and not all(bool((np.abs(part - np.rint(part)) <= FEASIBILITY).all()) for part in parts):
        yield error("broken-plan", "a number of VMs or of jobs at once is not whole", facts.cluster.span)
    names = list(names_of(facts.vms))
    of_vm = np.array([names.index(name) for name in lanes.vm], dtype=np.int64)
    spot = np.array([way == SPOT for way in lanes.way], dtype=bool)
    t, lane, index = np.argwhere((lanes.at_once > 0.0) | (lanes.class_vms > 0.0)).reshape(-1, 3).T
    placed = Placements(index, of_vm[lane], spot[lane], lanes.class_vms[t, lane, index], t)
    yield from check(facts, Ledger((), placed), relax)
    counts = _committed(facts, plan)
    yield from check_commitments(facts, counts, relax)
    there = with_commitments(facts, counts)
    for period in np.unique(lanes.vms, axis=0).tolist():
        rentals = []
        for vm, way, used in zip(lanes.vm, lanes.way, period, strict=True):
            under = min(used, counts.get((vm, ""), 0.0)) if way == ON_DEMAND else 0.0
            both = ((RESERVED, under), (way, used - under))
            rentals += [Rental(vm, count, 0.0, facts.cluster.period, each) for each, count in both if count]
        yield from check(there, Ledger(rentals), relax)


def _name(lanes: LanePlan, lane: int) -> str:
    return lanes.vm[lane] + (" on spot" if lanes.way[lane] == "spot" else "")
