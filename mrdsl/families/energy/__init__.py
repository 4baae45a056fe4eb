"""Least energy under a deadline and a budget: the choice of machines and the assignment of tasks."""

from __future__ import annotations

from mrdsl.contracts.family import Family, Formulation, GoalKind, Needs, Promise, QuantityKind, hooks_in
from mrdsl.core.lazy import lazily
from mrdsl.families.energy.checks import check
from mrdsl.families.energy.facts import EnergyFacts
from mrdsl.spec.spec import Spec


def _needs(_: Spec, relax: bool) -> Needs:
    return Needs("LP" if relax else "MILP")


def _needs_alike(spec: Spec, relax: bool) -> Needs:
    """No solver can count tasks that differ."""
    alike = all(job.task_times is None for job in spec.facts.jobs)
    return _needs(spec, relax) if alike else Needs("counted, for tasks that are alike")


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """HiGHS on the counted model: it proves the paper's largest workloads within seconds."""
    return "highs"


hook = lazily(__name__)
FAMILY = Family(
    name="energy",
    summary="which machines to take and where each task runs, for the least energy under a deadline and a budget",
    paper="Nabavinejad et al., MapReduce Service Provisioning for Frequent Big Data Jobs on Clouds",
    facts=EnergyFacts,
    goals=(
        GoalKind("minimize", "energy", "J", "energy above idle: tasks, data placement and shuffle", 0.0),
        GoalKind("minimize", "cost", "currency", "what the VMs taken cost, each for its job's whole uptime", 0.0),
        GoalKind("minimize", "uptime", "s", "time until the last job has ended", 0.0),
    ),
    formulations=(
        Formulation(
            "counted",
            "tasks per VM, in whole waves: the printed model without its symmetry",
            _needs_alike,
            build=hook("models.counted", "build"),
            decode=hook("models.counted", "decode"),
            other_goals="energy",
        ),
        Formulation(
            "per_task",
            "the printed model: one 0/1 variable per task and slot",
            _needs,
            build=hook("models.per_task", "build"),
            decode=hook("models.per_task", "decode"),
            other_goals="energy",
        ),
    ),
    promises=(Promise("jobs.deadline", 1), Promise("jobs.budget", 1), Promise("vms.available", 1)),
    quantities=(
        QuantityKind("energy", "energy", "energy above idle, all jobs"),
        QuantityKind("cost", "money", "cost of the VMs, all jobs"),
        QuantityKind("uptime", "time", "time until the last job has ended"),
        QuantityKind("machines", "vms", "number of VMs taken"),
    ),
    check=check,
    infeasible=hook("explain", "exclusions"),
    choose=choose,
    **hooks_in(
        __name__,
        quantity="verify",
        why="explain",
        simulate_plan="simulate",
        targets="explain",
        deployments="explain",
    ),
)
