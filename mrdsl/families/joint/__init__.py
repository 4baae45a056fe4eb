"""The joint family: MapReduce classes and web services on one private cluster (Cano et al.)."""

from __future__ import annotations

from mrdsl.contracts.family import Experiment, Family, Formulation, GoalKind, Needs, Promise, QuantityKind
from mrdsl.families.joint import hooks
from mrdsl.families.joint.checks import check, find_impossible
from mrdsl.families.joint.facts import JointFacts
from mrdsl.families.joint.quantities import compares_responses, compares_worst_period
from mrdsl.spec.spec import Spec


def _linear(spec: Spec, relax: bool) -> Needs:
    whole = not relax or compares_worst_period(spec)
    if compares_responses(spec):
        return Needs("MINLP" if whole else "NLP")
    return Needs("MILP" if whole else "LP")


def _nonlinear(spec: Spec, relax: bool) -> Needs:
    return Needs("MINLP" if not relax or compares_worst_period(spec) else "NLP")


_SMALL = {"small": (30, "how many instances of each of S1 to S5")}
_LARGE = {"large": (10, "how many instances of each of L1 to L5")}
_CONCURRENCY = {"concurrency": ("whole", "jobs at once: `whole`, or `fractional` as in the paper")}

FAMILY = Family(
    name="joint",
    summary="One private cluster shared by MapReduce classes and web services, period by period.",
    paper="Cano, Carello, Ardagna: Joint Resource Allocation of MapReduce and Web Service Applications",
    facts=JointFacts,
    goals=(GoalKind("minimize", "cost", "currency", "operation and penalties over all periods"),),
    formulations=(
        Formulation(
            name="P2",
            doc="The reduced problem: VMs per class and service, whole jobs at once, the last VM at its true worth.",
            needs=_linear,
            build=hooks.build_p2,
            decode=hooks.decode_p2,
            run=hooks.run_p2,
            other_goals="cost",
        ),
        Formulation(
            name="P2-rounded",
            doc="The reduced problem with bounds rounded up, as the paper solves it for whole VMs: near the optimum.",
            needs=_linear,
            run=hooks.run_p2_rounded,
        ),
        Formulation(
            name="P0",
            doc="The problem as printed: jobs, slots, rates and VMs, with nonlinear deadlines and response times.",
            needs=_nonlinear,
            build=hooks.build_p0,
            decode=hooks.decode_p0,
            run=hooks.run_p0,
        ),
        Formulation(
            name="P1",
            doc="P0 in the reciprocals of the jobs: convex constraints, a concave objective.",
            needs=_nonlinear,
            build=hooks.build_p1,
            decode=hooks.decode_p1,
            run=hooks.run_p1,
        ),
    ),
    promises=(
        Promise("cluster.size", 1),
        Promise("classes.deadline", 1),
        Promise("classes.jobs.low", -1),
        Promise("services.rate.low", -1),
        Promise("services.response", 1),
    ),
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
    choose=hooks.choose,
    report=hooks.report,
    verify=hooks.verify,
    measure=hooks.measure,
    quantity=hooks.quantity,
    why=hooks.why,
    simulate_plan=hooks.simulate_plan,
    targets=hooks.targets,
    deployments=hooks.deployments,
    experiments=(
        Experiment(
            "joint",
            "all studies of shared against partitioned clusters, beside the printed values",
            hooks.study_joint,
            {**_SMALL, **_LARGE, **_CONCURRENCY},
        ),
        Experiment(
            "joint-sizes",
            "savings over the cluster's size (figure 3) and gain in utilization (table 6)",
            hooks.study_sizes,
            {**_SMALL, **_LARGE, **_CONCURRENCY},
        ),
        Experiment(
            "joint-hours",
            "a day of S4: cost over the size (figure 4), hour by hour (figures 5 and 6)",
            hooks.study_hours,
            {"number": (5, "which instance of S4"), **_CONCURRENCY},
        ),
        Experiment(
            "joint-integrality",
            "what whole VMs, or whole jobs at once, cost beyond fractional ones",
            hooks.study_integrality,
            {**_SMALL, **_CONCURRENCY},
            draws=False,
        ),
        Experiment(
            "joint-instances",
            "writes S1 to S5 and L1 to L5 as spec files",
            hooks.study_instances,
            {"number": (1, "which instance of each")},
            draws=False,
        ),
    ),
    plans=hooks.plans,
    operated=hooks.operated,
)
