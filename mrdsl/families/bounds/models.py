"""`minimize slots` as a Pyomo model: a check of the closed form, and the method for other constraints."""

from __future__ import annotations

import numpy as np
from pyomo.environ import ConcreteModel, Constraint, Expression, Objective, Set, Var, value

from mrdsl.core.diagnostics import MrdslError, error, one_error
from mrdsl.families.bounds.checks import minimizes_slots
from mrdsl.families.bounds.estimates import estimates_of, guaranteed
from mrdsl.families.bounds.facts import BoundsFacts
from mrdsl.families.bounds.formulas import plan_on
from mrdsl.families.bounds.plan import BoundsPlan
from mrdsl.formulas.mapreduce import completion_expression, deadline_constraint
from mrdsl.spec.columns import column, names_of
from mrdsl.spec.estimates import default_guarantee
from mrdsl.spec.spec import Spec

LEAST = 1.0
"""No job does with fewer slots than this where it has tasks: the estimates mean nothing below."""


def build(spec: Spec, relax: bool) -> ConcreteModel:
    """Return slots of one job per class, between the work that must be done by the deadline and the tasks there are."""
    if not minimizes_slots(spec):
        raise one_error(
            "unknown-formulation",
            "an estimate makes no choice, so it has no model",
            spec.goal.span if spec.goal else spec.span,
            "take --solver formulas, or ask minimize slots",
        )
    facts: BoundsFacts = spec.facts
    _refuse_whole_slots(facts)
    estimates = estimates_of(facts)
    work = guaranteed(facts, estimates)
    deadline, jobs = column(facts.classes, "deadline"), column(facts.classes, "jobs")
    tasks = (estimates.profile.map_tasks, estimates.profile.reduce_tasks)
    model = ConcreteModel(name=spec.title or "slots")
    model.classes = Set(initialize=range(len(deadline)), ordered=True)
    model.map_slots = Var(model.classes, bounds=lambda _, i: (LEAST, float(tasks[0][i])))
    model.reduce_slots = Var(model.classes, bounds=lambda _, i: _reduce_bounds(facts, float(tasks[1][i])))
    model.completion = Expression(
        model.classes, rule=lambda m, i: completion_expression(work, i, 1, m.map_slots[i], m.reduce_slots[i])
    )
    model.deadline = Constraint(
        model.classes,
        rule=lambda m, i: deadline_constraint(work, i, 1, m.map_slots[i], m.reduce_slots[i], float(deadline[i])),
    )
    model.slots = Objective(
        expr=sum(float(jobs[i]) * (model.map_slots[i] + model.reduce_slots[i]) for i in model.classes)
    )
    names = names_of(facts.classes)
    model.plan_quantities = {("slots", ""): model.slots.expr} | {
        ("completion", names[i]): model.completion[i] for i in model.classes
    }
    return model


def decode(spec: Spec, model: ConcreteModel, relax: bool) -> BoundsPlan:
    """Return the plan of the slots that a solver left in the model."""
    slots = [np.array([value(part[i]) for i in model.classes]) for part in (model.map_slots, model.reduce_slots)]
    return plan_on(spec, estimates_of(spec.facts), *slots)


def _refuse_whole_slots(facts: BoundsFacts) -> None:
    counted = {"waves": "count the waves", "mean": "use the mean time on whole slots"}
    instead = {"waves": "another guarantee or fractional_waves, which may miss the deadline", "mean": "average"}
    refusals = [
        error(
            "needs-formulation",
            f"the model `slots` is convex: it cannot {counted[word]} of class {node.name}",
            node.span_of("guarantee") or node.span,
            f"pass `--solver formulas` if the spec has no `subject to`, or write guarantee = {instead[word]}",
        )
        for node in facts.classes
        if (word := node.guarantee or default_guarantee(facts, True)) in counted
    ]
    if refusals:
        raise MrdslError(refusals)


def _reduce_bounds(facts: BoundsFacts, tasks: float) -> tuple[float, float]:
    if tasks == 0.0:
        return 0.0, 0.0
    return (tasks, tasks) if facts.sizing == "fixed_reduce" else (LEAST, tasks)
