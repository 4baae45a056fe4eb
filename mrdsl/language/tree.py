"""The syntax tree: the written text, with the place of every token, before names have a meaning.

Nodes are named tuples: immutable, and cheap enough for a spec of a hundred thousand lines.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lark import Token

from mrdsl.core.diagnostics import Span

if TYPE_CHECKING:
    from mrdsl.language.alike import Row


class Number(NamedTuple):
    """``370``, ``30 s``, ``85%``; ``unit`` is the unit's token or None."""

    token: Token
    unit: Token | None


class Name(NamedTuple):
    """A bare word in a value."""

    token: Token


class Clock(NamedTuple):
    """``22:00``: a time of day, with or without a date."""

    token: Token


class Text(NamedTuple):
    """A quoted string."""

    token: Token

    @property
    def value(self) -> str:
        return unquote(self.token)


class Call(NamedTuple):
    """``uniform(1, 3)``."""

    function: Token
    arguments: tuple[Any, ...]
    close: Token


class List(NamedTuple):
    """``[a, b]``."""

    open: Token
    items: tuple[Any, ...]
    close: Token


class Group(NamedTuple):
    """``(a + b)``."""

    open: Token
    inner: Any
    close: Token


class Signed(NamedTuple):
    """``-a``."""

    sign: Token
    operand: Any


class Sum(NamedTuple):
    """``a + b - c``: operands and signs in turn."""

    parts: tuple[Any, ...]


class Product(NamedTuple):
    """``a * b / c``: operands and signs in turn."""

    parts: tuple[Any, ...]


class Interval(NamedTuple):
    """``lo .. hi``."""

    low: Any
    high: Any


class Index(NamedTuple):
    """``[1..1000]`` after the name of a block."""

    open: Token
    low: Any
    high: Any
    close: Token


class Assignment(NamedTuple):
    """``name = value``; ``param name = value`` has two words."""

    words: tuple[Token, ...]
    value: Any


class Block(NamedTuple):
    """Words, then an index, more words, a call, and a body; ``statements`` is None for words without braces."""

    words: tuple[Token, ...]
    indexed: Index | None
    more: tuple[Token, ...]
    call: Call | None
    open: Token | None
    statements: tuple[Any, ...] | None
    close: Token | None


class Comparison(NamedTuple):
    """``left <= right`` in ``subject to``."""

    left: Any
    operator: str
    right: Any


class Alike:
    """Consecutive blocks with braces that are written alike, ``WORD NAME { ... }``; trees are made on request.

    ``rows`` has the form and place of each; ``parse`` makes the :class:`Block` of a row.
    """

    def __init__(self, rows: Sequence[Row], parse: Callable[[Row], Block]) -> None:
        self.rows = rows
        self._parse = parse
        self._blocks: dict[int, Block] = {}

    @property
    def word(self) -> str:
        """Their first word."""
        return self.rows[0].shape.word

    def block(self, index: int) -> Block:
        """Return the tree of one of the blocks."""
        if index not in self._blocks:
            self._blocks[index] = self._parse(self.rows[index])
        return self._blocks[index]

    def blocks(self) -> Iterator[Block]:
        """Yield the trees of all of them."""
        return map(self.block, range(len(self.rows)))


class Goal(NamedTuple):
    """``minimize cost + 2 * energy``: one word, and a sum or a product."""

    words: tuple[Token, ...]
    value: Any


Statement = Assignment | Block | Comparison | Goal | Alike


def first_block(statement: Block | Alike) -> Block:
    """Return a block, or the first of such that are written alike."""
    return statement.block(0) if isinstance(statement, Alike) else statement


def unfolded(statements: Iterable[Any], words: Container[str]) -> Iterator[Any]:
    """Yield the statements; blocks that are written alike and begin with one of the words become trees."""
    for statement in statements:
        if statement.__class__ is Alike and statement.word in words:
            yield from statement.blocks()
        else:
            yield statement


class Document(NamedTuple):
    """A whole file."""

    file: str
    text: str
    statements: tuple[Statement, ...]


def first_token(node: Any) -> Token:
    """Return the token with which a node begins."""
    while not isinstance(node, Token):
        node = _edge(node, first=True)
    return node


def last_token(node: Any) -> Token:
    """Return the token with which a node ends."""
    while not isinstance(node, Token):
        node = _edge(node, first=False)
    return node


def _edge(node: Any, first: bool) -> Any:
    match node:
        case Sum(parts) | Product(parts):
            return parts[0 if first else -1]
        case Block():
            present = list(_block_parts(node))
            return present[0 if first else -1]
        case Assignment(words, value) | Goal(words, value):
            return words[0] if first else value
        case _:
            return node[0] if first else next(part for part in reversed(node) if part is not None)


def _block_parts(node: Block) -> Iterator[Any]:
    yield from node.words
    if node.indexed is not None:
        yield node.indexed
    yield from node.more
    yield from (part for part in (node.call, node.open, node.close) if part is not None)


LINES_A_FILE = 10_000_000


class FileNames(NamedTuple):
    """The files of one spec: the main one, then the imported ones, whose lines are counted on from multiples of
    :data:`LINES_A_FILE`."""

    names: tuple[str, ...]

    def span(self, first: Token, last: Token) -> Span:
        index, line = divmod(first.line or 1, LINES_A_FILE)
        end_line = (last.end_line or last.line or 1) - index * LINES_A_FILE
        return Span(self.names[index], line, first.column or 1, end_line, last.end_column or 1)


def shift_lines(node: Any, index: int) -> None:
    """Count the lines of an imported tree on from the ``index``-th multiple of :data:`LINES_A_FILE`."""
    if isinstance(node, Token):
        node.line = (node.line or 1) % LINES_A_FILE + index * LINES_A_FILE
        node.end_line = (node.end_line or 1) % LINES_A_FILE + index * LINES_A_FILE
    elif isinstance(node, tuple):
        for part in node:
            shift_lines(part, index)


def names_in(node: Any) -> Iterator[Token]:
    """Yield the tokens of all plain names in a node, in order."""
    if isinstance(node, Name):
        yield node.token
    elif isinstance(node, tuple):
        for part in node:
            yield from names_in(part)


def span_of(files: FileNames, node: Any) -> Span:
    """Return the place of a node or token."""
    return files.span(first_token(node), last_token(node))


def header_span(files: FileNames, node: Block) -> Span:
    """Return the place of the words of a block, without its body."""
    end = node.call or (node.more[-1] if node.more else node.indexed or node.words[-1])
    return files.span(node.words[0], last_token(end))


def word_text(token: Token) -> str:
    """Return the text of a word: the name itself, or the text between its quotes."""
    return unquote(token) if token.type == "STRING" else str(token)


_ESCAPES = {"n": "\n", "t": "\t"}


def unquote(token: str) -> str:
    r"""Return the text of a quoted string; a backslash takes the next character literally, except ``\n`` and ``\t``."""
    inner = token[1:-1]
    if "\\" not in inner:
        return inner
    out, characters = [], iter(inner)
    for character in characters:
        if character == "\\":
            escaped = next(characters, "")
            out.append(_ESCAPES.get(escaped, escaped))
        else:
            out.append(character)
    return "".join(out)
