"""What ``--solver auto`` takes for a deadline spec."""

from __future__ import annotations

from mrdsl.spec.spec import Spec


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """Our own method, which proves its gap; a linear solver where the spec adds constraints or names a formulation."""
    if formulation == "potentials" and (spec.goal is None or spec.goal.quantity == "slack"):
        return "scip"
    return "direct" if formulation is None and not spec.constraints else "highs"
