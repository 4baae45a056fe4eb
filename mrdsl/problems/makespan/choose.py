"""Which method `auto` takes for a makespan problem."""

from __future__ import annotations

from mrdsl.spec.spec import Spec


def choose(spec: Spec, relax: bool = False, formulation: str | None = None) -> str:
    """A pipeline's name."""
    return "johnson"
