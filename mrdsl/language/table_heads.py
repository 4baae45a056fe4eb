"""The heads of a table's columns: which attribute of a block each one fills, in which unit."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from mrdsl.core import units
from mrdsl.core.diagnostics import Span, did_you_mean, error, nearest
from mrdsl.exchange.cells import RawTable
from mrdsl.language.block_context import BlockContext
from mrdsl.language.evaluate import evaluate
from mrdsl.language.parsing import parse_expression
from mrdsl.language.scope import MistakeError, Renamed, Report, Value
from mrdsl.language.vocabulary import vocabulary
from mrdsl.spec.schema import Item, Node

NAME_COLUMN = "name"

_HEADER = re.compile(r"^\s*(?P<path>[^\W\d][\w.]*)\s*(\[(?P<unit>[^\]]*)\])?\s*$")

_NUMERIC_FORMS = ("quantity", "range", "distribution")


@dataclass(frozen=True)
class Column:
    """One column of the table: its place, the dotted path that it sets, its declaration, and the factor of its unit.

    A column that is ``asked`` sets no attribute: only requirements use it, in the ``dimension`` of its unit. A column
    that is a ``share`` has parts of another number of the block.
    """

    index: int
    written: str
    path: str
    item: Item | None
    factor: float
    dimension: units.Dimension = units.NUMBER
    asked: bool = False
    share: bool = False

    @property
    def numeric(self) -> bool:
        return self.item is not None and self.item.form in _NUMERIC_FORMS


def column_of(
    node_type: type[Node],
    index: int,
    cell: str,
    raw: RawTable,
    context: BlockContext,
    asked: frozenset[str] = frozenset(),
) -> Column | None:
    """Return the column of a head, or None after an error, which is reported.

    ``asked`` are heads of columns that set no attribute but are used by requirements.
    """
    report, span = context.scope.report, raw.cell_span(-1, index)
    match = _HEADER.match(cell)
    if match is None:
        report.add(
            error(
                "wrong-header",
                f"the column head `{cell.strip()}` is not of the form `attribute [unit]`",
                span,
                "write it like `map.avg [s]`",
            )
        )
        return None
    written, unit = match["path"], match["unit"]
    if written == NAME_COLUMN:
        return Column(index, written, NAME_COLUMN, None, 1.0)
    declared = attribute(node_type, _current_path(node_type, written, span, report))
    if declared is None and written in asked:
        value = Value(1.0, units.NUMBER)
        try:
            value = value if unit is None else _in_unit(written, unit, units.KINDS["number"], span, context)
        except MistakeError as mistake:
            report.add(mistake.diagnostic)
        return Column(index, written, written, None, float(value.number), value.dimension, asked=True)
    if declared is None:
        meant = nearest(written, all_paths(node_type))
        report.add(
            error(
                "unknown-column",
                f"unknown attribute `{written}`",
                span,
                did_you_mean(written, [NAME_COLUMN, *all_paths(node_type)], "attributes: "),
            )
        )
        there = {head.split("[")[0].strip() for head in raw.header}
        declared = attribute(node_type, meant) if meant is not None and meant not in there else None
        return None if declared is None else Column(index, written, declared[0], declared[1], 1.0)
    path, item = declared
    try:
        if unit == "%" and item.share_of:
            return Column(index, written, path, item, units.UNITS[unit].factor, share=True)
        return Column(index, written, path, item, _factor(written, unit, item, span, context))
    except MistakeError as mistake:
        report.add(mistake.diagnostic)
        return Column(index, written, path, item, 1.0)


def _current_path(node_type: type[Node], path: str, span: Span, report: Report) -> str:
    """Return a dotted path in the words of today, and note each former word."""
    parts: list[str] = []
    at: type[Node] | None = node_type
    for part in path.split("."):
        words = vocabulary(at) if at is not None else None
        word = words.former.get(part, part) if words is not None else part
        if word != part:
            report.renamed.append(Renamed(span, part, word))
        parts.append(word)
        at = words.singles[word][1].node if words is not None and word in words.singles else None
    return ".".join(parts)


def attribute(node_type: type[Node], path: str) -> tuple[str, Item] | None:
    """Return the field and the declaration of a dotted path in a table, or None."""
    return _find(node_type, path.split("."))


def _find(node_type: type[Node], parts: list[str]) -> tuple[str, Item] | None:
    words = vocabulary(node_type)
    head, rest = parts[0], parts[1:]
    if head in words.items:
        name, item = words.items[head]
        if not rest:
            return name, item
        ends = {"low": "low", "high": "high", "min": "low", "max": "high"}
        if item.form == "range" and len(rest) == 1 and rest[0] in ends:
            return f"{name}.{ends[rest[0]]}", item
        return None
    short = words.short_form(head)
    if short is not None and not rest:
        return f"{short[0]}.{short[1].short}", short[2]
    if head in words.singles and rest:
        name, declared = words.singles[head]
        inner = _find(declared.node, rest)
        return None if inner is None else (f"{name}.{inner[0]}", inner[1])
    return None


def all_paths(node_type: type[Node]) -> list[str]:
    """Return every attribute that a table of these blocks may have, as dotted words."""
    words = vocabulary(node_type)
    paths = []
    for word, (_, item) in words.items.items():
        paths += [word] if item.form != "range" else [word, f"{word}.low", f"{word}.high"]
    for word, (_, declared) in words.singles.items():
        paths += [f"{word}.{inner}" for inner in all_paths(declared.node)]
    return paths


def _factor(written: str, unit: str | None, item: Item, span: Span, context: BlockContext) -> float:
    if item.form not in _NUMERIC_FORMS:
        if unit is not None:
            raise MistakeError(
                error("wrong-unit", f"the column `{written}` holds words and has no unit", span, f"write `{written}`")
            )
        return 1.0
    kind = units.KINDS[item.kind]
    if unit is None:
        if kind.dimension == units.NUMBER or units.is_count(kind.dimension):
            return 1.0
        raise MistakeError(
            error(
                "wrong-unit",
                f"the column `{written}` is {kind.noun} and needs its unit",
                span,
                f"write `{written} [{kind.shown_in(context.scope.report.currency)}]`",
            )
        )
    value = _in_unit(written, unit, kind, span, context)
    if not units.fits(value.dimension, kind.dimension):
        raise MistakeError(
            error(
                "wrong-unit",
                f"the column `{written}` is {kind.noun}, but `{unit}` is {units.describe(value.dimension)}",
                span,
                f"write `{written} [{kind.shown_in(context.scope.report.currency)}]`",
            )
        )
    return float(value.number)


def _in_unit(written: str, unit: str, kind: units.Kind, span: Span, context: BlockContext) -> Value:
    """Return one of the unit in a head's brackets. Raises MistakeError."""
    text = unit if unit[:1].isdigit() else f"1 {unit}"
    tree = parse_expression(text)
    if tree is None:
        raise MistakeError(
            error(
                "unknown-unit",
                f"`{unit}` is not a unit",
                span,
                f"write `{written} [{kind.shown_in(context.scope.report.currency) or '%'}]`",
            )
        )
    report = context.scope.report
    before = report.currency
    try:
        return evaluate(tree, context.scope)
    except MistakeError as mistake:
        found = mistake.diagnostic
        if found is None:
            raise
        hint = found.hint
        fitting = [one.name for one in units.UNITS.values() if units.fits(one.dimension, kind.dimension)]
        if found.message == f"unknown unit `{unit.strip()}`" and not any(f"`{name}`" in hint for name in fitting):
            hint = f"write `{written} [{kind.shown_in(report.currency) or '%'}]`"
        raise MistakeError(replace(found, span=span, hint=hint)) from None
    finally:
        if report.currency != before:
            report.currency_span = span


def paths_of(column: Column) -> tuple[str, ...]:
    if column.item is not None and column.item.form == "range" and not column.path.endswith((".low", ".high")):
        return f"{column.path}.low", f"{column.path}.high"
    return (column.path,)
