"""Least energy under a deadline and a budget: which machines to take, and where each task runs."""

from __future__ import annotations

from types import MappingProxyType

from mrdsl.contracts.family import Experiment, Family, Formulation, GoalKind, Needs, Promise, QuantityKind
from mrdsl.families.energy import hooks
from mrdsl.families.energy.checks import check
from mrdsl.families.energy.facts import EnergyFacts
from mrdsl.spec.spec import Spec


def _needs(_: Spec, relax: bool) -> Needs:
    return Needs("LP" if relax else "MILP")


FAMILY = Family(
    name="energy",
    summary="which machines to take and where each task runs, for the least energy under a deadline and a budget",
    paper="Nabavinejad et al., MapReduce Service Provisioning for Frequent Big Data Jobs on Clouds",
    facts=EnergyFacts,
    goals=(
        GoalKind("minimize", "energy", "J", "energy above idle: tasks, data placement and shuffle"),
        GoalKind("minimize", "cost", "currency", "what the VMs taken cost, each for its job's whole uptime"),
        GoalKind("minimize", "uptime", "s", "time until the last job has ended"),
    ),
    formulations=(
        Formulation(
            "counted",
            "tasks per VM, in whole waves: the printed model without its symmetry",
            _needs,
            build=hooks.build_counted,
            decode=hooks.decode_counted,
            other_goals="energy",
        ),
        Formulation(
            "per_task",
            "the printed model: one 0/1 variable per task and slot",
            _needs,
            build=hooks.build_per_task,
            decode=hooks.decode_per_task,
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
    infeasible=hooks.infeasible,
    choose=hooks.choose,
    report=hooks.report,
    verify=hooks.verify,
    measure=hooks.measure,
    quantity=hooks.quantity,
    experiments=(
        Experiment(
            "energy-comparison",
            "energy, cost and deadline of every method on the paper's 24 workloads (6.2.1 to 6.2.3)",
            hooks.study_comparison,
            MappingProxyType({"scales": ("small,medium,large", "which workloads")}),
        ),
        Experiment(
            "energy-random",
            "how far apart drawn plans lie that keep their promises (Figure 2)",
            hooks.study_random,
            {
                "scale": ("medium", "which workloads"),
                "plans": (200, "plans of each"),
                "tries": (5000, "draws of each at most"),
                "seed": (1, "of the draws"),
            },
            draws=False,
        ),
    ),
    why=hooks.why,
    targets=hooks.targets,
    deployments=hooks.deployments,
    simulate_plan=hooks.simulate_plan,
    plans=hooks.plans,
    operated=hooks.operated,
)
