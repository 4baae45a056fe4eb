"""Capacity allocation: the cheapest rented cluster that meets every deadline (paper 000)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mrdsl.contracts.family import Family, Formulation, GoalKind, Needs, Promise, QuantityKind, hooks_in
from mrdsl.core.lazy import lazily
from mrdsl.families.capacity.checks import check, find_impossible
from mrdsl.families.capacity.facts import LARGEST, WAYS, CapacityFacts
from mrdsl.spec.spec import Spec


def _linear(_: Spec, relax: bool) -> Needs:
    return Needs("LP" if relax else "MILP")


def _nonlinear(_: Spec, relax: bool) -> Needs:
    return Needs("NLP" if relax else "MINLP")


def _paid_for(spec: Spec) -> float:
    """Return the time that VMs are paid for [s]."""
    if spec.facts.demand is None:
        return float(spec.facts.period)
    from mrdsl.families.capacity.periods.table import horizon_of

    return horizon_of(spec)


@dataclass(frozen=True)
class _ByDemand:
    """A hook of specs of one period, and the one of specs with a ``demand``."""

    one: Any
    several: Any

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        found: Callable[..., Any] = self.one.__wrapped__
        return found

    def __call__(self, spec: Spec, *arguments: Any) -> Any:
        return (self.one if spec.facts.demand is None else self.several)(spec, *arguments)


def _hooks() -> dict[str, Any]:
    one = hooks_in(
        __name__,
        choose="formulations",
        verify="plan_warnings",
        quantity="verify",
        simulate_plan="simulate",
        today="explain",
        repeat_runs="simulate",
        bound="methods.least_cost",
        plans="periods.plan",
    )
    refused = dict.fromkeys(("simulate_plan", "repeat_runs", "today", "deployments"), "explain")
    several = hooks_in(f"{__name__}.periods", verify="explain", quantity="verify", **refused)
    del several["plans"]  # those of both
    return {name: _ByDemand(each, several[name]) if name in several else each for name, each in one.items()}


hook = lazily(__name__)
FAMILY = Family(
    name="capacity",
    summary="the cheapest cluster of rented VMs that meets every deadline, and which jobs to turn away",
    paper="Malekimajd et al. 2015, Optimal Map Reduce Job Capacity Allocation in Cloud Systems",
    facts=CapacityFacts,
    goals=(
        GoalKind("minimize", "cost", "currency", "VMs for one period and penalties of rejected jobs, eq. (5)", 0.0),
    ),
    formulations=(
        Formulation(
            "P2",
            "linear in jobs and VMs; slots by Theorem 4.1",
            _linear,
            build=hook("formulations", "build_p2"),
            decode=hook("formulations", "decode_p2"),
            arrays=hook("formulations", "arrays_p2"),
            compiled=hook("formulations", "compile_p2"),
            refine=hook("formulations", "pack"),
            known=hook("formulations", "direct"),
            nodes=hook("formulations", "nodes_of_large"),
            other_goals="cost",
        ),
        Formulation(
            "P1",
            "as printed, in the inverse of the jobs: convex constraints, concave objective",
            _nonlinear,
            build=hook("models.nonlinear", "build_p1"),
            decode=hook("models.nonlinear", "decode"),
            known=hook("formulations", "direct_in_fractions"),
        ),
        Formulation(
            "P0",
            "as printed, in jobs and slots",
            _nonlinear,
            build=hook("models.nonlinear", "build_p0"),
            decode=hook("models.nonlinear", "decode"),
            known=hook("formulations", "direct_in_fractions"),
        ),
        Formulation(
            "P0-cone",
            "P0 with its deadlines as second-order cones: convex",
            _nonlinear,
            build=hook("models.nonlinear", "build_p0_cone"),
            decode=hook("models.nonlinear", "decode"),
            known=hook("formulations", "direct_in_fractions"),
        ),
    ),
    promises=(
        Promise("classes.deadline", 1),
        Promise("classes.jobs.low", -1),
        Promise("vms.available", 1),
        Promise("vms.reserved.available", 1),
        Promise("vms.terms.available", 1),
        Promise("vms.masters", -1),
        Promise("master.count", -1),
        Promise("hdfs.data", -1),
        Promise("hdfs.replication", -1),
        Promise("quotas.cores", 1),
        Promise("savings_plans.available", 1),
        Promise("classes.spot", 1),
        Promise("classes.types", -1),
        Promise("never_together", 1),
    ),
    quantities=(
        QuantityKind("cost", "money", "VMs for one period and penalties; the VMs alone of one type", "vms", whole=True),
        QuantityKind("vms", "vms", "rented VMs, however bought; of all types or of one", "vms", whole=True),
        QuantityKind(
            "share",
            "share",
            "the part of all rented VMs that is bought so; those of one VM type, or of the type with most of them",
            words=WAYS,
            per="vms",
            per_words=(LARGEST,),
        ),
        QuantityKind(
            "cores",
            "number",
            "the cores of all rented VMs that are bought so; those of one VM type, or of the type with most of them",
            words=WAYS,
            per="vms",
            per_words=(LARGEST,),
        ),
        QuantityKind("admitted", "jobs", "jobs of a class that are admitted", over="classes"),
        QuantityKind(
            "on_time", "share", "share of a class's jobs that end in time, in simulation", over="classes", was="kept"
        ),
        QuantityKind("completion", "time", "completion time of a class by its guaranteed estimate", over="classes"),
    ),
    check=check,
    impossible=find_impossible,
    paid_for=_paid_for,
    **_hooks(),
)
