"""Schedule: jobs with deadlines arrive over time, and a policy rents VMs for them event by event (003, chapter 4)."""

from __future__ import annotations

from mrdsl.problems.family import Experiment, Family, Formulation, GoalKind, Needs
from mrdsl.problems.schedule.checks import check, never_in_time
from mrdsl.problems.schedule.facts import ScheduleFacts

FAMILY = Family(
    name="schedule",
    summary="Jobs with deadlines on machines rented as they come: late jobs and cost of a scheduling policy",
    paper="003",
    facts=ScheduleFacts,
    goals=(GoalKind("minimize", "cost", "currency", "what the VMs cost over the trace"),),
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
    why="mrdsl.heuristics.schedule_why:why",
    simulate="mrdsl.heuristics.schedule_observe:simulate",
    experiments=(
        Experiment("schedule-tables", "tables 4.1 to 4.4 of the thesis, printed values beside ours",
                   "mrdsl.experiments.schedule:tables", {
                       "trace": ("", "SWIM trace; default: the Facebook day beside the project, else 200 jobs"),
                       "runs": (5, "seeds to average over")}),
        Experiment("schedule-promise", "cost against the share of jobs that may be late, frugal beside MDASA",
                   "mrdsl.experiments.schedule:promise", {
                       "trace": ("", "SWIM trace; default as for schedule-tables"),
                       "runs": (3, "seeds to average over")}),
        Experiment("schedule-gap", "each policy's cost above the offline optimum, on small random instances",
                   "mrdsl.experiments.schedule_gap:gaps", {
                       "instances": (8, "how many instances"), "seed": (1, "the seed that draws them")}),
        Experiment("schedule-run", "one run: its decisions as JSON lines, plots of price, fleet, backlog, lateness",
                   "mrdsl.experiments.schedule:one_run", {
                       "spec": ("", "the spec; default: models/schedule/reference.mrspec"),
                       "seed": (0, "the seed; default: the spec's own")}),
    ),
)
