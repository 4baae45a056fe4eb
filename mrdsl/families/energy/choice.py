"""What ``--solver auto`` takes."""

from __future__ import annotations

from mrdsl.spec.spec import Spec


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """HiGHS on the counted model: it proves the paper's largest workloads within seconds."""
    return "highs"
