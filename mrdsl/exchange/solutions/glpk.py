"""GLPK's plain solution file (``glpsol --write``) and what glpsol prints."""

from __future__ import annotations

import re
from types import MappingProxyType

import numpy as np

from mrdsl.core.answer import Reply
from mrdsl.core.linear_program import Array
from mrdsl.core.result import Termination
from mrdsl.exchange.text import FormatError

_PRINTED = (
    ("PROBLEM HAS NO PRIMAL FEASIBLE SOLUTION", Termination.INFEASIBLE, False),
    ("LP HAS NO PRIMAL FEASIBLE SOLUTION", Termination.INFEASIBLE, False),
    ("PROBLEM HAS NO INTEGER FEASIBLE SOLUTION", Termination.INFEASIBLE, False),
    ("RELAXATION HAS NO PRIMAL FEASIBLE SOLUTION", Termination.INFEASIBLE, False),
    ("NO DUAL FEASIBLE SOLUTION", Termination.INFEASIBLE, True),
    ("LP HAS UNBOUNDED PRIMAL SOLUTION", Termination.UNBOUNDED, False),
    ("LP RELAXATION HAS UNBOUNDED", Termination.UNBOUNDED, False),
    ("RELATIVE MIP GAP TOLERANCE REACHED", Termination.OPTIMAL, False),
    ("TIME LIMIT EXCEEDED", Termination.TIME_LIMIT, False),
)
_LETTERS = MappingProxyType({"bas": (4, 5), "mip": (4,)})
"""Positions of the status letters in the header of a basic and of an integer solution."""
_MEANT = MappingProxyType({"bas": "finu", "mip": "ofnu"})
_BOUND = re.compile(r"^\+\s*[0-9]+: (?:mip =|>>>>>)\s+\S.*?>=\s+(\S+|tree is empty)", re.MULTILINE)


def read(text: str, printed: str = "") -> Reply:
    """Return the solution in ``text``; ``printed`` (the output of glpsol, if known) settles open points of the file."""
    lines = [line for line in text.splitlines() if line and not line.startswith("c")]
    if not lines or not lines[0].startswith("s ") or lines[-1].split() != ["e", "o", "f"]:
        raise FormatError("no GLPK solution file: it has no line `s …` at its start or no `e o f` at its end")
    header = lines[0].split()
    _check_letters(header, 1 + text.splitlines().index(lines[0]))
    try:
        return _read_integer(header, lines, printed) if header[1] == "mip" else _read_basic(header, lines, printed)
    except (IndexError, ValueError) as cause:
        raise FormatError(f"a damaged GLPK solution file: {cause}") from None


def _check_letters(header: list[str], line: int) -> None:
    """Raise FormatError for a kind of solution, or a letter of status, that is not read."""
    kind = header[1]
    if kind not in _LETTERS:
        raise FormatError(f"`s {kind}` is not read", "write a basic or an integer solution", line)
    for position in _LETTERS[kind]:
        letter = header[position] if position < len(header) else ""
        if letter not in tuple(_MEANT[kind]):
            known = ", ".join(f"`{each}`" for each in _MEANT[kind])
            raise FormatError(f"the status is `{letter[:20]}`, but must be one of {known}", "", line)


def _read_integer(header: list[str], lines: list[str], printed: str) -> Reply:
    status = header[4]
    told = _told(printed)
    if status == "o":
        value = float(header[5])
        gap_only = told is not None and told[0] is Termination.OPTIMAL
        return Reply(
            Termination.OPTIMAL,
            values=_column_values(lines, 2),
            value=value,
            bound=_bound(printed) if gap_only else value,
        )
    if status == "f":
        values = _column_values(lines, 2)
        stopped = Termination.TIME_LIMIT if printed else Termination.COMPLETED
        return Reply(told[0] if told else stopped, values=values, bound=_bound(printed), value=float(header[5]))
    if status == "n":
        return Reply(Termination.INFEASIBLE)
    if told is None:
        return _undecided(printed)
    return Reply(told[0], undecided=told[1], bound=_bound(printed) if told[0] is Termination.TIME_LIMIT else None)


def _read_basic(header: list[str], lines: list[str], printed: str) -> Reply:
    primal, dual = header[4], header[5]
    told = _told(printed)
    if primal == "f" and dual == "f":
        return Reply(
            Termination.OPTIMAL,
            values=_column_values(lines, 3),
            bound=float(header[6]),
            value=float(header[6]),
            duals=_row_duals(lines),
        )
    if told is not None and told[0] is not Termination.OPTIMAL:
        values = _column_values(lines, 3) if primal == "f" and told[0] is Termination.TIME_LIMIT else None
        return Reply(told[0], values=values, undecided=told[1])
    if primal == "f" and dual == "n":
        return Reply(Termination.UNBOUNDED)
    if primal == "n":
        return Reply(Termination.INFEASIBLE)
    if primal == "i":  # the basis that it stopped at is infeasible: not the problem
        return Reply(Termination.COMPLETED)
    return _undecided(printed)


def _undecided(printed: str) -> Reply:
    """Return the reply for a status `u`, which a stopped glpsol writes; after a whole run its output has the reason."""
    if printed:
        return Reply(Termination.ERROR, message="glpsol left the problem undecided and printed no reason")
    return Reply(Termination.COMPLETED)


def _told(printed: str) -> tuple[Termination, bool] | None:
    return next(((termination, open_) for words, termination, open_ in _PRINTED if words in printed), None)


def _column_values(lines: list[str], position: int) -> Array:
    return np.array([float(line.split()[position]) for line in lines if line.startswith("j ")], dtype=float)


def _row_duals(lines: list[str]) -> Array:
    return np.array([float(line.split()[4]) for line in lines if line.startswith("i ")], dtype=float)


def _bound(printed: str) -> float | None:
    bounds = _BOUND.findall(printed)
    try:
        bound = float(bounds[-1]) if bounds else None
    except ValueError:
        return None
    return bound if bound is not None and abs(bound) < 1e100 else None
