"""The family NAME: executors for the topics of a stream."""

from mrdsl.contracts.family import Family, Formulation, GoalKind, Promise, QuantityKind

from MODULE import hooks, plan, rules
from MODULE.facts import StreamFacts

FAMILY = Family(
    name="NAME",
    summary="how many executors each topic of a stream gets",
    paper="none",
    facts=StreamFacts,
    goals=(GoalKind("minimize", "cost", "currency", "what the executors cost in an hour"),),
    formulations=(
        Formulation("whole", "whole executors for each topic", hooks.needs, build=hooks.build, decode=hooks.decode),
    ),
    quantities=(QuantityKind("executors", "number", "executors of a topic, or of all", over="topics", whole=True),),
    promises=(Promise("topics.rate", -1), Promise("executor.available", 1)),
    impossible=rules.impossible,
    verify=rules.verify,
    measure=rules.measure,
    quantity=rules.quantity,
    why=rules.why,
    simulate_plan=hooks.simulate_plan,
    reference=hooks.reference,
    plans=plan.plans,
)
