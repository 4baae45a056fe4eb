"""What only plans of several VM types say, checked from the facts: sums over ways of buying, and limits of classes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.tolerances import FEASIBILITY
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.verify_prices import paid_in_any_case, vms_of
from mrdsl.families.capacity.verify_shares import Shares
from mrdsl.spec.columns import column
from mrdsl.spec.machines import ONE, any_rows, shared_rows
from mrdsl.spec.spec import Spec


def verify_mix(spec: Spec, plan: CapacityPlan, shares: Shares, relax: bool) -> Iterator[Diagnostic]:
    """Find what the sums over ways of buying, and the shares of a class together, break."""
    assert plan.mix is not None
    facts, bought = spec.facts, vms_of(spec.facts, plan)
    for way, shown in (("on_demand", plan.on_demand), ("reserved", plan.reserved)):
        total = sum(count for each, count in bought.items() if each[1] == way)
        if not abs(total - shown) <= FEASIBILITY * max(1.0, total):
            yield error("broken-plan", f"{total:g} VMs are bought {way.replace('_', ' ')}, not {shown:g}", spec.span)
    sunk = paid_in_any_case(facts)
    if not abs(plan.mix.sunk - sunk) <= FEASIBILITY * max(1.0, sunk):
        message = f"the plan claims that {plan.mix.sunk:g} are paid in any case, not {sunk:g}"
        yield error("broken-plan", message, spec.span)
    if [float(vm.masters) for vm in facts.vms] != np.asarray(plan.mix.masters).tolist():
        yield error("broken-plan", "the masters of the plan are not those of the spec", spec.span)
    if not relax and bool((shares.jobs != np.rint(shares.jobs)).any()):
        yield error("broken-plan", "jobs on a VM type are no whole number", spec.span)
    yield from _spot(spec, shares)
    if not relax:
        yield from _together(spec, shares)


def _spot(spec: Spec, shares: Shares) -> Iterator[Diagnostic]:
    """Check the part of each class's VM time that is on spot VMs."""
    classes, of_class = spec.facts.classes, shares.rows.of_class
    most = np.nan_to_num(column(classes, "spot", missing=1.0), nan=1.0)
    every = np.bincount(of_class, weights=shares.vms, minlength=len(most))
    spot = np.bincount(of_class, weights=shares.vms * shares.spot, minlength=len(most))
    for index in np.flatnonzero(~(spot <= most * every + FEASIBILITY * np.maximum(1.0, every))).tolist():
        node = classes[index]
        message = f"{spot[index]:g} of {every[index]:g} VMs of class {node.name} are spot, above {most[index]:g}"
        yield error("broken-plan", message, node.span_of("spot"))


def _together(spec: Spec, shares: Shares) -> Iterator[Diagnostic]:
    """Check that jobs which stay together run on one type."""
    classes, rows = spec.facts.classes, shares.rows
    if not any_rows(classes, "types"):
        return
    types: dict[int, set[int]] = {}
    for index, vm in zip(rows.of_class.tolist(), rows.of_vm.tolist(), strict=True):
        types.setdefault(index, set()).add(vm)
    for index, said in enumerate(shared_rows(classes, "types")):
        if said == (ONE,) and len(types.get(index, ())) > 1:
            node = classes[index]
            message = f"jobs of class {node.name} run on {len(types[index])} types, not on one"
            yield error("broken-plan", message, node.span_of("types"))
