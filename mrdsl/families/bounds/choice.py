"""What `--solver auto` takes for a bounds spec."""

from __future__ import annotations

from mrdsl.families.bounds.checks import minimizes_slots
from mrdsl.spec.spec import Spec


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """The formulas; SCIP where a formulation is asked for, or constraints go beyond one deadline per class."""
    if formulation is not None or (spec.constraints and minimizes_slots(spec)):
        return "scip"
    return "formulas"
