"""Plans from slots, for methods that are not part of mrdsl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mrdsl.core.decisions import numbers_by_name, plan_builder, wrong
from mrdsl.core.diagnostics import MrdslError
from mrdsl.families.bounds.estimates import estimates_of
from mrdsl.families.bounds.formulas import plan_on
from mrdsl.families.bounds.plan import BoundsPlan
from mrdsl.formulas.estimates import stage_counts
from mrdsl.spec.columns import names_of
from mrdsl.spec.spec import Spec


@plan_builder("bounds")
def plan_with(spec: Spec, slots: Mapping[str, float | Sequence[float]]) -> BoundsPlan:
    """Return the plan in which one job of each class has these slots, with all estimates.

    Args:
        spec: The spec.
        slots: Map and reduce slots of one job by class, ``(32, 16)``; one number is both. A class of stages has task
            slots, the first number.

    Returns:
        The plan. mrdsl checks it against the spec when a method returns it.

    Raises:
        MrdslError: `unknown-name`, `missing-item` or `wrong-value`.
    """
    classes, estimates = spec.facts.classes, estimates_of(spec.facts)
    names = [str(name) for name in names_of(classes)]
    maps, reduces = numbers_by_name(slots, names, "class", "slots", 2).T
    reduces = np.where(stage_counts(classes) > 0, 0.0, reduces)
    without = (maps <= 0.0) | ((reduces <= 0.0) & ~estimates.profile.map_only)
    if without.any():
        raise MrdslError([wrong(f"a job of class `{names[i]}` needs more than 0 slots") for i in without.nonzero()[0]])
    return plan_on(spec, estimates, maps, reduces)
