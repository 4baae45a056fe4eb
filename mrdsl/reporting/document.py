"""A result as the one JSON object that ``mrdsl solve --json`` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mrdsl.core.diagnostics import Diagnostic, has_errors
from mrdsl.core.json_text import collection_paused, json_text
from mrdsl.core.result import Plan, Result, Termination, plain
from mrdsl.core.version import __version__
from mrdsl.reporting.diagnostics import as_document
from mrdsl.spec.spec import Spec

FORMAT = 6


def result_document(result: Result) -> dict[str, Any]:
    """Return the result as plain JSON values; the keys are those of the language's reference."""
    return {
        "format": FORMAT,
        "mrdsl": __version__,
        "problem": result.problem,
        "title": result.title,
        "formulation": result.formulation,
        "solver": dict(result.solver),
        "seed": result.seed,
        "termination": str(result.termination),
        "solution": str(result.solution),
        "objective": plain(result.objective),
        **({"quantities": plain(result.quantities)} if result.quantities else {}),
        "plan": _plan(result),
        **({"today": plain(result.today)} if result.today is not None else {}),
        "diagnostics": [as_document(d) for d in result.diagnostics],
        "seconds": {stage: round(value, 6) for stage, value in result.seconds.items()},
    }


def _plan(result: Result) -> dict[str, Any] | None:
    with collection_paused():
        if result.plan is None:
            return None
        spot = result.plan.on_spot()
        return {**result.plan.document(), **({"on_spot": dict(spot)} if spot else {})}


def figures(plan: Plan | None) -> dict[str, float]:
    """Return the single numbers in the document of a plan, such as ``cost.total`` and ``vms.m5.spot``."""
    found: dict[str, float] = {}
    for name, value in ({} if plan is None else plan.document()).items():
        parts = {f"{name}.{key}": part for key, part in value.items()} if isinstance(value, dict) else {name: value}
        if name == "vms" and isinstance(value, dict):
            parts = {f"vms.{vm}.{way}": count for vm, ways in value.items() for way, count in ways.items()}
        if all(_is_number(part) for part in parts.values()):
            found |= parts
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def failure_document(
    diagnostics: tuple[Diagnostic, ...], seconds: Mapping[str, float], spec: Spec | None = None
) -> dict[str, Any]:
    """Return the object for a spec that could not be solved at all: the same keys, no plan, the reasons."""
    proven = has_errors(diagnostics) and all(d.impossible for d in diagnostics if d.severity == "error")
    return {
        "format": FORMAT,
        "mrdsl": __version__,
        "problem": spec.problem if spec else None,
        "title": spec.title if spec else "",
        "formulation": None,
        "solver": {"name": None, "version": None, "file": None},
        "seed": spec.seed if spec else None,
        "termination": str(Termination.INFEASIBLE if proven else Termination.ERROR),
        "solution": "none",
        "objective": {
            "sense": None,
            "quantity": None,
            "value": None,
            "unit": "",
            "bound": None,
            "gap": None,
            "period": None,
        },
        "plan": None,
        "diagnostics": [as_document(d) for d in diagnostics],
        "seconds": dict(seconds),
    }


def to_json(document: Mapping[str, Any]) -> str:
    """Write a document as JSON with stable order; NaN and infinity are errors."""
    return json_text(document)
