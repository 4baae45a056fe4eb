"""HiGHS, embedded: linear and mixed-integer linear programs as arrays. Runs in a worker process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from time import monotonic
from types import MappingProxyType
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from mrdsl.core.answer import Reply
from mrdsl.core.linear_program import Array, LinearProgram
from mrdsl.core.result import Termination
from mrdsl.solving.request import Request

_STATUS = highspy.HighsModelStatus
TERMINATIONS = MappingProxyType(
    {
        _STATUS.kOptimal: Termination.OPTIMAL,
        _STATUS.kModelEmpty: Termination.OPTIMAL,
        _STATUS.kInfeasible: Termination.INFEASIBLE,
        _STATUS.kUnbounded: Termination.UNBOUNDED,
        _STATUS.kTimeLimit: Termination.TIME_LIMIT,
        _STATUS.kSolutionLimit: Termination.NODE_LIMIT,
        _STATUS.kIterationLimit: Termination.NODE_LIMIT,
        _STATUS.kInterrupt: Termination.INTERRUPTED,
    }
)
_FEASIBLE = 2
_PRIMAL = 4
"""The primal simplex method, among HiGHS's strategies."""


def solve(request: Request, report: Callable[[Array, float, float | None], None]) -> Reply:
    """Solve ``request.program`` and the programs ``beside`` it; limits and options have HiGHS's own names."""
    assert request.program is not None
    ends = monotonic() + request.options.get("time_limit", inf)
    reply = _solve(request, request.program, report)
    beside = []
    for program in request.beside:
        left = max(ends - monotonic(), 0.0)
        options = request.options if left == inf else {**request.options, "time_limit": left}
        beside.append(_solve(replace(request, options=options, start=None), program, report))
    return replace(reply, beside=tuple(beside)) if beside else reply


FEW_COLUMNS = 2_000
"""Columns up to which HiGHS runs on one thread: others would only wait for work, at the cost of a processor."""


def _solve(request: Request, program: LinearProgram, report: Callable[[Array, float, float | None], None]) -> Reply:
    highspy.Highs.resetGlobalScheduler(True)  # it keeps the number of threads of the run before, and refuses another
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    alone = {"threads": 1} if len(program.costs) <= FEW_COLUMNS else {}
    for name, value in {**alone, **program.hints.get("highs", {}), **request.options}.items():
        if solver.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            return Reply(Termination.ERROR, message=f"HiGHS has no option {name} = {value!r}")
    largest, limit = np.abs(program.coefficients).max(initial=0.0), solver.getOptionValue("large_matrix_value")[1]
    if largest >= limit:
        message = f"a coefficient of the model is {largest:.3g}, and HiGHS requires them below {limit:g}"
        return Reply(Termination.ERROR, message=message)
    if solver.passModel(model_of(program)) == highspy.HighsStatus.kError:
        return Reply(Termination.ERROR, message="HiGHS refuses the model")
    if request.start is not None:
        start = highspy.HighsSolution()
        start.col_value = request.start.tolist()
        solver.setSolution(start)
    if program.integer.any():
        _report_incumbents(solver, report)
    solver.run()
    return _reply(solver, program, request.want_duals)


def model_of(program: LinearProgram) -> Any:
    """Return the program as HiGHS holds it."""
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(program.costs), len(program.row_lower)
    lp.sense_ = highspy.ObjSense.kMaximize if program.maximize else highspy.ObjSense.kMinimize
    lp.offset_ = program.offset
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = program.costs, program.lower, program.upper
    lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = lp.num_col_, lp.num_row_
    lp.a_matrix_.start_ = program.starts.astype(np.int32)
    lp.a_matrix_.index_ = program.columns.astype(np.int32)
    lp.a_matrix_.value_ = program.coefficients
    if program.integer.any():
        kinds = highspy.HighsVarType
        lp.integrality_ = [kinds.kInteger if whole else kinds.kContinuous for whole in program.integer.tolist()]
    return lp


def _report_incumbents(solver: Any, report: Callable[[Array, float, float | None], None]) -> None:
    def improved(event: Any) -> None:
        data = event.data_out
        bound = float(data.mip_dual_bound)
        report(np.array(data.mip_solution), float(data.objective_function_value), bound if np.isfinite(bound) else None)

    solver.cbMipImprovingSolution += improved


def _reply(solver: Any, program: LinearProgram, want_duals: bool) -> Reply:
    status = solver.getModelStatus()
    info, solution = solver.getInfo(), solver.getSolution()
    if status == _STATUS.kUnboundedOrInfeasible:
        return Reply(Termination.INFEASIBLE, undecided=True)
    termination = TERMINATIONS.get(status, Termination.ERROR)
    message = "" if termination is not Termination.ERROR else solver.modelStatusToString(status)
    if termination in (Termination.INFEASIBLE, Termination.UNBOUNDED, Termination.ERROR):
        return Reply(termination, message=message)
    feasible = info.primal_solution_status == _FEASIBLE
    bound = _bound(info, program, termination)
    if not feasible:
        return Reply(termination, bound=bound)
    duals = np.array(solution.row_dual) if want_duals and solution.dual_valid and not program.integer.any() else None
    return Reply(
        termination, np.array(solution.col_value, dtype=float), float(info.objective_function_value), bound, duals
    )


def _bound(info: Any, program: LinearProgram, termination: Termination) -> float | None:
    if not program.integer.any():
        return float(info.objective_function_value) if termination is Termination.OPTIMAL else None
    bound = float(info.mip_dual_bound)
    return bound if np.isfinite(bound) else None


def integer_point(program: LinearProgram, gap: float, nodes: int, seconds: float | None) -> tuple[Array | None, float]:
    """Minimize a program within this process, on one thread and without output.

    Args:
        program: The program, to minimize.
        gap: Gap relative to the objective without `offset`.
        nodes: Limit on branch-and-bound nodes.
        seconds: Time limit [s], or None.

    Returns:
        The best point, None if there is none, and a bound.
    """
    highspy.Highs.resetGlobalScheduler(True)
    solver = highspy._core._Highs()
    options = {"output_flag": False, "threads": 1, "mip_rel_gap": gap, "mip_max_nodes": nodes}
    for name, value in {**options, **({} if seconds is None else {"time_limit": seconds})}.items():
        solver.setOptionValue(name, value)
    solver.passModel(model_of(program))
    solver.run()
    info = solver.getInfo()
    found = np.array(solver.getSolution().col_value) if info.primal_solution_status == _FEASIBLE else None
    bound = _bound(info, program, TERMINATIONS.get(solver.getModelStatus(), Termination.ERROR))
    return found, -np.inf if bound is None else bound


class GrowingProgram:
    """A linear program to minimize whose columns come in turns: each solve begins at the basis of the last one."""

    def __init__(self, row_lower: Array, row_upper: Array) -> None:
        highspy.Highs.resetGlobalScheduler(True)
        self._solver = highspy._core._Highs()  # the class of the package prints its banner here, whatever is set
        self._solver.setOptionValue("output_flag", False)
        self._solver.setOptionValue("threads", 1)
        none = np.zeros(0, dtype=np.int32)
        self._solver.addRows(len(row_lower), row_lower, row_upper, 0, none, none, np.zeros(0))

    def add(self, costs: Array, upper: Array, entries: Any) -> None:
        """Add columns from 0 to ``upper``; ``entries`` is a sparse array, a column for each."""
        by_column = entries.tocsc()
        starts, rows = (each.astype(np.int32) for each in (by_column.indptr[:-1], by_column.indices))
        self._solver.addCols(
            len(costs), costs, np.zeros(len(costs)), upper, by_column.nnz, starts, rows, by_column.data
        )

    def price(self, columns: NDArray[np.int64], costs: Array) -> None:
        """Give columns other costs."""
        self._solver.changeColsCost(len(columns), columns.astype(np.int32), costs)

    def limit(self, columns: NDArray[np.int64], upper: Array) -> None:
        """Give columns other upper limits."""
        self._solver.changeColsBounds(len(columns), columns.astype(np.int32), np.zeros(len(columns)), upper)

    def whole(self, gap: float, nodes: int, seconds: float | None) -> tuple[Array | None, float]:
        """Return the best point of whole numbers, None if there is none, and a bound. All later solves are whole too.

        Args:
            gap: Absolute gap.
            nodes: Limit on branch-and-bound nodes.
            seconds: Time limit [s], or None.
        """
        solver, count = self._solver, self._solver.getNumCol()
        for name, value in {"mip_abs_gap": gap, "mip_rel_gap": 0.0, "mip_max_nodes": nodes}.items():
            solver.setOptionValue(name, value)
        if seconds is not None:
            solver.setOptionValue("time_limit", solver.getRunTime() + max(seconds, 0.0))
        every = np.arange(count, dtype=np.int32)
        solver.changeColsIntegrality(count, every, np.full(count, highspy.HighsVarType.kInteger, dtype=np.uint8))
        solver.run()
        info, status = solver.getInfo(), solver.getModelStatus()
        if status == _STATUS.kInfeasible:
            return None, inf
        found = np.array(solver.getSolution().col_value) if info.primal_solution_status == _FEASIBLE else None
        bound = float(info.mip_dual_bound)
        return found, bound if np.isfinite(bound) else -inf

    def solve(self, seconds: float | None = None) -> tuple[float, Array, Array] | None:
        """Return value, point and duals of the rows, or None if the optimum is not found within that many seconds.

        From the second time on the last point stays valid, so that the primal simplex method continues from it.
        """
        if seconds is not None:
            self._solver.setOptionValue("time_limit", self._solver.getRunTime() + max(seconds, 0.0))
        self._solver.run()
        self._solver.setOptionValue("simplex_strategy", _PRIMAL)
        if self._solver.getModelStatus() != _STATUS.kOptimal:
            return None
        solution = self._solver.getSolution()
        value = float(self._solver.getInfo().objective_function_value)
        return value, np.array(solution.col_value), np.array(solution.row_dual)
