"""The joint family: MapReduce classes and web services on one cluster (Cano et al.)."""

from __future__ import annotations

from mrdsl.contracts.family import Family, Formulation, GoalKind, Needs, Promise, QuantityKind, hooks_in
from mrdsl.core.lazy import lazily
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


def _paid_for(spec: Spec) -> float:
    """Return the time of all periods together [s]."""
    demand = spec.facts.demand
    return float(spec.facts.cluster.period * (1 if demand is None else demand.periods))


def choose(spec: Spec, relax: bool, formulation: str | None) -> str:
    """Return the greedy, which is exact or reports its bound; a solver for constraints, formulations and VM types."""
    if formulation in ("P0", "P1") or compares_responses(spec):
        return "scip"
    plain = formulation is None and not spec.constraints and not len(spec.facts.vms)
    return "greedy" if plain else "highs"


hook = lazily(__name__)
FAMILY = Family(
    name="joint",
    summary="One cluster shared by MapReduce classes and web services, period by period.",
    paper="Cano, Carello, Ardagna: Joint Resource Allocation of MapReduce and Web Service Applications",
    facts=JointFacts,
    goals=(GoalKind("minimize", "cost", "currency", "operation and penalties over all periods", 0.0),),
    formulations=(
        Formulation(
            name="P2",
            doc="The reduced problem: VMs per class and service, whole jobs at once, the last VM at its true worth.",
            needs=_linear,
            build=hook("models.formulations", "build_p2"),
            decode=hook("models.formulations", "decode_p2"),
            run=hook("models.formulations", "run_p2"),
            other_goals="cost",
        ),
        Formulation(
            name="P2-rounded",
            doc="The reduced problem with bounds rounded up, as the paper solves it for whole VMs: near the optimum.",
            needs=_linear,
            run=hook("models.formulations", "run_rounded"),
        ),
        Formulation(
            name="P0",
            doc="The problem as printed: jobs, slots, rates and VMs, with nonlinear deadlines and response times.",
            needs=_nonlinear,
            build=hook("models.nonlinear", "build_p0"),
            decode=hook("models.nonlinear", "decode_p0"),
            run=hook("models.nonlinear", "run_p0"),
        ),
        Formulation(
            name="P1",
            doc="P0 in the reciprocals of the jobs: convex constraints, a concave objective.",
            needs=_nonlinear,
            build=hook("models.nonlinear", "build_p1"),
            decode=hook("models.nonlinear", "decode_p1"),
            run=hook("models.nonlinear", "run_p1"),
        ),
    ),
    promises=(
        Promise("cluster.size", 1),
        Promise("vms.available", 1),
        Promise("vms.reserved.available", 1),
        Promise("quotas.cores", 1),
        Promise("classes.spot", 1),
        Promise("classes.types", -1),
        Promise("services.types", -1),
        Promise("classes.deadline", 1),
        Promise("classes.jobs.low", -1),
        Promise("services.rate.low", -1),
        Promise("services.response", 1),
    ),
    quantities=(
        QuantityKind("cost", "money", "operation and penalties over all periods"),
        QuantityKind("vms", "vms", "the most VMs held in any period; of all types or of one", over="vms", whole=True),
        QuantityKind("admitted", "jobs", "jobs of the class that are admitted over all periods", over="classes"),
        QuantityKind("rate", "rate", "the service's mean served rate", over="services"),
        QuantityKind("response", "time", "the service's worst mean response time in any period", over="services"),
        QuantityKind("utilization", "share", "held VMs over all VMs, mean over the periods"),
    ),
    check=check,
    impossible=find_impossible,
    choose=choose,
    paid_for=_paid_for,
    **hooks_in(__name__, verify="plan_warnings", quantity="verify", why="explain", simulate_plan="simulate"),
)
