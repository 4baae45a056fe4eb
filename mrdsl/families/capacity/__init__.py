"""Capacity allocation: the cheapest rented cluster that keeps every deadline (paper 000)."""

from __future__ import annotations

from mrdsl.contracts.family import Experiment, Family, Formulation, GoalKind, Needs, Promise, QuantityKind
from mrdsl.families.capacity import hooks
from mrdsl.families.capacity.checks import check, find_impossible
from mrdsl.families.capacity.facts import WAYS, CapacityFacts
from mrdsl.spec.spec import Spec


def _linear(_: Spec, relax: bool) -> Needs:
    return Needs("LP" if relax else "MILP")


def _nonlinear(_: Spec, relax: bool) -> Needs:
    return Needs("NLP" if relax else "MINLP")


FAMILY = Family(
    name="capacity",
    summary="the cheapest cluster of rented VMs that meets every deadline, and which jobs to turn away",
    paper="Malekimajd et al. 2015, Optimal Map Reduce Job Capacity Allocation in Cloud Systems",
    facts=CapacityFacts,
    goals=(GoalKind("minimize", "cost", "currency", "VMs for one period and penalties of rejected jobs, eq. (5)"),),
    formulations=(
        Formulation(
            "P2",
            "linear in jobs and VMs; slots by Theorem 4.1",
            _linear,
            build=hooks.build_p2,
            decode=hooks.decode_p2,
            arrays=hooks.arrays_p2,
            compiled=hooks.compile_p2,
            refine=hooks.pack,
            known=hooks.direct,
            other_goals="cost",
        ),
        Formulation(
            "P1",
            "as printed, in the inverse of the jobs: convex constraints, concave objective",
            _nonlinear,
            build=hooks.build_p1,
            decode=hooks.decode_p1,
            known=hooks.direct_in_fractions,
        ),
        Formulation(
            "P0",
            "as printed, in jobs and slots",
            _nonlinear,
            build=hooks.build_p0,
            decode=hooks.decode_p0,
            known=hooks.direct_in_fractions,
        ),
        Formulation(
            "P0-cone",
            "P0 with its deadlines as second-order cones: convex",
            _nonlinear,
            build=hooks.build_p0_cone,
            decode=hooks.decode_p0_cone,
            known=hooks.direct_in_fractions,
        ),
    ),
    promises=(Promise("classes.deadline", 1), Promise("classes.jobs.low", -1), Promise("vms.reserved.available", 1)),
    quantities=(
        QuantityKind("cost", "money", "VMs for one period and penalties; the VMs alone of one type", "vms", whole=True),
        QuantityKind("vms", "vms", "rented VMs, however bought; of all types or of one", "vms", whole=True),
        QuantityKind("share", "share", "the part of all rented VMs that is bought so", words=WAYS),
        QuantityKind("admitted", "jobs", "jobs of a class that are admitted", over="classes"),
        QuantityKind("kept", "share", "share of a class's jobs that end in time, in simulation", over="classes"),
        QuantityKind("completion", "time", "completion time of a class by its guaranteed estimate", over="classes"),
    ),
    check=check,
    impossible=find_impossible,
    choose=hooks.choose,
    verify=hooks.verify,
    measure=hooks.measure,
    quantity=hooks.quantity,
    why=hooks.why,
    report=hooks.report,
    simulate_plan=hooks.simulate_plan,
    shown_again=hooks.shown_again,
    experiments=(
        Experiment(
            "capacity-cases",
            "5.3, 5.4.1 and 5.4.2 of paper 000 again: sizes, sharing, concurrency",
            hooks.study_cases,
            {
                "classes": ("20,100", "numbers of classes"),
                "instances": (2, "drawn instances of each"),
                "solver": ("direct", "who plans them"),
                "seed": (1, "of the instances"),
            },
            draws=False,
        ),
        Experiment(
            "reservations",
            "how many VMs to reserve for a day's demand, and what the day costs with fewer and with more",
            hooks.study_reservations,
            {
                "spec": ("", "the spec; default: models/capacity/reference.mrspec"),
                "demand": ("", "table of jobs, a column for each class and a row for each period; default: made up"),
                "periods": (24, "periods of a day, each as long as the spec's period"),
                "solver": ("auto", "who plans them"),
            },
            draws=False,
        ),
        Experiment(
            "capacity-honesty",
            "how often plans of `guarantee = p95` break it on held-out runs",
            hooks.study_honesty,
            {
                "scenarios": (100, "random scenarios"),
                "runs": (100, "held-out runs of each"),
                "seed": (1, "of the scenarios and of their searches"),
            },
            draws=False,
            by_cases=True,
        ),
        Experiment(
            "capacity-saving",
            "VMs by `guarantee = p95` beside those of the estimates, and beside an oracle",
            hooks.study_saving,
            {
                "promise": ("p95", "the percentile"),
                "runs": (60, "held-out runs of each plan"),
                "seed": (1, "of the searches"),
            },
            draws=False,
            by_cases=True,
        ),
    ),
    targets=hooks.targets,
    deployments=hooks.deployments,
    plans=hooks.plans,
    operated=hooks.operated,
)
