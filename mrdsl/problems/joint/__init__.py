"""The joint family: MapReduce classes and web services on one private cluster (Cano et al.)."""

from __future__ import annotations

from mrdsl.problems.family import Family, Formulation, GoalKind, Needs, QuantityKind
from mrdsl.problems.joint.checks import check, find_impossible
from mrdsl.problems.joint.facts import JointFacts
from mrdsl.spec.spec import Spec


def _linear(_: Spec, relax: bool) -> Needs:
    return Needs("LP" if relax else "MILP")


_CODE = "mrdsl.problems.joint"

FAMILY = Family(
    name="joint",
    summary="One private cluster shared by MapReduce classes and web services, period by period.",
    paper="Cano, Carello, Ardagna: Joint Resource Allocation of MapReduce and Web Service Applications",
    facts=JointFacts,
    goals=(GoalKind("minimize", "cost", "USD", "operation and penalties over all periods"),),
    formulations=(
        Formulation(
            name="P2",
            doc="The reduced problem: VMs per class and service, the last VM of each at its true worth.",
            needs=_linear,
            build=f"{_CODE}.formulations:build_p2",
            decode=f"{_CODE}.formulations:decode_p2",
        ),
        Formulation(
            name="P2-rounded",
            doc="The reduced problem with bounds rounded up, as the paper solves it for whole VMs: near the optimum.",
            needs=_linear,
            run=f"{_CODE}.formulations:run_rounded",
        ),
    ),
    methods=("greedy",),
    quantities=(
        QuantityKind("cost", "money", "operation and penalties over all periods"),
        QuantityKind("vms", "vms", "the most VMs held in any period"),
        QuantityKind("admitted", "jobs", "jobs of the class that are admitted over all periods", over="classes"),
        QuantityKind("rate", "rate", "the service's mean served rate", over="services"),
        QuantityKind("response", "time", "the service's worst mean response time in any period", over="services"),
        QuantityKind("utilization", "share", "held VMs over all VMs, mean over the periods"),
    ),
    check=check,
    impossible=find_impossible,
    choose=f"{_CODE}.choose:choose",
    verify=f"{_CODE}.verify:verify",
    measure=f"{_CODE}.verify:measure",
)
