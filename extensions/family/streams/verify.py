"""What a plan must keep and what it is worth, from the facts alone, whoever found it."""

from __future__ import annotations

from collections.abc import Iterator

from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.rounding import FEASIBILITY
from mrdsl.core.units import HOUR
from mrdsl.spec.spec import Spec

from streams.plan import StreamPlan


def verify(spec: Spec, plan: StreamPlan, relax: bool) -> Iterator[Diagnostic]:
    """Whether every topic is processed by whole executors, of which there are enough."""
    executor = spec.facts.executor
    for topic in spec.facts.topics:
        count = plan.executors.get(topic.name, 0.0)
        if count * executor.throughput < topic.rate * (1.0 - FEASIBILITY):
            yield error("broken-plan", f"topic {topic.name} gets {count:g} executors, too few", topic.span)
        if not relax and count != int(count):
            yield error("broken-plan", f"topic {topic.name} gets a part of an executor", topic.span)
    if sum(plan.executors.values()) > executor.available * (1.0 + FEASIBILITY):
        yield error("broken-plan", "more executors are rented than there are", executor.span)


def measure(spec: Spec, plan: StreamPlan) -> float:
    """What the executors cost in an hour."""
    return float(HOUR * spec.facts.executor.price * sum(plan.executors.values()))


def quantity(spec: Spec, plan: StreamPlan, name: str, argument: str) -> float:
    """`executors(topic)`, or `executors` of all topics."""
    return plan.executors[argument] if argument else sum(plan.executors.values())
