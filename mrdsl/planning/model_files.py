"""Model files for other solvers, and the map from their names back to the lines of the spec."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.output_names import is_through
from mrdsl.core.source import Span
from mrdsl.core.writer import Together
from mrdsl.exchange.models.written import Written
from mrdsl.exchange.registry import MODELS, ModelWriter, by_ending, endings, named
from mrdsl.solving.arrays import linear_program, objective_of
from mrdsl.solving.fingerprint import fingerprint
from mrdsl.spec.schema import Node
from mrdsl.spec.spec import Spec


def write_model(
    model: Any, path: str | Path, spec: Spec | None = None, *, form: str | None = None, force: bool = False
) -> tuple[Path, ...]:
    """Writes the model in the format of the path's ending (.lp, .mps, .nl, .gms) and ``FILE.names.json`` beside it.

    ``form`` (``lp``) stands in for the ending. Into a device, a pipe or standard output goes the model alone. Files
    that are there already are written over only with ``force``.

    The names map to the lines of ``model.spans``, and where that says nothing to the block of ``spec`` that the index
    names.

    The same model gives the same bytes. An nl file gets its names in .row and .col files, as AMPL does. Returns the
    written paths. Raises MrdslError ``unknown-format``, also where a model is not linear and the format only knows
    linear ones, ``file-exists`` and ``unwritable-file``.
    """
    path = Path(path)
    writer = writer_of(path, form)
    if spec is not None:
        model.block_spans = spans_of_blocks(spec.facts)
    if writer is None:
        hint = "write a name that ends in " + ", ".join(endings(MODELS))
        raise MrdslError([error("unknown-format", f"{path} does not say a known model format", hint=hint)])
    with Together(force=force) as files:
        return _write(model, _Out(files, path, not is_through(path)), writer)


def writer_of(path: Path, form: str | None = None) -> ModelWriter | None:
    """Who writes the format of that name, or the one that the path's ending says."""
    return by_ending(MODELS, path.suffix) if form is None else named(MODELS, form)


def paths_of(path: Path, form: str | None = None) -> tuple[Path, ...]:
    """All files that :func:`write_model` writes for a path."""
    if is_through(path):
        return (path,)
    writer = writer_of(path, form)
    beside = writer.beside if writer is not None else ()
    return (path, *(path.with_suffix(ending) for ending in beside), _names_file(path))


@dataclass(frozen=True)
class _Out:
    """Where a model goes, and whether files are written beside it."""

    files: Together
    path: Path
    beside: bool

    def write(self, path: Path, text: str, encoding: str = "utf-8") -> None:
        with self.files.text(path, encoding) as stream:
            stream.write(text)


def _write(model: Any, out: _Out, writer: ModelWriter) -> tuple[Path, ...]:
    path = out.path
    subject, program = model, None
    if writer.linear:
        subject = linear_program(model)
        if subject is None:
            able = " or ".join(path.stem + one.endings[0] for one in MODELS if not one.linear)
            message = f"the model is not linear, {path.name} holds linear ones only"
            raise MrdslError([error("unknown-format", message, hint=f"write {able}")])
        program = subject[0]
    with out.files.text(path, writer.encoding) as stream:
        written = writer.load()(stream, subject, model.name or "mrdsl")
    if not out.beside:
        return (path,)
    beside = [path.with_suffix(ending) for ending in writer.beside]
    for place in beside:
        out.write(place, written.beside[place.suffix], writer.encoding)
    mark = None if program is None else fingerprint(program, [name for name, _ in written.columns])
    return path, *beside, _write_names(model, out, written, mark)


def _write_names(model: Any, out: _Out, written: Written, mark: str | None) -> Path:
    path = out.path
    goal = objective_of(model)
    sense = "maximize" if goal.sense < 0 else "minimize"
    spans = getattr(model, "spans", None) or {}
    document = {
        "format": 1,
        "model": path.name,
        **({"fingerprint": mark} if mark else {}),
        "goal": {"component": goal.name, "sense": sense, "written": written.sense or sense},
        "columns": {name: _entry(data, spans) for name, data in written.columns},
        "rows": {name: _entry(data, spans) for name, data in written.rows},
    }
    target = _names_file(path)
    out.write(target, json.dumps(document, indent=1) + "\n")
    return target


def _names_file(path: Path) -> Path:
    """``a.lp.names.json``: each model file has its own, also if two differ in their endings alone."""
    return path.with_name(path.name + ".names.json")


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
    span: Span | None = spans.get((component, data.index())) if indexed else None
    whole: Span | None = spans.get(component)
    span = span if span is not None else whole
    if span is None and indexed:
        index = data.index()
        blocks = getattr(data.model(), "block_spans", None) or {}
        span = next(
            (blocks[part] for part in (index if isinstance(index, tuple) else (index,)) if part in blocks), None
        )
    return span


def spans_of_blocks(facts: Any) -> dict[str, Span]:
    """The place of every named block of the facts; names that two blocks share are left out."""
    spans: dict[str, Span | None] = {}
    for field in fields(facts):
        nodes = getattr(facts, field.name)
        for node in nodes if isinstance(nodes, Sequence) and not isinstance(nodes, str) else ():
            if isinstance(node, Node) and node.name and node.span is not None:
                spans[node.name] = None if node.name in spans else node.span
    return {name: span for name, span in spans.items() if span is not None}
