"""What a reader makes of an external solver's files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mrdsl.core.result import Termination


@dataclass(frozen=True)
class Found:
    """A solution file's content.

    ``values`` maps column names to values, missing ones are zero; a file without names gives ``by_position`` instead.
    ``row_duals`` are shadow prices in the order of the rows. ``undecided`` marks "infeasible or unbounded",
    ``within_gap`` an optimum that the solver proved within the gap asked for, while it prints its bound too coarsely.
    ``stated`` is the goal's value that the file gives, in the sense of the model file.
    """

    termination: Termination
    values: Mapping[str, float] | None = None
    by_position: tuple[float, ...] | None = None
    bound: float | None = None
    row_duals: tuple[float, ...] | None = None
    undecided: bool = False
    within_gap: bool = False
    stated: float | None = None
    message: str = ""
