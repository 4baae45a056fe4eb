"""Hybrid clouds: a private cloud that queues, outsources or rejects tasks as they come (paper 004, III-IV)."""

from __future__ import annotations

from mrdsl.problems.family import Experiment, Family, GoalKind
from mrdsl.problems.hybrid.checks import check
from mrdsl.problems.hybrid.facts import HybridFacts

_HERE = "mrdsl.problems.hybrid.verify"

FAMILY = Family(
    name="hybrid",
    summary="a private cloud that queues, outsources or rejects tasks as they come, at the least average cost",
    paper="Cost-Minimized VM Allocation on Hybrid clouds (draft), III-IV",
    facts=HybridFacts,
    goals=(GoalKind("minimize", "cost", "currency", "average cost of outsourcing and preemption in one slot"),),
    methods=("controller", "calendar", "threshold", "always-outsource", "never-outsource"),
    check=check,
    choose=f"{_HERE}:choose",
    verify=f"{_HERE}:verify",
    measure=f"{_HERE}:measure",
    why="mrdsl.problems.hybrid.why:why",
    simulate="mrdsl.experiments.hybrid_runs:simulate",
    experiments=(
        Experiment(
            "hybrid-weights",
            "cost, acceptance and delays against the weight V and the acceptance ratio",
            "mrdsl.experiments.hybrid:weights",
            {"seeds": (3, "seeds to average over"), "horizon": (1000, "slots per run")},
        ),
    ),
)
