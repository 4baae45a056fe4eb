"""Where the walk from blocks to facts stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mrdsl.language import tree
from mrdsl.language.items import Files
from mrdsl.language.random_values import Draws
from mrdsl.language.scope import Scope
from mrdsl.spec.schema import Block, Item, Node

NO_SEED = -1
"""The seed of what has none: a draw is a mistake then."""


@dataclass(frozen=True)
class BlockContext:
    """Where the walk stands: the scope, the files, the seed, the block's words for messages and its path for draws.

    ``repeated`` reads the blocks of one kind that may stand many times; they contain blocks, and blocks contain them.
    """

    scope: Scope
    files: Files
    seed: int
    path: str
    words: str
    repeated: ReadRepeated

    def inner(self, words: str, name: str = "") -> BlockContext:
        path, inside = f"{self.path}/{words} {name}", f"{words} {name}".strip()
        return BlockContext(self.scope, self.files, self.seed, path, inside, self.repeated)

    def item_scope(self, key: str, item: Item, count: int = 1) -> Scope:
        """The scope of one item: random values are drawn for it alone."""
        from mrdsl.spec.declared import acceptable

        return replace(
            self.scope,
            draws=Draws(self.seed, f"{self.path}/{key}", count),
            accept=lambda values: acceptable(item, values),
            turns=[],
        )


ReadRepeated = Callable[[str, Block, Sequence[tree.Block | tree.Alike], BlockContext], Sequence[Node]]
