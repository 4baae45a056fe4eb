"""One run of a sweep: what all runs share, what tells them apart, and its row of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import Limits, Termination
from mrdsl.sweeping.axes import Axis


@dataclass(frozen=True)
class Setting:
    """What all runs of a sweep share: the spec's file and how it is solved."""

    file: str
    solver: str = "auto"
    formulation: str | None = None
    relax: bool = False
    limits: Limits = field(default_factory=Limits)
    outside: bool = False
    defines: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """One run: its number in the sweep's order, its parameter values as written, and its seed."""

    number: int
    parameters: Mapping[str, str]
    seed: int | None


def cells(axes: Sequence[Axis], seeds: Sequence[int] = ()) -> list[Cell]:
    """Every combination, the last axis running fastest and the seeds within it."""
    names = [axis.name for axis in axes]
    combinations = [dict(zip(names, values, strict=True)) for values in product(*(axis.values for axis in axes))]
    pairs = product(combinations, seeds or (None,))
    return [Cell(number, values, seed) for number, (values, seed) in enumerate(pairs, 1)]


def run_cell(setting: Setting, cell: Cell) -> dict[str, Any]:
    """One run as a flat row; whatever goes wrong is a row too."""
    from mrdsl.families.diagnosis import find_family
    from mrdsl.language.loading import load_file
    from mrdsl.planning.solve_spec import solve

    row: dict[str, Any] = {"run": cell.number, **cell.parameters, "seed": cell.seed}
    try:
        loaded = load_file(
            setting.file, {**setting.defines, **cell.parameters}, seed=cell.seed, outside=setting.outside
        )
        if loaded.spec is None:
            raise MrdslError(loaded.diagnostics)
        result = solve(loaded.spec, setting.solver, setting.formulation, setting.relax, setting.limits)
        if result.termination is Termination.INTERRUPTED:
            raise KeyboardInterrupt  # the whole sweep is meant, not this run
        plan_quantities = _quantities(loaded.spec, find_family(loaded.spec), result.plan)
    except MrdslError as failure:
        return {**row, "termination": "error", "solution": "none", "message": _first_message(failure.diagnostics)}
    return {
        **row,
        "termination": str(result.termination),
        "solution": str(result.solution),
        "value": result.objective.value,
        "bound": result.objective.bound,
        "gap": result.objective.gap,
        "unit": result.objective.unit,
        "solver": result.solver["name"],
        "formulation": result.formulation,
        **plan_quantities,
        "seconds": round(sum(result.seconds.values()), 6),
        "message": "" if result.plan is not None else _first_message(result.diagnostics),
    }


def _quantities(spec: Any, family: Any, plan: Any) -> dict[str, float | None]:
    """The plan's own quantities that need no argument, in the family's order."""
    if family.quantity is None:
        return {}
    measure = family.quantity
    names = [kind.name for kind in family.quantities if not kind.over]
    return {f"plan.{name}": None if plan is None else float(measure(spec, plan, name, "")) for name in names}


def _first_message(diagnostics: Sequence[Any]) -> str:
    return next((d.message for d in diagnostics if d.severity == "error"), "")
