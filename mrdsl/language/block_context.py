"""Context of the walk from blocks to facts, errors in items and blocks, and shares of other items of a block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from mrdsl.core import units
from mrdsl.core.diagnostics import Related, did_you_mean, error
from mrdsl.language import tree
from mrdsl.language.formatting import value_text
from mrdsl.language.items import Files, convert
from mrdsl.language.scope import Draws, MistakeError, Scope, Value
from mrdsl.language.vocabulary import Vocabulary, vocabulary
from mrdsl.spec.declared import advice
from mrdsl.spec.schema import Block, Item, Node

NO_SEED = -1
"""The seed of what has none: a draw is a mistake then."""


class BlockContext(NamedTuple):
    """The state of the walk: the scope, the files, the seed, the words of the block for messages and its path for
    draws.

    ``repeated`` reads repeated blocks of one kind, which can be nested. ``below`` is the node of a table or catalogue
    that the block refines.
    """

    scope: Scope
    files: Files
    seed: int
    path: str
    words: str
    repeated: ReadRepeated
    below: Node | None = None

    def inner(self, words: str, name: str = "") -> BlockContext:
        path, inside = f"{self.path}/{words} {name}", f"{words} {name}".strip()
        return BlockContext(self.scope, self.files, self.seed, path, inside, self.repeated)

    def item_scope(self, key: str, item: Item, count: int = 1) -> Scope:
        """Return the scope of one item: random values are drawn for it alone."""
        report, parameter, names, _, base = self.scope
        return Scope(report, parameter, names, Draws(self.seed, f"{self.path}/{key}", count, item), base)

    def with_base(self, item: Item, number: Any) -> BlockContext:
        """Return the context of an item that may be a share of a number of its block."""
        base = item.share_of.partition(".")[0], Value(number, units.KINDS[item.kind].dimension)
        return self._replace(scope=self.scope._replace(base=base))


ReadRepeated = Callable[[str, Block, Sequence[tree.Block], BlockContext], Sequence[Node]]


TOP_LEVEL_WORDS = ("param", "let", "require", "import", "minimize", "maximize", "estimate", "subject to", "solve with")


def unknown_item(words: Vocabulary, statement: tree.Assignment, context: BlockContext) -> Any:
    """Return the diagnostic for an item that the block does not know."""
    span = context.scope.span(statement.words[0])
    if len(statement.words) > 1:
        text = " ".join(statement.words)
        return error(
            "unknown-item",
            f"`{text} = ...` is not valid {context.words and 'in ' + context.words}".rstrip(),
            span,
            f"write one name before `=`, such as `{'_'.join(statement.words)} = ...`",
        )
    key = tree.word_text(statement.words[0])
    if key in words.singles or key in words.repeated:
        return error("unknown-item", f"`{key}` is a block, not an item", span, f"write `{key} {{ ... }}`")
    return error(
        "unknown-item",
        f"unknown item `{key}`{_in(context)}",
        span,
        words.elsewhere.get(key)
        or _one_level_down(words, key, statement)
        or did_you_mean(key, tuple(dict.fromkeys((*words.items, *words.blocks))), "items here: "),
    )


def _one_level_down(words: Vocabulary, key: str, statement: tree.Assignment) -> str:
    """Return what to write if the item belongs in a block of this one, such as the price of a VM, or ""."""
    inner = [word for word, (_, block) in words.singles.items() if key in vocabulary(block.node).items]
    if not inner:
        return ""
    written = f"{inner[0]} {{ {key} = {value_text(statement.value)} }}"
    others = "".join(f", or `{word} {{ ... }}`" for word in inner[1:3])
    return f"`{key}` belongs in a block: write `{written}`{others}"


def _in(context: BlockContext) -> str:
    return f" in `{context.words}`" if context.words else " at the top level"


def duplicate(key: str, token: Any, first: Any, context: BlockContext) -> Any:
    return error(
        "duplicate",
        f"`{key}` is defined twice{_in(context)}",
        context.scope.span(token),
        "keep one of them",
        Related("first written here", context.scope.span(first)),
    )


def unknown_block(words: Vocabulary, word: str, block: tree.Block, context: BlockContext) -> Any:
    """Return the diagnostic for a block that is not known here."""
    span = context.scope.span(block.words[0])
    if word in words.items:
        return error("unknown-block", f"`{word}` is an item, not a block", span, f"write `{word} = ...`")
    known: tuple[str, ...] = (*words.blocks, *words.plurals)
    if block.statements is None:
        known += tuple(words.items)
    if not context.words:
        known += TOP_LEVEL_WORDS
    return error(
        "unknown-block",
        f"unknown block `{word}`{_in(context)}",
        span,
        words.elsewhere.get(word) or did_you_mean(word, known, "blocks here: ") or "no blocks are allowed here",
    )


def require(words: Vocabulary, written: Mapping[str, Any], context: BlockContext, span: Any) -> bool:
    """Report missing items and blocks; return True if none is missing."""
    if words.needed <= written.keys():
        return True
    missing = [key for key, (name, item) in words.items.items() if item.required and name not in written]
    missing_blocks = _missing_blocks(words, written)
    report = context.scope.report
    owner = f"`{context.words}`" if context.words else "the spec"
    if missing:
        item = words.items[missing[0]][1]
        report.add(
            error(
                "missing-item",
                f"{owner} lacks {_list_words(missing)}",
                span,
                f"add `{missing[0]} = ...`{_taken(item, report.currency)}: {item.doc}",
            )
        )
    if missing_blocks:
        report.add(
            error(
                "missing-block",
                f"{owner} lacks {_list_words([f'{start} {{ ... }}' for start, _ in missing_blocks])}",
                span,
                "add "
                + _list_words([f"{start} {body}" for start, body in missing_blocks]).replace(
                    units.DEFAULT_CURRENCY, report.currency or units.DEFAULT_CURRENCY
                ),
            )
        )
    return not missing and not missing_blocks


def _missing_blocks(words: Vocabulary, written: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the start and an example of each block that is missing; of a group of choices, the first one."""
    blocks = {**words.singles, **words.repeated}
    fields = {word: name for word, (name, _) in (*blocks.items(), *words.items.items())}
    chosen = {group[0] for group in words.one_of if not any(fields[word] in written for word in group)}
    return [
        (
            f"{word} NAME" if word in words.repeated else word,
            next((text for name, text in block.node.EXAMPLE_BESIDE.items() if name in written), block.node.EXAMPLE),
        )
        for word, (name, block) in blocks.items()
        if word in chosen or (block.required and name not in written)
    ]


def _list_words(words: list[str]) -> str:
    quoted = [f"`{word}`" for word in words]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]


def _taken(item: Item, currency: str) -> str:
    if item.form == "choice":
        return f", one of {', '.join(item.listed)}"
    if item.form in ("text", "path", "name", "names", "moment", "moments"):
        return ""
    return f", {advice(item, currency).removeprefix('write ')}"


def stray_statement(statement: Any, context: BlockContext) -> Any:
    """Return the diagnostic for a comparison or a sum after a word, which have no meaning there."""
    if isinstance(statement, tree.Goal) and isinstance(statement.value, tree.Number):
        word, number = statement.words[0], statement.value.token
        hint = f"an item is `name = value`: write `{word} = {value_text(statement.value)}`"
        return error("syntax", f"`{number}` follows the name `{word}` without a `=`", context.scope.span(number), hint)
    if isinstance(statement, tree.Goal):
        message = (
            f"a sum or a product is allowed only after `minimize` and `maximize`, not after `{statement.words[0]}`"
        )
    else:
        message = "a comparison is allowed only in `subject to { ... }`"
        if not context.words:
            return error(
                "wrong-statement", message, context.scope.span(statement), "write `subject to { ... }` around it"
            )
    return error("wrong-statement", message, context.scope.span(statement), "write `name = value`")


def meant_item(statement: Any, words: Vocabulary) -> tree.Assignment | None:
    """Return the item that a number after its name was meant to be, so that it is not reported as missing too."""
    if not (isinstance(statement, tree.Goal) and isinstance(statement.value, tree.Number)):
        return None
    known = tree.word_text(statement.words[0]) in words.items
    return tree.Assignment(statement.words, statement.value) if known else None


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
