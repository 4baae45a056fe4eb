"""A linear program with its names as an LP or an MPS file."""

from __future__ import annotations

from typing import IO

import numpy as np

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.linear_program import LinearProgram, Names
from mrdsl.exchange.models.lp import relations, write_lp
from mrdsl.exchange.models.mps import write_mps
from mrdsl.exchange.models.naming import legal_names
from mrdsl.exchange.models.written import Written

Named = tuple[LinearProgram, Names]


def column_and_row_names(program: LinearProgram, names: Names) -> tuple[list[str], list[tuple[str, ...]]]:
    """The legal name of each column, and of each row the names under which it stands in an LP file."""
    columns = legal_names(variable.name for variable in names.variables)
    sides = list(zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True))
    wanted = [
        f"{constraint.name}{suffix}"
        for constraint, (low, high) in zip(names.constraints, sides, strict=True)
        for suffix in (("",) if len(relations(low, high)) == 1 else (".lower", ".upper"))
    ]
    flat = iter(legal_names(wanted, taken=columns))
    return columns, [tuple(next(flat) for _ in relations(low, high)) for low, high in sides]


def as_lp(stream: IO[str], model: Named, title: str) -> Written:
    """Writes the program as LP. Raises MrdslError ``number-too-large``."""
    program, names = model
    columns, rows = column_and_row_names(program, names)
    _refuse_infinite(program)
    write_lp(stream, program, columns, rows, title)
    return Written(
        list(zip(columns, names.variables, strict=True)),
        [(name, c) for group, c in zip(rows, names.constraints, strict=True) for name in group],
    )


def as_mps(stream: IO[str], model: Named, title: str) -> Written:
    """Writes the program as free MPS. Raises MrdslError ``number-too-large``."""
    program, names = model
    columns = legal_names(variable.name for variable in names.variables)
    rows = legal_names((c.name for c in names.constraints), taken=columns)
    _refuse_infinite(program)
    write_mps(stream, program, columns, rows, legal_names([title])[0])
    entries = list(zip(columns, names.variables, strict=True)), list(zip(rows, names.constraints, strict=True))
    return Written(*entries, sense="minimize")


def _refuse_infinite(program: LinearProgram) -> None:
    """No format has a sign for a coefficient that is none."""
    if not (np.isfinite(program.costs).all() and np.isfinite(program.coefficients).all()):
        message = "the model has a coefficient beyond the numbers that there are"
        raise MrdslError([error("number-too-large", message, None, "write smaller numbers in the spec")])
