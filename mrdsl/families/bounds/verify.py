"""A finished bounds plan, checked from the facts alone: equation (4) again, and no closed form for slots."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.soft_deadlines import IMPOSSIBLE, UNPRICED, firm, told_of_soft_deadlines
from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.tolerances import FEASIBILITY
from mrdsl.families.bounds.checks import find_impossible
from mrdsl.families.bounds.estimates import estimates_of, promised_times
from mrdsl.families.bounds.facts import BoundsFacts, sizes_of
from mrdsl.families.bounds.formulas import plan_of
from mrdsl.families.bounds.plan import BoundsPlan
from mrdsl.formulas.mapreduce import Floats
from mrdsl.spec.columns import column, names_of
from mrdsl.spec.spec import Spec

MOST_PRICED = 2000
"""So many classes are sized once more to name the slots of a bound; of more only the deadlines are told."""


def verify(spec: Spec, plan: BoundsPlan, relax: bool) -> Iterator[Diagnostic]:
    """What the plan breaks: deadlines, tasks that limit slots, slots that the cluster has."""
    facts: BoundsFacts = spec.facts
    if plan.sizes:
        yield from _deadlines(spec, plan)
        yield from told_of_soft_deadlines(spec, plan.completion["upper"], plan.stages, partial(_price, spec, plan))
        return
    assert facts.cluster is not None
    assert facts.cluster.slots is not None
    if facts.cluster.scheduler == "fifo":
        return
    maps, reduces = sizes_of(facts.cluster.slots)
    for kind, slots, there in (("map", plan.map_slots, maps), ("reduce", plan.reduce_slots, reduces)):
        used = float(slots @ plan.jobs)
        if used > there * (1.0 + FEASIBILITY):
            yield error("broken-plan", f"the jobs share {used:g} {kind} slots, and there are {there}", spec.span)


def measure(spec: Spec, plan: BoundsPlan) -> float | None:
    """The goal's value: slots of all jobs; None for `estimate completion`, which has none."""
    return plan.slots if plan.sizes else None


def quantity(spec: Spec, plan: BoundsPlan, name: str, argument: str) -> float:
    """``completion(c)`` by the class's guaranteed estimate, and ``slots`` of all jobs."""
    if name == "slots":
        return plan.slots
    if name == "completion":
        return float(_promised(spec, plan)[list(plan.names).index(argument)])
    raise KeyError(name)


def _deadlines(spec: Spec, plan: BoundsPlan) -> Iterator[Diagnostic]:
    classes = spec.facts.classes
    profile = estimates_of(spec.facts).profile
    times, deadline = _promised(spec, plan), column(classes, "deadline")
    late = times > deadline * (1.0 + FEASIBILITY)
    many = (plan.map_slots > profile.map_tasks * (1.0 + FEASIBILITY)) | (
        plan.reduce_slots > profile.reduce_tasks * (1.0 + FEASIBILITY)
    )
    for index in map(int, np.flatnonzero(late)):
        yield error(
            "broken-plan",
            f"class {names_of(classes)[index]} takes {times[index]:g} s, its deadline is {deadline[index]:g} s",
            classes[index].span_of("deadline"),
        )
    few = (plan.map_slots < 1.0 - FEASIBILITY) | (
        plan.reduce_slots < np.minimum(profile.reduce_tasks, 1.0) * (1.0 - FEASIBILITY)
    )
    for flags, what in ((many, "has more slots than tasks"), (few, "has less than one slot of a kind that it uses")):
        for index in map(int, np.flatnonzero(flags)):
            yield error("broken-plan", f"class {names_of(classes)[index]} {what}", classes[index].span)


def _price(spec: Spec, plan: BoundsPlan, soft: NDArray[np.bool_]) -> str:
    """The slots that keep the upper estimates of some classes beside those of the plan, in words."""
    if spec.constraints or len(soft) > MOST_PRICED:
        return UNPRICED
    firmer = firm(spec, soft)
    if list(find_impossible(firmer)):
        return IMPOSSIBLE
    return f"would take {plan_of(firmer).slots:.2f} slots instead of {plan.slots:.2f}"


def _promised(spec: Spec, plan: BoundsPlan) -> Floats:
    return promised_times(spec.facts, estimates_of(spec.facts), plan.map_slots, plan.reduce_slots)
