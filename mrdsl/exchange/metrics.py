"""Metrics of a result in the text format of Prometheus, for the textfile collector of its node exporter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path

from mrdsl.core.diagnostics import printable
from mrdsl.core.result import Result
from mrdsl.reporting.document import figures

Sample = tuple[Mapping[str, str], float]


def prometheus(result: Result, path: Path) -> bytes:
    """Return the metrics of a result, with or without a plan."""
    objective, common = result.objective, {"problem": result.problem, "title": result.title}
    goal = {**common, "quantity": objective.quantity, "unit": objective.unit}
    numbers = {"objective": objective.value, "bound": objective.bound, "gap": objective.gap}
    words = {
        "objective": "Value of the objective.",
        "bound": "Proven bound on the objective.",
        "gap": "Relative gap between value and bound.",
    }
    lines = list(_metric("has_plan", "1 if the solve has a plan.", [(common, float(result.plan is not None))]))
    for name, value in numbers.items():
        if value is not None:
            lines += _metric(name, words[name], [(goal, value)])
    taken = [({**common, "stage": stage}, value) for stage, value in result.seconds.items()]
    lines += _metric("stage_seconds", "Time of each stage of the solve.", taken)
    plan = [({**common, "quantity": name}, float(value)) for name, value in figures(result.plan).items()]
    lines += _metric("plan", "Number of the plan, such as vms.m5.on_demand.", plan)
    outcomes = result.plan.outcomes() if result.plan is not None else {}
    met = [({**common, "name": name, "outcome": str(outcome)}, 1.0) for name, outcome in outcomes.items()]
    lines += _metric("outcome", "Outcome of the simulated runs for a class or job.", met)
    return "".join(f"{line}\n" for line in lines).encode()


def _metric(name: str, what: str, samples: Sequence[Sample]) -> Iterator[str]:
    shown = [(labels, value) for labels, value in samples if isfinite(value)]
    if shown:
        yield f"# HELP mrdsl_{name} {what}"
        yield f"# TYPE mrdsl_{name} gauge"
    for labels, value in shown:
        named = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        yield f"mrdsl_{name}{{{named}}} {value!r}"


def _escaped(text: str) -> str:
    return printable(text.replace("\\", "\\\\").replace('"', '\\"'))
