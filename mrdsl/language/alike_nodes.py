"""Nodes of blocks that are written alike: numbers column by column, and trees only on request.

The shape is resolved once, with the first block, as usual. A block whose numbers need a closer look is resolved alone,
and so are all blocks if a value without a slot can differ between them. So nodes, places and diagnostics are those of
blocks that are read alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mrdsl.core.diagnostics import Span
from mrdsl.language import tree
from mrdsl.language.alike import Row, Shape
from mrdsl.language.block_context import BlockContext
from mrdsl.language.blocks import ItemSpans
from mrdsl.language.items import SHORT, number_reader
from mrdsl.language.vocabulary import vocabulary
from mrdsl.spec.declared import within
from mrdsl.spec.schema import Block, Item, Node, Range

_CONSTANT_FORMS = frozenset(
    {"quantity", "range", "distribution", "choice", "text", "name", "names", "list", "moment", "moments"}
)


class _UnplannedError(Exception):
    """Something of the shape is read block by block."""


@dataclass(frozen=True)
class _Field:
    """One item: its field, and its number's slot or its ends' slots; without any, the ``value`` of all blocks."""

    name: str
    item: Item
    slots: tuple[tuple[int, Any], ...]
    value: Any


class _Place(NamedTuple):
    """A place in every block of a shape: its distance from the end of a slot, or from the start of the block."""

    slot: str
    behind: int

    def at(self, row: Row) -> int:
        """Return the place in the text for one of the blocks."""
        return (row.match.end(self.slot) if self.slot else row.start) + self.behind


class _Header(NamedTuple):
    """The begin and end of the words of a block, its line after the first line of the outer block, and the start of
    that line.
    """

    first: _Place
    last: _Place
    breaks: int
    line_start: _Place | None

    def span(self, file: str, row: Row) -> Span:
        """Return the place of the words in one of the blocks."""
        start = row.line_start if self.line_start is None else self.line_start.at(row)
        line = row.line + self.breaks
        return Span(file, line, self.first.at(row) - start + 1, line, self.last.at(row) - start + 1)


@dataclass(frozen=True)
class _Plan:
    """The contents of the blocks of a shape: items, inner blocks by field, and the position of the statement of each
    field.

    ``path`` leads from the statements of the outer block to this block.
    """

    node_type: type[Node]
    path: tuple[int, ...]
    header: _Header
    fields: tuple[_Field, ...]
    blocks: tuple[tuple[str, _Plan], ...]
    statements: Mapping[str, int]


def nodes_of(
    alike: tree.Alike, declared: Block, context: BlockContext, one_by_one: Callable[[tree.Block], Sequence[Node]]
) -> tuple[Node, ...]:
    """Return the nodes of such blocks, in their order; ``one_by_one`` resolves a block by itself and reports its
    mistakes.
    """
    found: list[Node] = []
    planned: dict[int, Mapping[int, Node]] = {}
    for index, row in enumerate(alike.rows):
        key = id(row.shape)
        node = planned[key].get(index) if key in planned else None
        if node is not None:
            found.append(node)
            continue
        before = len(context.scope.report.found)
        alone = one_by_one(alike.block(index))
        found += alone
        if key not in planned:
            usable = len(alone) == 1 and len(context.scope.report.found) == before
            planned[key] = _planned(alike, index, declared, alone[0], context) if usable else {}
    return tuple(found)


def _planned(alike: tree.Alike, first: int, declared: Block, node: Node, context: BlockContext) -> Mapping[int, Node]:
    """Return the nodes of the later blocks of a shape that need no closer look, by index."""
    shape = alike.rows[first].shape
    try:
        plan = _plan(alike.block(first), node, declared.node, (), _Slots(alike.rows[first]), context)
    except _UnplannedError:
        return {}
    indices = [i for i in range(first + 1, len(alike.rows)) if alike.rows[i].shape is shape]
    if not indices:
        return {}
    rows = _Rows(alike, shape, indices, context.scope.files)
    nodes = _nodes(plan, rows)
    return {index: nodes[place] for place, index in enumerate(indices) if place not in rows.odd}


class _Slots:
    """The places of the slots in one block of a shape."""

    def __init__(self, row: Row) -> None:
        self._row = row
        self._starts = {row.match.start(slot): number for number, slot in enumerate(row.shape.slots)}
        self._ends = [row.match.end(slot) for slot in row.shape.slots]

    def of(self, token: Any) -> int | None:
        """Return the number of the slot that contains a token."""
        return self._starts.get(token.start_pos)

    def any_in(self, node: Any) -> bool:
        """Return True if there are slots in a value."""
        first, last = tree.first_token(node).start_pos or 0, tree.last_token(node).start_pos or 0
        return any(first <= start <= last for start in self._starts)

    def header(self, block: tree.Block) -> _Header:
        """Return the places of the words of a block."""
        text, start = self._row.match.string, self._row.start
        first, last = block.words[0].start_pos or 0, block.words[-1].end_pos or 0
        breaks = text.count("\n", start, first)
        line_start = self._place(text.rfind("\n", start, first) + 1) if breaks else None
        return _Header(self._place(first), self._place(last), breaks, line_start)

    def _place(self, at: int) -> _Place:
        before = bisect_right(self._ends, at) - 1
        if before < 0:
            return _Place("", at - self._row.start)
        return _Place(self._row.shape.slots[before], at - self._ends[before])


def _plan(
    block: tree.Block, node: Node, node_type: type[Node], path: tuple[int, ...], slots: _Slots, context: BlockContext
) -> _Plan:
    """Return the plan of a block. Raises _UnplannedError for statements other than items and blocks without a name."""
    words = vocabulary(node_type)
    fields: list[_Field] = []
    blocks: list[tuple[str, _Plan]] = []
    statements: dict[str, int] = {}
    for index, statement in enumerate(block.statements or ()):
        word = tree.word_text(statement.words[0]) if not isinstance(statement, tree.Comparison) else ""
        if isinstance(statement, tree.Assignment) and word in words.items and len(statement.words) == 1:
            name, item = words.items[word]
            fields.append(_field(name, item, statement.value, getattr(node, name), slots, context))
        elif isinstance(statement, tree.Block) and _is_plain(statement) and words.is_single(statement):
            name, declared = words.singles[word]
            inner = getattr(node, name)
            if type(inner) is not declared.node or declared.sources:
                raise _UnplannedError
            blocks.append((name, _plan(statement, inner, declared.node, (*path, index), slots, context)))
        else:
            raise _UnplannedError
        statements[name] = index
    if len(statements) < len(block.statements or ()):
        raise _UnplannedError
    return _Plan(node_type, path, slots.header(block), tuple(fields), tuple(blocks), statements)


def _is_plain(block: tree.Block) -> bool:
    return len(block.words) == 1 and not block.more and block.indexed is None and block.call is None


def _field(name: str, item: Item, node: Any, value: Any, slots: _Slots, context: BlockContext) -> _Field:
    if not slots.any_in(node):
        if item.form not in _CONSTANT_FORMS or (item.form != "distribution" and _calls(node)):
            raise _UnplannedError
        return _Field(name, item, (), value)
    ends = (node.low, node.high) if isinstance(node, tree.Interval) else (node,)
    if item.form not in ("quantity", "range") or (item.form == "range" and item.whole):
        raise _UnplannedError
    read = []
    for end in ends:
        slot = slots.of(end.token) if isinstance(end, tree.Number) else None
        reader = number_reader(item, end.unit, context.scope.report.currency) if slot is not None else None
        if slot is None or reader is None:
            raise _UnplannedError
        read.append((slot, reader))
    return _Field(name, item, tuple(read), None)


def _calls(node: Any) -> bool:
    """Return True if a function is called in a value: it may draw."""
    return isinstance(node, tree.Call) or (isinstance(node, tuple) and any(map(_calls, node)))


class _Rows:
    """The blocks of one shape: their slots as columns, and which of them are ``odd``, to be looked at one by one."""

    def __init__(self, alike: tree.Alike, shape: Shape, indices: Sequence[int], files: tree.FileNames) -> None:
        self.alike, self.shape, self.indices, self.files = alike, shape, indices, files
        self.rows = [alike.rows[index] for index in indices]
        self.texts = [[row.match[slot] for row in self.rows] for slot in shape.slots]
        self.odd: set[int] = set()

    def column(self, of: _Field) -> Sequence[Any]:
        """Return the values of an item."""
        if not of.slots:
            return [of.value] * len(self.rows)
        columns = [self._numbers(of.item, slot, reader) for slot, reader in of.slots]
        if of.item.form == "quantity":
            return columns[0]
        self.odd.update(i for i, (low, high) in enumerate(zip(columns[0], columns[-1], strict=True)) if low > high)
        return [Range(low, high) for low, high in zip(columns[0], columns[-1], strict=True)]

    def _numbers(self, item: Item, slot: int, reader: Callable[[str], float]) -> Sequence[float]:
        texts = self.texts[slot]
        numbers = list(map(reader, texts))
        if max(map(len, texts)) > SHORT or not (within(item, min(numbers)) and within(item, max(numbers))):
            self.odd.update(i for i, number in enumerate(numbers) if len(texts[i]) > SHORT or not within(item, number))
        if not item.whole:
            return numbers
        if not all(number.is_integer() for number in numbers):
            self.odd.update(i for i, number in enumerate(numbers) if not number.is_integer())
            return [int(number) if i not in self.odd else 0 for i, number in enumerate(numbers)]
        return list(map(int, numbers))

    def spans(self, plan: _Plan, row: int) -> ItemSpans:
        """Return the places of the items of a block, computed on request."""
        return ItemSpans(self.files, _Statements(self.alike, self.indices[row], plan))


class _Statements(Mapping[str, Any]):
    """The statements of the fields of a block, whose trees are made on request."""

    def __init__(self, alike: tree.Alike, row: int, plan: _Plan) -> None:
        self._alike, self._row, self._plan = alike, row, plan

    def __getitem__(self, key: str) -> Any:
        index = self._plan.statements[key]
        block: Any = self._alike.block(self._row)
        for step in self._plan.path:
            block = block.statements[step]
        return block.statements[index]

    def __contains__(self, key: object) -> bool:
        return key in self._plan.statements

    def __iter__(self) -> Iterator[str]:
        return iter(self._plan.statements)

    def __len__(self) -> int:
        return len(self._plan.statements)


def _nodes(plan: _Plan, rows: _Rows) -> list[Node]:
    """Return the nodes of all rows; those of odd ones may be of any value."""
    columns: dict[str, Sequence[Any]] = {field.name: rows.column(field) for field in plan.fields}
    columns |= {name: _nodes(inner, rows) for name, inner in plan.blocks}
    names = rows.texts[0] if not plan.path else [""] * len(rows.rows)
    make: Any = plan.node_type
    file, keys = rows.files.names[0], tuple(columns)
    return [
        make(
            name=names[index],
            span=plan.header.span(file, row),
            spans=rows.spans(plan, index),
            **dict(zip(keys, values, strict=True)),
        )
        for index, (row, *values) in enumerate(zip(rows.rows, *columns.values(), strict=True))
    ]
