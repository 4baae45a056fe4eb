"""Free MPS, written so that GLPK, CBC, HiGHS, SCIP, lp_solve and OR-tools read the same program.

The readers differ in what they assume, so nothing is left to assumption: always minimized (costs change sign where the
goal is to maximize), the constant as a column that is fixed at 1 (as a right side of the goal it has one sign for CBC,
HiGHS and SCIP, the other for GLPK and lp_solve), every bound of every integer column written out. CBC 2.10 takes
`` LO BOUND x0 0`` for fixed format unless the ``NAME`` line says FREE. lp_solve 5.5 cuts off optima where the goal of a
program with whole columns has a fractional one that is fixed, so that the constant's column is whole there too.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import IO

import numpy as np

from mrdsl.core.linear_program import LinearProgram
from mrdsl.exchange.models.naming import number, numbers

CONSTANT = "objective_constant"
GOAL = "goal"


def write_mps(
    stream: IO[str], program: LinearProgram, columns: Sequence[str], rows: Sequence[str], name: str = "mrdsl"
) -> None:
    """Writes the program; ``columns`` and ``rows`` are legal names without blanks."""
    stream.write(f"NAME {name} FREE\nROWS\n N {GOAL}\n")
    lower, upper = program.row_lower.tolist(), program.row_upper.tolist()
    kinds = [_row_kind(low, high) for low, high in zip(lower, upper, strict=True)]
    stream.write("".join(f" {kind} {row}\n" for kind, row in zip(kinds, rows, strict=True)))
    stream.write("COLUMNS\n")
    _write_columns(stream, program, columns, rows)
    stream.write("RHS\n")
    for kind, row, low, high in zip(kinds, rows, lower, upper, strict=True):
        side = high if kind == "L" else low
        if kind != "N" and side != 0.0:
            stream.write(f" RHS {row} {number(side)}\n")
    ranged = [
        (row, high - low)
        for kind, row, low, high in zip(kinds, rows, lower, upper, strict=True)
        if kind == "G" and high < inf
    ]
    if ranged:
        stream.write("RANGES\n" + "".join(f" RANGE {row} {number(width)}\n" for row, width in ranged))
    _write_bounds(stream, program, columns)
    stream.write("ENDATA\n")


def _row_kind(low: float, high: float) -> str:
    if low == high:
        return "E"
    if low > -inf:
        return "G"
    return "L" if high < inf else "N"


def _write_columns(stream: IO[str], program: LinearProgram, columns: Sequence[str], rows: Sequence[str]) -> None:
    order = np.argsort(program.columns, kind="stable")
    of_row = np.repeat(np.arange(len(rows)), np.diff(program.starts))[order].tolist()
    texts = numbers(program.coefficients[order].tolist())
    ends = np.cumsum(np.bincount(program.columns, minlength=len(columns))).tolist()
    costs = (-program.costs if program.maximize else program.costs).tolist()
    begin, inside, lines = 0, False, []
    for i, (column, whole) in enumerate(zip(columns, program.integer.tolist(), strict=True)):
        if whole is not inside:
            lines.append(f" MARKER 'MARKER' '{'INTORG' if whole else 'INTEND'}'\n")
            inside = whole
        if costs[i] != 0.0 or begin == ends[i]:
            lines.append(f" {column} {GOAL} {number(costs[i])}\n")
        lines.extend(f" {column} {rows[of_row[k]]} {texts[k]}\n" for k in range(begin, ends[i]))
        begin = ends[i]
    if program.offset != 0.0:
        if program.integer.any() and not inside:
            lines.append(" MARKER 'MARKER' 'INTORG'\n")
            inside = True
        lines.append(f" {CONSTANT} {GOAL} {number(-program.offset if program.maximize else program.offset)}\n")
    if inside:
        lines.append(" MARKER 'MARKER' 'INTEND'\n")
    stream.write("".join(lines))


def _write_bounds(stream: IO[str], program: LinearProgram, columns: Sequence[str]) -> None:
    lines = ["BOUNDS\n"]
    rows = zip(columns, program.lower.tolist(), program.upper.tolist(), program.integer.tolist(), strict=True)
    for column, low, high, whole in rows:
        if low == high:
            lines.append(f" FX BOUND {column} {number(low)}\n")
        elif low == -inf and high == inf:
            lines.append(f" FR BOUND {column}\n")
        else:
            if low == -inf:
                lines.append(f" MI BOUND {column}\n")
            elif low != 0.0 or whole or high < 0.0:
                lines.append(f" LO BOUND {column} {number(low)}\n")
            if high < inf:
                lines.append(f" UP BOUND {column} {number(high)}\n")
            elif whole:
                lines.append(f" PL BOUND {column}\n")
    if program.offset != 0.0:
        lines.append(f" FX BOUND {CONSTANT} 1\n")
    if len(lines) > 1:
        stream.write("".join(lines))
