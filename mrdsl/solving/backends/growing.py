"""HiGHS within this process: a program that gets rows and columns in turns, relaxed or in whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray

from mrdsl.core.linear_program import Array, Indices

_KINDS = highspy.HighsVarType
_FEASIBLE = 2
Entries = tuple[Indices, Indices, Array]
"""Rows, columns counted from the first new one, and coefficients."""


class Solved(NamedTuple):
    """An optimum of the relaxed program: its value, point, duals of rows, and reduced costs of columns."""

    value: float
    point: Array
    duals: Array
    reduced: Array


@dataclass
class Program:
    """A program to minimize. Each relaxed solve begins at the basis of the last one."""

    costs: Array = field(default_factory=lambda: np.zeros(0))
    lower: Array = field(default_factory=lambda: np.zeros(0))
    upper: Array = field(default_factory=lambda: np.zeros(0))
    whole: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    row_lower: Array = field(default_factory=lambda: np.zeros(0))
    row_upper: Array = field(default_factory=lambda: np.zeros(0))
    _entries: list[Entries] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._solver = _solver()

    def add_rows(self, lower: Array | Sequence[float], upper: Array | Sequence[float]) -> Indices:
        """Add rows without entries; return their numbers."""
        lower, upper = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
        first, none = len(self.row_lower), np.zeros(0, dtype=np.int32)
        self.row_lower, self.row_upper = np.append(self.row_lower, lower), np.append(self.row_upper, upper)
        self._solver.addRows(len(lower), lower, upper, 0, none, none, np.zeros(0))
        return np.arange(first, len(self.row_lower))

    def add_row(self, lower: float, upper: float, columns: Indices, values: Array) -> int:
        """Add a row of columns that are there; return its number."""
        row = len(self.row_lower)
        order = np.argsort(columns, kind="stable")
        columns, values = np.asarray(columns)[order], np.asarray(values, dtype=float)[order]
        self.row_lower, self.row_upper = np.append(self.row_lower, lower), np.append(self.row_upper, upper)
        self._entries.append((np.full(len(columns), row), columns, values))
        self._solver.addRow(lower, upper, len(columns), columns.astype(np.int32), values)
        return row

    def add(
        self, costs: Array, lower: Array | float, upper: Array | float, whole: bool, entries: Sequence[Entries]
    ) -> Indices:
        """Add columns with entries; those of a row and column that appear twice add up. Return their numbers."""
        from scipy.sparse import coo_array

        costs = np.asarray(costs, dtype=float)
        count, first = len(costs), len(self.costs)
        lower, upper = (np.broadcast_to(np.asarray(each, dtype=float), costs.shape) for each in (lower, upper))
        rows, columns, values = (np.concatenate([np.zeros(0), *(each[n] for each in entries)]) for n in range(3))
        block = coo_array((values.astype(float), (rows.astype(int), columns.astype(int))), shape=self._shape(count))
        block = block.tocsc()
        block.eliminate_zeros()
        starts, indices = (each.astype(np.int32) for each in (block.indptr[:-1], block.indices))
        self._solver.addCols(count, costs, lower, upper, block.nnz, starts, indices, block.data)
        self.costs, self.lower = np.append(self.costs, costs), np.append(self.lower, lower)
        self.upper, self.whole = np.append(self.upper, upper), np.append(self.whole, np.full(count, whole))
        at = np.repeat(np.arange(count), np.diff(block.indptr))
        self._entries.append((block.indices.astype(int), first + at, block.data))
        return np.arange(first, first + count)

    def link(self, row: int, columns: Indices, values: Array) -> None:
        """Give columns that are there an entry in a row that they are not in."""
        for column, value in zip(columns.tolist(), values.tolist(), strict=True):
            self._solver.changeCoeff(row, column, value)
        self._entries.append((np.full(len(columns), row), columns, values))

    def _shape(self, count: int) -> tuple[int, int]:
        return len(self.row_lower), count

    def price(self, columns: Indices, costs: Array) -> None:
        """Give columns other costs."""
        self.costs[columns] = costs
        self._solver.changeColsCost(len(columns), np.asarray(columns, dtype=np.int32), np.asarray(costs, dtype=float))

    def limit(self, columns: Indices, lower: Array, upper: Array) -> None:
        """Give columns other limits."""
        if not len(columns):
            return
        self.lower[columns], self.upper[columns] = lower, upper
        each = (np.ascontiguousarray(limits[columns]) for limits in (self.lower, self.upper))
        self._solver.changeColsBounds(len(columns), np.asarray(columns, dtype=np.int32), *each)

    def limit_rows(self, rows: Indices, upper: Array) -> None:
        """Give rows other upper limits."""
        self.row_upper[rows] = upper
        for row, most in zip(rows.tolist(), upper.tolist(), strict=True):
            self._solver.changeRowBounds(row, float(self.row_lower[row]), most)

    def relaxed(self, seconds: float | None = None) -> Solved | None:
        """Return the optimum in fractions; None if it is not found within that many seconds."""
        _within(self._solver, seconds)
        self._solver.run()
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._solver.getSolution()
        value = float(self._solver.getInfo().objective_function_value)
        return Solved(value, *(np.array(each) for each in (solution.col_value, solution.row_dual, solution.col_dual)))

    def in_whole_numbers(
        self,
        keep: NDArray[np.bool_],
        gap: float,
        nodes: int,
        seconds: float | None = None,
        start: Array | None = None,
    ) -> tuple[Array | None, float]:
        """Return the best point of the columns to keep, 0 in the others; None if none is found. And a bound on these.

        Args:
            keep: Flags of the columns.
            gap: Absolute gap at which the search ends.
            nodes: Limit on branch-and-bound nodes.
            seconds: Time limit [s], or None.
            start: A point to begin at, or None.
        """
        from scipy.sparse import coo_array

        at = np.flatnonzero(keep | (self.lower > 0.0))
        rows, columns, values = (np.concatenate([each[n] for each in self._entries]) for n in range(3))
        shape = len(self.row_lower), len(self.costs)
        matrix = coo_array((values, (rows, columns)), shape=shape).tocsc()[:, at]
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(at), len(self.row_lower)
        model.col_cost_, model.col_lower_, model.col_upper_ = self.costs[at], self.lower[at], self.upper[at]
        model.row_lower_, model.row_upper_ = self.row_lower, self.row_upper
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.num_col_, model.a_matrix_.num_row_ = model.num_col_, model.num_row_
        model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
        model.a_matrix_.value_ = matrix.data
        model.integrality_ = [_KINDS.kInteger if each else _KINDS.kContinuous for each in self.whole[at].tolist()]
        solver = _solver()
        for name, value in {"mip_abs_gap": gap, "mip_rel_gap": 0.0, "mip_max_nodes": nodes}.items():
            solver.setOptionValue(name, value)
        _within(solver, seconds)
        solver.passModel(model)
        if start is not None:
            first = highspy.HighsSolution()
            first.col_value = start[at].tolist()
            solver.setSolution(first)
        solver.run()
        info = solver.getInfo()
        bound = float(info.mip_dual_bound)
        if solver.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
            return None, np.inf
        bound = bound if np.isfinite(bound) else -np.inf
        if info.primal_solution_status != _FEASIBLE:
            return None, bound
        point = np.zeros(len(self.costs))
        point[at] = solver.getSolution().col_value
        return point, bound


def _solver() -> highspy.Highs:
    highspy.Highs.resetGlobalScheduler(True)
    solver = highspy._core._Highs()  # the class of the package prints its banner here, whatever is set
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    return solver


def _within(solver: highspy.Highs, seconds: float | None) -> None:
    if seconds is not None:
        solver.setOptionValue("time_limit", solver.getRunTime() + max(seconds, 0.0))
