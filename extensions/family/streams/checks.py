"""What can be said of a spec without a solver."""

from __future__ import annotations

from collections.abc import Iterator

from mrdsl.core import diagnostics
from mrdsl.core.diagnostics import Diagnostic
from mrdsl.core.rounding import ceiling
from mrdsl.spec.spec import Spec


def impossible(spec: Spec) -> Iterator[Diagnostic]:
    """Topics that need more executors than there are."""
    executor = spec.facts.executor
    needed = sum(float(ceiling(topic.rate / executor.throughput)) for topic in spec.facts.topics)
    if needed > executor.available:
        message = f"the topics need {needed:g} executors, {executor.available} are available"
        place = executor.span_of("available")
        yield diagnostics.impossible("too-few-executors", message, place, "rent more, or drop a topic")
