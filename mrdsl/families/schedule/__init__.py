"""Schedule: jobs with deadlines arrive over time, and a policy rents VMs for them event by event (003, chapter 4)."""

from __future__ import annotations

from mrdsl.contracts.family import Family, Formulation, GoalKind, Needs, Promise, hooks_in
from mrdsl.core.lazy import lazily
from mrdsl.families.schedule.checks import check, never_in_time
from mrdsl.families.schedule.facts import ScheduleFacts
from mrdsl.spec.spec import Spec


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """Return the spec's policy, or the embedded solver for a requested formulation."""
    return "highs" if formulation else "policy"


hook = lazily(__name__)
FAMILY = Family(
    name="schedule",
    summary="Jobs with deadlines on machines rented as they come: late jobs and cost of a scheduling policy",
    paper="003",
    facts=ScheduleFacts,
    goals=(GoalKind("minimize", "cost", "currency", "what the VMs cost over the trace", 0.0),),
    formulations=(
        Formulation(
            "offline",
            "least cost had everything been known: a yardstick for small instances",
            needs=lambda _, relax: Needs("LP" if relax else "MILP"),
            build=hook("models", "build"),
            decode=hook("models", "decode"),
        ),
    ),
    promises=(Promise("classes.deadline", 1), Promise("policy.tardy_share", 1)),
    check=check,
    impossible=never_in_time,
    choose=choose,
    **hooks_in(
        __name__,
        why="explain",
        simulate="simulate",
        plans="simulate",
        targets="explain",
        deployments="explain",
    ),
)
