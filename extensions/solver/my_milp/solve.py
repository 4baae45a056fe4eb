"""The function that mrdsl calls, in a process of its own, which it ends where a limit has passed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mrdsl.core.answer import Reply
from mrdsl.core.result import Termination
from mrdsl.solving.request import Request
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

ENDS = {0: Termination.OPTIMAL, 1: Termination.TIME_LIMIT, 2: Termination.INFEASIBLE, 3: Termination.UNBOUNDED}


def solve(request: Request, report: Callable[[Any, float, float | None], None]) -> Reply:
    """Solves ``request.program``, which is minimized; ``request.options`` hold the limits under their names here."""
    program = request.program
    assert program is not None, "my-milp solves linear programs"
    shape = (len(program.row_lower), len(program.costs))
    rows = csr_array((program.coefficients, program.columns, program.starts), shape=shape)
    found = milp(
        program.costs,
        integrality=program.integer.astype(int),
        bounds=Bounds(program.lower, program.upper),
        constraints=LinearConstraint(rows, program.row_lower, program.row_upper) if shape[0] else (),
        options=dict(request.options),
    )
    termination = ENDS.get(found.status, Termination.ERROR)
    if found.x is None:
        undecided = "infeasible or unbounded" in found.message.lower()
        ended = Termination.INFEASIBLE if undecided else termination
        return Reply(ended, message=found.message if ended is Termination.ERROR else "", undecided=undecided)
    value = float(found.fun) + program.offset
    bound = found.mip_dual_bound if program.integer.any() else (found.fun if found.status == 0 else None)
    known = bound is not None and np.isfinite(bound)
    return Reply(termination, np.asarray(found.x), value, float(bound) + program.offset if known else None)
