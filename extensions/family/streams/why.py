"""What `mrdsl why` says of a plan."""

from __future__ import annotations

from mrdsl.core.result import Result, Table
from mrdsl.spec.spec import Spec

from streams.plan import StreamPlan


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """How much of its executors each topic uses."""
    plan = result.plan
    if not isinstance(plan, StreamPlan):
        return ("there is no plan",)
    each = spec.facts.executor.throughput
    rows = [(topic.name, topic.rate / (each * plan.executors[topic.name] or 1.0)) for topic in spec.facts.topics]
    return (Table("Use", ("topic", "share of its executors in use"), rows),)
