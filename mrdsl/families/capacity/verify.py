"""A finished plan, checked and valued from the facts as they are written: equations (4) to (9) of paper 000.

What follows from the facts is worked out anew: nothing here calls what builds plans.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.tolerances import FEASIBILITY
from mrdsl.core.whole_numbers import ceiling, floor
from mrdsl.families.capacity.facts import CapacityFacts
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.verify_mix import verify_mix
from mrdsl.families.capacity.verify_packing import verify_wholeness
from mrdsl.families.capacity.verify_prices import offered, vm_cost, vms_of
from mrdsl.families.capacity.verify_promises import about_runs_alone, verify_promises
from mrdsl.families.capacity.verify_shares import Shares, shares_of, verify_shares
from mrdsl.spec.columns import column, names_of
from mrdsl.spec.spec import Spec
from mrdsl.spec.stages import any_stages, stages_of

Floats = NDArray[np.float64]


def verify(spec: Spec, plan: CapacityPlan, relax: bool) -> Iterator[Diagnostic]:
    """Find what of the spec the plan breaks: deadlines, numbers of jobs, VMs, whole numbers, the cost it claims."""
    misfit = _misfit(spec.facts, plan)
    if misfit:
        yield error("broken-plan", misfit, spec.span)
        return
    shares = shares_of(spec.facts, plan)
    yield from verify_wholeness(spec, plan, shares, relax)
    yield from _jobs(spec, plan, relax)
    yield from verify_promises(spec, plan, shares)
    yield from verify_shares(spec, plan, shares, about_runs_alone(spec))
    yield from _sums(spec, plan, shares)
    yield from _vms(spec, plan, shares, relax)
    if plan.mix is not None:
        yield from verify_mix(spec, plan, shares, relax)
    vms, penalties = vm_cost(spec.facts, plan), _penalties(spec.facts, plan)
    cost = vms + float(penalties.sum())
    if not abs(cost - plan.total) <= FEASIBILITY * max(1.0, abs(cost)):
        yield error("broken-plan", f"the plan claims a cost of {plan.total:g}, its parts cost {cost:g}", spec.span)
    elif not abs(vms - plan.vm_cost) <= FEASIBILITY * max(1.0, abs(cost)):
        yield error("broken-plan", f"the plan claims {plan.vm_cost:g} for its VMs, which cost {vms:g}", spec.span)


def measure(spec: Spec, plan: CapacityPlan) -> float:
    """Compute equation (5) of a plan, from its VMs and its admitted jobs."""
    return vm_cost(spec.facts, plan) + float(_penalties(spec.facts, plan).sum())


def whole_jobs(facts: CapacityFacts) -> tuple[Floats, Floats]:
    """Read the least and the most jobs of each class, in whole jobs."""
    return ceiling(column(facts.classes, "jobs.low")), floor(column(facts.classes, "jobs.high"))


def _penalties(facts: CapacityFacts, plan: CapacityPlan) -> Floats:
    return np.asarray(column(facts.classes, "penalty") * (whole_jobs(facts)[1] - plan.admitted))


def _misfit(facts: CapacityFacts, plan: CapacityPlan) -> str:
    """Say in words why the plan is not one of these classes and VM types; nothing if it may be."""
    if list(plan.names) != list(names_of(facts.classes)):
        return "the plan is of other classes"
    if any_stages(facts.classes) and list(plan.stages) != [len(stages) for stages in stages_of(facts.classes)]:
        return "the plan is of classes of other stages"
    if plan.mix is not None:
        mix = plan.mix
        if list(mix.types) != [vm.name for vm in facts.vms]:
            return "the plan is of other VM types"
        if {(each.vm, each.way, each.term) for each in mix.bought} - offered(facts).keys():
            return "the plan buys VMs in a way that there is not"
        if len({(each.vm, each.way, each.term) for each in mix.bought}) < len(mix.bought):
            return "the plan buys VMs twice in the same way"
        inside = (mix.of_class, len(plan.names)), (mix.of_vm, len(facts.vms))
        if any(len(each) and not 0 <= int(each.min()) <= int(each.max()) < limit for each, limit in inside):
            return "the plan runs jobs of classes, or on VM types, that there are not"
        return ""
    vm = facts.vms[0]
    if len(facts.vms) > 1 or vm.spot is not None or vm.terms or vm.masters or vm.available is not None:
        return "the plan does not say how its VMs are bought"
    return "" if plan.vm == vm.name else "the plan is of another VM type"


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
    yield from _each(
        spec,
        ~(np.abs(plan.rejected - rejected) <= FEASIBILITY * np.maximum(1.0, high)),
        lambda name, i: f"the plan claims {plan.rejected[i]:g} rejected jobs of class {name}, of {rejected[i]:g}",
    )
    penalty = column(spec.facts.classes, "penalty") * rejected
    yield from _each(
        spec,
        ~(np.abs(plan.penalty - penalty) <= FEASIBILITY * np.maximum(1.0, penalty)),
        lambda name, i: f"the plan claims a penalty of {plan.penalty[i]:g} for class {name}, not {penalty[i]:g}",
        "penalty",
    )
    deadline = column(spec.facts.classes, "deadline")
    yield from _each(
        spec,
        ~(np.abs(plan.deadline - deadline) <= FEASIBILITY * deadline),
        lambda name, i: f"the plan claims a deadline of {plan.deadline[i]:g} s for class {name}",
        "deadline",
    )


def _sums(spec: Spec, plan: CapacityPlan, shares: Shares) -> Iterator[Diagnostic]:
    """Check that what the plan says of a class is the sum over its shares, and its times those of the slowest."""
    count, of_class = len(plan.names), shares.rows.of_class
    for what, shown, parts in (
        ("jobs", plan.admitted, shares.jobs),
        ("map slots", plan.map_slots, shares.slots[0]),
        ("reduce slots", plan.reduce_slots, shares.slots[1]),
        ("VMs", plan.vms, shares.vms),
    ):
        total = np.bincount(of_class, weights=parts, minlength=count)
        yield from _each(
            spec,
            ~(np.abs(total - shown) <= FEASIBILITY * np.maximum(1.0, total)),
            lambda name, i, what=what, shown=shown, total=total: (
                f"the {what} of class {name} on all types are {total[i]:g}, not {shown[i]:g}"
            ),
        )
    times = plan.completion_lower, plan.completion_average, plan.completion_upper
    for (estimate, each), shown in zip(shares.shown.items(), times, strict=True):
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


def _vms(spec: Spec, plan: CapacityPlan, shares: Shares, relax: bool) -> Iterator[Diagnostic]:
    """Check that what is bought holds what is taken, and that there is as much of it."""
    facts, bought, offers = spec.facts, vms_of(spec.facts, plan), offered(spec.facts)
    spans = {vm.name: vm.span for vm in facts.vms}
    for way, offer in offers.items():
        count, label = bought.get(way, 0.0), " ".join(filter(None, way[1:]))
        if not count >= -FEASIBILITY:
            yield error("broken-plan", "a number of VMs is negative", spans[way[0]])
        if not count <= offer.available + FEASIBILITY:
            message = f"{count:g} VMs of {way[0]} are {label} of {offer.available:g}"
            yield error("broken-plan", message, spans[way[0]])
        if not relax and count != round(count):
            yield error("broken-plan", f"{count:g} VMs of {way[0]} are no whole number", spans[way[0]])
    for way, count in bought.items():
        if count > FEASIBILITY and way not in offers:
            yield error("broken-plan", f"{count:g} VMs of {way[0]} are {way[1]}, of which there are none", spec.span)
    lane = shares.rows.of_vm * 2 + shares.spot
    taken = np.array([np.bincount(lane, weights=each, minlength=2 * len(facts.vms)) for each in shares.taken])
    there: defaultdict[tuple[str, bool], float] = defaultdict(float)
    for way, count in bought.items():
        there[way[0], way[1] == "spot"] += count
    for number, vm in enumerate(facts.vms):
        for spot in (False, True):
            needed = float(taken[:, 2 * number + spot].max()) + (0 if spot else vm.masters)
            rented = there[vm.name, spot]
            if needed > rented + FEASIBILITY * max(1.0, needed) or (needed > 0.0 and rented <= 0.0):
                kind = "spot" if spot else "firm"
                message = f"the classes' slots take {needed:g} {kind} VMs of {vm.name}, {rented:g} are rented"
                yield error("broken-plan", message, vm.span)
        rented = there[vm.name, False] + there[vm.name, True]
        if vm.available is not None and rented > vm.available + FEASIBILITY:
            message = f"{rented:g} VMs of {vm.name} are rented of {vm.available:g}"
            yield error("broken-plan", message, vm.span_of("available"))


def _each(
    spec: Spec, flags: NDArray[np.bool_], message: Callable[..., str], item: str = "jobs"
) -> Iterator[Diagnostic]:
    classes: Any = spec.facts.classes
    for index in flags.nonzero()[0].tolist():
        node = classes[index]
        yield error("broken-plan", message(node.name, index), node.span_of(item))
