"""Hybrid clouds: a private cloud that queues, outsources or rejects tasks as they come (paper 004, III-IV)."""

from __future__ import annotations

from mrdsl.contracts.family import Family, GoalKind, Promise
from mrdsl.core.lazy import lazily
from mrdsl.families.hybrid.checks import check
from mrdsl.families.hybrid.facts import HybridFacts

hook = lazily(__name__)
FAMILY = Family(
    name="hybrid",
    summary="a private cloud that queues, outsources or rejects tasks as they come, at the least average cost",
    paper="Cost-Minimized VM Allocation on Hybrid clouds (draft), III-IV",
    facts=HybridFacts,
    goals=(GoalKind("minimize", "cost", "currency", "average cost of outsourcing and preemption in one slot"),),
    method="controller",
    promises=(Promise("queues.delay", 1),),
    check=check,
    choose=hook("verify", "choose"),
    report=hook("report", "report"),
    verify=hook("verify", "verify"),
    measure=hook("verify", "measure"),
    why=hook("why", "why"),
    simulate=hook("simulate", "simulate"),
    plans=hook("simulate", "plans"),
    operated=hook("operated", "operated"),
)
