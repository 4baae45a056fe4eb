"""What a run found, as a flat row: how it ended, the goal, what the plan says in single numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mrdsl.core.diagnostics import Diagnostic
from mrdsl.core.result import Plan, Result
from mrdsl.spec.spec import Spec

FINDINGS = (
    *("termination", "solution", "value", "bound", "gap", "unit"),
    *("solver", "formulation", "seconds", "message"),
)
"""The columns that every result fills."""


def findings(spec: Spec, result: Result) -> dict[str, Any]:
    """The columns that a result fills: ``plan.NAME`` are the family's quantities, and the plan's own numbers."""
    from mrdsl.families.diagnosis import find_family

    return {
        "termination": str(result.termination),
        "solution": str(result.solution),
        "value": result.objective.value,
        "bound": result.objective.bound,
        "gap": result.objective.gap,
        "unit": result.objective.unit,
        "solver": result.solver["name"],
        "formulation": result.formulation,
        **_quantities(spec, find_family(spec), result.plan),
        **_figures(result.plan),
        "seconds": round(sum(result.seconds.values()), 6),
        "message": "" if result.plan is not None else first_message(result.diagnostics),
    }


def nothing(message: str) -> dict[str, Any]:
    """The columns of a run that came to nothing, and why."""
    return {"termination": "error", "solution": "none", "message": message}


def first_message(diagnostics: Iterable[Diagnostic]) -> str:
    """The first mistake in words, "" where there is none."""
    return next((d.message for d in diagnostics if d.severity == "error"), "")


def _figures(plan: Plan | None) -> dict[str, float]:
    """What the plan's document says in single numbers: ``plan.cost.total``, ``plan.jobs.tardy_share``."""
    found: dict[str, float] = {}
    for name, value in ({} if plan is None else plan.document()).items():
        parts = {f"{name}.{key}": part for key, part in value.items()} if isinstance(value, dict) else {name: value}
        if all(_is_number(part) for part in parts.values()):
            found |= {f"plan.{key}": part for key, part in parts.items()}
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _quantities(spec: Any, family: Any, plan: Any) -> dict[str, float | None]:
    """The plan's own quantities that need no argument, in the family's order."""
    if family.quantity is None:
        return {}
    measure = family.quantity
    names = [kind.name for kind in family.quantities if not kind.needs_argument]
    return {f"plan.{name}": None if plan is None else float(measure(spec, plan, name, "")) for name in names}
