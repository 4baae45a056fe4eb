"""Repeated blocks: written one by one, with ``extends``, generated ``c[1..1000]``, or read from a table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Related, chained, did_you_mean, error
from mrdsl.core.units import NUMBER
from mrdsl.language import tree
from mrdsl.language.block_context import BlockContext
from mrdsl.language.blocks import resolve_block
from mrdsl.language.evaluate import evaluate, require_printable
from mrdsl.language.generators import IndexedNames, resolve_generator
from mrdsl.language.scope import MistakeError
from mrdsl.spec.columns import Columns, Joined, names_of
from mrdsl.spec.schema import Block, Node, Source


class Header(NamedTuple):
    """The words of a repeated block, sorted: ``class NAME[a..b] extends BASE from "file"``."""

    name: str
    name_token: Any
    base: Any
    source: bool
    block: tree.Block


def resolve_repeated(word: str, declared: Block, blocks: Sequence[tree.Block], context: BlockContext) -> Sequence[Node]:
    """Return the nodes of all blocks of one kind, in spec order: a tuple, or Columns of one table or generator."""
    headers = [header for block in blocks if (header := _told_header(word, block, context)) is not None]
    named = _by_name(headers, context)
    changes = [header for header in headers if declared.catalogues and _is_plain(header)]
    sources = any(header.source for header in headers)
    parts, lost = [], False
    for header in headers:
        if header not in changes or not sources:
            nodes = _told(word, declared, header, named, context)
            parts += [] if nodes is None else [nodes]
            lost |= header.source and not nodes
    if lost:  # blocks that may change its rows are not blocks of their own
        context.scope.report.dropped.update(header.name for header in changes)
    elif sources:
        parts = _refined(word, declared, changes, parts, named, context)
    if len(parts) == 1:
        return parts[0]
    nodes = _joined(parts)
    _no_duplicates(word, nodes, context)
    return nodes


def _is_plain(header: Header) -> bool:
    """Return True for a block that is written out, `word NAME { ... }`, which may refine a row of a table."""
    return not header.source and header.base is None and header.block.indexed is None


def _refined(
    word: str,
    declared: Block,
    changes: Sequence[Header],
    parts: Sequence[Sequence[Node]],
    named: dict[str, Header],
    context: BlockContext,
) -> list[Sequence[Node]]:
    """Return the nodes with those rows of tables and catalogues changed that have the name of a written block."""
    found: list[Sequence[Node]] = list(parts)
    for header in changes:
        if named.get(header.name) is not header:
            continue  # a duplicate, which is reported
        place = next((i for i, part in enumerate(found) if isinstance(part, Columns) and header.name in part.names), -1)
        if place < 0:
            nodes = _told(word, declared, header, named, context)
            found += [] if nodes is None else [nodes]
            continue
        rows: Any = found[place]
        row = list(rows.names).index(header.name)
        inner = context.inner(word, header.name)._replace(below=rows[row])
        node = resolve_block(declared.node, header.block.statements or (), inner, header.name, header.block)
        node = rows[row] if node is None else node
        found[place : place + 1] = [
            part for part in (rows.part(slice(0, row)), (node,), rows.part(slice(row + 1, None))) if len(part)
        ]
    return found


def _told_header(word: str, block: tree.Block, context: BlockContext) -> Header | None:
    """Return a block's header; None where it is a mistake, which is reported."""
    try:
        return _header(word, block, context)
    except MistakeError as mistake:
        context.scope.report.add(mistake.diagnostic)
        return None


def _told(
    word: str, declared: Block, header: Header, named: dict[str, Header], context: BlockContext
) -> Sequence[Node] | None:
    """Return the nodes of a block, none where it is unusable; None where it is a mistake itself. Either is reported."""
    try:
        nodes = _resolve_one(word, declared, header, named, context)
    except MistakeError as mistake:
        context.scope.report.add(mistake.diagnostic)
        context.scope.report.dropped.add(header.name)
        return None
    if not nodes:
        context.scope.report.dropped.add(header.name)
    return nodes


def _joined(parts: Sequence[Sequence[Node]]) -> Sequence[Node]:
    """Return all parts as one tuple, or, if some are columns, the columns and tuples of the nodes between them."""
    if all(isinstance(part, tuple) for part in parts):
        return tuple(node for part in parts for node in part)
    together: list[Sequence[Node]] = []
    for written, group in groupby(parts, lambda part: isinstance(part, tuple)):
        stretch = list(group)
        together += [tuple(node for part in stretch for node in part)] if written else stretch
    return Joined([part for part in together if len(part)])


def _resolve_one(
    word: str, declared: Block, header: Header, named: dict[str, Header], context: BlockContext
) -> Sequence[Node]:
    statements = _inherited(word, header, named, context, ())
    inner = context.inner(word, header.name)
    if header.source:
        return _from_source(word, declared, header, statements, context)
    if header.block.indexed is not None:
        low, high = _bounds(header.block.indexed, context)
        return resolve_generator(declared.node, header.name, low, high, statements, inner, header.block)
    node = resolve_block(declared.node, statements, inner, header.name, header.block)
    return () if node is None else (node,)


def _header(word: str, block: tree.Block, context: BlockContext) -> Header:
    words = list(block.words[1:])
    more = list(block.more)
    scope = context.scope
    name_token: Any = None
    base: Any = None
    source = False
    rest = words + more
    while rest:
        token = rest.pop(0)
        if token == "extends" and rest:
            base = rest.pop(0)
        elif token == "from" and (rest or block.call is not None):
            source = True
            rest = rest[1:] if block.call is None else rest
        elif name_token is None and base is None and not source:
            name_token = token
        else:
            raise scope.mistake(
                "unexpected-name",
                f"`{token}` is one word too many",
                token,
                f"write `{word} {tree.word_text(name_token) if name_token else 'NAME'} {{ ... }}`",
            )
    empty = name_token is not None and not tree.word_text(name_token)
    if empty or (name_token is None and not source):
        at = name_token if empty else block.words[0]
        raise scope.mistake("missing-name", f"this `{word}` has no name", at, f"write `{word} NAME {{ ... }}`")
    if not source and block.statements is None and base is None:
        raise scope.mistake(
            "missing-body",
            f"`{word} {tree.word_text(name_token)}` has no body",
            tree.last_token(block),
            f"write `{word} {name_token} {{ ... }}`",
        )
    if name_token is not None:
        require_printable(name_token, scope)
    return Header(tree.word_text(name_token) if name_token is not None else "", name_token, base, source, block)


def _by_name(headers: Sequence[Header], context: BlockContext) -> dict[str, Header]:
    named: dict[str, Header] = {}
    for header in headers:
        if not header.name:
            continue
        first = named.setdefault(header.name, header)
        if first is not header:
            word = tree.word_text(header.block.words[0])
            context.scope.report.add(
                error(
                    "duplicate",
                    f"`{word} {header.name}` is defined twice",
                    context.scope.span(header.name_token),
                    "give each its own name",
                    Related("first defined here", context.scope.span(first.name_token)),
                )
            )
    return named


def _no_duplicates(word: str, nodes: Sequence[Node], context: BlockContext) -> None:
    """Names that only come up in columns: those of written blocks have been compared before."""
    if isinstance(nodes, tuple) or isinstance(getattr(nodes, "names", None), IndexedNames):
        return
    seen: dict[str, int] = {}
    for index, name in enumerate(names_of(nodes)):
        first = seen.setdefault(name, index)
        if first != index:
            context.scope.report.add(
                error(
                    "duplicate",
                    f"`{word} {name}` is defined twice",
                    nodes[index].span,
                    "give each its own name",
                    Related("first defined here", nodes[first].span),
                )
            )
            return


def _inherited(
    word: str, header: Header, named: dict[str, Header], context: BlockContext, chain: tuple[str, ...]
) -> tuple[Any, ...]:
    """Return the block's statements on top of those of the block it extends."""
    own = header.block.statements or ()
    if header.base is None:
        return own
    scope = context.scope
    base_name = tree.word_text(header.base)
    if base_name in (*chain, header.name):
        whole = (*chain, header.name, base_name)
        members = set(whole[whole.index(base_name) :])
        if whole[0] != next(name for name in named if name in members):
            raise MistakeError(None)  # of a cycle its first block alone
        raise scope.mistake(
            "extends-cycle",
            f"`{word} {whole[0]}` extends itself: {chained(whole, ' extends ')}",
            header.base,
            "end the chain at a block that extends none",
        )
    base = named.get(base_name)
    if base is None:
        raise scope.mistake(
            "unknown-name",
            f"there is no `{word} {base_name}` to extend",
            header.base,
            did_you_mean(base_name, [n for n in named if n != header.name], f"each `{word}`: "),
        )
    if len(chain) >= budgets.EXTENDS_DEPTH:
        if any(each.code == "nested-too-deeply" for each in scope.report.found):
            raise MistakeError(None)
        raise scope.mistake(
            "nested-too-deeply",
            f"more than {budgets.EXTENDS_DEPTH} blocks extend one another",
            header.base,
            "let the blocks extend one common block",
        )
    inherited = _inherited(word, base, named, context, (*chain, header.name))
    return overlay(inherited, own)


def overlay(below: tuple[Any, ...], above: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the statements of both; an item or block above replaces or refines the one below with the same words."""
    places = {_key(statement): index for index, statement in enumerate(below)}
    merged = {key: below[index] for key, index in places.items()}
    out: list[Any] = list(below)
    for statement in above:
        key = _key(statement)
        earlier = merged.get(key)
        if earlier is None:
            out.append(statement)
            continue
        at = places[key]
        both_blocks = isinstance(statement, tree.Block) and isinstance(earlier, tree.Block)
        if both_blocks and statement.statements is not None and earlier.statements is not None:
            replacement = statement._replace(statements=overlay(earlier.statements, statement.statements))
        else:
            replacement = statement
        out[at] = replacement
        del merged[key]
    return tuple(out)


def _key(statement: Any) -> tuple[str, ...]:
    if isinstance(statement, tree.Comparison):
        return ("", str(id(statement)))
    return tuple(tree.word_text(word) for word in statement.words)


def _bounds(index: tree.Index, context: BlockContext) -> tuple[int, int]:
    ends = []
    for node in (index.low, index.high):
        value = evaluate(node, context.scope)
        if value.dimension != NUMBER or not isinstance(value.number, float) or not value.number.is_integer():
            raise context.scope.mistake(
                "not-whole", "the ends of an index are whole numbers", node, "write `[1..1000]`"
            )
        ends.append(int(value.number))
    if ends[0] > ends[1] or ends[0] < 0:
        raise context.scope.mistake(
            "reversed-range",
            f"the index runs from {ends[0]} to {ends[1]}",
            index.low,
            "write the lower end first, at least 0: `[1..1000]`",
        )
    if ends[1] - ends[0] >= budgets.GENERATED:
        raise context.scope.mistake(
            "out-of-range", f"the index has more than {budgets.GENERATED} steps", index.high, "generate fewer blocks"
        )
    return ends[0], ends[1]


def _from_source(
    word: str, declared: Block, header: Header, statements: tuple[Any, ...], context: BlockContext
) -> Sequence[Node]:
    block, scope = header.block, context.scope
    if block.call is not None:
        return _from_reader(word, declared, header, statements, context)
    token = (*block.words, *block.more)[-1]
    if token.type != "STRING":
        raise scope.mistake("missing-file", "`from` requires a file name", token, 'write `from "file.csv"`')
    written = tree.word_text(token)
    path = context.files.find(written, token, scope)
    from mrdsl.language.tables import resolve_table

    source = Source("table", str(path), written, scope.span(token))
    return resolve_table(declared.node, word, source, statements, context.inner(declared.plural), header.block)


def _from_catalogue(
    word: str, declared: Block, header: Header, statements: tuple[Any, ...], context: BlockContext
) -> Sequence[Node]:
    """``vms from ec2("types.csv") { ... }``: a node for each entry of the file."""
    from mrdsl.language.catalogues import resolve_catalogue

    block = header.block
    assert block.call is not None
    if header.name_token is not None:
        raise context.scope.mistake(
            "unexpected-name",
            f"`{header.name}` would be the name of every {word} of the file",
            header.name_token,
            f'write `{declared.plural} from {block.call.function}("file")`',
        )
    return resolve_catalogue(declared.node, word, block, statements, context.inner(declared.plural))


def _from_reader(
    word: str, declared: Block, header: Header, statements: tuple[Any, ...], context: BlockContext
) -> Sequence[Node]:
    """``dag NAME from wfcommons("file.json") { ... }``: one node whose data a family's reader brings."""
    block, scope = header.block, context.scope
    call = block.call
    assert call is not None
    reader = str(call.function)
    if reader in declared.catalogues:
        return _from_catalogue(word, declared, header, statements, context)
    if reader not in declared.sources:
        raise scope.mistake(
            "unknown-reader",
            f"`{word}` cannot be read from `{reader}`",
            call.function,
            did_you_mean(reader, (*declared.sources, *declared.catalogues), "readers: ") or f"`{word}` reads no file",
        )
    if len(call.arguments) != 1 or not isinstance(call.arguments[0], tree.Text):
        raise scope.mistake("wrong-arguments", f"`{reader}` takes one file name", call, f'write `{reader}("file")`')
    written = call.arguments[0].value
    path = context.files.find(written, call.arguments[0], scope)
    source = Source(reader, str(path), written, scope.span(call.arguments[0]))
    inner = context.inner(word, header.name)
    node = resolve_block(declared.node, statements, inner, header.name, block, source)
    return () if node is None else (node,)
