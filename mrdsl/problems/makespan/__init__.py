"""Makespan: in which order, and in which pools of slots, a batch of MapReduce jobs finishes first (003, chapter 5)."""

from __future__ import annotations

from mrdsl.problems.family import Family, GoalKind, QuantityKind
from mrdsl.problems.makespan.checks import check
from mrdsl.problems.makespan.facts import MakespanFacts

FAMILY = Family(
    name="makespan",
    summary="The order and the pools in which a batch of jobs finishes first",
    paper="003",
    facts=MakespanFacts,
    goals=(GoalKind("minimize", "makespan", "s", "when the last job of the batch finishes"),),
    methods=("fifo", "johnson", "genetic", "balanced-pools", "balanced-pools-genetic"),
    quantities=(
        QuantityKind("makespan", "time", "when the last job finishes"),
        QuantityKind("finish", "time", "when a job finishes", over="jobs"),
    ),
    check=check,
    choose="mrdsl.problems.makespan.choose:choose",
    verify="mrdsl.problems.makespan.verify:verify",
    measure="mrdsl.problems.makespan.verify:measure",
    quantity="mrdsl.problems.makespan.verify:quantity",
)
