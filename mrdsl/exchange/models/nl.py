"""A Pyomo model as AMPL's nl, with its names in .col and .row files, as AMPL does."""

from __future__ import annotations

from typing import IO, Any

from mrdsl.exchange.models.naming import legal_names
from mrdsl.exchange.models.written import Written


def as_nl(stream: IO[str], model: Any, title: str) -> Written:
    """Writes the model; nl has no place for its title."""
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
