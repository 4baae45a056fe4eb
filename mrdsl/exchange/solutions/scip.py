"""SCIP's solution file (``write solution``); columns that are zero are left out of it."""

from __future__ import annotations

import re
from types import MappingProxyType

from mrdsl.core.answer import Reply
from mrdsl.core.result import Termination
from mrdsl.exchange.text import FormatError

_STATUS = MappingProxyType(
    {
        "optimal solution found": Termination.OPTIMAL,
        "gap limit reached": Termination.OPTIMAL,
        "infeasible": Termination.INFEASIBLE,
        "infeasible or unbounded": Termination.INFEASIBLE,
        "unbounded": Termination.UNBOUNDED,
        "time limit reached": Termination.TIME_LIMIT,
        "node limit reached": Termination.NODE_LIMIT,
        "total node limit reached": Termination.NODE_LIMIT,
        "stall node limit reached": Termination.NODE_LIMIT,
        "memory limit reached": Termination.NODE_LIMIT,
        "solution limit reached": Termination.NODE_LIMIT,
        "solution improvement limit reached": Termination.NODE_LIMIT,
        "restart limit reached": Termination.NODE_LIMIT,
        "primal limit reached": Termination.NODE_LIMIT,
        "dual limit reached": Termination.NODE_LIMIT,
        "termination signal received": Termination.INTERRUPTED,
        "unknown": Termination.COMPLETED,
        "user interrupt": Termination.INTERRUPTED,
    }
)
_LINE = re.compile(r"^(\S+)\s+(\S+)\s+\(obj:[^)]*\)\s*$")


def read(text: str, printed: str = "") -> Reply:
    """Return the solution in ``text``; a file without a status line is a point and no more."""
    lines = [line for line in text.splitlines() if line.strip()]
    termination, undecided = Termination.COMPLETED, False
    if lines and lines[0].startswith("solution status:"):
        status = lines.pop(0).partition(":")[2].strip()
        if status not in _STATUS:
            return Reply(Termination.ERROR, message=f"SCIP says: {status}")
        termination, undecided = _STATUS[status], "or unbounded" in status
    if lines[:1] == ["no solution available"] or termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
        return Reply(termination, undecided=undecided)
    if not lines or not lines[0].startswith("objective value:"):
        raise FormatError("no SCIP solution file: it has no line `objective value:`")
    stated = float(lines[0].partition(":")[2])
    values = {}
    for line in lines[1:]:
        match = _LINE.match(line)
        if match is None:
            raise FormatError(f"a damaged SCIP solution file: `{line[:60]}`")
        values[match[1]] = float(match[2])
    return Reply(termination, named=values, within_gap=termination is Termination.OPTIMAL, value=stated)
