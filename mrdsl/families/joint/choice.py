"""What ``--solver auto`` takes for a joint spec."""

from __future__ import annotations

from mrdsl.families.joint.quantities import compares_responses
from mrdsl.spec.spec import Spec


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """The greedy, which is exact or reports its bound; a solver for constraints and for formulations."""
    if formulation in ("P0", "P1") or compares_responses(spec):
        return "scip"
    return "greedy" if formulation is None and not spec.constraints else "highs"
