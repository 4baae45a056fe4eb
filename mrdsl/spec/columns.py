"""Repeated blocks held as columns, and checks that apply to one block or to all blocks of a column at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cached_property, partial
from itertools import accumulate, chain
from math import nan
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from mrdsl.core.diagnostics import Span
from mrdsl.spec.schema import Block, Item, Node, Range, declarations

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


N = TypeVar("N", bound=Node)


@dataclass(frozen=True)
class Everywhere:
    """One place for all nodes."""

    span: Span | None

    def __call__(self, _: int) -> Span | None:
        return self.span


class _Nodes(Sequence[N], Generic[N]):
    """A sequence of nodes that are made when they are needed."""

    @abstractmethod
    def _node(self, index: int) -> N:
        """Return the node at a place from 0."""

    @overload
    def __getitem__(self, index: int) -> N: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[N, ...]: ...
    def __getitem__(self, index: int | slice) -> N | tuple[N, ...]:
        if isinstance(index, slice):
            return tuple(self._node(i) for i in range(*index.indices(len(self))))
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self._node(index % len(self))

    def __iter__(self) -> Iterator[N]:
        return (self._node(i) for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return NotImplemented if not isinstance(other, Sequence) else False
        return all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))


class Columns(_Nodes[N]):
    """A sequence of ``node_type`` whose items are in arrays, one per dotted path (``map.avg``, ``jobs.low``).

    ``values`` maps a path to an array of the sequence's length, or to one value that all nodes share; NaN in a float
    array is a missing optional value. ``names`` and ``span_at`` give the name and place of each node. ``group`` is the
    base name of generated blocks (``c`` for ``class c[1..9]``).
    """

    def __init__(
        self,
        node_type: type[N],
        names: Sequence[str],
        values: Mapping[str, Any],
        span_at: Callable[[int], Span | None] = Everywhere(None),
        group: str = "",
    ) -> None:
        self.node_type = node_type
        self.names = names
        self.values = values
        self.span_at = span_at
        self.group = group

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Columns({self.node_type.__name__}, {len(self)} rows: {', '.join(self.values)})"

    def part(self, rows: slice) -> Columns[N]:
        """Return the columns of some rows in a stretch."""
        first = rows.indices(len(self))[0]
        values = {path: value[rows] if _varies(value) else value for path, value in self.values.items()}
        span_at = self.span_at if isinstance(self.span_at, Everywhere) else partial(_span_after, self.span_at, first)
        return Columns(self.node_type, self.names[rows], values, span_at, self.group)

    def without_block(self, path: str) -> NDArray[np.bool_]:
        """Return the rows in which every cell is empty of the innermost block around a path that may be left out."""
        import numpy as np

        block = optional_block(self.node_type, path)
        cells = [value for other, value in self.values.items() if block and other.startswith(block)]
        absent = np.full(len(self), bool(cells))
        for value in cells:
            absent &= np.isnan(value) if getattr(value, "dtype", None) == np.float64 else False
        return absent

    @cached_property
    def _tree(self) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for path, value in self.values.items():
            *parents, leaf = path.split(".")
            inner = tree
            for parent in parents:
                inner = inner.setdefault(parent, {})
            inner[leaf] = value
        return tree

    @cached_property
    def _alike(self) -> N | None:
        """The node that all are but for their names; None if a value or the place differs."""
        if not isinstance(self.span_at, Everywhere) or any(_varies(value) for value in self.values.values()):
            return None
        return _build(self.node_type, self._tree, 0, "", self.span_at.span)

    def _node(self, index: int) -> N:
        alike, name = self._alike, self.names[index]
        if alike is None:
            return _build(self.node_type, self._tree, index, name, self.span_at(index))
        node: N = object.__new__(self.node_type)
        node.__dict__.update(alike.__dict__, name=name)
        return node


def _span_after(span_at: Callable[[int], Span | None], first: int, index: int) -> Span | None:
    return span_at(first + index)


def optional_block(node_type: type[Node], path: str) -> str:
    """Return the innermost optional block around a dotted path, with a dot at the end, or "".

    A row whose cells of such a block are all empty has no such block.
    """
    found, before = "", ""
    for word in path.split(".")[:-1]:
        declared = declarations(node_type).get(word)
        if not isinstance(declared, Block):
            break
        before += f"{word}."
        found = found if declared.required else before
        node_type = declared.node
    return found


def _is_absent(value: Mapping[str, Any], index: int) -> bool:
    """Return True if every cell of a block is empty in a row; what all rows share is not."""
    return all(
        _is_absent(inner, index) if isinstance(inner, Mapping) else _is_empty(_at(inner, index))
        for inner in value.values()
    )


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _build(node_type: type[N], tree: Mapping[str, Any], index: int, name: str, span: Span | None) -> N:
    declared = declarations(node_type)
    items: dict[str, Any] = {}
    for key, value in tree.items():
        declaration = declared[key]
        if isinstance(declaration, Block):
            if not declaration.required and isinstance(value, Mapping) and value and _is_absent(value, index):
                continue
            items[key] = (
                value if isinstance(value, Sequence | Node) else _build(declaration.node, value, index, "", span)
            )
        elif isinstance(value, Mapping):
            items[key] = Range(float(_at(value["low"], index)), float(_at(value["high"], index)))
        else:
            converted = _convert(declaration, _at(value, index))
            if converted is not None or declaration.required:
                items[key] = converted
            elif declaration.default is not None:
                items[key] = declaration.default
    return node_type(name=name, span=span, **items)


def _varies(value: Any) -> bool:
    return hasattr(value, "dtype") and bool(getattr(value, "ndim", False))


def _at(value: Any, index: int) -> Any:
    return value[index] if _varies(value) else value


def _convert(item: Item, value: Any) -> Any:
    if item.form in ("quantity", "range", "distribution"):
        if isinstance(value, float | int) or hasattr(value, "dtype"):
            number = float(value)
            if number != number:
                return None
            return int(number) if item.whole else number
        return value
    return str(value) if hasattr(value, "dtype") else value


class Joined(_Nodes[N]):
    """Several sequences of nodes one after the other; ``parts`` keeps them, so that columns stay columns."""

    def __init__(self, parts: Sequence[Sequence[N]]) -> None:
        self.parts = tuple(parts)
        self._ends = list(accumulate(len(part) for part in self.parts))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def _node(self, index: int) -> N:
        part, inside = self.part_at(index)
        return self.parts[part][inside]

    def part_at(self, index: int) -> tuple[int, int]:
        """Return the number of the part that has a node, and its index in the part."""
        part = bisect_right(self._ends, index)
        return part, index - (self._ends[part - 1] if part else 0)

    def __iter__(self) -> Iterator[N]:
        return chain.from_iterable(self.parts)

    def __repr__(self) -> str:
        return f"Joined({', '.join(map(repr, self.parts))})"


def parts_of(nodes: Sequence[N]) -> tuple[Sequence[N], ...]:
    """Return the sequences that a field of repeated blocks was put together from: columns, and tuples of
    written nodes.
    """
    return nodes.parts if isinstance(nodes, Joined) else (nodes,)


def part_at(nodes: Sequence[Any], index: int) -> tuple[int, int]:
    """Return the number of the part in :func:`parts_of` that has a node, and its index in the part."""
    return nodes.part_at(index) if isinstance(nodes, Joined) else (0, index)


def column(nodes: Sequence[Any], path: str, missing: float = float("nan")) -> NDArray[np.float64]:
    """Return one number of every node as a float array, with ``missing`` if it, or a block around it, was left out.

    >>> column(classes, "map.avg")          # doctest: +SKIP
    """
    import numpy as np

    if isinstance(nodes, Joined):
        return np.concatenate([column(part, path, missing) for part in nodes.parts])
    if isinstance(nodes, Columns):
        return _column_of_columns(nodes, path, missing)
    try:
        values = list(map(attrgetter(path), nodes))
    except AttributeError:
        read = _reader(path)
        values = [read(node) for node in nodes]
    return np.array([missing if value is None else value for value in values], dtype=np.float64)


def words(nodes: Sequence[Any], path: str, missing: str = "") -> NDArray[np.str_]:
    """Return one word of every node, such as a choice, as a string array, with ``missing`` if it was left out or is
    empty.
    """
    import numpy as np

    if isinstance(nodes, Joined):
        return np.concatenate([words(part, path, missing) for part in nodes.parts])
    if not isinstance(nodes, Columns):
        read = _reader(path)
        return np.array([read(node) or missing for node in nodes], dtype=np.str_)
    value = nodes.values.get(path)
    if not getattr(value, "ndim", 0):
        return np.full(len(nodes), str(value or _default_of(nodes.node_type, path) or missing))
    return np.array([str(word or missing) for word in np.asarray(value).tolist()], dtype=np.str_)


def names_of(nodes: Sequence[Any]) -> Sequence[str]:
    """Return the names of the nodes, without making nodes of columns."""
    if isinstance(nodes, Joined):
        return [name for part in nodes.parts for name in names_of(part)]
    return nodes.names if isinstance(nodes, Columns) else [node.name for node in nodes]


def _column_of_columns(nodes: Columns[Any], path: str, missing: float) -> NDArray[np.float64]:
    import numpy as np

    value = nodes.values.get(path)
    if value is None:
        value = _default_of(nodes.node_type, path)
    if value is None:
        return np.full(len(nodes), missing)
    if not getattr(value, "ndim", 0):
        return np.full(len(nodes), float(value))
    array = np.asarray(value, dtype=np.float64)
    absent = np.isnan(array)
    if absent.any():
        default = _default_of(nodes.node_type, path)
        return np.where(absent, missing if default is None else float(default), array)
    return array


def _default_of(node_type: type[Node], path: str) -> Any:
    """Return the declared default of a path, or None if there is none or the block itself is optional."""
    head, _, rest = path.partition(".")
    default: Any = next((f.default for f in fields(node_type) if f.name == head), None)
    if default is MISSING or default is None:
        return None
    return getattr(default, str(rest), None) if rest else default


def _reader(path: str) -> Callable[[Any], Any]:
    if "." not in path:
        return attrgetter(path)
    parts = path.split(".")

    def read(node: Any) -> Any:
        for part in parts:
            node = getattr(node, part)
            if node is None:
                return None
        return node

    return read


Condition = Callable[["Reader"], Any]
MANY = 400
"""Fewest plain nodes that are read into arrays: numpy takes a tenth of a second to load."""


class Reader(ABC):
    """Access of a condition to the values of a node, or of all nodes at once."""

    @abstractmethod
    def __call__(self, path: str, missing: float = nan) -> Any:
        """Return the number of a dotted path, with ``missing`` if it, or a block around it, was left out."""

    @abstractmethod
    def word(self, path: str, missing: str = "") -> Any:
        """Return the word of a dotted path."""

    def has(self, path: str) -> Any:
        """Return True if the number of a dotted path was given."""
        value = self(path)
        return value == value  # false for NaN only

    def lacks(self, path: str) -> Any:
        """Return True if the number of a dotted path was left out."""
        value = self(path)
        return value != value


class _OfNode(Reader):
    def __init__(self, node: Any) -> None:
        self.node = node

    def __call__(self, path: str, missing: float = nan) -> Any:
        value = self._read(path)
        return missing if value is None else value

    def word(self, path: str, missing: str = "") -> Any:
        return self._read(path) or missing

    def _read(self, path: str) -> Any:
        try:
            return attrgetter(path)(self.node)
        except AttributeError:
            *parents, _ = path.split(".")
            node = self.node
            for parent in parents:
                node = getattr(node, parent)
                if node is None:
                    return None
            raise


class _OfMany(Reader):
    def __init__(self, nodes: Sequence[Any]) -> None:
        self.nodes = nodes

    def __call__(self, path: str, missing: float = nan) -> Any:
        return column(self.nodes, path, missing)

    def word(self, path: str, missing: str = "") -> Any:
        return words(self.nodes, path, missing)


def matching(nodes: Sequence[Any], condition: Condition) -> Iterator[int]:
    """Yield the indices of the nodes for which the condition holds, in order."""
    before = 0
    for part in parts_of(nodes):
        if isinstance(part, Columns) or len(part) >= MANY:
            yield from (before + int(index) for index in condition(_OfMany(part)).nonzero()[0])
        else:
            yield from (before + index for index, node in enumerate(part) if condition(_OfNode(node)))
        before += len(part)
