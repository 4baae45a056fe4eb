"""What is expected in every period: the same all day, a typical day, or the columns of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mrdsl.spec.columns import column

if TYPE_CHECKING:
    from mrdsl.problems.joint.facts import JointFacts
    from mrdsl.spec.spec import Spec

Floats = NDArray[np.float64]


def expected_demand(spec: Spec) -> tuple[Floats, Floats]:
    """The least and the expected demand of a checked spec, each of the shape (periods, classes + services)."""
    facts: JointFacts = spec.facts
    periods = facts.demand.periods if facts.demand is not None else 1
    low = np.concatenate([column(facts.classes, "jobs.low"), column(facts.services, "rate.low")])
    high = np.concatenate([column(facts.classes, "jobs.high"), column(facts.services, "rate.high")])
    return np.tile(low, (periods, 1)), np.tile(high, (periods, 1))
