"""Completion times of MapReduce jobs on a shared cluster, and the slots that meet deadlines (papers 000 and 003)."""

from __future__ import annotations

from mrdsl.contracts.family import Experiment, Family, Formulation, GoalKind, Needs, Promise, QuantityKind
from mrdsl.families.bounds import hooks
from mrdsl.families.bounds.checks import check, find_impossible
from mrdsl.families.bounds.facts import BoundsFacts
from mrdsl.spec.spec import Spec


def _nonlinear(_: Spec, relax: bool) -> Needs:
    return Needs("NLP")


FAMILY = Family(
    name="bounds",
    summary="how long jobs of every class take on a shared cluster, and how many slots meet their deadlines",
    paper="Malekimajd et al. 2015, Optimal Map Reduce Job Capacity Allocation in Cloud Systems; Vishal 2015, "
    "Performance Modelling and Scheduling of MapReduce Jobs",
    facts=BoundsFacts,
    goals=(
        GoalKind("estimate", "completion", "", "lower, average, upper and wave-based completion times"),
        GoalKind("minimize", "slots", "", "map and reduce slots of all jobs that meet every deadline"),
    ),
    formulations=(
        Formulation(
            "slots",
            "least slots as a convex nonlinear model, for `minimize slots`",
            _nonlinear,
            build=hooks.build_slots,
            decode=hooks.decode_slots,
        ),
    ),
    promises=(Promise("classes.deadline", 1),),
    quantities=(
        QuantityKind("completion", "time", "completion time of a class by its guaranteed estimate", over="classes"),
        QuantityKind("slots", "slots", "map and reduce slots of all jobs"),
    ),
    check=check,
    impossible=find_impossible,
    choose=hooks.choose,
    report=hooks.report,
    verify=hooks.verify,
    measure=hooks.measure,
    quantity=hooks.quantity,
    simulate_plan=hooks.simulate_plan,
    experiments=(
        Experiment(
            "bounds-tables",
            "Tables 3 to 6 of paper 000 again: bounds against simulated times",
            hooks.study_tables,
            {
                "jobs": (10, "jobs per user of the slowest class in a trace"),
                "repeats": (5, "runs that a mean is taken of"),
                "rows": (10, "rows of each table"),
                "think": (0.1, "mean think time relative to the estimate"),
            },
        ),
        Experiment(
            "bounds-profiles",
            "Tables 3.1 and 3.2, Figures 3.3 to 3.8 of 003 again: waves predicted and drawn",
            hooks.study_profiles,
            {"jobs": (10, "drawn jobs of each kind"), "seed": (1, "of the draws")},
        ),
        Experiment(
            "bounds-accuracy",
            "when to trust which estimate: random scenarios in ever looser settings",
            hooks.study_accuracy,
            {
                "scenarios": (30, "random scenarios"),
                "jobs": (10, "completed jobs per user"),
                "seed": (1, "of the scenarios"),
            },
        ),
    ),
    plans=hooks.plans,
    operated=hooks.operated,
)
