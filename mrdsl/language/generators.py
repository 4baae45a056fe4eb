"""``class c[1..1000] { ... }``: many blocks at once, held as columns; random values are drawn as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mrdsl.core.diagnostics import Span, error
from mrdsl.language import tree
from mrdsl.language.block_context import (
    BlockContext,
    collect_shares,
    meant_item,
    require,
    split_shares,
    stray_statement,
    unknown_block,
    unknown_item,
)
from mrdsl.language.items import convert
from mrdsl.language.scope import MistakeError
from mrdsl.language.vocabulary import vocabulary
from mrdsl.spec.columns import Columns, Everywhere
from mrdsl.spec.schema import Node, Range


class IndexedNames(Sequence[str]):
    """``c1``, ``c2``, ... without a million strings in memory."""

    def __init__(self, base: str, low: int, high: int) -> None:
        self.base, self.low, self.high = base, low, high

    def __len__(self) -> int:
        return self.high - self.low + 1

    def __iter__(self) -> Iterator[str]:
        base = self.base
        return (f"{base}{number}" for number in range(self.low, self.high + 1))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return f"{self.base}{self.low + index % len(self)}"


def resolve_generator(
    node_type: type[Node],
    name: str,
    low: int,
    high: int,
    statements: tuple[Any, ...],
    context: BlockContext,
    block: tree.Block,
) -> Sequence[Node]:
    """Return the columns of all generated blocks; empty if an item is wrong."""
    count = high - low + 1
    span = tree.header_span(block)
    values: dict[str, Any] = {}
    before = len(context.scope.report.found)
    shares, statements = split_shares(node_type, statements)
    collect(node_type, statements, context, count, "", values, span)
    values |= collect_shares(node_type, shares, context, count, values)
    if len(context.scope.report.found) > before:
        return ()
    return Columns(node_type, IndexedNames(name, low, high), values, Everywhere(span), group=name)


def collect(
    node_type: type[Node],
    statements: tuple[Any, ...],
    context: BlockContext,
    count: int,
    prefix: str,
    values: dict[str, Any],
    span: Span,
    given: frozenset[str] = frozenset(),
    lacking: list[str] | None = None,
) -> None:
    """Add the value of every written item under its dotted path.

    ``given`` are the paths of a table. Items that such a table lacks are added to ``lacking`` and not reported.
    """
    words = vocabulary(node_type)
    report = context.scope.report
    written: dict[str, Any] = {}
    repeated: dict[str, list[tree.Block]] = {}
    for statement in statements:
        if isinstance(statement, tree.Assignment):
            _collect_item(words, statement, context, count, prefix, values, written, given)
        elif isinstance(statement, tree.Block):
            word = tree.word_text(statement.words[0])
            if word in words.plurals:
                word = words.plurals[word][1].word
            if word in words.repeated and not words.is_single(statement):
                repeated.setdefault(word, []).append(statement)
            else:
                _collect_block(words, statement, context, count, prefix, values, written, given, lacking)
        else:
            report.add(stray_statement(statement, context))
            item = meant_item(statement, words)
            if item is not None:
                _collect_item(words, item, context, count, prefix, values, written, given)
    _collect_repeated(words, repeated, context, prefix, values, written)
    for path in given:
        if path.startswith(prefix):
            written.setdefault(path[len(prefix) :].split(".")[0], None)
    for word, (field_name, declared) in words.singles.items():
        inner_prefix = f"{prefix}{field_name}."
        if field_name in written and written[field_name] is None:
            collect(declared.node, (), context.inner(word), count, inner_prefix, values, span, given, lacking)
    if lacking is None:
        require(words, written, context, span)
    else:
        lacking += [
            f"{prefix}{word}" for word, (name, item) in words.items.items() if item.required and name not in written
        ]
        for word, (name, block) in words.singles.items():
            if block.required and name not in written:
                inner = [one for one, (_, item) in vocabulary(block.node).items.items() if item.required]
                lacking += [f"{prefix}{word}.{one}" for one in inner] or [f"{prefix}{word}"]


def _collect_item(
    words: Any,
    statement: tree.Assignment,
    context: BlockContext,
    count: int,
    prefix: str,
    values: dict[str, Any],
    written: dict[str, Any],
    given: frozenset[str],
) -> None:
    key = tree.word_text(statement.words[0])
    known, short = words.items.get(key), words.short_form(key)
    report = context.scope.report
    if (known is None and short is None) or len(statement.words) > 1:
        report.add(unknown_item(words, statement, context))
        return
    field_name, item = known if short is None else (short[0], short[2])
    path = prefix + field_name if short is None else f"{prefix}{field_name}.{short[1].short}"
    if field_name in written or path in given:
        where = "in the table and in the block" if path in given else "twice"
        report.add(
            error(
                "duplicate", f"`{key}` is defined {where}", context.scope.span(statement.words[0]), "keep one of them"
            )
        )
        return
    written[field_name] = statement
    try:
        value = convert(key, item, statement.value, context.item_scope(key, item, count), context.files)
    except MistakeError as mistake:
        report.add(mistake.diagnostic)
        return
    if isinstance(value, Range):
        values[f"{path}.low"] = value.low
        values[f"{path}.high"] = value.high
    else:
        values[path] = value


def _collect_block(
    words: Any,
    block: tree.Block,
    context: BlockContext,
    count: int,
    prefix: str,
    values: dict[str, Any],
    written: dict[str, Any],
    given: frozenset[str],
    lacking: list[str] | None,
) -> None:
    word = tree.word_text(block.words[0])
    if word in words.singles:
        field_name, declared = words.singles[word]
        if field_name in written:
            context.scope.report.add(
                error("duplicate", f"`{word}` is defined twice", context.scope.span(block.words[0]), "keep one of them")
            )
            return
        written[field_name] = block
        collect(
            declared.node,
            block.statements or (),
            context.inner(word),
            count,
            f"{prefix}{field_name}.",
            values,
            tree.header_span(block),
            given,
            lacking,
        )
    else:
        context.scope.report.add(unknown_block(words, word, block, context))


def _collect_repeated(
    words: Any,
    repeated: dict[str, list[tree.Block]],
    context: BlockContext,
    prefix: str,
    values: dict[str, Any],
    written: dict[str, Any],
) -> None:
    """Repeated blocks inside a generated one are the same in all of them."""
    for word, blocks in repeated.items():
        field_name, declared = words.repeated[word]
        written[field_name] = blocks[0]
        values[prefix + field_name] = tuple(context.repeated(word, declared, blocks, context))
