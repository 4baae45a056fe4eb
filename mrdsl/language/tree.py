"""The syntax tree: the written text, with the place of every token, before names have a meaning.

Nodes are named tuples: immutable, and cheap enough for a spec of a hundred thousand lines.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from mrdsl.core.diagnostics import Span

_LINE_END = re.compile("\n")


class Source:
    """A text and the name of its file; lines and columns of its positions are computed on request.

    ``valid``: its statements can be read again one by one, as they have no syntax errors.
    """

    def __init__(self, text: str, file: str, valid: bool = True) -> None:
        self.text = text
        self.file = file
        self.valid = valid

    @cached_property
    def _line_starts(self) -> array[int]:
        return array("Q", [0, *(match.end() for match in _LINE_END.finditer(self.text))])

    def place(self, position: int) -> tuple[int, int]:
        """Return the line and the column of a position, both counted from 1."""
        line = bisect_right(self._line_starts, position)
        return line, position - self._line_starts[line - 1] + 1


class Token(str):
    """A word or sign of a text. ``type`` is the name of its terminal in the grammar."""

    __slots__ = ("source", "start_pos", "type")
    type: str
    start_pos: int
    source: Source

    @classmethod
    def of(cls, text: str, type: str, start_pos: int, source: Source) -> Token:
        token = str.__new__(cls, text)
        token.type, token.start_pos, token.source = type, start_pos, source
        return token

    @property
    def end_pos(self) -> int:
        return self.start_pos + len(self)

    @property
    def line(self) -> int:
        return self.source.place(self.start_pos)[0]

    @property
    def column(self) -> int:
        return self.source.place(self.start_pos)[1]

    @property
    def end_line(self) -> int:
        return self.source.place(self.start_pos)[0]

    @property
    def end_column(self) -> int:
        return self.column + len(self)


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


class Goal(NamedTuple):
    """``minimize cost + 2 * energy``: one word, and a sum or a product."""

    words: tuple[Token, ...]
    value: Any


Statement = Assignment | Block | Comparison | Goal


class Document(NamedTuple):
    """A whole file; ``comments`` are in the order of the text, and none after a syntax error."""

    file: str
    text: str
    statements: tuple[Statement, ...]
    comments: tuple[Token, ...] = ()


def first_token(node: Any) -> Token:
    """Return the token with which a node begins."""
    while node.__class__ is not Token:
        node = node[0]
    token: Token = node
    return token


def last_token(node: Any) -> Token:
    """Return the token with which a node ends."""
    while node.__class__ is not Token:
        node = node[-1] or next(part for part in reversed(node) if part)
    token: Token = node
    return token


def names_in(node: Any) -> Iterator[Token]:
    """Yield the tokens of all plain names in a node, in order."""
    if isinstance(node, Name):
        yield node.token
    elif isinstance(node, tuple):
        for part in node:
            yield from names_in(part)


def span_of(node: Any) -> Span:
    """Return the place of a node or token."""
    return _between(first_token(node), last_token(node))


def header_span(node: Block) -> Span:
    """Return the place of the words of a block, without its body."""
    if node.call is None and node.indexed is None and not node.more:
        return _between(node.words[0], node.words[-1])
    return _between(node.words[0], last_token(node.call or (node.more[-1] if node.more else node.indexed)))


def _between(first: Token, last: Token) -> Span:
    line, column = first.source.place(first.start_pos)
    end_line, end_column = last.source.place(last.start_pos) if last is not first else (line, column)
    return Span(first.source.file, line, column, end_line, end_column + len(last))


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
