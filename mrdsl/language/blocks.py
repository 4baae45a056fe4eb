"""Blocks to facts: one walk over the syntax tree, led by the vocabulary of the facts dataclasses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from mrdsl.core.diagnostics import Span, did_you_mean, error, nearest
from mrdsl.language import tree
from mrdsl.language.block_context import (
    BlockContext,
    base_of,
    duplicate,
    meant_item,
    require,
    shares_last,
    stray_statement,
    unknown_block,
    unknown_item,
)
from mrdsl.language.items import convert, plain_number
from mrdsl.language.parsing import statement_at
from mrdsl.language.scope import MistakeError, Scope
from mrdsl.language.vocabulary import Vocabulary, vocabulary
from mrdsl.spec.schema import Block, Item, Node, Source

_BROKEN: Any = object()
_NEVER_DRAWN = frozenset({"choice", "text", "path", "name", "names"})


class ItemSpans(Mapping[str, Span]):
    """The places of the items of a block, computed on request; of most statements only the first token is kept."""

    __slots__ = ("nodes",)

    def __init__(self, nodes: Mapping[str, Any]) -> None:
        self.nodes = nodes

    def __getitem__(self, key: str) -> Span:
        node = self.nodes[key]
        return tree.span_of(node if node.__class__ is not tree.Token else statement_at(node))

    def __iter__(self) -> Iterator[str]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def resolve_block(
    node_type: type[Node],
    statements: tuple[Any, ...],
    context: BlockContext,
    name: str,
    at: Any,
    source: Source | None = None,
) -> Node | None:
    """Return the node of the statements of a block, or None if one of its own items is wrong, with the reasons
    reported.

    Broken blocks among repeated ones are left out, so that the others can still be checked. If the context has a node
    below, the block changes what it mentions.
    """
    words = vocabulary(node_type)
    scope = context.scope
    values: dict[str, Any] = {}
    written: dict[str, Any] = {}
    repeated: dict[str, list[tree.Block]] = {}
    plain, report = words.plain, scope.report
    if words.shares:
        statements = shares_last(words, statements)
    for statement in statements:
        if statement.__class__ is tree.Assignment:
            names, value = statement
            if value.__class__ is tree.Number and len(names) == 1:
                token, unit = value
                reading = plain.get((names[0], unit, report.currency)) or (
                    plain_number(words, names[0], unit, report.currency)
                )
                if reading is not None and reading.field not in written:
                    number = reading.read(token)
                    if number is not None:
                        values[reading.field], written[reading.field] = number, statement
                        continue
            _resolve_item(words, statement, context, values, written)
        elif statement.__class__ is tree.Block:
            _sort_block(words, statement, context, values, written, repeated)
        else:
            scope.report.add(stray_statement(statement, context))
            item = meant_item(statement, words)
            if item is not None:
                _resolve_item(words, item, context, values, written)
    if repeated:
        _resolve_repeated(words, repeated, context, values, written)
    span = tree.header_span(at) if isinstance(at, tree.Block) else at
    complete = context.below is not None or require(words, written, context, span)
    if not complete:
        return None
    for value in values.values():
        if value is _BROKEN:
            return None
    if source is not None:
        values["source"] = source
    spans = ItemSpans(_kept(written, scope))
    if context.below is not None:
        return replace(context.below, span=span, spans=spans, **values)
    return node_type(name=name, span=span, spans=spans, **values)


def _kept(written: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    """Return the statements as their tokens; those that can mention a param stay whole, for their next value."""
    kept = {}
    for field, statement in written.items():
        if statement.__class__ is tree.Block:
            kept[field] = (statement.words[0], tree.last_token(statement))
        elif statement.words[0].source.valid and (
            statement.value.__class__ is tree.Number or not scope.parameter_names
        ):
            kept[field] = statement.words[0]
        else:
            kept[field] = statement
    return kept


def _resolve_item(
    words: Vocabulary,
    statement: tree.Assignment,
    context: BlockContext,
    values: dict[str, Any],
    written: dict[str, Any],
) -> None:
    scope = context.scope
    token = statement.words[0]
    key = scope.current_word(words.former, tree.word_text(token), token)
    known = words.items.get(key)
    short = words.short_form(key) if known is None else None
    if short is not None and len(statement.words) == 1:
        _resolve_short(short, key, statement, context, values, written)
        return
    if known is None or len(statement.words) > 1:
        scope.report.add(unknown_item(words, statement, context))
        take_as_meant(words, key, statement, written, values)
        return
    field_name, item = known
    if not _is_first(field_name, key, token, statement, context, written):
        return
    value = statement.value
    if value.__class__ is tree.Call and words.calls:
        called = words.calls.get((key, str(value.function)))
        if called is not None:
            _resolve_call(called, str(value.function), statement, context, values, written)
            return
    if item.share_of:
        base = base_of(item, values, context.below)
        found = _converted(key, item, value, context.with_base(item, 1.0 if base is None else base))
        values[field_name] = _BROKEN if base is None else found
        return
    values[field_name] = _converted(key, item, value, context)


def _is_first(
    field_name: str, key: str, token: Any, statement: Any, context: BlockContext, written: dict[str, Any]
) -> bool:
    """Note that the statement sets a field; report a duplicate at the token and return False if an earlier statement
    does.
    """
    if field_name in written:
        context.scope.report.add(duplicate(key, token, written[field_name], context))
        return False
    written[field_name] = statement
    return True


def _converted(key: str, item: Item, value: Any, context: BlockContext) -> Any:
    """Return an item's value, ``_BROKEN`` where it is a mistake, which is reported."""
    try:
        scope = context.scope if item.form in _NEVER_DRAWN else context.item_scope(key, item)
        return convert(key, item, value, scope, context.files)
    except MistakeError as mistake:
        context.scope.report.add(mistake.diagnostic)
        return _BROKEN


def _resolve_call(
    called: tuple[str, Item],
    key: str,
    statement: tree.Assignment,
    context: BlockContext,
    values: dict[str, Any],
    written: dict[str, Any],
) -> None:
    """``word = key(value)`` for the item ``key = value``."""
    field_name, item = called
    scope, call = context.scope, statement.value
    if not _is_first(field_name, key, call.function, statement, context, written):
        return
    if len(call.arguments) == 1:
        values[field_name] = _converted(key, item, call.arguments[0], context)
        return
    wrong = scope.mistake("wrong-value", f"`{key}(...)` takes one file", call, f'write `{key}("file.txt")`')
    scope.report.add(wrong.diagnostic)
    values[field_name] = _BROKEN


def _resolve_short(
    short: tuple[str, Block, Item],
    key: str,
    statement: tree.Assignment,
    context: BlockContext,
    values: dict[str, Any],
    written: dict[str, Any],
) -> None:
    """``word = value`` for a block of which it gives one item."""
    field_name, declared, item = short
    if not _is_first(field_name, key, statement.words[0], statement, context, written):
        return
    scope, value = context.scope, _converted(key, item, statement.value, context)
    spans = ItemSpans({declared.short: statement})
    given: dict[str, Any] = {declared.short: value}
    values[field_name] = (
        _BROKEN if value is _BROKEN else declared.node(span=scope.span(statement), spans=spans, **given)
    )


def take_as_meant(
    words: Vocabulary, word: str, statement: Any, written: dict[str, Any], values: dict[str, Any]
) -> None:
    """Take a misspelt word for the one that was meant, so that this is not reported as missing too."""
    known = {**words.items, **words.singles, **words.repeated}
    meant = word if word in known else nearest(word, known)
    if meant is not None and known[meant][0] not in written:
        written[known[meant][0]] = statement
        values[known[meant][0]] = _BROKEN


def _sort_block(
    words: Vocabulary,
    block: tree.Block,
    context: BlockContext,
    values: dict[str, Any],
    written: dict[str, Any],
    repeated: dict[str, list[tree.Block]],
) -> None:
    word = tree.word_text(block.words[0])
    if words.former:
        word = context.scope.current_word(words.former, word, block.words[0])
    if words.is_single(block, word):
        _resolve_single(words.singles[word], word, block, context, values, written)
    elif word in words.repeated:
        repeated.setdefault(word, []).append(block)
    elif word in words.plurals:
        repeated.setdefault(words.plurals[word][1].word, []).append(block)
    else:
        context.scope.report.add(unknown_block(words, word, block, context))
        take_as_meant(words, word, block, written, values)


def _resolve_single(
    known: tuple[str, Block],
    word: str,
    block: tree.Block,
    context: BlockContext,
    values: dict[str, Any],
    written: dict[str, Any],
) -> None:
    field_name, declared = known
    report = context.scope.report
    if not _is_first(field_name, word, block.words[0], block, context, written):
        return
    inner = context.inner(word)._replace(below=getattr(context.below, field_name, None))
    source = None
    if len(block.words) == 1 and not (block.indexed or block.more or block.call or declared.sources):
        node = resolve_block(declared.node, block.statements or (), inner, "", block)
        values[field_name] = _BROKEN if node is None else node
        return
    try:
        source = _source(declared, block, inner)
    except MistakeError as mistake:
        report.add(mistake.diagnostic)
        values[field_name] = _BROKEN
        return
    of_source = 0 if source is None else 1 if block.call is not None else 2
    extra = block.words[1 + of_source :]
    if extra or block.more or block.indexed is not None:
        report.add(
            error(
                "unexpected-name",
                f"`{word}` has no name",
                context.scope.span(extra[0] if extra else block),
                f"write `{word} {{ ... }}`",
            )
        )
    node = resolve_block(declared.node, block.statements or (), inner, "", block, source)
    values[field_name] = _BROKEN if node is None else node


def _source(declared: Block, block: tree.Block, context: BlockContext) -> Source | None:
    """Return the source after ``from``: a file, or the call of a reader."""
    words = (*block.words, *block.more)
    if "from" not in [str(w) for w in words[1:]]:
        if block.call is not None:
            raise context.scope.mistake(
                "wrong-statement",
                f"`{block.call.function}(...)` is not allowed here",
                block.call,
                "write `from` before it",
            )
        if declared.sources:
            raise context.scope.mistake(
                "missing-source",
                f"`{context.words}` has no data source",
                block.words[0],
                f'write `{context.words} from {declared.sources[0]}("file") {{ ... }}`',
            )
        return None
    if not declared.sources:
        raise context.scope.mistake(
            "unexpected-source",
            f"`{context.words}` cannot be read from a file",
            block.words[0],
            f"write `{context.words} {{ ... }}`",
        )
    reader, written, node = _reader(block, words, context)
    if reader not in declared.sources:
        raise context.scope.mistake(
            "unknown-reader",
            f"`{context.words}` cannot be read from `{reader}`",
            node,
            did_you_mean(reader, declared.sources, "readers: "),
        )
    return Source(reader, str(context.files.find(written, node, context.scope)), written, context.scope.span(node))


def _reader(block: tree.Block, words: tuple[Any, ...], context: BlockContext) -> tuple[str, str, Any]:
    if block.call is None:
        last = words[-1]
        if last.type != "STRING":
            raise context.scope.mistake("missing-file", "`from` requires a file name", last, 'write `from "file.csv"`')
        return "table", tree.word_text(last), last
    arguments = block.call.arguments
    if len(arguments) != 1 or not isinstance(arguments[0], tree.Text):
        raise context.scope.mistake(
            "wrong-arguments",
            f"`{block.call.function}` takes one file name",
            block.call,
            f'write `{block.call.function}("file.tsv")`',
        )
    return str(block.call.function), arguments[0].value, arguments[0]


def _resolve_repeated(
    words: Vocabulary,
    repeated: dict[str, list[tree.Block]],
    context: BlockContext,
    values: dict[str, Any],
    written: dict[str, Any],
) -> None:
    for word, blocks in repeated.items():
        field_name, declared = words.repeated[word]
        values[field_name] = context.repeated(word, declared, blocks, context)
        written[field_name] = blocks[0]
