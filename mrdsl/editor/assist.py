"""Hover, definition, rename and reserved names of a document, and the printed reference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from mrdsl.contracts.family import Family, QuantityKind
from mrdsl.core import units
from mrdsl.core.diagnostics import MrdslError, Span, is_printable
from mrdsl.editor.written import Opened, Written, blocks_around
from mrdsl.families import family as find_family
from mrdsl.families import family_names, summary
from mrdsl.language import tree
from mrdsl.language.block_context import TOP_LEVEL_WORDS
from mrdsl.language.evaluate import RANDOM_EXAMPLES
from mrdsl.language.formatting import value_text
from mrdsl.language.printing import distribution_text
from mrdsl.language.scope import AUTO
from mrdsl.language.vocabulary import Vocabulary, name_text, vocabulary
from mrdsl.spec.declared import DISTRIBUTIONS, limit_words
from mrdsl.spec.declared import METHOD_OPTIONS as OPTIONS
from mrdsl.spec.schema import Block, Distribution, Item, Node

_OF_STATEMENTS = frozenset(
    {"problem", "seed", "extends", "from", *(w for words in TOP_LEVEL_WORDS for w in words.split())}
)


def reserved_for(name: str, word: str, family: Family | None) -> str:
    """Return the reason why a name cannot follow ``word``, ``class`` or ``param``, or "".

    A class called ``class`` could not be distinguished from the word before it, a param called ``upper`` would replace
    the choice ``upper``, and one called ``cost`` would replace the plan's cost.
    """
    facts: Any = family.facts if family is not None else None
    blocks, choices = _words_of(facts) if facts is not None else (frozenset(), frozenset())
    if name in _OF_STATEMENTS or name in blocks:
        return f"`{name}` is a word of the language"
    quantities = family.quantities if family is not None else ()
    if word == "param" and (
        name == AUTO or name in choices or any(name in (*each.words, *each.per_words) for each in quantities)
    ):
        return f"`{name}` is what an item may be: the param would be meant there"
    if word in ("param", "let") and any(name == each.name for each in quantities):
        return f"`{name}` is a quantity of the plan: the {word} would be meant there"
    return ""


@cache
def _words_of(facts: Any) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of repeated blocks at every depth, and the choices of all items."""
    blocks: set[str] = set()
    choices: set[str] = set()
    waiting, seen = [facts], {facts}
    while waiting:
        words = vocabulary(waiting.pop())
        blocks.update((*words.repeated, *words.plurals))
        choices.update(choice for _, item in words.items.values() for choice in item.choices)
        inner = {block.node for table in (words.singles, words.repeated) for _, block in table.values()} - seen
        waiting += sorted(inner, key=lambda node: node.__name__)
        seen |= inner
    return frozenset(blocks), frozenset(choices)


_WORD = re.compile(r'"(?:\\.|[^"\\])*"|[^\W\d]\w*|%')
_NAME = re.compile(r"[^\W\d]\w*")
_STATEMENT = 1000


@dataclass(frozen=True)
class Context:
    """The context of the cursor: the family, the known words, and the open blocks.

    ``piece`` is the examined text: whole statements of the top level.
    """

    family: Family | None
    words: Vocabulary | None
    blocks: tuple[Opened, ...] = ()
    piece: str = field(default="", repr=False)

    @property
    def block(self) -> str:
        """The first word of the innermost block, "" at the top level."""
        return self.blocks[-1].words[0] if self.blocks and self.blocks[-1].words else ""


def context_at(written: Written, line: int, column: int) -> Context:
    """Return the context of a place."""
    kind = written.problem
    family = _family(kind) if kind is not None else None
    node: type[Node] | None = family.facts if family is not None else None
    piece_before = written.piece_at(line)
    if piece_before is None:
        return Context(family, vocabulary(node) if node is not None else None)
    piece, before = piece_before
    lines = piece.text.split("\n")
    place = sum(len(one) + 1 for one in lines[: line - before - 1]) + column - 1
    blocks = blocks_around(piece.text, place)
    for block in blocks:
        node = _inner_node(node, block.words[0] if block.words else "")
    return Context(family, vocabulary(node) if node is not None else None, blocks, piece.text)


def hover(written: Written, line: int, column: int) -> str | None:
    """Return the meaning of the word at a place, in Markdown, or None."""
    word = word_at(written, line, column)
    if word is None:
        return None
    context = context_at(written, line, column)
    if word in units.UNITS and re.search(r"[0-9/]\s*$", before(written, line, column)):
        return _unit_text(word)
    if context.block == "solve" and word in OPTIONS:
        return item_text(word, OPTIONS[word])
    if context.words is not None:
        if word in context.words.items:
            return item_text(word, context.words.items[word][1])
        for table in (context.words.singles, context.words.repeated, context.words.plurals):
            if word in table:
                return _block_text(word, table[word][1])
    return _other_text(word, written)


def _other_text(word: str, written: Written) -> str | None:
    for piece in written.pieces:
        if word in piece.params:
            return f"param `{word} = {value_text(piece.params[word].value)}`"
        if word in piece.lets:
            return f"quantity of the plan `{word} = {value_text(piece.lets[word].value)}`"
    if word in DISTRIBUTIONS:
        return RANDOM_EXAMPLES[word]
    if word in family_names():
        return f"problem `{word}`: {summary(word)}"
    return _unit_text(word) if word in units.UNITS else None


def item_text(word: str, item: Item) -> str:
    """Return an item's meaning, unit, limits, default and the paper's symbol."""
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


def occurrences(written: Written, line: int, column: int) -> tuple[Span | None, tuple[Span, ...]]:
    """Return the definition of the param or block named at a place, and every place that means it, the definition
    included.
    """
    word = word_at(written, line, column)
    definition = None if word is None else written.definition(word)
    if word is None or definition is None:
        return None, ()
    uses = tuple(written.spans(word))
    if not any(span.line == line and span.column <= column <= span.end_column for span in uses):
        return None, ()
    return definition, uses


def rename(written: Written, line: int, column: int, name: str) -> tuple[str, tuple[Span, ...]]:
    """Return the new name as it is written, and its places; empty if the place has no name.

    Raises ValueError with the reason for the user if the name is not available.
    """
    word = word_at(written, line, column)
    _, uses = occurrences(written, line, column)
    if word is None or not uses:
        return "", ()
    if not name.strip() or not is_printable(name):
        raise ValueError("a name is a word, or a text without control characters")
    if name != word and any(one.name == name for one in written.definitions()):
        raise ValueError(f"there is a `{name}` already")
    renamed = next(one.word for one in written.definitions() if one.name == word)
    if renamed in ("param", "let") and not _NAME.fullmatch(name):
        raise ValueError(f"the name of a {renamed} is one word of letters, digits and _")
    if renamed in ("param", "let") and name in units.UNITS:
        raise ValueError(f"`{name}` is a unit")
    family = _family(written.problem) if written.problem is not None else None
    why = reserved_for(name, renamed, family) if name != word else ""
    if why:
        raise ValueError(why)
    return name_text(name), uses


def _family(name: str) -> Family | None:
    """Return the family, or None if it cannot be loaded, which the diagnostics report."""
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


def before(written: Written, line: int, column: int) -> str:
    """Return the text in the line before the word at a place, at most as much as a statement needs."""
    current = written.lines[line - 1] if line <= len(written.lines) else ""
    word = next((m for m in _WORD.finditer(current) if m.start() < column <= m.end() + 1), None)
    end = min(column - 1, word.start() if word else column - 1)
    return current[max(0, end - _STATEMENT) : end]


def word_at(written: Written, line: int, column: int) -> str | None:
    """Return the word at a place, without its quotes, or None."""
    if line > len(written.lines):
        return None
    for match in _WORD.finditer(written.lines[line - 1]):
        if match.start() < column <= match.end() + 1:
            return tree.unquote(match[0]) if match[0].startswith('"') else match[0]
    return None


_FORMS = {
    "choice": "one of",
    "text": "text",
    "path": "file",
    "name": "name",
    "names": "list of names",
    "moment": "clock time `22:00`, or an offset `90 min`",
    "moments": "list of clock times or offsets, `[22:00, 23:30]`",
}


def reference(families: Iterable[str] | None = None) -> str:
    """Return the generated part of the language reference, in Markdown; by default of all installed families.

    Raises MrdslError if one cannot be loaded.
    """
    parts = ["## Units", "", *_units(), "", "## Random values", "", *_distributions(), ""]
    parts += ["## Options of `solve with`", "", *_item_table(dict(OPTIONS)), ""]
    for name in family_names() if families is None else families:
        family = find_family(name)
        if family is not None:
            parts += [*_family_section(family), ""]
    return "\n".join(parts)


def _family_section(family: Family) -> Iterator[str]:
    yield f"## `problem {family.name}`"
    yield ""
    yield f"{family.summary[:1].upper()}{family.summary[1:].rstrip('.')}. Source: {family.paper}."
    yield ""
    goals = ", ".join(f"`{goal.sense} {goal.quantity}`" for goal in family.goals)
    yield f"Goals: {goals}."
    if family.formulations:
        yield "Formulations: " + "; ".join(f"`{f.name}` ({f.doc})" for f in family.formulations) + "."
        able = [f"`{f.name}`" for f in family.formulations if f.other_goals]
        if able:
            yield f"Linear goals of one's own: {', '.join(able)}."
    if family.quantities:
        shown = (form for quantity in family.quantities for form in _forms(quantity))
        yield "Quantities for `subject to` and `let`: " + ", ".join(shown) + "."
    yield ""
    yield from _node(family.facts, "the top level", set())


def _forms(quantity: QuantityKind) -> Iterator[str]:
    """Yield the ways to write a quantity."""
    if not quantity.needs_argument:
        yield f"`{quantity.name}`"
    if quantity.takes_argument:
        first = quantity.over or " | ".join(quantity.words)
        yield f"`{quantity.name}({first})`"
        if quantity.per:
            yield f"`{quantity.name}({first}, {' | '.join((quantity.per, *quantity.per_words))})`"


def _node(node: type[Node], title: str, seen: set[tuple[type[Node], str]]) -> Iterator[str]:
    if (node, title) in seen:
        return
    seen.add((node, title))
    words = vocabulary(node)
    yield f"### {title}"
    yield ""
    items = {key: item for key, (_, item) in words.items.items()}
    if items:
        yield from _item_table(items)
        yield ""
    blocks = [(word, block) for table in (words.singles, words.repeated) for word, (_, block) in table.items()]
    if blocks:
        yield from _block_table(blocks)
        yield ""
    for word, block in blocks:
        name = f"`{word} NAME`" if block.repeated else f"`{word}`"
        parent = "" if title == "the top level" else f" in {title}"
        yield from _node(block.node, f"{name}{parent}", seen)


def _item_table(items: dict[str, Item]) -> Iterator[str]:
    yield "| item | value | default | limits | symbol | meaning |"
    yield "|---|---|---|---|---|---|"
    for key, item in items.items():
        cells = (f"`{key}`", value_form(item), default_text(item), limits_text(item), _symbol(item), item.doc)
        yield f"| {' | '.join(cells)} |"


def _block_table(blocks: list[tuple[str, Block]]) -> Iterator[str]:
    yield "| block | how often | meaning |"
    yield "|---|---|---|"
    for word, block in blocks:
        form = f'`{word} NAME {{ ... }}`, `{block.plural} from "file"`' if block.repeated else f"`{word} {{ ... }}`"
        form += "".join(f', `{block.plural} from {reader}("file")`' for reader in block.catalogues)
        if block.sources and not block.repeated:
            form = ", ".join(f'`{word} from {source}("file") {{ ... }}`' for source in block.sources)
        if block.short:
            form += f", `{word} = ...` for its `{block.short}`"
        often = (
            ("at least one" if block.required else "any number")
            if block.repeated
            else ("one" if block.required else "at most one")
        )
        yield f"| {form} | {often} | {block.doc} |"


def value_form(item: Item) -> str:
    """Return the kind of value of an item, with an example."""
    if item.form == "choice":
        return " or ".join(
            (*(f"`{choice}`" for choice in item.choices), *(["`p1` to `p99`"] if item.percentiles else []))
        )
    if item.form in _FORMS:
        return _FORMS[item.form]
    kind = units.KINDS[item.kind]
    noun = kind.noun.removeprefix("a ").removeprefix("an ")
    if item.whole and item.kind == "number":
        noun = "whole number"
    form = {"range": "range of ", "list": "list of ", "distribution": "fixed or random "}.get(item.form, "")
    share = f" or a share of `{item.share_of}`, `25%`" if item.share_of else ""
    return f"{form}{noun}, `{kind.example()}`{share}"


def default_text(item: Item) -> str:
    """Return an item's default in its own units, or that it is required."""
    if item.required:
        return "required"
    if item.automatic:
        return "`auto`"
    if item.default is None or item.default == ():
        return ""
    if item.form in ("quantity", "range", "distribution") and isinstance(item.default, int | float):
        return f"`{units.show(float(item.default), item.kind)}`"
    if isinstance(item.default, Distribution):
        return f"`{distribution_text(item.default, item.kind, units.DEFAULT_CURRENCY)}`"
    return f"`{item.default}`"


def limits_text(item: Item) -> str:
    """Return an item's limits in words."""
    return ", ".join([*limit_words(item, units.DEFAULT_CURRENCY), *(["whole"] if item.whole else [])])


def _symbol(item: Item) -> str:
    return f"`{item.symbol}`" if item.symbol else ""


def _units() -> Iterator[str]:
    yield "| dimension | units |"
    yield "|---|---|"
    dimensions: dict[units.Dimension, list[str]] = {}
    for unit in units.UNITS.values():
        dimensions.setdefault(unit.dimension, []).append(unit.name)
    for dimension, names in dimensions.items():
        noun = "a share" if dimension == units.NUMBER else units.describe(dimension)
        yield f"| {noun} | {', '.join(f'`{name}`' for name in names)} |"


def _distributions() -> Iterator[str]:
    from mrdsl.language.evaluate import RANDOM_EXAMPLES

    for name in DISTRIBUTIONS:
        yield f"- {RANDOM_EXAMPLES[name]}"
