"""The upper estimates of a joint plan's jobs, and what the plan costs that keeps deadlines by them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.soft_deadlines import UNPRICED, firm, priced
from mrdsl.families.joint.checks import find_impossible
from mrdsl.families.joint.methods.greedy import greedy_draft, is_quick
from mrdsl.families.joint.plan import JointPlan
from mrdsl.families.joint.workload import Floats
from mrdsl.formulas import mapreduce
from mrdsl.formulas.estimates import estimates_of
from mrdsl.spec.spec import Spec

BEYOND = "is more than this cluster keeps"


def upper_times(spec: Spec, plan: JointPlan) -> Floats:
    """The upper estimate of a job of each class in its worst period [s]; NaN where it is not known or none runs."""
    got = plan.classes
    upper = estimates_of(spec.facts.classes)["upper"]
    with np.errstate(divide="ignore", invalid="ignore"):
        each_map, each_reduce = got.map_slots / got.at_once, got.reduce_slots / got.at_once
        times = mapreduce.completion(upper, np.ones_like(each_map), each_map, each_reduce)
    times = np.where(got.admitted > 0, times, -np.inf).max(axis=0, initial=-np.inf)
    return np.where(np.isfinite(times), times, np.nan)


def price(spec: Spec, plan: JointPlan, relax: bool, soft: NDArray[np.bool_]) -> str:
    """What the greedy's plan costs that keeps the upper estimates of some classes, beside this one, in words."""
    if not is_quick(plan) or spec.constraints:
        return UNPRICED
    firmer = firm(spec, soft)
    if list(find_impossible(firmer)):
        return BEYOND
    found = greedy_draft(firmer, relax)
    if found.value is None:
        return BEYOND
    return priced(found.value, plan.total, spec.currency)
