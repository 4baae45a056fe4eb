"""A finished bounds plan, checked from the facts alone: equation (4) again, and no closed form for slots."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.tolerances import FEASIBILITY
from mrdsl.families.bounds.estimates import estimates_of, promised_times
from mrdsl.families.bounds.facts import BoundsFacts, sizes_of
from mrdsl.families.bounds.plan import BoundsPlan
from mrdsl.formulas.mapreduce import Floats
from mrdsl.spec.columns import column, names_of
from mrdsl.spec.spec import Spec


def verify(spec: Spec, plan: BoundsPlan, relax: bool) -> Iterator[Diagnostic]:
    """What the plan breaks: deadlines, tasks that limit slots, slots that the cluster has."""
    facts: BoundsFacts = spec.facts
    if plan.sizes:
        yield from _deadlines(spec, plan)
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


def _promised(spec: Spec, plan: BoundsPlan) -> Floats:
    return promised_times(spec.facts, estimates_of(spec.facts), plan.map_slots, plan.reduce_slots)
