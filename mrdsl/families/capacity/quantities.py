"""What a plan is worth, and what ``subject to`` may ask of it, from the facts and the plan alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mrdsl.families.capacity.facts import CapacityFacts
from mrdsl.families.capacity.instance import ClassRuns, class_runs_of, prices_of, whole_jobs
from mrdsl.families.capacity.mix import mix_of
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.promises import KEPT
from mrdsl.families.capacity.verify_mix import share_of, vm_cost
from mrdsl.families.capacity.verify_promises import share_kept
from mrdsl.formulas import mapreduce
from mrdsl.spec.columns import column
from mrdsl.spec.spec import Spec


def measure(spec: Spec, plan: CapacityPlan) -> float:
    """Equation (5) of a plan, from its VMs and its admitted jobs."""
    facts: CapacityFacts = spec.facts
    expected = whole_jobs(facts)[1]
    penalties = float(column(facts.classes, "penalty") @ (expected - plan.admitted))
    if plan.mix is not None:
        return vm_cost(mix_of(spec), plan.mix) + penalties
    return prices_of(facts).cost(plan.on_demand, plan.reserved) + penalties


def quantity(spec: Spec, plan: CapacityPlan, name: str, argument: str) -> float:
    """The plan's value of a quantity that ``subject to`` may mention.

    ``completion(c)`` is that of the guaranteed estimate; NaN where no job of the class is admitted.
    """
    if name in ("cost", "vms", "share") and (argument or plan.mix is not None):
        return _of_vms(spec, plan, name, argument)
    if name == "cost":
        return measure(spec, plan)
    if name == "vms":
        return plan.on_demand + plan.reserved
    index = list(plan.names).index(argument)
    if name == "admitted":
        return float(plan.admitted[index])
    if name == KEPT:
        return share_kept(spec, plan, argument)
    if name == "completion":
        return float(completion(plan, class_runs_of(spec.facts))[index])
    raise KeyError(name)


def _of_vms(spec: Spec, plan: CapacityPlan, name: str, argument: str) -> float:
    """What may be asked of single VM types and ways of buying."""
    if plan.mix is None:
        total = plan.on_demand + plan.reserved
        if name == "share":
            part = {"on_demand": plan.on_demand, "reserved": plan.reserved}.get(argument, 0.0)
            return part / total if total else float("nan")
        return total if name == "vms" else plan.vm_cost
    if name == "share":
        return share_of(plan.mix, argument)
    if name == "vms":
        return plan.mix.total(vm=argument or None)
    return vm_cost(mix_of(spec), plan.mix, argument) if argument else measure(spec, plan)


def completion(plan: CapacityPlan, runs: ClassRuns) -> NDArray[np.float64]:
    """The completion time of each class by its guaranteed estimate, from the slots of the plan."""
    return mapreduce.completion(runs.work, plan.admitted, plan.map_slots, plan.reduce_slots)
