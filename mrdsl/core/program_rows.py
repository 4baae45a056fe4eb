"""A linear program written down column by column and row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from mrdsl.core.linear_program import LinearProgram


@dataclass
class ProgramRows:
    """A goal to be minimized over columns that are added one by one; ``rows`` hold (lower, upper, {column: factor})."""

    costs: list[float] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    rows: list[tuple[float, float, Mapping[int, float]]] = field(default_factory=list)

    def column(self, cost: float = 0.0, upper: float = np.inf, lower: float = 0.0) -> int:
        """Adds a column; its number."""
        self.costs.append(cost)
        self.lower.append(lower)
        self.upper.append(upper)
        return len(self.costs) - 1

    def above(self, column: int, terms: Mapping[int, float], constant: float = 0.0) -> None:
        """``column >= terms + constant``."""
        row = {key: -value for key, value in terms.items()}
        row[column] = row.get(column, 0.0) + 1.0
        self.rows.append((constant, np.inf, row))

    def exactly(self, terms: Mapping[int, float], value: float) -> None:
        """``terms == value``."""
        self.rows.append((value, value, terms))

    def at_most(self, terms: Mapping[int, float], value: float) -> None:
        """``terms <= value``."""
        self.rows.append((-np.inf, value, terms))

    def program(self) -> LinearProgram:
        """The program in arrays."""
        return LinearProgram(
            costs=np.array(self.costs, dtype=float),
            offset=0.0,
            maximize=False,
            lower=np.array(self.lower, dtype=float),
            upper=np.array(self.upper, dtype=float),
            integer=np.zeros(len(self.costs), dtype=bool),
            starts=np.cumsum([0, *(len(row) for _, _, row in self.rows)], dtype=np.int64),
            columns=np.array([column for _, _, row in self.rows for column in row], dtype=np.int64),
            coefficients=np.array([value for _, _, row in self.rows for value in row.values()], dtype=float),
            row_lower=np.array([low for low, _, _ in self.rows], dtype=float),
            row_upper=np.array([high for _, high, _ in self.rows], dtype=float),
        )
