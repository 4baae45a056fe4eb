"""Hybrid clouds: a private cloud that queues, outsources or rejects tasks as they come (paper 004, III-IV)."""

from __future__ import annotations

from mrdsl.problems.family import Family, GoalKind
from mrdsl.problems.hybrid.facts import HybridFacts

FAMILY = Family(
    name="hybrid",
    summary="a private cloud that queues, outsources or rejects tasks as they come, at the least average cost",
    paper="Cost-Minimized VM Allocation on Hybrid clouds (draft), III-IV",
    facts=HybridFacts,
    goals=(GoalKind("minimize", "cost", "currency", "average cost of outsourcing and preemption in one slot"),),
)
