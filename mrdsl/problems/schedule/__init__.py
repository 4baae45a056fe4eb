"""Schedule: jobs with deadlines arrive over time, and a policy rents VMs for them event by event (003, chapter 4)."""

from __future__ import annotations

from mrdsl.problems.family import Family, Formulation, GoalKind, Needs
from mrdsl.problems.schedule.checks import check, never_in_time
from mrdsl.problems.schedule.facts import ScheduleFacts

FAMILY = Family(
    name="schedule",
    summary="Jobs with deadlines on machines rented as they come: late jobs and cost of a scheduling policy",
    paper="003",
    facts=ScheduleFacts,
    goals=(GoalKind("minimize", "cost", "USD", "what the VMs cost over the trace"),),
    formulations=(
        Formulation("offline", "least cost had everything been known: a yardstick for small instances",
                    needs=lambda _, relax: Needs("LP" if relax else "MILP"),
                    build="mrdsl.problems.schedule.offline:build", decode="mrdsl.problems.schedule.offline:decode"),
    ),
    methods=("policy",),
    check=check,
    impossible=never_in_time,
    choose="mrdsl.problems.schedule.choose:choose",
    verify="mrdsl.problems.schedule.verify:verify",
    measure="mrdsl.problems.schedule.verify:measure",
    simulate="mrdsl.heuristics.schedule_observe:simulate",
    trace="mrdsl.heuristics.schedule_observe:trace",
)
