"""What may be written in a block, read off its facts dataclass: the words, and which field each one fills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from mrdsl.language import tree
from mrdsl.spec.schema import Block, Item, Node, declarations


@dataclass(frozen=True)
class Vocabulary:
    """The words of one block: items, single blocks, repeated blocks by singular and by plural; each with its field.

    ``calls`` are items that may be written as a call in the value of another: by that item's word and the call's.
    """

    items: Mapping[str, tuple[str, Item]]
    singles: Mapping[str, tuple[str, Block]]
    repeated: Mapping[str, tuple[str, Block]]
    plurals: Mapping[str, tuple[str, Block]]
    calls: Mapping[tuple[str, str], tuple[str, Item]]

    @property
    def blocks(self) -> tuple[str, ...]:
        """Every word that starts a block here."""
        return (*self.singles, *self.repeated)

    def is_single(self, block: tree.Block) -> bool:
        """Whether a block is a single one; where a word may be either, a name behind it makes it a repeated one."""
        word = tree.word_text(block.words[0])
        return word in self.singles and not (word in self.repeated and len(block.words) > 1)

    def short_form(self, word: str) -> tuple[str, Block, Item] | None:
        """The field, the block and the item that ``word = value`` gives where the word is a block's; else None."""
        name, block = self.singles.get(word, ("", None))
        if block is None or not block.short:
            return None
        item = declarations(block.node)[block.short]
        assert isinstance(item, Item)
        return name, block, item


def vocabulary(node: type[Node]) -> Vocabulary:
    """The words of a node type. A trailing underscore of a field, as in ``from_``, is not part of its word."""
    key: Any = node
    words: Vocabulary = _vocabulary(key)
    return words


@cache
def _vocabulary(node: Any) -> Vocabulary:
    items: dict[str, tuple[str, Item]] = {}
    singles: dict[str, tuple[str, Block]] = {}
    repeated: dict[str, tuple[str, Block]] = {}
    plurals: dict[str, tuple[str, Block]] = {}
    calls: dict[tuple[str, str], tuple[str, Item]] = {}
    for name, declared in declarations(node).items():
        word = name.rstrip("_")
        if isinstance(declared, Item):
            items[word] = (name, declared)
            if declared.called:
                calls[declared.called, word] = (name, declared)
        elif declared.repeated:
            repeated[declared.word] = (name, declared)
            plurals[declared.plural] = (name, declared)
        else:
            singles[word] = (name, declared)
    return Vocabulary(
        MappingProxyType(items),
        MappingProxyType(singles),
        MappingProxyType(repeated),
        MappingProxyType(plurals),
        MappingProxyType(calls),
    )
