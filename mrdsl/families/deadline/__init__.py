"""Deadline partition: the delay of each task of a job so that the whole job meets its deadline (004, II.B)."""

from __future__ import annotations

from mrdsl.contracts.family import Family, Formulation, GoalKind, Needs, Promise, QuantityKind, hooks_in
from mrdsl.core.lazy import lazily
from mrdsl.families.deadline.checks import check, find_impossible
from mrdsl.families.deadline.facts import DeadlineFacts
from mrdsl.spec.spec import Spec


def _exact(spec: Spec, _: bool) -> Needs:
    return Needs("NLP" if spec.goal is None or spec.goal.quantity == "slack" else "LP")


def _linear(_spec: Spec, _: bool) -> Needs:
    return Needs("LP")


hook = lazily(__name__)
FAMILY = Family(
    name="deadline",
    summary="How much delay each task of a DAG may have, so that the whole keeps its allowable delay",
    paper="004",
    facts=DeadlineFacts,
    goals=(
        GoalKind("maximize", "slack", "", "the product of the tasks' slacks, as the sum of weight * ln(slack / 1 s)"),
        GoalKind("maximize", "slack_ratio", "", "the least slack in proportion to the task's duration (and weight)"),
        GoalKind("maximize", "min_slack", "s", "the least slack (per unit of weight)"),
    ),
    formulations=(
        Formulation(
            "potentials",
            "the exact nonlinear model over start and finish times",
            _exact,
            build=hook("models", "build"),
            decode=hook("models", "decode"),
            compiled=hook("models", "build_in_seconds"),
            other_goals="min_slack",
        ),
        Formulation(
            "tangents",
            "linear programs with tangents of the logarithm, to a proven gap",
            _linear,
            run=hook("models", "run"),
        ),
    ),
    promises=(Promise("dags.allowable_delay", 1),),
    quantities=(
        QuantityKind("delay", "time", "what a task may take from when it may start", over="tasks"),
        QuantityKind("slack", "time", "a task's delay less its duration", over="tasks"),
    ),
    check=check,
    impossible=find_impossible,
    **hooks_in(
        __name__,
        choose="methods.slack_limits",
        quantity="verify",
        simulate_plan="simulate",
        report="plan",
        operated="plan",
    ),
)
