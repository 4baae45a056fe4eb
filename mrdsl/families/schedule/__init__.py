"""Schedule: jobs with deadlines arrive over time, and a policy rents VMs for them event by event (003, chapter 4)."""

from __future__ import annotations

from mrdsl.contracts.family import Experiment, Family, Formulation, GoalKind, Needs, Promise
from mrdsl.families.schedule import hooks
from mrdsl.families.schedule.checks import check, never_in_time
from mrdsl.families.schedule.facts import ScheduleFacts

FAMILY = Family(
    name="schedule",
    summary="Jobs with deadlines on machines rented as they come: late jobs and cost of a scheduling policy",
    paper="003",
    facts=ScheduleFacts,
    goals=(GoalKind("minimize", "cost", "currency", "what the VMs cost over the trace"),),
    formulations=(
        Formulation(
            "offline",
            "least cost had everything been known: a yardstick for small instances",
            needs=lambda _, relax: Needs("LP" if relax else "MILP"),
            build=hooks.build_offline,
            decode=hooks.decode_offline,
        ),
    ),
    promises=(Promise("classes.deadline", 1), Promise("policy.tardy_share", 1)),
    check=check,
    impossible=never_in_time,
    choose=hooks.choose,
    report=hooks.report,
    verify=hooks.verify,
    measure=hooks.measure,
    why=hooks.why,
    simulate=hooks.simulate,
    experiments=(
        Experiment(
            "schedule-tables",
            "tables 4.1 to 4.4 of the thesis, printed values beside ours",
            hooks.study_tables,
            {
                "trace": ("", "SWIM trace; default: the Facebook day beside the project, else 200 jobs"),
                "runs": (5, "seeds to average over"),
            },
        ),
        Experiment(
            "schedule-promise",
            "cost against the share of jobs that may be late, frugal beside MDASA",
            hooks.study_promise,
            {"trace": ("", "SWIM trace; default as for schedule-tables"), "runs": (3, "seeds to average over")},
        ),
        Experiment(
            "schedule-gap",
            "each policy's cost above the offline optimum, on small random instances",
            hooks.study_gap,
            {"instances": (8, "how many instances"), "seed": (1, "the seed that draws them")},
        ),
        Experiment(
            "schedule-run",
            "one run: its decisions as JSON lines, plots of price, fleet, backlog, lateness",
            hooks.study_run,
            {
                "spec": ("", "the spec; default: models/schedule/reference.mrspec"),
                "seed": (0, "the seed; default: the spec's own"),
            },
        ),
    ),
    targets=hooks.targets,
    deployments=hooks.deployments,
    plans=hooks.plans,
    operated=hooks.operated,
)
