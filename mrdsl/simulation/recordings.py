"""Recorded times of tasks and of arrivals: the files that a spec names, checked before runs, and their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrdsl.core.arguments import written_number
from mrdsl.core.diagnostics import Diagnostic, Span, error
from mrdsl.spec.columns import Columns, parts_of
from mrdsl.spec.schema import Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def check_recordings(classes: Sequence[Any]) -> Iterator[Diagnostic]:
    """Yield the errors in the files of recorded times of classes, and of two kinds of arrivals in one class."""
    for part in parts_of(classes):
        if isinstance(part, Columns) and not _named(part):
            continue
        for node in part:
            for source, unit, zero, span in _sources(node):
                yield from _check(source, unit, zero, span)
            if node.samples is not None and (node.recorded is not None or node.reduce is not None):
                yield error(
                    "wrong-recording",
                    f"`samples` is one file of times, and class {node.name} "
                    + ("has `recorded` beside it" if node.recorded is not None else "has map and reduce tasks"),
                    node.span_of("samples"),
                    'write recorded { map = "map.txt", reduce = "reduce.txt" }'
                    + (" alone" if node.recorded is not None else ""),
                )
            if getattr(node, "submissions", None) is not None and node.arrivals is not None:
                yield error(
                    "duplicate",
                    f"class {node.name} has two kinds of arrivals: `arrivals` and `submissions`",
                    node.span_of("submissions"),
                    "keep one of them",
                )


def _named(part: Columns[Any]) -> bool:
    """Return True if rows of a table may name a file at all."""
    return any(part.values.get(path) is not None for path in ("submissions", "recorded.map", "stages", "samples"))


def _sources(node: Any) -> Iterator[tuple[Source, float, bool, Span | None]]:
    if getattr(node, "submissions", None) is not None:
        yield node.submissions, 1.0, True, node.span_of("submissions")
    if node.samples is not None:
        yield node.samples, 1.0, False, node.span_of("samples")
    if node.recorded is not None:
        yield node.recorded.map, node.recorded.unit, False, node.recorded.span_of("map")
        if node.recorded.reduce is not None:
            yield node.recorded.reduce, node.recorded.unit, False, node.recorded.span_of("reduce")
    for stage in node.stages:
        if stage.samples is not None:
            yield stage.samples, 1.0, False, stage.span_of("samples")


def _check(source: Source, unit: float, zero: bool, span: Span | None) -> Iterator[Diagnostic]:
    try:
        read_times(Path(source.path), unit, zero)
    except (OSError, ValueError) as problem:
        yield error(
            "wrong-recording",
            f"`{source.written}` is not a list of {'arrivals' if zero else 'task times'}: {problem}",
            source.span or span,
            "write one positive number a line, such as 23.5" + ("" if zero else "; unit says what 1 stands for"),
        )


@lru_cache(maxsize=16)
def read_times(path: Path, unit: float, zero: bool = False) -> NDArray[np.float64]:
    """Return recorded times in seconds: one positive number a line, in units of ``unit`` seconds; empty lines are
    skipped.

    ``zero``: a time can be 0, as a moment can. Raises ValueError with the line of a wrong number, or if there is none.
    """
    import numpy as np

    values = []
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if text:
                values.append(0.0 if zero and text in ("0", "0.0") else _positive(text, number) * unit)
    if not values:
        raise ValueError("there is no number in it")
    return np.array(values)


def _positive(text: str, number: int) -> float:
    try:
        value = written_number(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise ValueError(f"line {number} is not a positive number: `{text[:40]}`")
    return value
