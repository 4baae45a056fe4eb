"""Deadlines that a plan keeps on average alone, because nobody said by which estimate: what a bound would cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import Diagnostic, MrdslError, warning
from mrdsl.core.tolerances import FEASIBILITY
from mrdsl.core.units import show
from mrdsl.families.capacity.instance import instance_of
from mrdsl.families.capacity.methods.direct import direct
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.spec.columns import words
from mrdsl.spec.spec import Spec

MOST_PRICED = 2000
"""So many classes are solved once more to name a price; of more only the deadlines are told."""


def told_of_soft_deadlines(spec: Spec, plan: CapacityPlan, relax: bool) -> Iterator[Diagnostic]:
    """One warning where classes without ``guarantee`` have an upper estimate beyond their deadline.

    Classes of stages are left out: their upper estimate is a bound under premises of its own.
    """
    unsaid = (words(spec.facts.classes, "guarantee") == "") & (plan.stages == 0)
    soft = unsaid & (plan.completion_upper > plan.deadline * (1 + FEASIBILITY))
    if not soft.any():
        return
    index = int(soft.argmax())
    node, others = spec.facts.classes[index], int(soft.sum()) - 1
    more = f" (and {others} more {'class' if others == 1 else 'classes'})" if others else ""
    yield warning(
        "soft-deadline",
        f"by the upper estimate jobs of class {node.name} take {show(float(plan.completion_upper[index]), 'time')}, "
        f"beyond their deadline{more}: without `guarantee` the average meets it",
        node.span_of("deadline"),
        f"`guarantee = upper` {_price(spec, plan, soft, relax)}; `guarantee = average` says that the average is meant",
    )


def _price(spec: Spec, plan: CapacityPlan, soft: NDArray[np.bool_], relax: bool) -> str:
    """What the best plan costs that keeps the upper estimates instead, in words."""
    classes = spec.facts.classes
    if len(classes) > MOST_PRICED:
        return "makes it a bound"
    bound = tuple(replace(node, guarantee="upper") if late else node for node, late in zip(classes, soft, strict=True))
    firm = replace(spec, facts=replace(spec.facts, classes=bound))
    if not instance_of(firm).kept().all():
        return "is more than any cluster keeps"
    try:
        found = direct(firm, relax)
    except MrdslError:  # a comparison under `subject to` that takes a solver
        found = None
    if found is None or found.value is None:
        return "makes it a bound"
    return f"would cost {found.value:.2f} {spec.currency} instead of {plan.total:.2f}"
