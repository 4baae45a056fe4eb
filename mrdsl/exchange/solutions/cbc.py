"""CBC's solution file and what cbc prints.

Two traps: without an integer solution CBC writes the fractional point of the relaxation, whose value looks like an
objective; and its preprocessing calls an unbounded program infeasible.
"""

from __future__ import annotations

import re

from mrdsl.core.answer import Reply
from mrdsl.core.result import Termination
from mrdsl.exchange.text import FormatError

_STATUS = (
    (re.compile(r"Optimal"), Termination.OPTIMAL),
    (re.compile(r"(Integer |Primal|Linear relaxation )?[Ii]nfeasible"), Termination.INFEASIBLE),
    (re.compile(r"Unbounded|Dual ?infeasible|Linear relaxation unbounded"), Termination.UNBOUNDED),
    (re.compile(r"Stopped on time"), Termination.TIME_LIMIT),
    (re.compile(r"Stopped on (iterations|nodes|solutions)"), Termination.NODE_LIMIT),
    (re.compile(r"Stopped on (ctrl-c|user)|Stopped by event"), Termination.INTERRUPTED),
)
_NO_INTEGERS = re.compile(r"no integer solution|LP relaxation not completed|continuous used")
_PROVEN = re.compile(r"infeasibility proved|Problem proven infeasible|Pre-processing says infeasible$", re.MULTILINE)
_BOUND = re.compile(r"^Lower bound:\s+(\S+)", re.MULTILINE)
_DIGITS = 5e-6
_LINE = re.compile(r"^(?:\*\*)?\s*[0-9]+\s+(\S+)\s+(\S+)\s+\S+\s*$")


def read(text: str, printed: str = "") -> Reply:
    """Return the solution in ``text``; ``printed`` (the program's output, if there is any) gives the bound."""
    head, _, body = text.partition("\n")
    if " - objective value" not in head:
        raise FormatError("not a CBC solution file: its first line has no `… - objective value …`")
    termination = next((t for pattern, t in _STATUS if pattern.match(head)), Termination.ERROR)
    if termination is Termination.ERROR and _PROVEN.search(printed):
        termination = Termination.INFEASIBLE
    if termination is Termination.TIME_LIMIT and "Stopped on node limit" in printed:
        termination = Termination.NODE_LIMIT
    if termination is Termination.INFEASIBLE:
        return Reply(termination, undecided=True)
    if termination in (Termination.UNBOUNDED, Termination.ERROR):
        return Reply(termination, message=f"cbc says: {head.partition(' - ')[0]}")
    if _NO_INTEGERS.search(head):
        return Reply(termination, bound=_bound(printed))
    proven = termination is Termination.OPTIMAL and "within gap" not in head
    value = _number(head.rpartition("objective value")[2], head)
    return Reply(
        termination,
        named=_values(body),
        bound=value if proven else _bound(printed),
        value=value,
        within_gap=termination is Termination.OPTIMAL and not proven,
    )


def _values(body: str) -> dict[str, float]:
    values = {}
    for line in body.splitlines():
        match = _LINE.match(line)
        if match is None:
            raise FormatError(f"a damaged CBC solution file: `{line[:60]}`")
        values[match[1]] = _number(match[2], line)
    return values


def _number(text: str, line: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FormatError(f"a damaged CBC solution file: `{line[:60]}`") from None


def _bound(printed: str) -> float | None:
    """Return the printed lower bound, reduced by the precision of its six digits."""
    bounds = _BOUND.findall(printed)
    if not bounds:
        return None
    bound = float(bounds[-1])
    return bound - abs(bound) * _DIGITS if abs(bound) < 1e50 else None
