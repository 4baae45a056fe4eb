"""Completion times of MapReduce jobs on a shared cluster, and the slots that meet deadlines (papers 000 and 003)."""

from __future__ import annotations

from mrdsl.contracts.family import Family, Formulation, GoalKind, Needs, Promise, QuantityKind, hooks_in
from mrdsl.core.lazy import lazily
from mrdsl.families.bounds.checks import check, find_impossible, minimizes_slots
from mrdsl.families.bounds.facts import BoundsFacts
from mrdsl.spec.spec import Spec


def _nonlinear(_: Spec, relax: bool) -> Needs:
    return Needs("NLP")


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """Return the formulas, or SCIP for a formulation or for constraints beyond one deadline per class."""
    if formulation is not None or (spec.constraints and minimizes_slots(spec)):
        return "scip"
    return "formulas"


hook = lazily(__name__)
FAMILY = Family(
    name="bounds",
    summary="how long jobs of every class take on a shared cluster, and how many slots meet their deadlines",
    paper="Malekimajd et al. 2015, Optimal Map Reduce Job Capacity Allocation in Cloud Systems; Vishal 2015, "
    "Performance Modelling and Scheduling of MapReduce Jobs",
    facts=BoundsFacts,
    goals=(
        GoalKind("estimate", "completion", "", "lower, average, upper and wave-based completion times"),
        GoalKind("minimize", "slots", "", "map and reduce slots of all jobs that meet every deadline", 0.0),
    ),
    formulations=(
        Formulation(
            "slots",
            "least slots as a convex nonlinear model, for `minimize slots`",
            _nonlinear,
            build=hook("models", "build"),
            decode=hook("models", "decode"),
        ),
    ),
    promises=(Promise("classes.deadline", 1),),
    quantities=(
        QuantityKind("completion", "time", "completion time of a class by its guaranteed estimate", over="classes"),
        QuantityKind("slots", "slots", "map and reduce slots of all jobs"),
    ),
    check=check,
    impossible=find_impossible,
    choose=choose,
    **hooks_in(
        __name__,
        verify="formulas",
        quantity="verify",
        simulate_plan="simulate",
        report="plan",
        operated="plan",
    ),
)
