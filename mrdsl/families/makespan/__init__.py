"""Makespan: in which order, and in which pools of slots, a batch of MapReduce jobs finishes first (003, chapter 5)."""

from __future__ import annotations

from types import MappingProxyType

from mrdsl.contracts.family import Experiment, Family, Formulation, GoalKind, Needs, QuantityKind
from mrdsl.families.makespan import hooks
from mrdsl.families.makespan.checks import check
from mrdsl.families.makespan.facts import MakespanFacts
from mrdsl.spec.spec import Spec


def _needs(_spec: Spec, relax: bool) -> Needs:
    return Needs("LP" if relax else "MILP")


FAMILY = Family(
    name="makespan",
    summary="The order and the pools in which a batch of jobs finishes first",
    paper="003",
    facts=MakespanFacts,
    goals=(GoalKind("minimize", "makespan", "s", "when the last job of the batch finishes"),),
    formulations=(
        Formulation(
            "time-indexed",
            "counts of tasks that start at each step of a common grid",
            _needs,
            build=hooks.build_time_indexed,
            decode=hooks.decode_time_indexed,
            other_goals="makespan",
        ),
    ),
    quantities=(
        QuantityKind("makespan", "time", "when the last job finishes"),
        QuantityKind("finish", "time", "when a job finishes", over="jobs"),
    ),
    check=check,
    choose=hooks.choose,
    report=hooks.report,
    verify=hooks.verify,
    measure=hooks.measure,
    quantity=hooks.quantity,
    why=hooks.why,
    experiments=(
        Experiment(
            "makespan-production",
            "A day of production batches on clusters of several sizes, with the thesis's 31 % and 34 % beside (5.7)",
            hooks.study_production,
            MappingProxyType(
                {
                    "vms": ("25,50,100,150,200,300,400", "cluster sizes, in VMs of 2 map and 2 reduce slots"),
                    "hours": (24, "batches, one of six jobs every hour"),
                    "seed": (1, "seed of the draws and of the searches"),
                    "rounds": (60, "rounds of the local search at slot level"),
                }
            ),
        ),
    ),
    simulate_plan=hooks.simulate_plan,
    plans=hooks.plans,
    operated=hooks.operated,
)
