"""A finished plan, checked and valued from the facts as they are written: equations (4) to (9) of paper 000."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.checking.exact import shared
from mrdsl.checking.rows import Rows
from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.rounding import FEASIBILITY, ROUNDING, ceiling, floor
from mrdsl.families.capacity.facts import LARGEST, MACHINES, NO, SLOTS, CapacityFacts
from mrdsl.families.capacity.packing import Packing
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.verify_facts import at_most_one, cost_of_transfer, ledger_of, rentals_of
from mrdsl.families.capacity.verify_shares import (
    Shares,
    about_runs_alone,
    completion,
    share_kept,
    shares_of,
    shown_limits,
    verify_promises,
    verify_shares,
)
from mrdsl.model.check import (
    beyond,
    check,
    claimed,
    cost_of,
    cost_of_disks,
    masters_of,
    misfit,
    prepaid_cost,
)
from mrdsl.model.ledger import Ledger
from mrdsl.spec.blocks import any_stages, stages_of
from mrdsl.spec.columns import column, names_of
from mrdsl.spec.estimates import PAPER
from mrdsl.spec.spec import Spec


def verify_mix(spec: Spec, plan: CapacityPlan, ledger: Ledger, shares: Shares, relax: bool) -> Iterator[Diagnostic]:
    """Find violations in the sums over purchase options, and in the shares of a class together."""
    assert plan.mix is not None
    facts = spec.facts
    for way, shown in (("on_demand", plan.on_demand), ("reserved", plan.reserved)):
        total = sum(each.count for each in ledger.rentals if each.way == way)
        if not abs(total - shown) <= FEASIBILITY * max(1.0, total):
            yield error("broken-plan", f"{total:g} VMs are bought {way.replace('_', ' ')}, not {shown:g}", spec.span)
    masters = masters_of(facts)
    if [masters.get(vm.name, 0) for vm in facts.vms] != np.asarray(plan.mix.masters).tolist():
        yield error("broken-plan", "the masters of the plan are not those of the spec", spec.span)
    paid = cost_of(facts, [each for each in ledger.rentals if each.master])
    yield from claimed("its masters", plan.mix.masters_cost, paid, spec.span)
    if not relax and bool((shares.jobs != np.rint(shares.jobs)).any()):
        yield error("broken-plan", "jobs on a VM type are not a whole number", spec.span)


def verify_wholeness(
    spec: Spec, plan: CapacityPlan, ledger: Ledger, shares: Shares, relax: bool
) -> Iterator[Diagnostic]:
    """Check that quantities that must be whole are whole, and that the machines hold them."""
    said = spec.facts.whole
    fitting = (NO,) if relax else (SLOTS, NO) if said is None else (said,)
    if plan.whole is relax:
        yield _broken(spec, f"jobs and VMs are {'whole' if relax else 'fractions'} in the plan")
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
        yield _broken(spec, "its packing refers to unknown patterns, classes or VM types")
        return
    yield from _held(spec, shares, plan.packing)
    yield from _machines(spec, plan, ledger, plan.packing)


def _is_of(spec: Spec, plan: CapacityPlan, packing: Packing) -> bool:
    """Return True if all that the packing numbers is there: it may come from a file."""
    patterns, entries = len(packing.count), len(packing.slots)
    lengths = (packing.of_vm, patterns), (packing.spot, patterns), (packing.of_pattern, entries)
    if any(len(each) != length for each, length in (*lengths, (packing.of_class, entries), (packing.reduces, entries))):
        return False
    limits = (packing.of_vm, len(spec.facts.vms)), (packing.of_pattern, patterns), (packing.of_class, len(plan.names))
    return all(not len(each) or 0 <= int(each.min()) <= int(each.max()) < limit for each, limit in limits)


def _whole_per_job(spec: Spec, shares: Shares) -> Iterator[Diagnostic]:
    """Check that the jobs of a share have whole slots of each kind, in whole executors; not all need have as many."""
    rows = shares.rows
    executors = shares.slots[0] / rows.step
    for place in np.flatnonzero(
        np.abs(executors - np.rint(executors)) > ROUNDING * np.maximum(1.0, executors)
    ).tolist():
        name = spec.facts.classes[int(rows.of_class[place])].name
        message = f"jobs of class {name} have {shares.slots[0][place]:g} slots, and an executor {rows.step[place]:g}"
        yield _broken(spec, message)
    for place in np.flatnonzero(rows.drivers & (np.abs(shares.slots[1] - shares.jobs) > ROUNDING)).tolist():
        name = spec.facts.classes[int(rows.of_class[place])].name
        yield _broken(spec, f"{shares.jobs[place]:g} jobs of class {name} have {shares.slots[1][place]:g} drivers")
    for kind, slots in zip(("map", "reduce"), shares.slots, strict=True):
        for place in np.flatnonzero(~(np.abs(slots - np.rint(slots)) <= ROUNDING * np.maximum(1.0, slots))).tolist():
            name = spec.facts.classes[int(shares.rows.of_class[place])].name
            yield _broken(spec, f"jobs of class {name} have {slots[place]:g} {kind} slots, which is not a whole number")


def _held(spec: Spec, shares: Shares, packing: Packing) -> Iterator[Diagnostic]:
    """Check that all slots of every class are on VMs of the type on which they run, firm or spot."""
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


def _machines(spec: Spec, plan: CapacityPlan, ledger: Ledger, packing: Packing) -> Iterator[Diagnostic]:
    """Check that VMs are rented and do not exceed their resources, nor hold two classes if none is shared."""
    facts: CapacityFacts = spec.facts
    at, patterns = packing.of_pattern, len(packing.count)
    each = Rows(facts, packing.of_class, packing.of_vm[at])
    taken = np.asarray(np.where(packing.reduces, each.parts[1], each.parts[0]) * packing.slots, dtype=np.float64)
    parts = at_most_one(facts, packing.of_class, at, taken, patterns).max(axis=0)
    for pattern in np.flatnonzero(~(parts <= 1.0 + ROUNDING)).tolist():
        yield _broken(spec, f"slots that take {parts[pattern]:.10g} VMs lie on one")
    hosted = np.where(packing.reduces, each.per_vm[1], each.per_vm[0])
    if bool((packing.slots < 1).any() or (packing.count < 1).any()):
        yield _broken(spec, "a number of slots, or of VMs that hold them, is none")
    if bool((~packing.reduces & (packing.slots % each.step != 0.0)).any()):
        yield _broken(spec, "an executor lies on several VMs")
    if bool((hosted < 1.0).any()):
        yield _broken(spec, "slots lie on a VM that cannot host them")
    if plan.wholeness == MACHINES:
        pairs = np.unique(np.stack([at, packing.of_class]), axis=1)
        for pattern in np.flatnonzero(np.bincount(pairs[0], minlength=patterns) > 1).tolist():
            both = [plan.names[index] for index in pairs[1][pairs[0] == pattern][:2].tolist()]
            yield _broken(spec, f"classes {both[0]} and {both[1]} share a VM")
    there = _there(ledger)
    used = np.bincount(packing.of_vm * 2 + packing.spot, weights=packing.count, minlength=2 * len(facts.vms))
    for place in np.flatnonzero(used).tolist():
        vm, spot = facts.vms[place // 2], bool(place % 2)
        rented = there[vm.name, spot]
        if used[place] > rented + ROUNDING:
            what = f"{'spot' if spot else 'firm'} VMs of {vm.name}"
            yield _broken(spec, f"slots lie on {used[place]:g} {what}, of which {rented:g} are there")


def _there(ledger: Ledger) -> Mapping[tuple[str, bool], float]:
    """Count the VMs of each type that hold slots, firm and on spot."""
    there: defaultdict[tuple[str, bool], float] = defaultdict(float)
    for each in ledger.workers:
        there[each.vm, each.spot] += each.count
    return there


def _broken(spec: Spec, message: str) -> Diagnostic:
    return error("broken-plan", message, spec.facts.span_of("whole") or spec.facts.vms[0].span)


Floats = NDArray[np.float64]


def verify(spec: Spec, plan: CapacityPlan, relax: bool) -> Iterator[Diagnostic]:
    """Find the violations of a spec by a plan: deadlines, numbers of jobs, VMs, whole numbers, and its cost."""
    misfit = _misfit(spec.facts, plan)
    if misfit:
        yield error("broken-plan", misfit, spec.span)
        return
    facts: CapacityFacts = spec.facts
    shares, ledger = shares_of(facts, plan), ledger_of(facts, plan)
    yield from verify_wholeness(spec, plan, ledger, shares, relax)
    yield from _jobs(spec, plan, relax)
    yield from verify_promises(spec, plan, shares)
    yield from verify_shares(spec, plan, shares, about_runs_alone(spec))
    yield from _sums(spec, plan, shares)
    yield from check(facts, ledger, relax)
    yield from _vms(spec, ledger, shares)
    if plan.mix is not None:
        yield from verify_mix(spec, plan, ledger, shares, relax)
    vms, moved = cost_of(facts, ledger.rentals), cost_of_transfer(facts, plan)
    cost = vms + float(_penalties(facts, plan).sum()) + moved
    yield from claimed("all its parts", plan.total, cost, spec.span)
    yield from claimed("its VMs", plan.vm_cost, vms, spec.span, max(1.0, abs(cost)))
    yield from claimed("what is paid in any case", plan.mixture.sunk, prepaid_cost(facts, facts.period), spec.span)
    yield from claimed("the transfer", plan.transfer_cost, moved, spec.span)
    yield from claimed("disks", plan.disk_cost, cost_of_disks(facts, ledger.rentals), spec.span)


def measure(spec: Spec, plan: CapacityPlan) -> float:
    """Compute equation (5) of a plan, from its VMs and its admitted jobs."""
    facts: CapacityFacts = spec.facts
    vms = cost_of(facts, rentals_of(facts, plan))
    return vms + float(_penalties(facts, plan).sum()) + cost_of_transfer(facts, plan)


def whole_jobs(facts: CapacityFacts) -> tuple[Floats, Floats]:
    """Read the least and the most jobs of each class, in whole jobs."""
    return ceiling(column(facts.classes, "jobs.low")), floor(column(facts.classes, "jobs.high"))


def _penalties(facts: CapacityFacts, plan: CapacityPlan) -> Floats:
    return np.asarray(column(facts.classes, "penalty") * (whole_jobs(facts)[1] - plan.admitted))


def _misfit(facts: CapacityFacts, plan: CapacityPlan) -> str:
    """Explain why the plan does not have these classes and VM types; return an empty text if it does."""
    if list(plan.names) != list(names_of(facts.classes)):
        return "the plan is of other classes"
    if any_stages(facts.classes) and list(plan.stages) != [len(stages) for stages in stages_of(facts.classes)]:
        return "the plan is of classes of other stages"
    printed = facts.estimates == PAPER or plan.wholeness == NO
    if plan.own.tolist() != ([] if printed else (~shared(facts.classes)).tolist()):
        return "the plan is of classes whose jobs share slots otherwise"
    if plan.mix is not None:
        mix = plan.mix
        if list(mix.types) != [vm.name for vm in facts.vms]:
            return "the plan is of other VM types"
        inside = (mix.of_class, len(plan.names)), (mix.of_vm, len(facts.vms))
        if any(len(each) and not 0 <= int(each.min()) <= int(each.max()) < limit for each, limit in inside):
            return "the plan runs jobs of classes, or on VM types, that there are not"
        if len({(each.vm, each.way, each.term) for each in mix.bought}) < len(mix.bought):
            return "the plan buys VMs twice in the same way"
        return misfit(facts, rentals_of(facts, plan))
    vm = facts.vms[0]
    if len(facts.vms) > 1 or vm.spot is not None or vm.terms or masters_of(facts) or vm.available is not None:
        return "the plan does not say how its VMs are bought"
    return misfit(facts, rentals_of(facts, plan)) if plan.vm == vm.name else "the plan is of another VM type"


def _jobs(spec: Spec, plan: CapacityPlan, relax: bool) -> Iterator[Diagnostic]:
    low, high = whole_jobs(spec.facts)
    outside = ~(plan.admitted >= low - FEASIBILITY * np.maximum(1.0, low)) | ~(
        plan.admitted <= high + FEASIBILITY * np.maximum(1.0, high)
    )
    yield from _each(
        spec,
        outside,
        lambda name, i: f"{plan.admitted[i]:g} jobs of class {name} are admitted, outside {low[i]:g} .. {high[i]:g}",
    )
    if not relax:
        yield from _each(
            spec,
            plan.admitted != np.rint(plan.admitted),
            lambda name, i: f"{plan.admitted[i]:g} jobs of class {name} are admitted, not a whole number",
        )
    rejected = np.maximum(high - plan.admitted, 0.0)
    penalty = column(spec.facts.classes, "penalty") * rejected
    deadline = column(spec.facts.classes, "deadline")
    yield from _claimed(spec, "rejected jobs", plan.rejected, rejected, high)
    yield from _claimed(spec, "as the penalty", plan.penalty, penalty, penalty, "penalty")
    yield from _claimed(spec, "s as the deadline", plan.deadline, deadline, deadline, "deadline")


def _claimed(
    spec: Spec, what: str, said: Floats, right: Floats, size: Floats, item: str = "jobs"
) -> Iterator[Diagnostic]:
    """Compare a number of each class in the plan with the one from its parts."""
    yield from _each(
        spec,
        ~(np.abs(said - right) <= FEASIBILITY * np.maximum(1.0, size)),
        lambda name, i: f"the plan claims {said[i]:g} {what} of class {name}, not {right[i]:g}",
        item,
    )


def _sums(spec: Spec, plan: CapacityPlan, shares: Shares) -> Iterator[Diagnostic]:
    """Check that a class's numbers are sums over its shares, and its times those of the slowest share."""
    count, of_class = len(plan.names), shares.rows.of_class
    for what, shown, parts in (
        ("jobs", plan.admitted, shares.jobs),
        ("map slots", plan.map_slots, shares.slots[0]),
        ("reduce slots", plan.reduce_slots, shares.slots[1]),
        ("VMs", plan.vms, shares.vms),
    ):
        total = np.asarray(np.bincount(of_class, weights=parts, minlength=count), dtype=np.float64)
        yield from _claimed(spec, what, shown, total, total)
    times = plan.completion_lower, plan.completion_average, plan.completion_upper, plan.completion_mean
    for (estimate, each), shown in zip(shares.shown.items(), times, strict=False):
        slowest = np.full(count, -np.inf)
        np.maximum.at(slowest, of_class, np.where(np.isnan(each), np.inf, each))
        slowest = np.where(np.isfinite(slowest), slowest, np.nan)
        wrong = (np.isnan(slowest) != np.isnan(shown)) | (np.abs(slowest - shown) > FEASIBILITY * np.abs(slowest))
        yield from _each(
            spec,
            wrong,
            lambda name, i, estimate=estimate, shown=shown: (
                f"the plan claims {shown[i]:g} s as the {estimate} time of class {name}, which its slots do not give"
            ),
            "deadline",
        )


def _vms(spec: Spec, ledger: Ledger, shares: Shares) -> Iterator[Diagnostic]:
    """Check that the VMs that hold slots, firm and on spot, hold those of all classes."""
    facts: CapacityFacts = spec.facts
    lane, there = shares.rows.of_vm * 2 + shares.spot, _there(ledger)
    taken = at_most_one(facts, shares.rows.of_class, lane, shares.taken, 2 * len(facts.vms)).max(axis=0)
    for place in np.flatnonzero(taken).tolist():
        vm, needed = facts.vms[place // 2], float(taken[place])
        rented = there[vm.name, bool(place % 2)]
        if beyond(needed, rented) or rented <= 0.0:
            kind = "spot" if place % 2 else "firm"
            message = f"the classes' slots take {needed:g} {kind} VMs of {vm.name}, {rented:g} are rented"
            yield error("broken-plan", message, vm.span)


def _each(
    spec: Spec, flags: NDArray[np.bool_], message: Callable[..., str], item: str = "jobs"
) -> Iterator[Diagnostic]:
    classes: Any = spec.facts.classes
    for index in flags.nonzero()[0].tolist():
        node = classes[index]
        yield error("broken-plan", message(node.name, index), node.span_of(item))


def quantity(spec: Spec, plan: CapacityPlan, name: str, argument: str) -> float:
    """Compute the plan's value of a quantity that ``subject to`` may mention.

    ``completion(c)`` is :func:`promised_times`.
    """
    if name == "cost":
        rentals = [each for each in rentals_of(spec.facts, plan) if each.vm == argument]
        return cost_of(spec.facts, rentals) if argument else measure(spec, plan)
    if name == "vms":
        return sum(each.vms for each in plan.mixture.bought if argument in ("", each.vm))
    if name in ("share", "cores"):
        return _of_way(spec.facts, plan, name, *argument.partition(", ")[::2])
    index = list(plan.names).index(argument)
    if name == "admitted":
        return float(plan.admitted[index])
    if name == "on_time":
        return share_kept(spec, plan, shares_of(spec.facts, plan), argument)
    if name == "completion":
        return float(promised_times(spec, plan)[index])
    raise KeyError(name)


def _of_way(facts: CapacityFacts, plan: CapacityPlan, name: str, way: str, vm: str) -> float:
    """Compute the share or the cores of the VMs that are bought in one way, of all types, of one or of the largest."""
    each = {node.name: node.cores or 0.0 for node in facts.vms} if name == "cores" else {}
    of_type: defaultdict[str, float] = defaultdict(float)
    for part in plan.mixture.bought:
        of_type[part.vm] += part.vms * each.get(part.vm, 1.0) if part.way == way else 0.0
    most = max(of_type.values(), default=0.0) if vm == LARGEST else of_type[vm] if vm else sum(of_type.values())
    total = plan.mixture.total()
    return most if name == "cores" else most / total if total else float("nan")


def promised_times(spec: Spec, plan: CapacityPlan) -> NDArray[np.float64]:
    """Compute completion times of classes by their guaranteed estimate [s], of the slowest share; NaN without jobs.

    A class with `guarantee = p95` takes at most the limit that the plan's runs met.
    """
    times = completion(spec.facts, shares_of(spec.facts, plan))
    for index, limit in shown_limits(spec, plan):
        times[index] = np.minimum(times[index], limit)
    return times
