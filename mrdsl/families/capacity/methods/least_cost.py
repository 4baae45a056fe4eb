"""A bound on the cost of a large spec, to compare specs that differ in one number."""

from __future__ import annotations

from math import inf

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.result import Termination
from mrdsl.core.rounding import ROUNDING
from mrdsl.families.capacity.constraints import is_about_runs, serves
from mrdsl.families.capacity.facts import MACHINES
from mrdsl.families.capacity.formulations import LARGE_OF_A_CATALOGUE
from mrdsl.families.capacity.methods.class_columns import tightened
from mrdsl.families.capacity.methods.direct import read
from mrdsl.families.capacity.methods.lane_prices import Task
from mrdsl.families.capacity.methods.relaxation import never_fits, relaxed
from mrdsl.families.capacity.methods.rental import rented
from mrdsl.families.capacity.methods.weighing import weighed
from mrdsl.spec.spec import Spec


def bound(spec: Spec, near: Spec | None = None) -> float | None:
    """Return the least cost with parts of jobs and VMs; None for a spec that is small or has other comparisons."""
    facts = spec.facts
    lanes = sum(1 + (vm.spot is not None) for vm in facts.vms)
    if facts.demand is not None or len(facts.classes) * lanes < LARGE_OF_A_CATALOGUE:
        return None
    if is_about_runs(spec) or not serves(spec):
        return None
    draft = read(spec, Draft(spec))
    if draft.termination is Termination.INFEASIBLE:
        return inf
    task: Task = draft.state
    alone = task.mix.wholeness == MACHINES
    if task.mix.sizes is not None and not alone:
        program = rented(spec, task, None)
        return inf if program.is_impossible(None) else program.bound
    below = weighed(task)[1]
    counted = tightened(below) if alone else below
    found = relaxed(counted, ROUNDING)
    return inf if found.lacking > ROUNDING and never_fits(counted) else found.bound
