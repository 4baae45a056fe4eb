"""Warnings of a bounds plan: deadlines met on average alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.plan_warnings import IMPOSSIBLE, UNPRICED, firm, soft_deadline_warnings
from mrdsl.core.diagnostics import Diagnostic
from mrdsl.families.bounds.checks import find_impossible
from mrdsl.families.bounds.models import plan_of
from mrdsl.families.bounds.plan import BoundsPlan
from mrdsl.families.bounds.verify import verify as broken
from mrdsl.spec.estimates import default_guarantee
from mrdsl.spec.spec import Spec

MOST_PRICED = 2000
"""Most classes for which the slots of a bound are computed; of more, only the deadlines are reported."""


def verify(spec: Spec, plan: BoundsPlan, relax: bool) -> Iterator[Diagnostic]:
    """Yield the errors of a plan that verification finds; for a correct plan, its warnings."""
    found = tuple(broken(spec, plan, relax))
    yield from found or warnings_of(spec, plan)


def warnings_of(spec: Spec, plan: BoundsPlan) -> Iterator[Diagnostic]:
    """Warn of classes without ``guarantee`` whose upper estimate misses the deadline that slots were sized for."""
    if plan.sizes:
        by = default_guarantee(spec.facts, True)
        yield from soft_deadline_warnings(spec, plan.completion["upper"], partial(_price, spec, plan), by)


def _price(spec: Spec, plan: BoundsPlan, soft: NDArray[np.bool_]) -> str:
    """Compare, in words, the slots that meet the upper estimates of some classes with those of the plan."""
    if spec.constraints or len(soft) > MOST_PRICED:
        return UNPRICED
    firmer = firm(spec, soft)
    if list(find_impossible(firmer)):
        return IMPOSSIBLE
    return f"would take {plan_of(firmer).slots:.2f} slots instead of {plan.slots:.2f}"
