"""One run of a sweep: what all runs share, what tells them apart, and its row of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import Limits, Termination
from mrdsl.sweeping.axes import Axis
from mrdsl.sweeping.findings import findings, first_message, nothing


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


@dataclass(frozen=True)
class SweepRun:
    """One run of a sweep with all that it needs, wherever it is run."""

    setting: Setting
    cell: Cell

    @property
    def number(self) -> int:
        """Its number in the sweep's order."""
        return self.cell.number

    def row(self) -> dict[str, Any]:
        """What it found; whatever goes wrong is a row too."""
        return run_cell(self.setting, self.cell)

    def lost(self, message: str) -> dict[str, Any]:
        """The row of a run that came to nothing, and why."""
        return {**_named(self.cell), **nothing(message)}


def run_cell(setting: Setting, cell: Cell) -> dict[str, Any]:
    """One run as a flat row; whatever goes wrong is a row too."""
    from mrdsl.language.loading import load_file
    from mrdsl.planning.solve_spec import solve

    try:
        loaded = load_file(
            setting.file, {**setting.defines, **cell.parameters}, seed=cell.seed, outside=setting.outside
        )
        if loaded.spec is None:
            raise MrdslError(loaded.diagnostics)
        result = solve(loaded.spec, setting.solver, setting.formulation, setting.relax, setting.limits)
        if result.termination is Termination.INTERRUPTED:
            raise KeyboardInterrupt  # the whole sweep is meant, not this run
        return {**_named(cell), **findings(loaded.spec, result)}
    except MrdslError as failure:
        return {**_named(cell), **nothing(first_message(failure.diagnostics))}


def _named(cell: Cell) -> dict[str, Any]:
    """What tells a run apart: its number, its values and its seed."""
    return {"run": cell.number, **cell.shown, "seed": cell.seed}
