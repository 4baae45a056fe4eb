"""One run of a sweep: what all runs share, what tells them apart, and its row of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import Limits, Plan, Termination
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
    """One run: its number in the sweep's order, its parameter values as written, and its seed.

    ``shown`` are the values as the table has them, by its heads.
    """

    number: int
    parameters: Mapping[str, str]
    seed: int | None
    shown: Mapping[str, str | float] = field(default_factory=dict)


def cells(axes: Sequence[Axis], seeds: Sequence[int] = ()) -> list[Cell]:
    """Every combination, the last axis running fastest and the seeds within it."""
    names, heads = [axis.name for axis in axes], [axis.head for axis in axes]
    written = product(*(zip(axis.values, axis.shown, strict=True) for axis in axes))
    pairs = product(written, seeds or (None,))
    return [
        Cell(
            number,
            {name: value for name, (value, _) in zip(names, values, strict=True)},
            seed,
            {head: shown for head, (_, shown) in zip(heads, values, strict=True)},
        )
        for number, (values, seed) in enumerate(pairs, 1)
    ]


def run_cell(setting: Setting, cell: Cell) -> dict[str, Any]:
    """One run as a flat row; whatever goes wrong is a row too."""
    from mrdsl.families.diagnosis import find_family
    from mrdsl.language.loading import load_file
    from mrdsl.planning.solve_spec import solve

    row = _named(cell)
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
        return lost_row(cell, _first_message(failure.diagnostics))
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
        **_figures(result.plan),
        "seconds": round(sum(result.seconds.values()), 6),
        "message": "" if result.plan is not None else _first_message(result.diagnostics),
    }


def lost_row(cell: Cell, message: str) -> dict[str, Any]:
    """The row of a run that came to nothing, and why."""
    return {**_named(cell), "termination": "error", "solution": "none", "message": message}


def _named(cell: Cell) -> dict[str, Any]:
    """What tells a run apart: its number, its values and its seed."""
    return {"run": cell.number, **cell.shown, "seed": cell.seed}


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


def _first_message(diagnostics: Sequence[Any]) -> str:
    return next((d.message for d in diagnostics if d.severity == "error"), "")
