"""Warnings of a joint plan: fractions, whole slots beyond its VMs, deadlines met on average alone.

The last name the upper estimates of its jobs, and the cost of the plan that meets deadlines by them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.plan_warnings import UNPRICED, firm, hosting_vms, hosting_warnings, priced, soft_deadline_warnings
from mrdsl.contracts.wholeness import OF_A_MODEL, RELAXED, fractional_slots_hint
from mrdsl.core.diagnostics import Diagnostic
from mrdsl.families.joint.checks import find_impossible
from mrdsl.families.joint.facts import NO, WHOLENESS, as_planned
from mrdsl.families.joint.fleet import fleet_of
from mrdsl.families.joint.methods.greedy import greedy_draft, is_quick
from mrdsl.families.joint.plan import JointPlan
from mrdsl.families.joint.verify import verify as broken
from mrdsl.families.joint.workload import Floats
from mrdsl.formulas import mapreduce
from mrdsl.formulas.estimates import estimates_of, slots_per_vm
from mrdsl.simulation.simulated_means import time_model
from mrdsl.spec.columns import names_of
from mrdsl.spec.estimates import default_guarantee
from mrdsl.spec.spec import Spec

BEYOND = "is more than this cluster keeps"


def upper_times(spec: Spec, plan: JointPlan) -> Floats:
    """Return the upper estimate of a job of each class in its worst period [s]; NaN where it is not known or
    none runs.
    """
    if plan.by_type is not None:
        lanes = plan.by_type
        return fleet_of(spec).upper_times(lanes.at_once, lanes.map_slots, lanes.reduce_slots)
    got = plan.classes
    model = time_model(spec.facts, plan.whole != NO)
    upper = estimates_of(spec.facts.classes, model=model)["upper"]
    with np.errstate(divide="ignore", invalid="ignore"):
        each_map, each_reduce = got.map_slots / got.at_once, got.reduce_slots / got.at_once
        times = mapreduce.completion(upper, np.ones_like(each_map), each_map, each_reduce)
    times = np.where(got.admitted > 0, times, -np.inf).max(axis=0, initial=-np.inf)
    return np.where(np.isfinite(times), times, np.nan)


def price(spec: Spec, plan: JointPlan, relax: bool, soft: NDArray[np.bool_]) -> str:
    """Compare, in words, the cost with that of a greedy plan that meets the upper estimates of some classes."""
    if not is_quick(plan) or spec.constraints or plan.by_type is not None:
        return UNPRICED
    firmer = firm(spec, soft)
    if list(find_impossible(firmer)):
        return BEYOND
    found = greedy_draft(firmer, relax)
    if found.value is None:
        return BEYOND
    return priced(found.value, plan.total, spec.currency)


def verify(spec: Spec, plan: JointPlan, relax: bool) -> Iterator[Diagnostic]:
    """Yield the errors that verification finds in a plan, then warnings of its consequences."""
    found = tuple(broken(spec, plan, relax))
    yield from found
    yield from warnings_of(spec, plan, relax, not found)


def warnings_of(spec: Spec, plan: JointPlan, relax: bool, right: bool) -> Iterator[Diagnostic]:
    """Warn of the consequences of a plan; if it is not ``right``, only of those of the spec."""
    facts = spec.facts
    why, hint = RELAXED if relax else OF_A_MODEL, fractional_slots_hint("P2 and greedy")
    yield from WHOLENESS.implied(facts, plan.whole, facts.cluster.span, why, hint)
    if not right:
        return
    spec = as_planned(spec, plan.whole)
    if not relax and plan.whole == NO and plan.by_type is None:
        got = plan.classes
        needed = hosting_vms(got.map_slots, got.reduce_slots, *slots_per_vm(facts.classes))
        yield from hosting_warnings(names_of(facts.classes), needed, got.vms, facts.cluster.span)
    by = default_guarantee(facts, plan.whole != NO)
    yield from soft_deadline_warnings(spec, upper_times(spec, plan), partial(price, spec, plan, relax), by)
