"""Hybrid clouds: a private cloud that queues, outsources or rejects arriving tasks (paper 004, III-IV)."""

from __future__ import annotations

from mrdsl.contracts.family import Family, GoalKind, Promise, hooks_in
from mrdsl.families.hybrid.checks import check
from mrdsl.families.hybrid.facts import HybridFacts
from mrdsl.spec.spec import Spec


def choose(_spec: Spec, _relax: bool, _formulation: str | None) -> str:
    """Return `controller`: `auto` takes the controller."""
    return "controller"


FAMILY = Family(
    name="hybrid",
    summary="a private cloud that queues, outsources or rejects tasks as they come, at the least average cost",
    paper="Cost-Minimized VM Allocation on Hybrid clouds (draft), III-IV",
    facts=HybridFacts,
    goals=(GoalKind("minimize", "cost", "currency", "average cost of outsourcing and preemption in one slot", 0.0),),
    method="controller",
    promises=(Promise("queues.delay", 1),),
    check=check,
    choose=choose,
    **hooks_in(__name__, why="explain", simulate="simulate", plans="simulate"),
)
