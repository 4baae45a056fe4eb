"""Capacity allocation: the cheapest rented cluster that keeps every deadline (paper 000)."""

from __future__ import annotations

from mrdsl.problems.capacity.checks import check, find_impossible
from mrdsl.problems.capacity.facts import CapacityFacts
from mrdsl.problems.family import Family, Formulation, GoalKind, Needs, Promise, QuantityKind
from mrdsl.spec.spec import Spec

_HERE = "mrdsl.problems.capacity"
_KNOWN = "mrdsl.heuristics.capacity:direct"
"""Theorems 4.1 and 4.2: P0, P1 and P2 have one optimum, which closed forms and a knapsack bound from both sides."""


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
        Formulation("P2", "linear in jobs and VMs; slots by Theorem 4.1", _linear,
                    build=f"{_HERE}.linear:build", decode=f"{_HERE}.linear:decode", known=_KNOWN),
        Formulation("P1", "as printed, in the inverse of the jobs: convex constraints, concave objective", _nonlinear,
                    build=f"{_HERE}.nonlinear:build_p1", decode=f"{_HERE}.nonlinear:decode", known=_KNOWN),
        Formulation("P0", "as printed, in jobs and slots", _nonlinear,
                    build=f"{_HERE}.nonlinear:build_p0", decode=f"{_HERE}.nonlinear:decode", known=_KNOWN),
        Formulation("P0-cone", "P0 with its deadlines as second-order cones: convex", _nonlinear,
                    build=f"{_HERE}.nonlinear:build_cone", decode=f"{_HERE}.nonlinear:decode", known=_KNOWN),
    ),
    methods=("direct",),
    promises=(Promise("classes.deadline", 1), Promise("classes.jobs.low", -1), Promise("vms.reserved.available", 1)),
    quantities=(
        QuantityKind("cost", "money", "VMs for one period and penalties"),
        QuantityKind("vms", "vms", "rented VMs, on demand and reserved"),
        QuantityKind("admitted", "jobs", "jobs of a class that are admitted", over="classes"),
        QuantityKind("completion", "time", "completion time of a class by its guaranteed estimate", over="classes"),
    ),
    check=check,
    impossible=find_impossible,
    choose=f"{_HERE}.choice:choose",
    verify=f"{_HERE}.verify:verify",
    measure=f"{_HERE}.verify:measure",
    quantity=f"{_HERE}.verify:quantity",
    why="mrdsl.heuristics.capacity_why:why",
)
