"""Items that may be a share of another number of their block: `fee = 25%` is that share of the price on demand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mrdsl.core.diagnostics import error
from mrdsl.language import tree
from mrdsl.language.block_context import BlockContext
from mrdsl.language.items import convert
from mrdsl.language.scope import MistakeError
from mrdsl.language.vocabulary import Vocabulary, vocabulary
from mrdsl.spec.schema import Item, Node


def is_share(words: Vocabulary, statement: Any) -> bool:
    """Return True if a statement sets an item that may be a share of another number of its block."""
    return (
        isinstance(statement, tree.Assignment)
        and len(statement.words) == 1
        and tree.word_text(statement.words[0]) in words.shares
    )


def shares_last(words: Vocabulary, statements: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the statements of a block with the items that may be shares of other numbers at the end."""
    return tuple(sorted(statements, key=lambda each: is_share(words, each)))


def split_shares(node_type: type[Node], statements: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the statements of items that may be shares of other numbers, and the others."""
    words = vocabulary(node_type)
    shares = tuple(each for each in statements if is_share(words, each))
    return shares, tuple(each for each in statements if not is_share(words, each)) if shares else statements


def base_of(item: Item, values: Mapping[str, Any], below: Node | None) -> Any:
    """Return the number of which an item may be a share, or None if the block lacks it, which is reported."""
    head, *rest = item.share_of.split(".")
    found = values[head] if head in values else getattr(below, head, None)
    for word in rest:
        found = getattr(found, word, None)
    return found


def collect_shares(
    node_type: type[Node],
    statements: tuple[Any, ...],
    context: BlockContext,
    count: int,
    known: Mapping[str, Any],
    given: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    """Return the values of items that may be shares of ``known`` numbers of many blocks, by path.

    A block without such a number has NaN. ``given`` are the paths of a table.
    """
    import numpy as np

    words, found = vocabulary(node_type), dict[str, Any]()
    for statement in statements:
        token = statement.words[0]
        key = tree.word_text(token)
        path, item = words.items[key]
        if path in found or path in given:
            where = "in the table and in the block" if path in given else "twice"
            message = f"`{key}` is defined {where}"
            context.scope.report.add(error("duplicate", message, context.scope.span(token), "keep one of them"))
            continue
        base = known.get(item.share_of, 1.0)
        missing = np.isnan(base)
        inner = context.with_base(item, np.where(missing, 0.0, base) if missing.any() else base)
        try:
            value = convert(key, item, statement.value, inner.item_scope(key, item, count), context.files)
        except MistakeError as mistake:
            context.scope.report.add(mistake.diagnostic)
            continue
        found[path] = np.where(missing, np.nan, value) if np.ndim(value) and missing.any() else value
    return found
