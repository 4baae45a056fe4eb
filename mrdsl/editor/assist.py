"""What an editor asks of a text: the meaning of a word, what may be written here, where a name is defined and used.

Positions are lines and columns from 1. All of it works on texts with mistakes: the recovering parser gives the tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lark import Token

from mrdsl.contracts.family import Family
from mrdsl.core import units
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.source import Span
from mrdsl.families import family as find_family
from mrdsl.families import family_names, summary
from mrdsl.language import tree
from mrdsl.language.blocks import TOP_LEVEL_WORDS
from mrdsl.language.evaluate import FUNCTIONS, RANDOM_EXAMPLES
from mrdsl.language.parsing import parse
from mrdsl.language.vocabulary import Vocabulary, vocabulary
from mrdsl.spec.distributions import DISTRIBUTIONS
from mrdsl.spec.options import METHOD_OPTIONS as OPTIONS
from mrdsl.spec.schema import Block, Item, Node

_WORD = re.compile(r'"(?:\\.|[^"\\])*"|[^\W\d]\w*|%')


@dataclass(frozen=True)
class Completion:
    """One proposal: what is inserted, its kind (``item``, ``block``, ``unit``, ``value``, ``param``), a word on it."""

    label: str
    kind: str
    detail: str
    insert: str


@dataclass(frozen=True)
class _Context:
    """Where the cursor stands: the text's tree, its family, the words that are known there, and what is written."""

    document: tree.Document
    family: Family | None
    words: Vocabulary | None
    written: tuple[str, ...]
    path: tuple[str, ...]


def hover(text: str, line: int, column: int) -> str | None:
    """What the word at a place means, in Markdown; None where there is nothing to say."""
    word = _word_at(text, line, column)
    if word is None:
        return None
    context = _context(text, line, column)
    before = _before(text, line, column)
    if word in units.UNITS and re.search(r"[\d/]\s*$", before):
        return _unit_text(word)
    if context.path[-1:] == ("solve",) and word in OPTIONS:
        return item_text(word, OPTIONS[word])
    if context.words is not None:
        if word in context.words.items:
            return item_text(word, context.words.items[word][1])
        for table in (context.words.singles, context.words.repeated, context.words.plurals):
            if word in table:
                return _block_text(word, table[word][1])
    return _other_text(word, context)


def _other_text(word: str, context: _Context) -> str | None:
    for statement in context.document.statements:
        if isinstance(statement, tree.Assignment) and _is_param(statement) and statement.words[1] == word:
            from mrdsl.language.formatting import value_text

            return f"param `{word} = {value_text(statement.value)}`"
    if word in DISTRIBUTIONS:
        return RANDOM_EXAMPLES[word]
    if word in family_names():
        return f"problem `{word}`: {summary(word)}"
    return _unit_text(word) if word in units.UNITS else None


def item_text(word: str, item: Item) -> str:
    """An item's meaning, unit, limits, default and the paper's symbol."""
    from mrdsl.editor.reference import default_text, limits_text, value_form

    lines = [f"**{word}**: {item.doc}", "", value_form(item)]
    limits = limits_text(item)
    lines += [limits] if limits else []
    default = default_text(item)
    lines.append("required" if item.required else f"default {default}" if default else "optional")
    if item.symbol:
        lines.append(f"in the paper: `{item.symbol}`")
    return "\n\n".join(part for part in lines if part)


def _block_text(word: str, block: Block) -> str:
    form = f"{word} NAME {{ ... }}" if block.repeated else f"{word} {{ ... }}"
    return f"**{form}**: {block.doc}"


def _unit_text(word: str) -> str:
    unit = units.UNITS[word]
    if unit.dimension == units.MONEY and unit.currency:
        return f"**{word}**: money"
    noun = "a share" if word == "%" else units.describe(unit.dimension)
    return f"**{word}**: unit of {noun.removeprefix('a ').removeprefix('an ')}, {unit.factor:g} in SI"


def complete(text: str, line: int, column: int) -> list[Completion]:
    """What may be written at a place: items and blocks at the start of a statement, else values."""
    before = _before(text, line, column)
    head = re.sub(r"[^\W\d]\w*$", "", before)
    context = _context(text, line, column)
    if re.match(r"^\s*problem\s+$", head):
        return [_family_completion(name) for name in family_names()]
    if re.search(r"\d\s*$", head):
        return _units_completion(context, head)
    if "=" in re.split(r"[,{}]", head)[-1]:
        return _values(context, head)
    if re.match(r"^.*?(^|[,{}])\s*$", head):
        return _statements(context)
    return []


def _statements(context: _Context) -> list[Completion]:
    if context.path[-1:] == ("solve",):
        return [Completion(word, "item", item.doc, f"{word} = ") for word, item in OPTIONS.items()]
    if context.words is None:
        return [Completion("problem", "block", "what kind of problem this is", "problem ")]
    out = [
        Completion(word, "item", item.doc, f"{word} = ")
        for word, (name, item) in context.words.items.items()
        if word not in context.written
    ]
    out += [
        Completion(word, "block", block.doc, f"{word} {{ $0 }}")
        for word, (_, block) in context.words.singles.items()
        if word not in context.written
    ]
    out += [
        Completion(word, "block", block.doc, f"{word} ${{1:NAME}} {{ $0 }}")
        for word, (_, block) in context.words.repeated.items()
    ]
    if not context.path:
        out += [Completion(word, "block", "statement", f"{word} ") for word in TOP_LEVEL_WORDS]
        if context.family is not None:
            out += [
                Completion(f"{g.sense} {g.quantity}", "block", g.doc, f"{g.sense} {g.quantity}")
                for g in context.family.goals
            ]
    return out


def _values(context: _Context, head: str) -> list[Completion]:
    match = re.search(r"([^\W\d]\w*)\s*=[^=]*$", head)
    item = context.words.items.get(match[1], (None, None))[1] if match and context.words is not None else None
    out: list[Completion] = []
    if item is not None and item.form == "choice":
        return [Completion(choice, "value", item.doc, choice) for choice in item.choices]
    if item is not None and item.form in ("name", "names"):
        return [
            Completion(name, "value", f"{word} {name}", name if name.isidentifier() else f'"{name}"')
            for word, name in dict.fromkeys(_block_names(context.document.statements))
        ]
    out += [
        Completion(str(s.words[1]), "param", "param", str(s.words[1]))
        for s in context.document.statements
        if isinstance(s, tree.Assignment) and _is_param(s)
    ]
    out += [Completion(name, "value", "function", f"{name}($0)") for name in (*FUNCTIONS, *DISTRIBUTIONS)]
    return out


def _units_completion(context: _Context, head: str) -> list[Completion]:
    match = re.search(r"([^\W\d]\w*)\s*=[^=]*$", head)
    item = context.words.items.get(match[1], (None, None))[1] if match and context.words is not None else None
    wanted = units.KINDS[item.kind].dimension if item is not None else None
    chosen = [u for u in units.UNITS.values() if wanted is None or u.dimension == wanted]
    out = [Completion(unit.name, "unit", units.describe(unit.dimension), unit.name) for unit in chosen]
    if not out and item is not None:
        shown = units.KINDS[item.kind].shown_in()
        out = [Completion(shown, "unit", units.KINDS[item.kind].noun, shown)] if shown else []
    return out


def _family_completion(name: str) -> Completion:
    return Completion(name, "value", summary(name), f'{name} "$0"')


def occurrences(text: str, line: int, column: int, file: str = "") -> tuple[Span | None, tuple[Span, ...]]:
    """The definition of the param or block named at a place, and every place that means it, the definition included."""
    word = _word_at(text, line, column)
    if word is None:
        return None, ()
    document, _ = parse(text, file)
    definitions = [token for token in _definitions(document.statements) if tree.word_text(token) == word]
    if len(definitions) != 1:
        return None, ()
    names = tree.FileNames((file,))
    uses = [tree.span_of(names, token) for token in _name_tokens(document.statements) if tree.word_text(token) == word]
    if not any(span.line == line and span.column <= column <= span.end_column for span in uses):
        return None, ()
    return tree.span_of(names, definitions[0]), tuple(uses)


def _definitions(statements: Sequence[Any]) -> Iterator[Token]:
    for statement in statements:
        if _is_param(statement):
            yield statement.words[1]
        elif isinstance(statement, tree.Block):
            if _is_named(statement):
                yield statement.words[1]
            yield from _definitions(statement.statements or ())


def _is_named(block: tree.Block) -> bool:
    first = str(block.words[0])
    no_names = ("problem", "import", "minimize", "maximize", "estimate", "subject", "solve")
    return (
        len(block.words) > 1
        and first not in no_names
        and block.words[1] != "from"
        and (block.statements is not None or len(block.words) > 2)
    )


def _name_tokens(statements: Sequence[Any]) -> Iterator[Token]:
    """Every token that can mean a param or a block: names in values, names in headers."""
    for statement in statements:
        if isinstance(statement, tree.Assignment):
            if _is_param(statement):
                yield statement.words[1]
            yield from _value_tokens(statement.value)
        elif isinstance(statement, tree.Block):
            if str(statement.words[0]) not in ("problem", "import", "solve"):
                yield from statement.words[1:]
                yield from statement.more
            yield from _name_tokens(statement.statements or ())
        else:
            yield from _value_tokens(statement)


def _value_tokens(node: Any) -> Iterator[Token]:
    if isinstance(node, tree.Name | tree.Text):
        yield node.token
    elif isinstance(node, tree.Call):
        for argument in node.arguments:
            yield from _value_tokens(argument)
    elif isinstance(node, tuple) and not isinstance(node, tree.Number):
        for part in node:
            yield from _value_tokens(part)


def _is_param(statement: Any) -> bool:
    return isinstance(statement, tree.Assignment) and len(statement.words) == 2 and statement.words[0] == "param"


def _block_names(statements: Sequence[Any]) -> Iterator[tuple[str, str]]:
    for statement in statements:
        if isinstance(statement, tree.Block):
            if _is_named(statement):
                yield str(statement.words[0]), tree.word_text(statement.words[1])
            yield from _block_names(statement.statements or ())


def _context(text: str, line: int, column: int) -> _Context:
    document, _ = parse(text, "")
    kind = next(
        (
            str(s.words[1])
            for s in document.statements
            if isinstance(s, tree.Block) and s.words[0] == "problem" and len(s.words) > 1
        ),
        None,
    )
    family = _family(kind) if kind is not None else None
    node: type[Node] | None = family.facts if family is not None else None
    statements, path = document.statements, []
    while (inner := _enclosing(statements, line, column)) is not None:
        word = tree.word_text(inner.words[0])
        path.append(word)
        node = _inner_node(node, word)
        statements = inner.statements or ()
    written = tuple(tree.word_text(s.words[0]) for s in statements if not isinstance(s, tree.Comparison))
    return _Context(document, family, vocabulary(node) if node is not None else None, written, tuple(path))


def _family(name: str) -> Family | None:
    """The family; None also where it cannot be loaded, which the diagnostics tell."""
    try:
        return find_family(name)
    except MrdslError:
        return None


def _inner_node(node: type[Node] | None, word: str) -> type[Node] | None:
    if node is None:
        return None
    words = vocabulary(node)
    for table in (words.singles, words.repeated, words.plurals):
        if word in table:
            return table[word][1].node
    return None


def _enclosing(statements: Sequence[Any], line: int, column: int) -> tree.Block | None:
    for statement in statements:
        if isinstance(statement, tree.Block) and statement.open is not None and statement.close is not None:
            start = (statement.open.line or 0, statement.open.column or 0)
            end = (statement.close.line or 0, statement.close.column or 0)
            if start < (line, column) <= end:
                return statement
    return None


def _before(text: str, line: int, column: int) -> str:
    lines = text.split("\n")
    current = lines[line - 1] if line <= len(lines) else ""
    word = next((m for m in _WORD.finditer(current) if m.start() < column <= m.end() + 1), None)
    return current[: min(column - 1, word.start() if word else column - 1)]


def _word_at(text: str, line: int, column: int) -> str | None:
    lines = text.split("\n")
    if line > len(lines):
        return None
    for match in _WORD.finditer(lines[line - 1]):
        if match.start() < column <= match.end() + 1:
            return tree.unquote(match[0]) if match[0].startswith('"') else match[0]
    return None
