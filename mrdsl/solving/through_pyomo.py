"""Solvers that only Pyomo knows how to call: names of its SolverFactory. Runs in a worker process."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from mrdsl.outcome import Termination
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
    """Not built yet."""
    raise NotImplementedError
