"""Single numbers of a spec's facts: their places and names, and the facts with one of them changed.

A path names an item as families do: ``cluster.size``, ``classes.deadline``, ``classes.jobs.low``. A number is one value
of a path: repeated blocks are numbered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mrdsl.core.diagnostics import Span
from mrdsl.spec.columns import Columns, column, names_of
from mrdsl.spec.schema import Block, Item, Node, Range, declarations


@dataclass(frozen=True)
class FactNumber:
    """One number of the facts: the path's words, with ``index`` in the one repeated block on the way, or None."""

    path: str
    index: int | None = None


def numbers_at(facts: Node, path: str) -> Iterator[FactNumber]:
    """Yield every number of the path in the spec, in the order of the spec."""
    head, _, rest = path.partition(".")
    holder = getattr(facts, head)
    if isinstance(holder, Sequence) and not isinstance(holder, str):
        values = column(holder, rest) if isinstance(holder, Columns) else [_read(node, rest) for node in holder]
        for index, value in enumerate(values):
            if value is not None and value == value:
                yield FactNumber(path, index)
    elif _read(facts, path) is not None:
        yield FactNumber(path)


def value_at(facts: Node, number: FactNumber) -> float:
    """Return the number."""
    head, _, rest = number.path.partition(".")
    if number.index is None:
        return float(_read(facts, number.path))
    holder = getattr(facts, head)
    if isinstance(holder, Columns):
        return float(column(holder, rest)[number.index])
    return float(_read(holder[number.index], rest))


def with_values(facts: Any, values: Mapping[FactNumber, float]) -> Any:
    """Return the facts with some numbers changed; whole items stay whole, an end of a range takes the other along."""
    by_head: dict[str, list[tuple[FactNumber, float]]] = {}
    for number, value in values.items():
        by_head.setdefault(number.path.partition(".")[0], []).append((number, value))
    for head, changes in by_head.items():
        holder = getattr(facts, head)
        if isinstance(holder, Columns):
            facts = replace(facts, **{head: _changed_columns(holder, changes)})
        elif changes[0][0].index is not None:
            nodes = list(holder)
            for number, value in changes:
                assert number.index is not None
                nodes[number.index] = _changed(nodes[number.index], number.path.partition(".")[2], value)
            facts = replace(facts, **{head: tuple(nodes)})
        else:
            for number, value in changes:
                facts = _changed(facts, number.path, value)
    return facts


def declaration_at(facts: Node, number: FactNumber) -> Item:
    """Return the declaration of the number: its kind, its limits, and if it is whole."""
    node: type[Node] = type(facts)
    declared: Item | Block | None = None
    for word in number.path.split("."):
        if isinstance(declared, Item):
            break
        declared = declarations(node)[word]
        if isinstance(declared, Block):
            node = declared.node
    assert isinstance(declared, Item), number.path
    return declared


def span_at(facts: Node, number: FactNumber) -> Span | None:
    """Return the line that the number was written on, or its block's."""
    head, _, rest = number.path.partition(".")
    node = facts if number.index is None else getattr(facts, head)[number.index]
    words = (number.path if number.index is None else rest).split(".")
    for word in words:
        inner = getattr(node, word)
        if not isinstance(inner, Node):
            return node.span_of(word) if isinstance(node, Node) else None
        node = inner
    return node.span


def label_of(facts: Node, number: FactNumber) -> str:
    """``deadline of sort``, ``size of cluster``."""
    head, _, rest = number.path.partition(".")
    words = [word for word in (rest or head).split(".") if word not in ("low", "high")]
    item = words[-1]
    if number.index is not None:
        return f"{item} of {names_of(getattr(facts, head))[number.index]}"
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


def _changed_columns(holder: Columns[Any], changes: Sequence[tuple[FactNumber, float]]) -> Columns[Any]:
    values = dict(holder.values)
    for number, value in changes:
        path = number.path.partition(".")[2]
        item, _, end = path.rpartition(".")
        _set(values, holder, path, number.index, value)
        other = {"low": f"{item}.high", "high": f"{item}.low"}.get(end)
        if other is not None:
            beside = float(column(holder, other)[number.index])
            if value > beside if end == "low" else value < beside:
                _set(values, holder, other, number.index, value)
    return Columns(holder.node_type, holder.names, values, holder.span_at)


def _set(values: dict[str, Any], holder: Columns[Any], path: str, index: int | None, value: float) -> None:
    if values.get(path) is holder.values.get(path):
        values[path] = column(holder, path).copy()
    values[path][index] = value
