"""A family as a third party may write it: servers to buy for a demand; one formulation, one pipeline, one goal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from mrdsl.contracts.family import (
    Export,
    Family,
    Formulation,
    GoalKind,
    Needs,
    Promise,
    QuantityKind,
)
from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.result import Plan, Result, Table, Termination
from mrdsl.exchange.registry import Writer
from mrdsl.spec.schema import Node, block, quantity
from mrdsl.spec.spec import Spec

REFERENCE = """\
# Servers for a shop: how many to buy.
problem shop "spring sale"

server { price = 40 USD, capacity = 30/s }
demand = 100/s

minimize cost
"""


@dataclass(frozen=True, kw_only=True)
class Server(Node):
    """A server that can be bought."""

    price: float = quantity("money", "what one server costs", above=0.0)
    capacity: float = quantity("rate", "the requests that one server answers", above=0.0)


@dataclass(frozen=True, kw_only=True)
class ShopFacts(Node):
    """The facts of a shop."""

    server: Server = block(Server, "the servers for sale", required=True)
    demand: float = quantity("rate", "the requests that come", at_least=0.0)


@dataclass(frozen=True)
class ShopPlan(Plan):
    """How many servers are bought."""

    servers: float

    def tables(self) -> tuple[Table, ...]:
        return (Table("servers", ("servers",), ((self.servers,),)),)


def needs(_: Spec, relax: bool) -> Needs:
    """A whole number of servers, unless it is relaxed."""
    return Needs("LP" if relax else "MILP")


def build(spec: Spec, relax: bool) -> Any:
    """Least cost of servers that answer the demand."""
    import pyomo.environ as pyo

    model = pyo.ConcreteModel()
    model.servers = pyo.Var(domain=pyo.NonNegativeReals if relax else pyo.NonNegativeIntegers)
    model.demand = pyo.Constraint(expr=spec.facts.server.capacity * model.servers >= spec.facts.demand)
    model.cost = pyo.Objective(expr=spec.facts.server.price * model.servers)
    model.plan_quantities = {("servers", ""): model.servers}
    return model


def decode(_: Spec, model: Any, relax: bool) -> ShopPlan:
    """The plan in a solved model."""
    found = float(model.servers.value)
    return ShopPlan(found if relax else round(found))


def verify(spec: Spec, plan: ShopPlan, relax: bool) -> Iterator[Diagnostic]:
    """Whether the demand is answered, by whole servers."""
    if plan.servers * spec.facts.server.capacity < spec.facts.demand * (1.0 - 1e-9):
        yield error("broken-plan", "the servers do not answer the demand", spec.span)
    if not relax and plan.servers != int(plan.servers):
        yield error("broken-plan", "a part of a server is bought", spec.span)


def measure(spec: Spec, plan: ShopPlan) -> float:
    """What the servers cost."""
    return float(spec.facts.server.price * plan.servers)


def servers(_: Spec, plan: ShopPlan, name: str, argument: str) -> float:
    """The one quantity for ``subject to``."""
    assert (name, argument) == ("servers", "")
    return plan.servers


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """The demand over the capacity."""
    return (f"{spec.facts.demand / spec.facts.server.capacity:g} servers' worth of requests come",)


def divide(draft: Draft) -> Draft:
    """The pipeline's one step: demand over capacity, rounded up; proven, since one server less is too few."""
    facts = draft.spec.facts
    found = facts.demand / facts.server.capacity
    plan = ShopPlan(found if draft.relax else math.ceil(found))
    value = measure(draft.spec, plan)
    return replace(draft, plan=plan, value=value, bound=value, termination=Termination.OPTIMAL)


def order(spec: Spec, plan: ShopPlan) -> dict[str, str]:
    """The order as one text."""
    return {"order.txt": f"{plan.servers:g} servers for {spec.title}\n"}


def choose(_: Spec, relax: bool, formulation: str | None) -> str:
    """The embedded solver where a formulation is asked for, else the pipeline."""
    return "highs" if formulation else "shop-division"


PIPELINE = {
    "kind": "pipeline",
    "name": "shop-division",
    "summary": "demand over capacity, rounded up",
    "pipelines": {"shop": {"relax": True, "steps": [{"call": "tests.families.foreign.shop:divide"}]}},
}

FAMILY = Family(
    name="shop",
    summary="how many servers a shop buys",
    paper="none",
    facts=ShopFacts,
    goals=(GoalKind("minimize", "cost", "currency", "what the servers cost"),),
    formulations=(Formulation("count", "a whole number of servers", needs, build=build, decode=decode),),
    quantities=(QuantityKind("servers", "number", "servers bought"),),
    promises=(Promise("demand", -1), Promise("server.capacity", 1)),
    choose=choose,
    verify=verify,
    measure=measure,
    quantity=servers,
    why=why,
    exports=(Export(Writer("order", "an order", "the order as a text", lambda: order, (".txt",)), order),),
    reference=lambda: REFERENCE,
    plans=lambda: (ShopPlan,),
)
