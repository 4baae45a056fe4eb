"""HiGHS's raw solution file (``highs --solution_file``, or ``writeSolution`` of highspy)."""

from __future__ import annotations

from types import MappingProxyType

from mrdsl.core.answer import Reply
from mrdsl.core.result import Termination
from mrdsl.exchange.text import FormatError

_STATUS = MappingProxyType(
    {
        "Optimal": Termination.OPTIMAL,
        "Empty": Termination.OPTIMAL,
        "Infeasible": Termination.INFEASIBLE,
        "Primal infeasible or unbounded": Termination.INFEASIBLE,
        "Unbounded": Termination.UNBOUNDED,
        "Time limit reached": Termination.TIME_LIMIT,
        "Iteration limit reached": Termination.NODE_LIMIT,
        "Solution limit reached": Termination.NODE_LIMIT,
        "Memory limit reached": Termination.NODE_LIMIT,
        "Bound on objective reached": Termination.NODE_LIMIT,
        "Target for objective reached": Termination.NODE_LIMIT,
        "Unknown": Termination.COMPLETED,
        "Interrupted by user": Termination.INTERRUPTED,
    }
)


def read(text: str, printed: str = "") -> Reply:
    """Return the solution in ``text``; the file holds no bound, so an optimum is one within the gap that was
    asked for.
    """
    lines = [line.strip() for line in text.splitlines()]
    if lines[:1] != ["Model status"]:
        raise FormatError("no HiGHS solution file: it does not begin with `Model status`")
    status = lines[1] if len(lines) > 1 else ""
    termination = _STATUS.get(status)
    if termination is None:
        return Reply(Termination.ERROR, message=f"HiGHS says: {status}")
    if termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
        return Reply(termination, undecided="or unbounded" in status)
    values = _columns(lines) if _feasible(lines) else None
    return Reply(termination, named=values, within_gap=termination is Termination.OPTIMAL, value=_objective(lines))


def _objective(lines: list[str]) -> float | None:
    stated = next((line for line in lines if line.startswith("Objective ")), None)
    try:
        return None if stated is None else float(stated.split()[1])
    except (ValueError, IndexError):
        raise FormatError(f"a damaged HiGHS solution file: `{stated}`") from None


def _feasible(lines: list[str]) -> bool:
    try:
        return lines[lines.index("# Primal solution values") + 1] == "Feasible"
    except (ValueError, IndexError):
        raise FormatError("a damaged HiGHS solution file: it has no primal solution values") from None


def _columns(lines: list[str]) -> dict[str, float]:
    start = next((i for i, line in enumerate(lines) if line.startswith("# Columns ")), None)
    if start is None:
        raise FormatError("a damaged HiGHS solution file: it has no columns")
    try:
        count = int(lines[start].split()[2])
        pairs = (line.split() for line in lines[start + 1 : start + 1 + count])
        values = {name: float(value) for name, value in pairs}
    except (ValueError, IndexError) as cause:
        raise FormatError(f"a damaged HiGHS solution file: {cause}") from None
    if len(values) != count:
        raise FormatError(f"a damaged HiGHS solution file: {len(values)} of {count} columns")
    return values
