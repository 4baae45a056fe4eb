"""Cases of a sweep: values of parameters that belong together, a row of a table for each case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mrdsl.core.diagnostics import MrdslError, error, one_error
from mrdsl.exchange.cells import CellReader, RawTable, read_raw, unreadable
from mrdsl.exchange.text import FormatError, Mistakes
from mrdsl.spec.schema import Source
from mrdsl.sweeping.cells import Axis, value_text

_HEAD = re.compile(r"\s*([^\W\d]\w*)\s*(?:\[\s*(.*?)\s*\])?\s*")


def cases_in(path: Path) -> tuple[Axis, ...]:
    """Return the columns of a table of cases: parameters, with an optional unit as in ``limit [min]``.

    Raises:
        MrdslError: The file is not a table of cases, or a cell is empty.
    """
    source = Source("table", str(path.absolute()), str(path))
    try:
        raw = read_raw(source, str(path))
    except FormatError as problem:
        raise MrdslError([unreadable(source, problem)]) from None
    report = Mistakes()
    reader = CellReader(raw, report)
    columns = [] if report.found else [_column(raw, reader, index, report) for index in range(len(raw.header))]
    if not report.found:
        _check_names([axis.name for axis in columns], f"`{path}`")
        return tuple(columns)
    raise MrdslError(report.found)


def _column(raw: RawTable, reader: CellReader, index: int, report: Mistakes) -> Axis:
    head = _HEAD.fullmatch(raw.header[index])
    if head is None:
        hint = "write the name of a param, with a unit in brackets if it has one, such as `limit [min]`"
        report.add(
            error("unknown-column", f"column `{raw.header[index]}` is not a param", raw.cell_span(-1, index), hint)
        )
        return Axis("", ())
    texts = reader.texts(index)
    for row, text in enumerate(texts):
        if not text and len(report.found) < 20:
            message = f"this cell of `{head[1]}` is empty"
            report.add(error("empty-cell", message, raw.cell_span(row, index), "every case has a value of every param"))
    values = tuple(f"{text} {head[2]}" if head[2] else text for text in texts)
    return Axis(head[1], values, raw.cell_span(-1, index))


def cases_of(rows: Iterable[Mapping[str, float | str]]) -> tuple[Axis, ...]:
    """Return the columns of cases from Python, all with the same parameters. Raises MrdslError ``wrong-option``."""
    listed = list(rows)
    names = list(listed[0]) if listed else []
    if not names or any(set(row) != set(names) or not all(_HEAD.fullmatch(name) for name in row) for row in listed):
        hint = 'for example, `cases=[{"peak": 1.0, "limit": "15 min"}, {"peak": 1.4, "limit": "20 min"}]`'
        raise one_error("wrong-option", "cases must have values of the same params", None, hint)
    return tuple(Axis(name, tuple(value_text(row[name]) for row in listed)) for name in names)


def check_apart(cases: Sequence[Axis], axes: Sequence[Axis]) -> None:
    """Raise MrdslError ``wrong-option`` if a parameter has values in the cases and in ``--over``."""
    _check_names([axis.name for axis in (*cases, *axes)], "cases and `--over`")


def _check_names(names: Sequence[str], where: str) -> None:
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            hint = "give it values once"
            raise one_error("wrong-option", f"param `{name}` is twice in {where}", None, hint)
