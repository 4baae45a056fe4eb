"""The LP format, written so that GLPK, CBC, HiGHS and SCIP read the same program.

Every column stands in the goal, so that all readers see the columns in one order; a range becomes two rows, a constant
a column that is fixed at 1; every bound is written out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import IO

from mrdsl.core.linear_program import LinearProgram
from mrdsl.exchange.models.mps import CONSTANT
from mrdsl.exchange.models.naming import number

_WIDTH = 100


def write_lp(
    stream: IO[str],
    program: LinearProgram,
    columns: Sequence[str],
    rows: Sequence[tuple[str, ...]],
    name: str = "mrdsl",
) -> None:
    """Writes the program; ``rows`` gives each row its name, a range two (lower, upper)."""
    stream.write(f"\\ {name}\n{'maximize' if program.maximize else 'minimize'}\n")
    goal = list(zip(program.costs.tolist(), columns, strict=True))
    if program.offset != 0.0:
        goal.append((program.offset, CONSTANT))
    _write_expression(stream, " goal:", goal)
    stream.write("\nsubject to\n")
    starts = program.starts.tolist()
    coefficients, places = program.coefficients.tolist(), program.columns.tolist()
    sides = zip(rows, program.row_lower.tolist(), program.row_upper.tolist(), strict=True)
    for i, (names, low, high) in enumerate(sides):
        begin, end = starts[i], starts[i + 1]
        terms = [(coefficients[k], columns[places[k]]) for k in range(begin, end)] or [(0.0, columns[0])]
        for row_name, (relation, side) in zip(names, relations(low, high), strict=True):
            _write_expression(stream, f" {row_name}:", terms)
            stream.write(f" {relation} {number(side)}\n")
    if not rows and columns:  # GLPK wants one
        stream.write(f" no_rows: + 0 {columns[0]} <= 0\n")
    _write_bounds(stream, program, columns)
    whole = [column for column, flag in zip(columns, program.integer.tolist(), strict=True) if flag]
    if whole:
        stream.write("general\n" + "".join(f" {column}\n" for column in whole))
    stream.write("end\n")


def relations(low: float, high: float) -> tuple[tuple[str, float], ...]:
    """The comparisons that a row is written as."""
    if low == high:
        return (("=", low),)
    pair = ((">=", low), ("<=", high))
    return tuple((relation, side) for relation, side in pair if abs(side) < inf)


def _write_expression(stream: IO[str], head: str, terms: Iterable[tuple[float, str]]) -> None:
    length = stream.write(head)
    for text in _texts(terms):
        if length + len(text) > _WIDTH:
            stream.write("\n  ")
            length = 2
        length += stream.write(text)


def _texts(terms: Iterable[tuple[float, str]]) -> Iterator[str]:
    for coefficient, column in terms:
        sign = "-" if coefficient < 0 else "+"
        size = abs(coefficient)
        yield f" {sign} {column}" if size == 1.0 else f" {sign} {number(size)} {column}"


def _write_bounds(stream: IO[str], program: LinearProgram, columns: Sequence[str]) -> None:
    lines = []
    for column, low, high in zip(columns, program.lower.tolist(), program.upper.tolist(), strict=True):
        if low == high:
            lines.append(f" {column} = {number(low)}\n")
        elif low == -inf and high == inf:
            lines.append(f" {column} free\n")
        elif low == -inf:
            lines.append(f" -inf <= {column} <= {number(high)}\n")
        elif high < inf:
            lines.append(f" {number(low)} <= {column} <= {number(high)}\n")
        elif low != 0.0:
            lines.append(f" {column} >= {number(low)}\n")
    if program.offset != 0.0:
        lines.append(f" {CONSTANT} = 1\n")
    if lines:
        stream.write("bounds\n" + "".join(lines))
