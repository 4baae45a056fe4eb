"""Items of the time model: the estimates of a spec, and how the jobs of a class share slots."""

from __future__ import annotations

from typing import Any

from mrdsl.spec.schema import choice

PAPER, SCHEDULING = "paper", "scheduling"
OWN, CLASS = "own", "class"


def default_guarantee(facts: Any, whole: bool) -> str:
    """Return the estimate that a class guarantees by default, in ``whole`` slots or in fractions."""
    return "average" if facts.estimates == PAPER or not whole else "mean"


def estimates_item() -> Any:
    """Return the declaration of ``estimates`` of a spec."""
    return choice(
        (SCHEDULING, PAPER),
        "`scheduling`, the default: `lower`, `average` and `upper` are the bounds of list scheduling if jobs have "
        "their own slots; `paper`: they are equations (1) to (3) of paper 000",
        default=None,
    )


def sharing_item() -> Any:
    """Return the declaration of ``sharing`` of a class."""
    return choice(
        (OWN, CLASS),
        "`own`: each job has its own slots; `class`: the jobs of the class share its slots; default: `own` for stages, "
        "`class` for map and reduce tasks",
        default=None,
    )
