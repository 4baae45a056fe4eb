"""A Pyomo model as a GAMS file."""

from __future__ import annotations

import io
import logging
from typing import IO, Any

from mrdsl.exchange.models.written import Written


def as_gams(stream: IO[str], model: Any, title: str) -> Written:
    """Writes the model through Pyomo's own writer, which names columns and rows by GAMS's rules."""
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
