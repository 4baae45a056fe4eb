"""What a capacity plan costs that keeps its deadlines by the upper estimates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.soft_deadlines import IMPOSSIBLE, UNPRICED, firm, priced
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.kept_values import kept
from mrdsl.core.result import SolutionStatus
from mrdsl.families.capacity.instance import instance_of
from mrdsl.families.capacity.market import market_of
from mrdsl.families.capacity.methods.direct import direct
from mrdsl.families.capacity.mix import mix_of
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.shape import is_plain
from mrdsl.spec.spec import Spec

MOST_PRICED = 2000
"""So many classes times lanes of VMs are solved once more to name a price; of more only the deadlines are told."""


def price(spec: Spec, plan: CapacityPlan, relax: bool, soft: NDArray[np.bool_]) -> str:
    """What the best plan costs that keeps the upper estimates of some classes, beside this one, in words."""
    plain = is_plain(spec.facts)
    if len(spec.facts.classes) * (1 if plain else len(market_of(spec.facts).lanes)) > MOST_PRICED:
        return UNPRICED
    found = kept(spec, f"upper estimates kept of {soft.tobytes().hex()}, {relax}", lambda: _bounded(spec, relax, soft))
    return found if isinstance(found, str) else priced(found[0], plan.total, spec.currency, found[1])


def _bounded(spec: Spec, relax: bool, soft: NDArray[np.bool_]) -> str | tuple[float, str]:
    """What a plan costs that keeps the upper estimates, and what to say before that; or why no cost is known."""
    firmer = firm(spec, soft)
    if not (instance_of(firmer).kept() if is_plain(spec.facts) else mix_of(firmer).possible.any(axis=0)).all():
        return IMPOSSIBLE
    try:
        found = direct(firmer, relax)
    except MrdslError:  # a comparison under `subject to` that takes a solver
        return UNPRICED
    if found is None or found.value is None:
        return UNPRICED
    return found.value, "" if found.solution is SolutionStatus.OPTIMAL else "at most "
