"""A Pyomo model as a GAMS file, or as AMPL's nl with its names in .col and .row files."""

from __future__ import annotations

import io
import logging
from typing import IO, Any

from mrdsl.exchange.models.naming import Written, legal_names


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
