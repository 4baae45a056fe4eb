"""The Pyomo model, and the plan in its solution."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
from mrdsl.core.units import HOUR
from mrdsl.spec.spec import Spec

from streams.plan import StreamPlan


def build(spec: Spec, relax: bool) -> Any:
    """Least cost of executors that process all that comes; one active objective, whose value is the goal's."""
    facts = spec.facts
    topics = {topic.name: topic for topic in facts.topics}
    model = pyo.ConcreteModel()
    model.executors = pyo.Var(list(topics), domain=pyo.NonNegativeReals if relax else pyo.NonNegativeIntegers)
    model.enough = pyo.Constraint(
        list(topics), rule=lambda m, name: facts.executor.throughput * m.executors[name] >= topics[name].rate
    )
    total = sum(model.executors.values())
    model.available = pyo.Constraint(expr=total <= facts.executor.available)
    model.cost = pyo.Objective(expr=HOUR * facts.executor.price * total)
    model.plan_quantities = {("executors", name): model.executors[name] for name in topics} | {("executors", ""): total}
    return model


def decode(spec: Spec, model: Any, relax: bool) -> StreamPlan:
    """The plan in the values that a solver left in the model."""
    found = {name: float(variable.value) for name, variable in model.executors.items()}
    return StreamPlan(found if relax else {name: float(round(count)) for name, count in found.items()})
