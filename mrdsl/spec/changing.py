"""Single numbers of a spec's facts: their places and names, and the facts with one of them changed.

A path names an item as families do: ``cluster.size``, ``classes.deadline``, ``classes.jobs.low``. A number is one value
of a path: repeated blocks are numbered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mrdsl.core.diagnostics import Span
from mrdsl.spec.columns import Columns, Joined, column, part_at, parts_of
from mrdsl.spec.schema import Block, Item, Node, Range, declarations


@dataclass(frozen=True)
class FactNumber:
    """One number of the facts: the path's words, with ``index`` in the one repeated block on the way, or None."""

    path: str
    index: int | None = None


def numbers_at(facts: Node, path: str) -> Iterator[tuple[FactNumber, float]]:
    """Yield every number of the path in the spec with its value, in the order of the spec."""
    head, _, rest = path.partition(".")
    holder = getattr(facts, head)
    if isinstance(holder, Sequence) and not isinstance(holder, str):
        for index, value in enumerate(_values_of(holder, rest)):
            if value is not None and value == value:
                yield FactNumber(path, index), float(value)
    elif (value := _read(facts, path)) is not None:
        yield FactNumber(path), float(value)


def _values_of(holder: Sequence[Any], path: str) -> Iterator[Any]:
    for part in parts_of(holder):
        yield from column(part, path).tolist() if isinstance(part, Columns) else (_read(node, path) for node in part)


def with_values(facts: Any, values: Mapping[FactNumber, float]) -> Any:
    """Return the facts with some numbers changed; whole items stay whole, an end of a range takes the other along."""
    by_head: dict[str, list[tuple[FactNumber, float]]] = {}
    for number, value in values.items():
        by_head.setdefault(number.path.partition(".")[0], []).append((number, value))
    for head, changes in by_head.items():
        if changes[0][0].index is not None:
            facts = replace(facts, **{head: _changed_nodes(getattr(facts, head), changes)})
        else:
            for number, value in changes:
                facts = _changed(facts, number.path, value)
    return facts


def _changed_nodes(holder: Sequence[Any], changes: Sequence[tuple[FactNumber, float]]) -> Sequence[Any]:
    """Return the repeated blocks with some numbers changed; columns stay columns."""
    by_part: dict[int, list[tuple[str, int, float]]] = {}
    for number, value in changes:
        assert number.index is not None
        part, index = part_at(holder, number.index)
        by_part.setdefault(part, []).append((number.path.partition(".")[2], index, value))
    parts = list(parts_of(holder))
    for part, inside in by_part.items():
        old = parts[part]
        parts[part] = _changed_columns(old, inside) if isinstance(old, Columns) else _changed_each(old, inside)
    return Joined(parts) if isinstance(holder, Joined) else parts[0]


def _changed_each(holder: Sequence[Any], changes: Sequence[tuple[str, int, float]]) -> tuple[Any, ...]:
    nodes = list(holder)
    for path, index, value in changes:
        nodes[index] = _changed(nodes[index], path, value)
    return tuple(nodes)


def declaration_at(facts: Node, path: str) -> Item:
    """Return the declaration of the numbers of a path: their kind, their limits, and if they are whole."""
    node: type[Node] = type(facts)
    declared: Item | Block | None = None
    for word in path.split("."):
        if isinstance(declared, Item):
            break
        declared = declarations(node)[word]
        if isinstance(declared, Block):
            node = declared.node
    assert isinstance(declared, Item), path
    return declared


def span_at(facts: Node, number: FactNumber) -> Span | None:
    """Return the line that the number was written on, or its block's."""
    head, _, rest = number.path.partition(".")
    node: Any = facts
    if number.index is not None:
        holder = getattr(facts, head)
        part, index = part_at(holder, number.index)
        nodes = parts_of(holder)[part]
        if isinstance(nodes, Columns):
            return nodes.span_at(index)
        node = nodes[index]
    words = (number.path if number.index is None else rest).split(".")
    for word in words:
        inner = getattr(node, word)
        if not isinstance(inner, Node):
            return node.span_of(word) if isinstance(node, Node) else None
        node = inner
    return node.span if isinstance(node, Node) else None


def label_of(facts: Node, number: FactNumber) -> str:
    """``deadline of sort``, ``size of cluster``."""
    head, _, rest = number.path.partition(".")
    words = [word for word in (rest or head).split(".") if word not in ("low", "high")]
    item = words[-1]
    if number.index is not None:
        holder = getattr(facts, head)
        part, index = part_at(holder, number.index)
        nodes = parts_of(holder)[part]
        return f"{item} of {nodes.names[index] if isinstance(nodes, Columns) else nodes[index].name}"
    return f"{item} of {words[-2] if len(words) > 1 else head}" if rest else item


def _read(node: Any, path: str) -> Any:
    for word in path.split("."):
        if node is None:
            return None
        node = getattr(node, word)
    return node


def _changed(node: Any, path: str, value: float) -> Any:
    head, _, rest = path.partition(".")
    inner = getattr(node, head)
    if rest:
        return replace(node, **{head: _changed(inner, rest, value)})
    if isinstance(node, Range):
        return Range(value, max(value, node.high)) if head == "low" else Range(min(node.low, value), value)
    declared = declarations(type(node))[head]
    whole = isinstance(declared, Item) and declared.whole
    return replace(node, **{head: round(value) if whole else value})


def _changed_columns(holder: Columns[Any], changes: Sequence[tuple[str, int, float]]) -> Columns[Any]:
    values = dict(holder.values)
    for path, index, value in changes:
        item, _, end = path.rpartition(".")
        _set(values, holder, path, index, value)
        other = {"low": f"{item}.high", "high": f"{item}.low"}.get(end)
        if other is not None:
            beside = float(column(holder, other)[index])
            if value > beside if end == "low" else value < beside:
                _set(values, holder, other, index, value)
    return Columns(holder.node_type, holder.names, values, holder.span_at, holder.group)


def _set(values: dict[str, Any], holder: Columns[Any], path: str, index: int, value: float) -> None:
    if values.get(path) is holder.values.get(path):
        values[path] = column(holder, path).copy()
    values[path][index] = value
