"""A finished plan, checked and valued from the facts alone: equations (4) to (9) of paper 000, no closed form."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.hosting import told_of_sharing
from mrdsl.contracts.soft_deadlines import told_of_soft_deadlines
from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.tolerances import FEASIBILITY
from mrdsl.core.whole_numbers import ceiling
from mrdsl.families.capacity.facts import NO
from mrdsl.families.capacity.idle_vms import told_of_idle
from mrdsl.families.capacity.instance import ClassRuns, class_runs_of, instance_of, prices_of, whole_jobs
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.quantities import completion, measure
from mrdsl.families.capacity.soft_deadlines import price
from mrdsl.families.capacity.verify_mix import told_of_spot, verify_mix
from mrdsl.families.capacity.verify_packing import verify_wholeness
from mrdsl.families.capacity.verify_promises import about_runs_alone, verify_promises
from mrdsl.families.capacity.wholeness import as_planned
from mrdsl.formulas import mapreduce
from mrdsl.spec.columns import column, names_of
from mrdsl.spec.spec import Spec


def verify(spec: Spec, plan: CapacityPlan, relax: bool) -> Iterator[Diagnostic]:
    """What of the spec the plan breaks: deadlines, numbers of jobs, VMs, whole numbers, the cost that it claims."""
    yield from verify_wholeness(spec, plan, relax)
    whole_ones = "solve with P2 or direct" if spec.facts.whole is None else "write whole = slots"
    spec = as_planned(spec, plan.wholeness)
    yield from _jobs(spec, plan, relax)
    yield from verify_promises(spec, plan)
    hosting: Iterator[Diagnostic] = iter(())
    if plan.mix is None:
        runs = class_runs_of(spec.facts)
        yield from _deadlines(spec, plan, runs)
        yield from _slots(spec, plan, runs)
        broken = list(_vms(spec, plan, runs, relax))
        if not relax and not broken and plan.wholeness == NO:
            hosting = _hosting(spec, plan, runs, f"{whole_ones}, which plans for whole ones")
    else:
        broken = list(verify_mix(spec, plan, plan.mix, relax))
        yield from told_of_spot(spec, plan.mix)
    yield from broken
    yield from hosting
    if not broken:
        yield from told_of_idle(spec, plan)
        upper = np.where(about_runs_alone(spec), np.nan, plan.completion_upper)
        yield from told_of_soft_deadlines(spec, upper, plan.stages, partial(price, spec, plan, relax))
    cost = measure(spec, plan)
    if abs(cost - plan.total) > FEASIBILITY * max(1.0, abs(cost)):
        yield error("broken-plan", f"the plan claims a cost of {plan.total:g}, its parts cost {cost:g}", spec.span)


def _jobs(spec: Spec, plan: CapacityPlan, relax: bool) -> Iterator[Diagnostic]:
    low, high = whole_jobs(spec.facts)
    outside = (plan.admitted < low - FEASIBILITY * np.maximum(1.0, low)) | (
        plan.admitted > high + FEASIBILITY * np.maximum(1.0, high)
    )
    yield from _each(
        spec,
        outside,
        "jobs",
        lambda name, i: f"{plan.admitted[i]:g} jobs of class {name} are admitted, outside {low[i]:g} .. {high[i]:g}",
    )
    if not relax:
        yield from _each(
            spec,
            plan.admitted != np.rint(plan.admitted),
            "jobs",
            lambda name, i: f"{plan.admitted[i]:g} jobs of class {name} are admitted, not a whole number",
        )


def _deadlines(spec: Spec, plan: CapacityPlan, runs: ClassRuns) -> Iterator[Diagnostic]:
    time = completion(plan, runs)
    deadline = column(spec.facts.classes, "deadline")
    by_estimate = ~about_runs_alone(spec)
    yield from _each(
        spec,
        by_estimate & (time > deadline * (1 + FEASIBILITY)),
        "deadline",
        lambda name, i: (
            f"jobs of class {name} take {time[i]:g} s on their slots, beyond the deadline of {deadline[i]:g} s"
        ),
    )
    for estimate, shown in (
        ("lower", plan.completion_lower),
        ("average", plan.completion_average),
        ("upper", plan.completion_upper),
    ):
        work = runs.estimates[estimate]
        real = mapreduce.completion(work, plan.admitted, plan.map_slots, plan.reduce_slots)
        wrong = (np.isnan(real) != np.isnan(shown)) | (
            np.abs(real - shown) > FEASIBILITY * np.maximum(1.0, np.abs(real))
        )
        yield from _each(
            spec,
            wrong,
            "deadline",
            lambda name, i, real=real, shown=shown: (
                f"the plan claims that jobs of class {name} take {shown[i]:g} s, they take {real[i]:g} s"
            ),
        )


def _slots(spec: Spec, plan: CapacityPlan, runs: ClassRuns) -> Iterator[Diagnostic]:
    """Outside these limits the estimates, and with them the deadlines, mean nothing."""
    limits = runs.limits
    for kind, slots, least, most in (
        ("map", plan.map_slots, limits.map_least, limits.map_most),
        ("reduce", plan.reduce_slots, limits.reduce_least, limits.reduce_most),
    ):
        few = slots < least * plan.admitted * (1 - FEASIBILITY)
        yield from _each(
            spec,
            few,
            "slots",
            lambda name, i, kind=kind, slots=slots: (
                f"{plan.admitted[i]:g} jobs of class {name} share {slots[i]:g} {_kind(plan, i, kind)} slots, less than "
                "one each"
            ),
        )
        known = np.where(np.isfinite(most), most, 0.0)
        many = np.isfinite(most) & (slots > known * plan.admitted * (1 + FEASIBILITY) + FEASIBILITY)
        yield from _each(
            spec,
            many,
            "slots",
            lambda name, i, kind=kind, slots=slots, known=known: (
                f"{plan.admitted[i]:g} jobs of class {name} have {slots[i]:g} {_kind(plan, i, kind)} slots, more than "
                f"the {known[i]:g} tasks of each use"
            ),
        )


def _kind(plan: CapacityPlan, index: int, kind: str) -> str:
    return "task" if plan.stages[index] else kind


def _vms(spec: Spec, plan: CapacityPlan, runs: ClassRuns, relax: bool) -> Iterator[Diagnostic]:
    prices = prices_of(spec.facts)
    map_per_vm, reduce_per_vm = runs.per_vm
    taken = float((plan.map_slots / map_per_vm + plan.reduce_slots / reduce_per_vm).sum())
    rented = plan.on_demand + plan.reserved
    if taken > rented + FEASIBILITY * max(1.0, taken) or (taken > 0.0 and rented <= 0.0):
        yield error("broken-plan", f"the classes' slots take {taken:g} VMs, {rented:g} are rented", spec.span)
    if plan.reserved > prices.available + FEASIBILITY:
        yield error("broken-plan", f"{plan.reserved:g} reserved VMs are used of {prices.available}", spec.span)
    if plan.reserved < -FEASIBILITY or plan.on_demand < -FEASIBILITY:
        yield error("broken-plan", "a number of VMs is negative", spec.span)
    if not relax and (plan.reserved != round(plan.reserved) or plan.on_demand != round(plan.on_demand)):
        yield error("broken-plan", f"{plan.on_demand:g} and {plan.reserved:g} VMs are no whole numbers", spec.span)


def _hosting(spec: Spec, plan: CapacityPlan, runs: ClassRuns, instead: str) -> Iterator[Diagnostic]:
    """What the slots take once they are whole for every class, as a scheduler is told them; what to do ``instead``."""
    map_per_vm, reduce_per_vm = runs.per_vm

    def hosting(map_slots: NDArray[np.float64], reduce_slots: NDArray[np.float64]) -> float:
        return float((ceiling(map_slots) / map_per_vm + ceiling(reduce_slots) / reduce_per_vm).sum())

    needed, rented = hosting(plan.map_slots, plan.reduce_slots), plan.on_demand + plan.reserved
    if needed <= rented:
        return
    instance = instance_of(spec)
    per_job = [np.where(np.isfinite(each), each, 0.0) for each in instance.slots_per_job]
    held = plan.map_slots, plan.reduce_slots
    fewest = all(np.allclose(each * plan.admitted, slots) for each, slots in zip(per_job, held, strict=True))
    most = hosting(*(each * instance.expected for each in per_job)) if fewest else None
    yield from told_of_sharing(needed, rented, most, spec.facts.vms[0].span, instead)


def _each(spec: Spec, flags: NDArray[np.bool_], item: str, message: object) -> Iterator[Diagnostic]:
    classes = spec.facts.classes
    for index in flags.nonzero()[0].tolist():
        yield error(
            "broken-plan",
            message(names_of(classes)[index], index),  # type: ignore[operator]
            classes[index].span_of(item),
        )
