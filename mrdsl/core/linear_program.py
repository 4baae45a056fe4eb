"""Linear programs in arrays, and their construction column by column and row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import FEASIBILITY, ROUNDING

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

Entries = Sequence[tuple[int, float]]
"""Columns and coefficients of a row."""

INTEGRALITY = 1e-5
WORST = 10 * FEASIBILITY
"""The largest violation at which a solver's point still counts."""
NATURAL = 2.0**10
"""The size of a goal's largest coefficient when a solver sees it: what they compare goals with is absolute."""
SPREAD = 1e7
"""Ratio of the coefficients of a goal up to which the largest one has that size."""


def natural_scale(largest: float) -> float:
    """Return the power of two that brings ``largest`` to between ``NATURAL`` and twice that; 1 for 0."""
    if not 0.0 < largest < np.inf:
        return 1.0
    exponent = np.floor(np.log2(NATURAL)) - np.floor(np.log2(largest))
    return float(2.0 ** min(max(exponent, -900.0), 900.0))


@dataclass(frozen=True)
class LinearProgram:
    """``minimize c x + offset`` (or maximize) with ``row_lower <= A x <= row_upper``, ``lower <= x <= upper``.

    ``A`` is held row by row: ``starts`` (one more than rows), ``columns``, ``coefficients``. Missing bounds are
    infinite. ``hints`` are options for particular solvers, as ``{"highs": {"presolve": "off"}}``. ``fixed`` is the part
    of the goal that every solution has, which gaps are not measured on.
    """

    costs: Array
    offset: float
    maximize: bool
    lower: Array
    upper: Array
    integer: NDArray[np.bool_]
    starts: Indices
    columns: Indices
    coefficients: Array
    row_lower: Array
    row_upper: Array
    hints: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))
    fixed: float = 0.0

    @property
    def kind(self) -> str:
        return "MILP" if self.integer.any() else "LP"

    def objective(self, x: Array) -> float:
        """Return the goal's value at ``x``, constant included."""
        return float(self.costs @ x) + self.offset

    def goal_size(self, x: Array) -> float:
        """Return the largest term of the goal at ``x``, the constant included."""
        return max(float(np.abs(self.costs * x).max(initial=0.0)), abs(self.offset))

    def dual_bound(self, duals: Sequence[float]) -> float | None:
        """Return the bound that any shadow prices of the rows prove by weak duality, or None if they prove none.

        The prices can have the sign of the objective or of its minimized form; the better bound of both counts.
        """
        if len(duals) != len(self.row_lower):
            return None
        program = self.minimized()
        bounds = [program._weak_bound(sign * np.asarray(duals, dtype=float)) for sign in (1.0, -1.0)]
        known = [bound for bound in bounds if bound is not None]
        return (-max(known) if self.maximize else max(known)) if known else None

    def _weak_bound(self, prices: Array) -> float | None:
        rows = np.repeat(np.arange(len(self.row_lower)), np.diff(self.starts))
        reduced = self.costs - np.bincount(self.columns, self.coefficients * prices[rows], minlength=len(self.costs))
        small = ROUNDING * max(1.0, float(np.abs(self.costs).max(initial=0.0)))
        reduced = np.where(np.abs(reduced) <= small, 0.0, reduced)
        total = self.offset
        for price, low, high in ((prices, self.row_lower, self.row_upper), (reduced, self.lower, self.upper)):
            used = price != 0.0
            total += float(np.sum(price[used] * np.where(price > 0.0, low, high)[used]))
        return total if np.isfinite(total) else None

    def may_be_unbounded(self) -> bool:
        """Return False if every column that improves the objective has a bound in that direction."""
        costs = -self.costs if self.maximize else self.costs
        return bool(np.any((costs > 0) & np.isinf(self.lower)) or np.any((costs < 0) & np.isinf(self.upper)))

    def minimized(self) -> LinearProgram:
        """Return the same program with its goal to be minimized."""
        if not self.maximize:
            return self
        return replace(self, costs=-self.costs, offset=-self.offset, maximize=False)

    def natural_scale(self) -> float:
        """Return the power of two that brings the largest coefficient of the objective to between ``NATURAL`` and twice
        that.

        Solvers compare objectives by absolute tolerances (the cutoff increment of CBC, the dual feasibility of all). If
        the unit of an objective is a hundredth of a dollar, these are as large as the differences between plans. A
        power of two rounds no number. Coefficients of more than ``SPREAD`` times the smallest do not count, since the
        smallest would be less than what solvers tolerate.
        """
        sizes = np.abs(self.costs[self.costs != 0.0])
        return natural_scale(min(float(sizes.max(initial=0.0)), SPREAD * float(sizes.min(initial=np.inf))))

    def scaled(self, factor: float) -> LinearProgram:
        """Return the same program with its goal multiplied by a power of two."""
        return self if factor == 1.0 else replace(self, costs=self.costs * factor, offset=self.offset * factor)

    def without_fixed(self) -> LinearProgram:
        """Return the same program with the fixed part taken out of its goal."""
        return self if self.fixed == 0.0 else replace(self, offset=self.offset - self.fixed, fixed=0.0)

    def with_columns(self, costs: Array) -> LinearProgram:
        """Return the same program with more columns, of at least 0 and in no row."""
        count = len(costs)
        return replace(
            self,
            costs=np.concatenate([self.costs, costs]),
            lower=np.concatenate([self.lower, np.zeros(count)]),
            upper=np.concatenate([self.upper, np.full(count, np.inf)]),
            integer=np.concatenate([self.integer, np.zeros(count, dtype=bool)]),
        )

    def with_rows(self, rows: Sequence[tuple[Entries, float]]) -> LinearProgram:
        """Return the same program with more rows: sums of columns that are at most a number."""
        entries = [entry for row, _ in rows for entry in row]
        ends = self.starts[-1] + np.cumsum([len(row) for row, _ in rows], dtype=np.int64)
        return replace(
            self,
            starts=np.concatenate([self.starts, ends]).astype(np.int64),
            columns=np.concatenate([self.columns, [column for column, _ in entries]]).astype(np.int64),
            coefficients=np.concatenate([self.coefficients, [factor for _, factor in entries]]),
            row_lower=np.concatenate([self.row_lower, np.full(len(rows), -np.inf)]),
            row_upper=np.concatenate([self.row_upper, [most for _, most in rows]]),
        )

    def without_goal(self) -> LinearProgram:
        """Return the same program without an objective, to find any solution."""
        return replace(self, costs=np.zeros_like(self.costs), offset=0.0)

    def violation(self, x: Array) -> tuple[float, int | None]:
        """Return the largest relative violation of a bound or row at ``x``, and the row.

        It is relative to the largest term of the row, at least 1, as solvers scale rows too. A distance of
        ``INTEGRALITY`` from a whole number counts as ``FEASIBILITY``.
        """
        if not np.all(np.isfinite(x)):
            return np.inf, None
        box = np.maximum(self.lower - x, x - self.upper) / np.maximum(1.0, np.abs(x))
        worst = float(box.max(initial=0.0))
        fractions = np.abs(x - np.round(x))[self.integer]
        worst = max(worst, float(fractions.max(initial=0.0)) * (FEASIBILITY / INTEGRALITY))
        rows = self._row_violations(x)
        if rows.size and rows.max() > worst:
            return float(rows.max()), int(rows.argmax())
        return worst, None

    def is_only_fractional(self, x: Array) -> bool:
        """Return True if ``x`` keeps all bounds and rows, and only its whole numbers are fractions."""
        relaxed = replace(self, integer=np.zeros_like(self.integer))
        return bool(self.violation(x)[0] > WORST >= relaxed.violation(x)[0])

    def _row_violations(self, x: Array) -> Array:
        count = len(self.row_lower)
        if not count:
            return np.zeros(0)
        products = self.coefficients * x[self.columns]
        rows = np.repeat(np.arange(count), np.diff(self.starts))
        activity = np.bincount(rows, weights=products, minlength=count)
        size = np.ones(count)
        np.maximum.at(size, rows, np.abs(products))
        return np.maximum(self.row_lower - activity, activity - self.row_upper) / size

    def with_whole_numbers(self, x: Array) -> Array:
        """Return ``x`` with exact whole numbers if all constraints still hold, or ``x`` unchanged."""
        if not self.integer.any():
            return x
        rounded = np.where(self.integer, np.round(x), x)
        return rounded if self.violation(rounded)[0] <= FEASIBILITY else x


@dataclass(frozen=True)
class Names:
    """The Pyomo objects of the columns and rows, in order."""

    variables: Sequence[Any]
    constraints: Sequence[Any]
    objective: Any


@dataclass
class ProgramRows:
    """A goal to be minimized over columns that are added one by one; ``rows`` hold (lower, upper, {column: factor})."""

    costs: list[float] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    rows: list[tuple[float, float, Mapping[int, float]]] = field(default_factory=list)

    def column(self, cost: float = 0.0, upper: float = np.inf, lower: float = 0.0) -> int:
        """Add a column; its number."""
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
        """Return the program in arrays."""
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
