"""Solvers that only Pyomo knows how to call: names of its SolverFactory. Runs in a worker process.

The solution is loaded only where Pyomo's status says that there is one: some of its interfaces leave a fractional
point in the model otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
import pyomo.environ as pyo

from mrdsl.outcome import Termination
from mrdsl.solving.extract import linear_program
from mrdsl.solving.program import Array
from mrdsl.solving.request import Reply, Request

TERMINATIONS = MappingProxyType({
    "optimal": Termination.OPTIMAL,
    "globallyOptimal": Termination.OPTIMAL,
    "infeasible": Termination.INFEASIBLE,
    "infeasibleOrUnbounded": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "maxTimeLimit": Termination.TIME_LIMIT,
    "maxIterations": Termination.NODE_LIMIT,
    "maxEvaluations": Termination.NODE_LIMIT,
    "userInterrupt": Termination.INTERRUPTED,
    "resourceInterrupt": Termination.INTERRUPTED,
})


def solve(request: Request, report: Callable[[Array, float, float | None], None]) -> Reply:
    """Solves ``request.model`` through ``SolverFactory(request.factory)``."""
    factory = pyo.SolverFactory(request.factory)
    for name, value in request.options.items():
        factory.options[name] = value
    found = factory.solve(request.model, load_solutions=False)
    status = str(found.solver.termination_condition)
    termination = TERMINATIONS.get(status, Termination.ERROR)
    if termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
        return Reply(termination, undecided=status == "infeasibleOrUnbounded")
    bound = _bound(found, request.model)
    if termination is Termination.ERROR:
        return Reply(termination, message=f"Pyomo says: {status} {found.solver.message or ''}".strip())
    if not len(found.solution):
        return Reply(termination, bound=bound)
    request.model.solutions.load_from(found)
    values = np.array([0.0 if v.value is None else float(v.value) for v in _columns(request)])
    return Reply(termination, values, bound=bound, within_gap=termination is Termination.OPTIMAL and bound is None)


def _columns(request: Request) -> Any:
    linear = linear_program(request.model)
    if linear is not None:
        return linear[1].variables
    from mrdsl.solving.nonlinear import variables_of

    return variables_of(request.model)


def _bound(found: Any, model: Any) -> float | None:
    goal = next(model.component_data_objects(pyo.Objective, active=True))
    problem = found.problem
    value = problem.lower_bound if goal.sense == pyo.minimize else problem.upper_bound
    number = float(value) if isinstance(value, int | float) else float("nan")
    return number if np.isfinite(number) else None
