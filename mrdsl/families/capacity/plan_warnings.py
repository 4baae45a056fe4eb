"""What is told beside a plan that is right: fractions, slots beyond VMs, idle VMs, deadlines met on average alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.hosting import told_of_sharing
from mrdsl.contracts.soft_deadlines import told_of_soft_deadlines
from mrdsl.contracts.wholeness import OF_A_MODEL, RELAXED, where_fractions_are_meant
from mrdsl.core.diagnostics import Diagnostic, warning
from mrdsl.core.whole_numbers import ceiling
from mrdsl.families.capacity.beyond_period import beyond_period_warnings
from mrdsl.families.capacity.facts import NO
from mrdsl.families.capacity.idle_vms import told_of_idle
from mrdsl.families.capacity.instance import ClassRuns, class_runs_of, instance_of
from mrdsl.families.capacity.mixture import Mixture
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.promises import is_about_runs, promises_of
from mrdsl.families.capacity.soft_deadlines import price
from mrdsl.families.capacity.verify import verify as broken
from mrdsl.families.capacity.wholeness import WHOLENESS, as_planned
from mrdsl.spec.columns import words
from mrdsl.spec.spec import Spec


def verify(spec: Spec, plan: CapacityPlan, relax: bool) -> Iterator[Diagnostic]:
    """Yield what a plan breaks, as verification finds it, then warnings of what the plan implies."""
    found = tuple(broken(spec, plan, relax))
    yield from found
    yield from warnings_of(spec, plan, relax, not found)


def warnings_of(spec: Spec, plan: CapacityPlan, relax: bool, right: bool) -> Iterator[Diagnostic]:
    """Warn of what a plan implies; of one that is not ``right`` only of what follows from the spec."""
    yield from _fractions(spec, plan, relax)
    whole_ones = "solve with P2 or direct" if spec.facts.whole is None else "write whole = slots"
    spec = as_planned(spec, plan.wholeness)
    if plan.mix is not None:
        yield from _upper_on_spot(spec, plan.mix)
    if not right:
        return
    if plan.mix is None and not relax and plan.wholeness == NO:
        runs = class_runs_of(spec.facts)
        yield from _hosting(spec, plan, runs, f"{whole_ones}, which plans for whole ones")
    yield from told_of_idle(spec, plan)
    yield from beyond_period_warnings(spec, plan)
    by_runs = [promise.index for promise in promises_of(spec) if not promise.beside]
    upper = plan.completion_upper.copy()
    upper[by_runs] = np.nan
    yield from told_of_soft_deadlines(spec, upper, partial(price, spec, plan, relax))


def _fractions(spec: Spec, plan: CapacityPlan, relax: bool) -> Iterator[Diagnostic]:
    """Tell why the plan has fractions where the spec leaves it open, and what to write instead."""
    if plan.wholeness != NO or plan.packing is not None:
        return
    why, hint = RELAXED if relax else OF_A_MODEL, where_fractions_are_meant("P2 and direct")
    if not relax and (plan.calibration is not None or is_about_runs(spec)):
        why = "where runs decide, classes have whole slots, which their jobs share"
        hint = "write whole = no, and it is meant"
    yield from WHOLENESS.implied(spec.facts, NO, spec.facts.vms[0].span, why, hint)


def _upper_on_spot(spec: Spec, mixture: Mixture) -> Iterator[Diagnostic]:
    """Warn where the upper estimate is promised to jobs on spot VMs, once for a spec."""
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


def _hosting(spec: Spec, plan: CapacityPlan, runs: ClassRuns, instead: str) -> Iterator[Diagnostic]:
    """Warn of what the slots take once they are whole for every class; ``instead`` says what to do."""
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
