"""What ``--solver auto`` takes for a deadline spec."""

from __future__ import annotations

from mrdsl.spec.spec import Spec

MOST_SUMS = 50
"""Sums over several tasks that ``direct`` takes on: each costs a system of the network in every step."""


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """Our own method, which proves its gap; a linear solver where ``direct`` does not serve, or for a formulation."""
    if formulation == "potentials" and (spec.goal is None or spec.goal.quantity == "slack"):
        return "scip"
    return "direct" if formulation is None and _direct(spec) else "highs"


def _direct(spec: Spec) -> bool:
    """Whether ``direct`` knows the comparisons: linear ones, few of them over several tasks, and those for the product
    of slacks alone."""
    if not spec.constraints:
        return True
    from mrdsl.families.deadline.methods.slack_limits import sums_in

    try:
        sums = sums_in(spec)
    except ValueError:
        return False
    product = spec.goal is None or spec.goal.quantity == "slack"
    return sums == 0 or (product and sums <= MOST_SUMS)
