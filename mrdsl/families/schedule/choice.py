"""What ``--solver auto`` takes for a schedule."""

from __future__ import annotations

from mrdsl.spec.spec import Spec


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """The spec's own policy, unless a formulation is asked for: that one goes to the embedded solver."""
    return "highs" if formulation else "policy"
