"""Model files: LP and free MPS of a linear program, AMPL's nl and GAMS of any Pyomo model.

Names are such that every solver accepts: letters, digits, underscores and dots, at most 90 characters, all different.

GLPK, CBC, HiGHS, SCIP and others read LP and MPS alike. In LP, every column stands in the goal, so that all readers see
the columns in one order. A range becomes two rows, a constant becomes a column that is fixed at 1, and every bound is
written out.

In free MPS, nothing is left to assumption, since readers differ. The program is always minimized: costs change sign if
the goal is to maximize. The constant is a column fixed at 1: as a right side of the goal it has one sign for CBC, HiGHS
and SCIP, the other for GLPK and lp_solve. Every bound of every integer column is written out. CBC 2.10 takes
`` LO BOUND x0 0`` for fixed format unless the ``NAME`` line says FREE. lp_solve 5.5 cuts off optima if the goal of a
program with whole columns has a fractional one that is fixed, so the constant's column is whole there too.

Pyomo's own writers write nl, with the names in .col and .row files, and GAMS.
"""

from __future__ import annotations

import hashlib
import io
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from types import MappingProxyType
from typing import IO, Any

import numpy as np

from mrdsl.core.diagnostics import one_error
from mrdsl.core.linear_program import LinearProgram, Names

LONGEST = 90
_HASH = 8
_ILLEGAL = re.compile(r"[^A-Za-z0-9_.]+")
_LEGAL_START = re.compile(r"(?![eE][0-9])[A-Za-z_]")
_WORDS = frozenset(
    (
        "max",
        "maximum",
        "maximize",
        "maximise",
        "min",
        "minimum",
        "minimize",
        "minimise",
        "subject",
        "such",
        "that",
        "st",
        "free",
        "inf",
        "infinity",
        "bound",
        "bounds",
        "general",
        "generals",
        "gen",
        "integer",
        "integers",
        "int",
        "binary",
        "binaries",
        "bin",
        "semi",
        "sos",
        "sos1",
        "sos2",
        "end",
        "name",
        "rows",
        "columns",
        "rhs",
        "ranges",
        "endata",
        "objsense",
        "obj",
        "goal",
        "to",
        "objective_constant",
    )
)


def plain_names(letter: str, count: int) -> list[str]:
    """``x0, x1, …``: names for files that only programs read."""
    return [f"{letter}{i}" for i in range(count)]


def legal_names(raw: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Return readable names in the order of ``raw``: ``admitted[sort]`` becomes ``admitted.sort``.

    A name that is cut, or would repeat an earlier one, gets a hash of the whole original.
    """
    used = {name.lower() for name in taken}
    names = []
    for original in raw:
        name = _legal(original)
        if len(name) > LONGEST or name.lower() in used or name.lower() in _WORDS:
            name = _hashed(name, original, used)
        used.add(name.lower())
        names.append(name)
    return names


def _legal(original: str) -> str:
    name = _ILLEGAL.sub("_", original.replace("[", ".").replace("]", "").replace(",", ".")).strip("_") or "_"
    return name if _LEGAL_START.match(name) else f"_{name}"


def _hashed(name: str, original: str, used: set[str]) -> str:
    for attempt in range(1000):
        digest = hashlib.sha256(f"{original}#{attempt}".encode()).hexdigest()[:_HASH]
        candidate = f"{name[: LONGEST - _HASH - 1]}_{digest}"
        if candidate.lower() not in used:
            return candidate
    raise ValueError(f"no free name for {original!r}")


def number(value: float) -> str:
    """Return a number as every reader takes it: the shortest text that gives the same float, whole numbers without
    point.
    """
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def numbers(values: Sequence[float]) -> list[str]:
    """:func:`number` of each."""
    return [number(value) for value in values]


@dataclass(frozen=True)
class Written:
    """The names in a model file with their Pyomo components; a row can have two names.

    ``sense`` is the sense of the objective in the file if that is not the model's own; ``beside`` has the texts of
    further files by extension.
    """

    columns: Sequence[tuple[str, Any]]
    rows: Sequence[tuple[str, Any]]
    sense: str | None = None
    beside: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


CONSTANT = "objective_constant"
GOAL = "goal"


def write_mps(
    stream: IO[str], program: LinearProgram, columns: Sequence[str], rows: Sequence[str], name: str = "mrdsl"
) -> None:
    """Write the program; ``columns`` and ``rows`` are legal names without blanks."""
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
    _write_mps_bounds(stream, program, columns)
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


def _write_mps_bounds(stream: IO[str], program: LinearProgram, columns: Sequence[str]) -> None:
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


_WIDTH = 100


def write_lp(
    stream: IO[str],
    program: LinearProgram,
    columns: Sequence[str],
    rows: Sequence[tuple[str, ...]],
    name: str = "mrdsl",
) -> None:
    """Write the program; ``rows`` gives each row its name, a range two (lower, upper)."""
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
    _write_lp_bounds(stream, program, columns)
    whole = [column for column, flag in zip(columns, program.integer.tolist(), strict=True) if flag]
    if whole:
        stream.write("general\n" + "".join(f" {column}\n" for column in whole))
    stream.write("end\n")


def relations(low: float, high: float) -> tuple[tuple[str, float], ...]:
    """Return the comparisons that a row is written as."""
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


def _write_lp_bounds(stream: IO[str], program: LinearProgram, columns: Sequence[str]) -> None:
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


Named = tuple[LinearProgram, Names]


def column_and_row_names(program: LinearProgram, names: Names) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the legal name of each column, and the names of each row in an LP file."""
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
    """Write the program as LP. Raises MrdslError ``number-too-large``."""
    program, names = model
    columns, rows = column_and_row_names(program, names)
    _refuse_infinite(program)
    write_lp(stream, program, columns, rows, title)
    return Written(
        list(zip(columns, names.variables, strict=True)),
        [(name, c) for group, c in zip(rows, names.constraints, strict=True) for name in group],
    )


def as_mps(stream: IO[str], model: Named, title: str) -> Written:
    """Write the program as free MPS. Raises MrdslError ``number-too-large``."""
    program, names = model
    columns = legal_names(variable.name for variable in names.variables)
    rows = legal_names((c.name for c in names.constraints), taken=columns)
    _refuse_infinite(program)
    write_mps(stream, program, columns, rows, legal_names([title])[0])
    entries = list(zip(columns, names.variables, strict=True)), list(zip(rows, names.constraints, strict=True))
    return Written(*entries, sense="minimize")


def _refuse_infinite(program: LinearProgram) -> None:
    """Raise an error for coefficients that are not finite: no format has a sign for them."""
    if not (np.isfinite(program.costs).all() and np.isfinite(program.coefficients).all()):
        message = "the model has a coefficient beyond the numbers that there are"
        raise one_error("number-too-large", message, None, "write smaller numbers in the spec")


def as_gams(stream: IO[str], model: Any, title: str) -> Written:
    """Write the model through Pyomo's own writer, which names columns and rows by GAMS's rules."""
    import pyomo.environ as pyo
    from pyomo.repn.plugins.gams_writer import ProblemWriter_gams

    written = io.StringIO()
    logger = logging.getLogger("pyomo.core")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        options = {"symbolic_solver_labels": True, "warmstart": False}
        _, symbols = ProblemWriter_gams()(model, written, lambda _: True, options)
    finally:
        logger.setLevel(level)
    head, solve, rest = written.getvalue().partition("SOLVE GAMS_MODEL")
    text = head.replace("+1.0E+100", "+inf").replace("-1.0E+100", "-inf") + solve + rest.partition("\n")[0] + "\n"
    stream.write(text)
    entries = list(symbols.bySymbol.items())
    columns = [(symbol, data) for symbol, data in entries if data.ctype is pyo.Var]
    equations = set(head.partition("EQUATIONS")[2].partition(";")[0].split())
    rows = [
        (symbol + side, data)
        for symbol, data in entries
        if data.ctype is pyo.Constraint
        for side in ("", "_lo", "_hi")
        if symbol + side in equations
    ]
    return Written(columns, rows)


def as_nl(stream: IO[str], model: Any, title: str) -> Written:
    """Write the model; nl has no place for its title."""
    from pyomo.repn.plugins.nl_writer import NLWriter

    information = NLWriter().write(model, stream, linear_presolve=False, scale_model=False)
    columns = legal_names(v.name for v in information.variables)
    rows = legal_names((c.name for c in information.constraints), taken=columns)
    goals = legal_names((o.name for o in information.objectives), taken=[*columns, *rows])
    beside = {
        ending: "".join(f"{line}\n" for line in lines)
        for ending, lines in ((".col", columns), (".row", [*rows, *goals]))
    }
    return Written(
        list(zip(columns, information.variables, strict=True)),
        list(zip(rows, information.constraints, strict=True)),
        beside=beside,
    )
