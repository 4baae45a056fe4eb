"""SCIP through PySCIPOpt: linear and nonlinear programs, to global optimality. Runs in a worker process.

Linear programs go over as an MPS file, nonlinear ones as the AMPL file that Pyomo writes: SCIP's own readers are faster
than building expressions one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyscipopt

from mrdsl.core.answer import Reply
from mrdsl.core.guarded import scratch_folder
from mrdsl.core.linear_program import Array
from mrdsl.core.result import Termination
from mrdsl.exchange.model_files import plain_names, write_mps
from mrdsl.solving.request import Request

TERMINATIONS = MappingProxyType(
    {
        "optimal": Termination.OPTIMAL,
        "gaplimit": Termination.OPTIMAL,
        "infeasible": Termination.INFEASIBLE,
        "unbounded": Termination.UNBOUNDED,
        "inforunbd": Termination.INFEASIBLE,
        "timelimit": Termination.TIME_LIMIT,
        "nodelimit": Termination.NODE_LIMIT,
        "totalnodelimit": Termination.NODE_LIMIT,
        "stallnodelimit": Termination.NODE_LIMIT,
        "userinterrupt": Termination.INTERRUPTED,
        "terminate": Termination.INTERRUPTED,
    }
)


class _Incumbents(pyscipopt.Eventhdlr):  # type: ignore[misc]
    """Reports every new best solution."""

    def __init__(self, read: Callable[[Any], Array], report: Callable[[Array, float, float | None], None]) -> None:
        super().__init__()
        self.read, self.report = read, report

    def eventinit(self) -> None:
        self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND, self)

    def eventexec(self, event: Any) -> None:
        best = self.model.getBestSol()
        self.report(self.read(best), float(self.model.getSolObjVal(best)), _finite(self.model.getDualbound()))


def solve(request: Request, report: Callable[[Array, float, float | None], None]) -> Reply:
    """Solve ``request.program`` or ``request.nl``; limits and options come in SCIP's own names."""
    model = pyscipopt.Model()
    model.hideOutput()
    variables, count = _load(model, request)
    for name, value in _options(request).items():
        try:
            model.setParam(name, value)
        except (KeyError, ValueError) as cause:
            return Reply(Termination.ERROR, message=f"SCIP refuses the option {name} = {value!r}: {cause}")

    def read(solution: Any) -> Array:
        values = np.zeros(count)
        for i, variable in variables:
            values[i] = model.getSolVal(solution, variable)
        return values

    if request.start is not None:
        start = model.createSol()
        for i, variable in variables:
            model.setSolVal(start, variable, float(request.start[i]))
        model.addSol(start)
    model.includeEventhdlr(_Incumbents(read, report), "incumbents", "reports every new best solution")
    model.optimize()
    return _reply(model, read)


def _options(request: Request) -> dict[str, Any]:
    hints = request.program.hints.get("scip", {}) if request.program is not None else {}
    return {**hints, **request.options}


def _load(model: Any, request: Request) -> tuple[list[tuple[int, Any]], int]:
    """Read the model and pairs its variables with their columns."""
    if request.nl is not None:
        model.readProblem(request.nl)
        names = Path(request.nl).with_suffix(".col").read_text(encoding="utf-8").split()
    else:
        assert request.program is not None
        names = plain_names("x", len(request.program.costs))
        with scratch_folder() as folder:
            path = folder / "model.mps"
            with path.open("w", encoding="ascii") as stream:
                write_mps(stream, request.program, names, plain_names("c", len(request.program.row_lower)))
            model.readProblem(str(path))
    by_name = {variable.name: variable for variable in model.getVars()}
    if request.program is not None and request.program.maximize:
        model.setMaximize()
    return [(i, by_name[name]) for i, name in enumerate(names) if name in by_name], len(names)


def _finite(value: float) -> float | None:
    return float(value) if abs(value) < 1e19 else None


def _reply(model: Any, read: Callable[[Any], Array]) -> Reply:
    status = model.getStatus()
    termination = TERMINATIONS.get(status, Termination.ERROR)
    message = f"SCIP stopped with status {status}" if termination is Termination.ERROR else ""
    if termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
        return Reply(termination, undecided=status == "inforunbd")
    if model.getNSols() == 0:
        return Reply(termination, bound=_finite(model.getDualbound()), message=message)
    best = model.getBestSol()
    return Reply(termination, read(best), float(model.getObjVal()), _finite(model.getDualbound()), message=message)
