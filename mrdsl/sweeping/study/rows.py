"""The rows of a study, and what of them is a number: a journal may have been written by anybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

Row = Mapping[str, Any]
Rows = Sequence[Row]
INSTANCE = "instance"
"""What a run solves, by whatever method; no column of the table."""
ENDED = ("optimal", "completed", "infeasible", "unbounded")
"""How a run ends that nobody stopped."""
ANSWERED = ("infeasible", "unbounded")
"""How it ends with an answer that is not a plan."""
GOAL = "value"
"""The column of the goal's value, the only one that has a sense."""

PARAM = "param."
"""What the column of a param begins with: it has a name of its own, whatever the param is called."""
PLAN = "plan."
"""What the columns of what plans say begin with."""


def number(value: Any) -> float | None:
    """A finite number as one, None for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if isfinite(found) else None


def columns(rows: Rows) -> tuple[str, ...]:
    """All columns that rows have."""
    return tuple(dict.fromkeys(name for row in rows for name in row if name != INSTANCE))


def column_of(name: str, known: Sequence[str]) -> str | None:
    """The column that a name means: itself, or that of the param of this name."""
    if name in known:
        return name
    of_param = f"{PARAM}{name}"
    return next((column for column in known if column == of_param or column.startswith(f"{of_param} [")), None)


def selected(runs: str, rows: Rows) -> Rows:
    """The rows of the runs of one name, all without."""
    return [row for row in rows if row.get("runs") == runs] if runs else rows


def relaxed(row: Row) -> bool:
    """Whether a run took fractions for whole numbers: its goal is then another one."""
    return bool(row.get("relax"))


def found_a_plan(row: Row) -> bool:
    """Return True if a run came to a plan."""
    return row.get("solution") in ("feasible", "optimal")


def solved(rows: Rows) -> list[bool]:
    """For each row, return True if its run came to a plan, or to a proof that there is none, which no other refutes.

    A method that gives up has solved nothing, however fast it was.
    """
    plans = {(row[INSTANCE], relaxed(row)) for row in rows if found_a_plan(row)}
    kinds = {False: (False,), True: (False, True)}
    return [
        found_a_plan(row)
        if row.get("termination") not in ANSWERED
        else not any((row[INSTANCE], kind) in plans for kind in kinds[relaxed(row)])
        for row in rows
    ]
