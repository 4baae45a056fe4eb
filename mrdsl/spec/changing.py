"""Single numbers of a spec's facts: their places and names, and the facts with one of them changed.

A path names an item as families do: ``cluster.size``, ``classes.deadline``, ``classes.jobs.low``. A number is one value
of a path: repeated blocks are numbered, inner ones within the path, as in ``vms.terms.0.available``. The number of a
repeated block or of a list, as in ``classes.types``, is 1; a change to 0 leaves it out.
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
        numbers = declared_number(facts, path) is not None
        for each in _of_inner_blocks(holder, rest):
            for index, value in enumerate(_values_of(holder, each) if numbers else _there(holder, each)):
                if value is not None and value == value:
                    yield FactNumber(f"{head}.{each}" if each else head, index), float(value)
    elif (value := _read(facts, path)) is not None:
        yield FactNumber(path), float(value)


def _of_inner_blocks(holder: Sequence[Any], path: str) -> Iterator[str]:
    """Yield the path, or one for each place in the repeated block that it begins with."""
    head, _, rest = path.partition(".")
    nodes = [node for part in parts_of(holder) if not isinstance(part, Columns) for node in part]
    inner = [getattr(node, head) for node in nodes[: len(nodes) if rest else 0]]
    if not any(isinstance(each, Sequence) for each in inner):
        yield path
        return
    yield from (f"{head}.{place}.{rest}" for place in range(max(map(len, inner))))


def _values_of(holder: Sequence[Any], path: str) -> Iterator[Any]:
    for part in parts_of(holder):
        yield from column(part, path).tolist() if isinstance(part, Columns) else (_read(node, path) for node in part)


def _there(holder: Sequence[Any], path: str) -> Iterator[float | None]:
    """Yield 1 for each block, or each list that is not empty; tables have neither."""
    for part in parts_of(holder):
        for node in part if not isinstance(part, Columns) else [None] * len(part):
            yield 1.0 if node is not None and (not path or _read(node, path)) else None


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
        nodes[index] = _changed(nodes[index], path, value) if path else nodes[index] if value else None
    return tuple(node for node in nodes if node is not None)


def declared_number(facts: Node, path: str) -> Item | None:
    """Return the declaration of the numbers of a path: their kind and limits; None of a list or a block."""
    node: type[Node] = type(facts)
    declared: Item | Block | None = None
    for word in path.split("."):
        if isinstance(declared, Item):
            break
        declared = declarations(node)[word]
        if isinstance(declared, Block):
            node = declared.node
    return declared if isinstance(declared, Item) and declared.form in ("quantity", "range") else None


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
    for word in words if rest or number.index is None else ():
        inner = _inner(node, word)
        if not isinstance(inner, Node | tuple) or (isinstance(inner, tuple) and word == words[-1]):
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
        name = nodes.names[index] if isinstance(nodes, Columns) else nodes[index].name
        inner = next((at for at, word in enumerate(words) if word.isdigit()), None)
        term = "" if inner is None else f' "{_read(nodes[index], ".".join(words[: inner + 1])).name}"'
        return f"{item} of {name}{term}" if rest else f"{item} {name}"
    return f"{item} of {words[-2] if len(words) > 1 else head}" if rest else item


def _read(node: Any, path: str) -> Any:
    for word in path.split("."):
        if node is None:
            return None
        node = _inner(node, word)
    return node


def _inner(node: Any, word: str) -> Any:
    """Return the part of a node or, by its place, of a repeated block."""
    return getattr(node, word) if not word.isdigit() else node[int(word)] if int(word) < len(node) else None


def _changed(node: Any, path: str, value: float) -> Any:
    head, _, rest = path.partition(".")
    if head.isdigit():
        place = int(head)
        return (*node[:place], _changed(node[place], rest, value), *node[place + 1 :])
    inner = getattr(node, head)
    if rest:
        return replace(node, **{head: _changed(inner, rest, value)})
    if isinstance(inner, tuple):
        spans = {name: span for name, span in node.spans.items() if name != head}
        return node if value else replace(node, spans=spans, **{head: ()})
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
