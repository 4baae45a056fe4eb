"""Model files for other solvers, and the map from their names back to the lines of the spec."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.linear_program import LinearProgram, Names
from mrdsl.core.source import Span
from mrdsl.core.writer import Together, is_through
from mrdsl.exchange.models.lp import relations, write_lp
from mrdsl.exchange.models.mps import write_mps
from mrdsl.exchange.models.naming import legal_names
from mrdsl.solving.arrays import constraints_of, linear_program, objective_of
from mrdsl.solving.fingerprint import fingerprint
from mrdsl.spec.schema import Node
from mrdsl.spec.spec import Spec

FORMATS = (".lp", ".mps", ".nl", ".gms")


def write_model(
    model: Any, path: str | Path, spec: Spec | None = None, *, form: str | None = None, force: bool = False
) -> tuple[Path, ...]:
    """Writes the model in the format of the path's ending (.lp, .mps, .nl, .gms) and ``NAME.names.json`` beside it.

    ``form`` (``lp``) stands in for the ending. Into a device, a pipe or standard output goes the model alone. Files
    that are there already are written over only with ``force``.

    The names map to the lines of ``model.spans``, and where that says nothing to the block of ``spec`` that the index
    names.

    The same model gives the same bytes. An nl file gets its names in .row and .col files, as AMPL does. Returns the
    written paths. Raises MrdslError ``unknown-format``, also where a model is not linear and the format only knows
    linear ones, ``file-exists`` and ``unwritable-file``.
    """
    path = Path(path)
    ending = ending_of(path, form)
    if spec is not None:
        model.block_spans = spans_of_blocks(spec.facts)
    if ending not in FORMATS:
        hint = "write a name that ends in " + ", ".join(FORMATS)
        raise MrdslError([error("unknown-format", f"{path} does not say a known model format", hint=hint)])
    with Together(force=force) as files:
        out = _Out(files, path, not is_through(path))
        if ending in (".lp", ".mps"):
            return _write_linear(model, out, ending)
        return (_write_nl if ending == ".nl" else _write_gams)(model, out)


def ending_of(path: Path, form: str | None = None) -> str:
    """The ending that says the format: the path's own where none is given."""
    return path.suffix.lower() if form is None else f".{form}"


def paths_of(path: Path, form: str | None = None) -> tuple[Path, ...]:
    """All files that :func:`write_model` writes for a path."""
    if is_through(path):
        return (path,)
    beside = (".col", ".row", ".names.json") if ending_of(path, form) == ".nl" else (".names.json",)
    return (path, *(path.with_suffix(ending) for ending in beside))


@dataclass(frozen=True)
class _Out:
    """Where a model goes, and whether files are written beside it."""

    files: Together
    path: Path
    beside: bool

    def write(self, path: Path, text: str, encoding: str = "utf-8") -> None:
        with self.files.text(path, encoding) as stream:
            stream.write(text)


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


def _write_linear(model: Any, out: _Out, ending: str) -> tuple[Path, ...]:
    path = out.path
    found = linear_program(model)
    if found is None:
        raise MrdslError(
            [
                error(
                    "unknown-format",
                    f"the model is not linear, {path.name} holds linear ones only",
                    hint=f"write {path.stem}.nl or {path.stem}.gms",
                )
            ]
        )
    program, names = found
    columns, rows = column_and_row_names(program, names)
    _refuse_infinite(program)
    with out.files.text(path, "ascii") as stream:
        if ending == ".lp":
            write_lp(stream, program, columns, rows, model.name or "mrdsl")
        else:
            first = legal_names((c.name for c in names.constraints), taken=columns)
            rows = [(name,) for name in first]
            write_mps(stream, program, columns, first, legal_names([model.name or "mrdsl"])[0])
    row_entries = [(name, c) for group, c in zip(rows, names.constraints, strict=True) for name in group]
    written = "minimize" if ending == ".mps" else None
    return path, *_write_names(
        model, out, zip(columns, names.variables, strict=True), row_entries, written, fingerprint(program, columns)
    )


def _refuse_infinite(program: LinearProgram) -> None:
    """No format has a sign for a coefficient that is none. Raises MrdslError ``number-too-large``."""
    if not (np.isfinite(program.costs).all() and np.isfinite(program.coefficients).all()):
        message = "the model has a coefficient beyond the numbers that there are"
        raise MrdslError([error("number-too-large", message, None, "write smaller numbers in the spec")])


def _write_nl(model: Any, out: _Out) -> tuple[Path, ...]:
    from pyomo.repn.plugins.nl_writer import NLWriter

    path = out.path
    with out.files.text(path, "ascii") as stream:
        information = NLWriter().write(model, stream, linear_presolve=False, scale_model=False)
    columns = legal_names(v.name for v in information.variables)
    rows = legal_names((c.name for c in information.constraints), taken=columns)
    goals = legal_names((o.name for o in information.objectives), taken=[*columns, *rows])
    beside = (path.with_suffix(".col"), path.with_suffix(".row")) if out.beside else ()
    for place, lines in zip(beside, (columns, [*rows, *goals]), strict=out.beside):
        out.write(place, "".join(f"{line}\n" for line in lines), "ascii")
    written = _write_names(
        model,
        out,
        zip(columns, information.variables, strict=True),
        zip(rows, information.constraints, strict=True),
        None,
    )
    return (path, *beside, *written)


def _write_gams(model: Any, out: _Out) -> tuple[Path, ...]:
    """Through Pyomo's own writer, which names columns and rows by GAMS's rules."""
    from pyomo.repn.plugins.gams_writer import ProblemWriter_gams

    stream = io.StringIO()
    logger = logging.getLogger("pyomo.core")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        options = {"symbolic_solver_labels": True, "warmstart": False}
        _, symbols = ProblemWriter_gams()(model, stream, lambda _: True, options)
    finally:
        logger.setLevel(level)
    head, solve, rest = stream.getvalue().partition("SOLVE GAMS_MODEL")
    text = head.replace("+1.0E+100", "+inf").replace("-1.0E+100", "-inf") + solve + rest.partition("\n")[0] + "\n"
    out.write(out.path, text)
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
    return out.path, *_write_names(model, out, columns, rows, None)


def _write_names(
    model: Any,
    out: _Out,
    columns: Iterable[tuple[str, Any]],
    rows: Iterable[tuple[str, Any]],
    written: str | None,
    mark: str | None = None,
) -> tuple[Path, ...]:
    if not out.beside:
        return ()
    path = out.path
    goal = objective_of(model)
    sense = "maximize" if goal.sense < 0 else "minimize"
    spans = getattr(model, "spans", None) or {}
    document = {
        "format": 1,
        "model": path.name,
        **({"fingerprint": mark} if mark else {}),
        "goal": {"component": goal.name, "sense": sense, "written": written or sense},
        "columns": {name: _entry(data, spans) for name, data in columns},
        "rows": {name: _entry(data, spans) for name, data in rows},
    }
    target = path.with_suffix(".names.json")
    out.write(target, json.dumps(document, indent=1) + "\n")
    return (target,)


def _entry(data: Any, spans: Any) -> dict[str, Any]:
    span = span_of(data, spans)
    place = None if span is None else {"file": span.file, "line": span.line, "column": span.column}
    return {"component": data.name, "spec": place}


def span_of(data: Any, spans: Any) -> Span | None:
    """The line of the spec behind a Pyomo variable or constraint, from ``model.spans``.

    Its keys are component names, or (component name, index) for one member; a component that has none itself takes
    that of the whole.
    """
    component = data.parent_component().local_name
    indexed = data.parent_component().is_indexed()
    found: Span | None = spans.get((component, data.index())) if indexed else None
    whole: Span | None = spans.get(component)
    found = found if found is not None else whole
    if found is None and indexed:
        index = data.index()
        blocks = getattr(data.model(), "block_spans", None) or {}
        found = next(
            (blocks[part] for part in (index if isinstance(index, tuple) else (index,)) if part in blocks), None
        )
    return found


def spans_of_blocks(facts: Any) -> dict[str, Span]:
    """The place of every named block of the facts; names that two blocks share are left out."""
    found: dict[str, Span | None] = {}
    for field in fields(facts):
        nodes = getattr(facts, field.name)
        for node in nodes if isinstance(nodes, Sequence) and not isinstance(nodes, str) else ():
            if isinstance(node, Node) and node.name and node.span is not None:
                found[node.name] = None if node.name in found else node.span
    return {name: span for name, span in found.items() if span is not None}


def components_without_span(model: Any) -> Sequence[str]:
    """The constraints that no line of the spec stands for: what a family still owes its users."""
    spans = getattr(model, "spans", None) or {}
    missing = (c.parent_component().local_name for c in constraints_of(model) if span_of(c, spans) is None)
    return tuple(dict.fromkeys(missing))
