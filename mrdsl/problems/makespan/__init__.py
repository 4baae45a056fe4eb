"""Makespan: in which order, and in which pools of slots, a batch of MapReduce jobs finishes first (003, chapter 5)."""

from __future__ import annotations

from mrdsl.problems.family import Family, Formulation, GoalKind, Needs, QuantityKind
from mrdsl.problems.makespan.checks import check
from mrdsl.problems.makespan.facts import MakespanFacts
from mrdsl.spec.spec import Spec

_HERE = "mrdsl.problems.makespan"


def _needs(_spec: Spec, relax: bool) -> Needs:
    return Needs("LP" if relax else "MILP")


FAMILY = Family(
    name="makespan",
    summary="The order and the pools in which a batch of jobs finishes first",
    paper="003",
    facts=MakespanFacts,
    goals=(GoalKind("minimize", "makespan", "s", "when the last job of the batch finishes"),),
    formulations=(
        Formulation("time-indexed", "counts of tasks that start at each step of a common grid", _needs,
                    build=f"{_HERE}.formulations:build", decode=f"{_HERE}.formulations:decode"),
    ),
    methods=("portfolio", "exact", "cp-sat", "slot-search", "many-pools", "balanced-pools-genetic", "balanced-pools",
             "genetic", "johnson", "fifo"),
    quantities=(
        QuantityKind("makespan", "time", "when the last job finishes"),
        QuantityKind("finish", "time", "when a job finishes", over="jobs"),
    ),
    check=check,
    choose=f"{_HERE}.choose:choose",
    verify=f"{_HERE}.verify:verify",
    measure=f"{_HERE}.verify:measure",
    quantity=f"{_HERE}.verify:quantity",
)
