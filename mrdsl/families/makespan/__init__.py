"""Makespan: in which order, and in which pools of slots, a batch of MapReduce jobs finishes first (003, chapter 5)."""

from __future__ import annotations

from mrdsl.contracts.family import Family, Formulation, GoalKind, Needs, QuantityKind, hooks_in
from mrdsl.core.lazy import lazily
from mrdsl.families.makespan.facts import MakespanFacts, check
from mrdsl.spec.spec import Spec


def _needs(_spec: Spec, relax: bool) -> Needs:
    return Needs("LP" if relax else "MILP")


def choose(spec: Spec, relax: bool = False, formulation: str | None = None) -> str:
    """Return the portfolio, which ends in a proof for a small batch, or HiGHS for a requested formulation."""
    return "portfolio" if formulation is None else "highs"


hook = lazily(__name__)
FAMILY = Family(
    name="makespan",
    summary="The order and the pools in which a batch of jobs finishes first",
    paper="003",
    facts=MakespanFacts,
    goals=(GoalKind("minimize", "makespan", "s", "when the last job of the batch finishes", 0.0),),
    formulations=(
        Formulation(
            "time-indexed",
            "counts of tasks that start at each step of a common grid",
            _needs,
            build=hook("models", "build"),
            decode=hook("models", "decode"),
            other_goals="makespan",
        ),
    ),
    quantities=(
        QuantityKind("makespan", "time", "when the last job finishes"),
        QuantityKind("finish", "time", "when a job finishes", over="jobs"),
    ),
    check=check,
    choose=choose,
    **hooks_in(__name__, quantity="verify", why="explain", simulate_plan="simulate"),
)
