"""Which method `auto` takes for a makespan problem."""

from __future__ import annotations

from mrdsl.spec.spec import Spec


def choose(spec: Spec, relax: bool = False, formulation: str | None = None) -> str:
    """The portfolio, which ends in a proof where the batch is small; HiGHS for a formulation that was asked for."""
    return "portfolio" if formulation is None else "highs"
