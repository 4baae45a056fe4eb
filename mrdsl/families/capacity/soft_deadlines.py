"""What a capacity plan costs that keeps its deadlines by the upper estimates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.soft_deadlines import IMPOSSIBLE, UNPRICED, firm
from mrdsl.core.diagnostics import MrdslError
from mrdsl.families.capacity.instance import instance_of
from mrdsl.families.capacity.methods.direct import direct
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.shape import is_plain
from mrdsl.spec.spec import Spec

MOST_PRICED = 2000
"""So many classes are solved once more to name a price; of more only the deadlines are told."""


def price(spec: Spec, plan: CapacityPlan, relax: bool, soft: NDArray[np.bool_]) -> str:
    """What the best plan costs that keeps the upper estimates of some classes, beside this one, in words."""
    if len(spec.facts.classes) > MOST_PRICED or not is_plain(spec.facts):
        return UNPRICED
    firmer = firm(spec, soft)
    if not instance_of(firmer).kept().all():
        return IMPOSSIBLE
    try:
        found = direct(firmer, relax)
    except MrdslError:  # a comparison under `subject to` that takes a solver
        found = None
    if found is None or found.value is None:
        return UNPRICED
    return f"would cost {found.value:.2f} {spec.currency} instead of {plan.total:.2f}"
