"""Solvers that only Pyomo can call, by their names in its SolverFactory. It runs in a worker process.

The solution is loaded only if Pyomo's status reports one: otherwise some of its interfaces leave a fractional point in
the model.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import getattr_static
from types import MappingProxyType
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.common.tempfiles import TempfileManager
from pyomo.solvers.plugins.solvers.persistent_solver import PersistentSolver

from mrdsl.core.answer import Reply
from mrdsl.core.linear_program import Array
from mrdsl.core.result import Termination
from mrdsl.solving import arrays
from mrdsl.solving.request import Request

VERSION_SECONDS = 60.0
"""Time limit of a program for its version [s], which is requested first: Pyomo waits two seconds."""


def factory_named(name: str) -> Any:
    """Return the interface of Pyomo with that name, with more time for programs that start slowly.

    If Pyomo cannot make it, the interface raises RuntimeError for every call except ``available``.
    """
    import pyomo.environ as pyo

    told = logging.getLogger("pyomo.opt")
    level = told.level
    told.setLevel(logging.CRITICAL)  # of an interface that it cannot make it tells by a traceback
    try:
        factory = pyo.SolverFactory(name)
    finally:
        told.setLevel(level)
    if getattr_static(factory, "_version_timeout", None) is not None:
        factory._version_timeout = VERSION_SECONDS
    return factory


def is_there(name: str) -> bool:
    """Return True if Pyomo knows the name, and its solver is installed and available."""
    try:
        return bool(factory_named(name).available(exception_flag=False))
    except Exception:  # whatever an interface raises, the solver behind it cannot be called
        return False


TERMINATIONS = MappingProxyType(
    {
        "optimal": Termination.OPTIMAL,
        "globallyOptimal": Termination.OPTIMAL,
        "locallyOptimal": Termination.COMPLETED,
        "feasible": Termination.COMPLETED,
        "infeasible": Termination.INFEASIBLE,
        "infeasibleOrUnbounded": Termination.INFEASIBLE,
        "unbounded": Termination.UNBOUNDED,
        "maxTimeLimit": Termination.TIME_LIMIT,
        "maxIterations": Termination.NODE_LIMIT,
        "maxEvaluations": Termination.NODE_LIMIT,
        "intermediateNonInteger": Termination.NODE_LIMIT,
        "userInterrupt": Termination.INTERRUPTED,
        "resourceInterrupt": Termination.INTERRUPTED,
    }
)


def solve(request: Request, report: Callable[[Array, float, float | None], None]) -> Reply:
    """Solve the program, or the model of :mod:`mrdsl.solving.arrays`, by ``SolverFactory(request.factory)``."""
    model = request.model if request.program is None else arrays.of_program(request.program)
    factory = factory_named(request.factory)
    for name, value in request.options.items():
        factory.options[name] = value
    with _scratch(request.folder):
        if isinstance(factory, PersistentSolver):
            factory.set_instance(model)
            results = factory.solve(load_solutions=False)
        else:
            results = factory.solve(model, load_solutions=False)
    status = str(results.solver.termination_condition)
    termination = TERMINATIONS.get(status, Termination.ERROR)
    if termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
        return Reply(termination, undecided=status == "infeasibleOrUnbounded")
    bound = _bound(results, model)
    if termination is Termination.ERROR:
        return Reply(termination, message=f"Pyomo says: {status} {results.solver.message or ''}".strip())
    if not len(results.solution) or status == "intermediateNonInteger":
        return Reply(termination, bound=bound)
    model.solutions.load_from(results)
    values = np.array([_least(v) if v.value is None else float(v.value) for v in model.x.values()])
    return Reply(termination, values, bound=bound, within_gap=termination is Termination.OPTIMAL and bound is None)


def _least(variable: Any) -> float:
    """Return the value nearest to zero, for a variable that occurs nowhere and that the solver did not get."""
    low, high = variable.bounds
    return min(max(0.0, -np.inf if low is None else low), np.inf if high is None else high)


@contextmanager
def _scratch(folder: str) -> Iterator[None]:
    """Pyomo's temporary files in a folder that goes whatever becomes of this process."""
    before = TempfileManager.tempdir
    TempfileManager.tempdir = folder or before
    try:
        yield
    finally:
        TempfileManager.tempdir = before


def _bound(results: Any, model: Any) -> float | None:
    goal = next(model.component_data_objects(pyo.Objective, active=True))
    problem = results.problem
    value = problem.lower_bound if goal.sense == pyo.minimize else problem.upper_bound
    number = float(value) if isinstance(value, int | float) else float("nan")
    return number if np.isfinite(number) else None
