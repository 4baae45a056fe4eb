"""Repeated blocks from a table: ``classes from "classes.csv"``, whose header names each attribute and its unit.

    name, map.tasks, map.avg [s], jobs.low, jobs.high, deadline [min], penalty [USD]

The file is separated by commas, or by tabs (``.tsv``, or a header with tabs). Items in the braces of the block apply to
all rows; ``require { ... }`` among them selects rows. Numbers go straight into arrays. A file that is not plain is read
again cell by cell to report each error at its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from mrdsl.core import units
from mrdsl.core.diagnostics import Span, did_you_mean, error, is_printable, number_of
from mrdsl.exchange.cells import CellReader, RawTable, read_raw, unreadable
from mrdsl.language.block_context import BlockContext, collect_shares, split_shares
from mrdsl.language.generators import collect
from mrdsl.language.items import limits, shown
from mrdsl.language.requirements import Attribute, Rows, matching_rows, required_words, split
from mrdsl.language.table_heads import NAME_COLUMN, Column, column_of, paths_of
from mrdsl.language.tree import Block as BlockTree
from mrdsl.spec.columns import Columns, optional_block
from mrdsl.spec.declared import LARGEST, LARGEST_REASON, LARGEST_WHOLE, WHOLE_REASON, acceptable, near_whole
from mrdsl.spec.schema import Item, Node, Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_REPORTED_ROWS = 5


def resolve_table(
    node_type: type[Node],
    word: str,
    source: Source,
    statements: tuple[Any, ...],
    context: BlockContext,
    block: BlockTree,
) -> Sequence[Node]:
    """Return the columns of the rows of a table; empty if the table is wrong, with the reasons in the report."""
    report = context.scope.report
    before = len(report.found)
    table = context.files.shown(source.written)
    try:
        raw = read_raw(source, table)
    except ValueError as problem:
        report.add(unreadable(source, problem, table))
        return ()
    required, statements = split(statements)
    asked = required_words(required)
    found = [column_of(node_type, index, cell, raw, context, asked) for index, cell in enumerate(raw.header)]
    extra = {column.path: column for column in found if column is not None and column.asked}
    columns = [column for column in found if column is not None and not column.asked]
    _check_columns([column for column in found if column is not None], raw, word, context)
    values: dict[str, Any] = {}
    given = frozenset(path for column in columns for path in paths_of(column))
    lacking: list[str] = []
    shares, statements = split_shares(node_type, statements)
    collect(node_type, statements, context, raw.rows, "", values, raw.header_span(), given, lacking)
    if lacking:
        shown_paths = ", ".join(f"`{path}`" for path in lacking)
        report.add(
            error(
                "missing-column",
                f"the table has no column {shown_paths}",
                raw.header_span(),
                f"add the column, or write `{lacking[0]}` once for all rows in the braces after the table's name",
            )
        )
    if len(report.found) > before:
        return ()
    reader = CellReader(raw, report)
    names = reader.texts(next(c.index for c in columns if c.path == NAME_COLUMN))
    kept = None
    if required:
        attributes = _attributes(columns, reader, names) | {p: _extra(c, reader) for p, c in extra.items()}
        kept = matching_rows(required, Rows(word, node_type, names, attributes, source.written), context)
        if len(report.found) > before:
            return ()
        reader.leave_out(~kept)
    _check_names(names, word, raw, context, kept)
    _fill(node_type, columns, reader, raw, context, values, kept)
    values |= collect_shares(node_type, shares, context, raw.rows, values, given)
    if len(report.found) > before:
        return ()
    every = Columns(node_type, names, values, raw.shown_only().span)
    return every if kept is None else _of_rows(every, kept)


def _attributes(columns: Sequence[Column], reader: CellReader, names: Sequence[str]) -> dict[str, Attribute]:
    """Return the attributes for requirements: the columns of the blocks."""
    found = {NAME_COLUMN: Attribute(as_words=lambda: names)}
    for column in columns:
        if column.item is None or (not column.numeric and column.item.form == "names"):
            continue
        read, dimension = _extra(column, reader), units.KINDS[column.item.kind].dimension
        dimension = units.NUMBER if column.share else dimension
        attribute = Attribute(read.as_numbers, dimension) if column.numeric else Attribute(as_words=read.as_words)
        found |= dict.fromkeys(paths_of(column), attribute)
    return found


def _extra(column: Column, reader: CellReader) -> Attribute:
    """Return a column that is there for requirements alone: words, or numbers where it is compared with one."""
    return Attribute(
        lambda: units.scaled(reader.numbers([column.index], [False])[0], column.factor),
        column.dimension,
        lambda: reader.texts(column.index),
    )


def _of_rows(every: Columns[Node], kept: NDArray[np.bool_]) -> Columns[Node]:
    """Return the columns of some of the rows."""
    rows = kept.nonzero()[0].tolist()
    values = {path: value[kept] if getattr(value, "ndim", 0) else value for path, value in every.values.items()}
    return Columns(every.node_type, [every.names[row] for row in rows], values, partial(_row_at, every.span_at, rows))


def _row_at(span_at: Callable[[int], Span | None], rows: Sequence[int], row: int) -> Span | None:
    return span_at(rows[row])


def _fill(
    node_type: type[Node],
    columns: Sequence[Column],
    reader: CellReader,
    raw: RawTable,
    context: BlockContext,
    values: dict[str, Any],
    kept: NDArray[np.bool_] | None,
) -> None:
    import numpy as np

    told = len(context.scope.report.found)
    columns = sorted(columns, key=lambda column: column.share)
    blocks = {c.index: optional_block(node_type, c.path) for c in columns if c.numeric}
    absent = {block for block in blocks.values() if not any(path.startswith(block) for path in values)} - {""}
    numbers = reader.numbers(
        [c.index for c in columns if c.numeric],
        [c.item is not None and c.item.required and blocks[c.index] not in absent for c in columns if c.numeric],
    )
    for column, array in zip([c for c in columns if c.numeric], numbers, strict=True):
        scaled = units.scaled(array, column.factor) if column.factor != 1.0 else array
        assert column.item is not None
        if column.share:
            scaled = scaled * values.get(column.item.share_of, np.nan)
        _check_numbers(column, column.item, scaled, raw, context)
        for path in paths_of(column):
            values[path] = scaled
    for column in columns:
        if column.item is not None and not column.numeric:
            values[column.path] = _words(column, column.item, reader, raw, context, kept)
    for block in sorted(absent) if len(context.scope.report.found) == told else ():
        _check_whole_blocks([c for c in columns if c.numeric and blocks[c.index] == block], block, values, raw, context)
    for column in columns:
        if column.path.endswith(".low"):
            _check_range(column, values, raw, context)


def _check_whole_blocks(
    columns: Sequence[Column], block: str, values: dict[str, Any], raw: RawTable, context: BlockContext
) -> None:
    """A row that fills no cell of a block that may be left out has none; one with some fills the required ones."""
    import numpy as np

    empty = {column.index: np.isnan(values[paths_of(column)[0]]) for column in columns}
    begun = ~np.logical_and.reduce(list(empty.values()))
    for column in columns:
        if column.item is not None and column.item.required:
            _report_rows(
                column,
                begun & empty[column.index],
                "empty-cell",
                lambda _, column=column: f"this cell of `{column.written}` is empty",
                f"fill it in, or leave every cell of `{block.rstrip('.')}` in the row empty: it then has none",
                raw,
                context,
            )


def _check_columns(columns: Sequence[Column], raw: RawTable, word: str, context: BlockContext) -> None:
    report = context.scope.report
    seen: dict[str, Column] = {}
    for column in columns:
        for path in paths_of(column):
            if path in seen:
                report.add(
                    error(
                        "duplicate",
                        f"the attribute `{column.written}` has two columns",
                        raw.cell_span(-1, column.index),
                        "keep one of them",
                    )
                )
            seen[path] = column
    if NAME_COLUMN not in seen and len(columns) == len(raw.header):
        report.add(
            error(
                "missing-column",
                f"the table has no column `{NAME_COLUMN}`",
                raw.header_span(),
                f"add a column `{NAME_COLUMN}` that names each {word}",
            )
        )
    for path, column in list(seen.items()):
        other = path.removesuffix(".low") + ".high" if path.endswith(".low") else path.removesuffix(".high") + ".low"
        if path.endswith((".low", ".high")) and other not in seen:
            report.add(
                error(
                    "missing-column",
                    f"the column `{column.written}` lacks its other end",
                    raw.header_span(),
                    f"add a column `{other}`",
                )
            )


def _check_names(
    names: Sequence[str], word: str, raw: RawTable, context: BlockContext, kept: NDArray[np.bool_] | None
) -> None:
    if len(set(names)) == len(names) and all(names) and is_printable("".join(names)):
        return
    first: dict[str, int] = {}
    for row, name in enumerate(names):
        if not is_printable(name):
            message = f"the name `{name}` of this {word} holds a control character"
            context.scope.report.add(error("control-character", message, raw.span(row), "leave it out"))
            return
        if kept is not None and not kept[row]:
            continue
        if not name:
            context.scope.report.add(error("empty-cell", f"this {word} has no name", raw.cell_span(row, 0), "name it"))
            return
        if name in first:
            context.scope.report.add(
                error(
                    "duplicate",
                    f"`{word} {name}` is defined in two rows, {raw.line(first[name])} and {raw.line(row)}",
                    raw.span(row),
                    "give each its own name",
                )
            )
            return
        first[name] = row


def _check_numbers(
    column: Column, item: Item, array: NDArray[np.float64], raw: RawTable, context: BlockContext
) -> None:
    import numpy as np

    present = ~np.isnan(array)
    accepted = np.broadcast_to(acceptable(item, array), array.shape)
    _report_rows(
        column,
        present & ~accepted,
        "out-of-range",
        lambda row: (
            f"`{column.written}` is {shown(float(array[row]), item, context.scope)}, "
            f"but must be {limits(item, context.scope)}"
        ),
        f"write {units.KINDS[item.kind].noun} {limits(item, context.scope)}",
        raw,
        context,
    )
    most, reason = (LARGEST_WHOLE, WHOLE_REASON) if item.whole else (LARGEST, LARGEST_REASON)
    huge = present & (np.abs(array) > most)
    _report_rows(
        column,
        huge,
        "number-too-large",
        lambda row: f"`{column.written}` is {array[row]:g}, but {reason}",
        "write a smaller number",
        raw,
        context,
    )
    if item.whole:
        broken = present & ~huge & ~near_whole(array)
        _report_rows(
            column,
            broken,
            "not-whole",
            lambda row: f"`{column.written}` is {array[row]:g}, but must be a whole number",
            "write a whole number",
            raw,
            context,
        )


def _check_range(column: Column, values: dict[str, Any], raw: RawTable, context: BlockContext) -> None:
    high = values.get(column.path.removesuffix(".low") + ".high")
    low = values[column.path]
    if high is None:
        return
    _report_rows(
        column,
        low > high,
        "reversed-range",
        lambda row: f"the range is reversed: {low[row]:g} is above {high[row]:g}",
        "write the lower end first",
        raw,
        context,
    )


def _report_rows(
    column: Column, wrong: Any, code: str, message: Any, hint: str, raw: RawTable, context: BlockContext
) -> None:
    if not wrong.any():
        return
    rows = wrong.nonzero()[0]
    for row in rows[:MAX_REPORTED_ROWS]:
        more = len(rows) - MAX_REPORTED_ROWS
        tail = f" ({number_of(more, 'more row')} alike)" if more > 0 and row == rows[MAX_REPORTED_ROWS - 1] else ""
        context.scope.report.add(error(code, message(int(row)) + tail, raw.cell_span(int(row), column.index), hint))


def _words(
    column: Column,
    item: Item,
    reader: CellReader,
    raw: RawTable,
    context: BlockContext,
    kept: NDArray[np.bool_] | None,
) -> Any:
    import numpy as np

    cells = reader.texts(column.index)
    if item.form == "moment":
        return _objects([cell.strip() or None for cell in cells])
    if item.form in ("names", "moments"):
        return _objects([tuple(re.split(r"[\s;]+", cell.strip())) if cell.strip() else () for cell in cells])
    if item.form == "choice":
        for row, cell in enumerate(cells):
            counts = kept is None or kept[row]
            if counts and not item.is_choice(cell) and (cell or item.required):
                context.scope.report.add(
                    error(
                        "unknown-choice",
                        f"`{column.written}` cannot be `{cell}`",
                        raw.cell_span(row, column.index),
                        did_you_mean(cell, item.listed, "one of "),
                    )
                )
                break
    return np.array(cells)


def _objects(values: list[Any]) -> Any:
    import numpy as np

    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
