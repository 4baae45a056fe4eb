"""One condition for one node and for a hundred thousand: which of many nodes a check has something to say about.

    for index in matching(classes, lambda c: c("map.max") < c("map.avg")): ...

Over ``Columns``, also as a part of ``Joined``, and over hundreds of plain nodes the condition is evaluated once, on
arrays; over fewer once per node, on numbers and without numpy, so that checking a small spec stays cheap. Conditions
are written with comparisons, arithmetic, ``&`` and ``|``; a missing number is NaN, for which every comparison but
``!=`` is false.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from math import nan
from operator import attrgetter
from typing import Any

from mrdsl.spec.columns import Columns, column, parts_of, words

Condition = Callable[["Reader"], Any]
MANY = 400
"""So many plain nodes are read into arrays: numpy takes a tenth of a second to load."""


class Reader(ABC):
    """What a condition reads of a node, or of all nodes at once."""

    @abstractmethod
    def __call__(self, path: str, missing: float = nan) -> Any:
        """The number behind a dotted path; ``missing`` where it, or a block on the way, was left out."""

    @abstractmethod
    def word(self, path: str, missing: str = "") -> Any:
        """The word behind a dotted path."""

    def has(self, path: str) -> Any:
        """Whether the number behind a dotted path was given."""
        value = self(path)
        return value == value  # false for NaN only

    def lacks(self, path: str) -> Any:
        """Whether the number behind a dotted path was left out."""
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
    """The indices of the nodes for which the condition holds, in order."""
    before = 0
    for part in parts_of(nodes):
        if isinstance(part, Columns) or len(part) >= MANY:
            yield from (before + int(index) for index in condition(_OfMany(part)).nonzero()[0])
        else:
            yield from (before + index for index, node in enumerate(part) if condition(_OfNode(node)))
        before += len(part)
