"""What can be told of a run before it begins."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

from mrdsl.core.diagnostics import Diagnostic, error, note
from mrdsl.simulation.engine.scenario import Scenario, load_of
from mrdsl.simulation.settings import Settings


def check_load(scenario: Scenario, node: Any, hint: str) -> Iterator[Diagnostic]:
    """An error where random arrivals bring more work than the slots can do; ``node`` is a class to show."""
    load = max(load_of(scenario))
    if load >= 1.0:
        shown = "infinitely many times" if load == inf else f"{load:.3g} times"
        yield error(
            "overloaded-cluster",
            f"the jobs of class {node.name} bring {shown} the work that the slots of the plan can do",
            node.span_of("arrivals"),
            hint,
        )


def asked_for(settings: Settings) -> Iterator[Diagnostic]:
    """A note on what the command says in the place of the spec."""
    said = settings.what_if.said()
    if said:
        shown = ", ".join(f"{key} = {value}" for key, value in said.items())
        message = f"simulated with {shown}, which the spec does not say: what the command asked for"
        yield note("what-if", message)
