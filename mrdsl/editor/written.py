"""Document as an editor holds it: lines, statements, and the blocks open at a position."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from types import MappingProxyType
from typing import Any
from zlib import crc32

from mrdsl.contracts.family import SENSES
from mrdsl.core import budgets
from mrdsl.core.diagnostics import Span
from mrdsl.language import tree
from mrdsl.language.parameters import is_param
from mrdsl.language.parsing import parse
from mrdsl.language.plan_expressions import is_let
from mrdsl.language.tree import Token, unquote

_TEXT, _COMMENT = r'"(?:\\.|[^"\\\n])*"?', r"#[^\n]*"
MARKS = re.compile(rf"{_TEXT}|{_COMMENT}|[{{}}()\[\]\n]")
WORDS = re.compile(rf"{_TEXT}|{_COMMENT}|[{{}}()\[\]\n,]|[^\W\d]\w*")
_INDENT = re.compile(r"[ \t]*")
_BLANK = re.compile(r"[ \t\r\f]*(?:#[^\n]*)?(?:\n|\Z)")


@dataclass(frozen=True)
class Opened:
    """An open block: the words before its brace, the start of its inside, and the indent of its line."""

    words: tuple[str, ...]
    start: int
    indent: int


class Scanner:
    """One walk over the braces, brackets and words of a text.

    ``guess``: a line that starts no further right than its block shows that a brace is missing, as in the recovering
    parser.
    """

    def __init__(self, text: str, guess: bool = False) -> None:
        self.text, self.guess = text, guess
        self.open: list[Opened] = []
        self.brackets = 0
        self._words: list[str] = []

    def run(self, pattern: re.Pattern[str], end: int | None = None) -> Iterator[int]:
        """Walk to ``end``, and yield the place after each line end that ends a statement."""
        text, line_start = self.text, 0
        for match in pattern.finditer(text, 0, len(text) if end is None else end):
            mark = match[0]
            if mark == "\n":
                line_start = match.end()
                self._line(line_start)
                if not self.brackets:
                    self._words = []
                    yield line_start
            elif mark in "{}":
                self._brace(mark, match.end(), line_start)
            elif mark in "([":
                self.brackets += 1
            elif mark in ")]":
                self.brackets = max(0, self.brackets - 1)
            elif mark == ",":
                self._words = self._words if self.brackets else []
            elif mark[0] != "#":
                self._words.append(unquote(mark) if mark[0] == '"' else mark)

    def _brace(self, brace: str, end: int, line_start: int) -> None:
        self.brackets = 0
        if brace == "{":
            self.open.append(Opened(tuple(self._words), end, self._indent(line_start)))
        elif self.open:
            self.open.pop()
        self._words = []

    def _line(self, start: int) -> None:
        """Begin a line, and close the blocks that its indent shows to be closed if a brace is missing."""
        if not self.guess or not self.open or _BLANK.match(self.text, start):
            return
        indent = self._indent(start)
        closing = self.text[start + indent] == "}"
        while self.open and not closing and indent <= self.open[-1].indent:
            self.open.pop()
            self.brackets = 0

    def _indent(self, start: int) -> int:
        indent = _INDENT.match(self.text, start)
        return indent.end() - start if indent is not None else 0


def blocks_around(text: str, end: int) -> tuple[Opened, ...]:
    """Return the blocks that are open at a place, the outermost first."""
    whole = Scanner(text)
    for _ in whole.run(MARKS):
        pass
    scanner = Scanner(text, guess=bool(whole.open))
    for _ in scanner.run(WORDS, end):
        pass
    return tuple(scanner.open)


def first_words(text: str, start: int) -> Iterator[str]:
    """Yield the first word of each statement of a block whose inside begins at ``start``; of the top level at 0."""
    depth = brackets = 0
    first = True
    for match in WORDS.finditer(text, start):
        mark = match[0]
        if mark in "{}":
            depth, brackets, first = depth + (1 if mark == "{" else -1), 0, True
            if depth < 0 < start:
                return
        elif mark in "\n,":
            first = first or not brackets
        elif mark in "([)]":
            brackets = max(0, brackets + (1 if mark in "([" else -1))
        elif mark[0] != "#":
            if first and depth == 0:
                yield unquote(mark) if mark[0] == '"' else mark
            first = False


_EVERY = 3
_NO_NAMES = ("problem", "import", *SENSES, "subject", "solve")


@dataclass(frozen=True)
class Definition:
    """A param, a user-defined quantity or a named block: its name, the token that names it, and the first word."""

    name: str
    token: Token
    word: str


class Piece:
    """Whole statements of the top level; their lines count from 1 within it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.line_count = text.count("\n")

    @cached_property
    def statements(self) -> tuple[tree.Statement, ...]:
        return parse(self.text, "")[0].statements

    @cached_property
    def definitions(self) -> tuple[Definition, ...]:
        return tuple(_definitions(self.statements))

    @cached_property
    def params(self) -> Mapping[str, tree.Assignment]:
        """The ``param`` statements by name."""
        return {str(s.words[1]): s for s in self.statements if is_param(s)}

    @cached_property
    def lets(self) -> Mapping[str, tree.Assignment]:
        """The ``let`` statements by name."""
        return {str(s.words[1]): s for s in self.statements if is_let(s)}

    @cached_property
    def uses(self) -> Mapping[str, Sequence[Token]]:
        """The tokens that can mean a param or a block, by name."""
        tokens: dict[str, list[Token]] = {}
        for token in _name_tokens(self.statements):
            tokens.setdefault(tree.word_text(token), []).append(token)
        return tokens

    @cached_property
    def problem(self) -> str | None:
        """The family that the piece names."""
        for s in self.statements:
            if isinstance(s, tree.Block) and s.words[0] == "problem" and len(s.words) > 1:
                return str(s.words[1])
        return None


class Written:
    """One version of a document. Lines and columns count from 1, as everywhere in mrdsl."""

    def __init__(self, text: str, before: Written | None = None) -> None:
        self.text = text
        self.lines = text.split("\n")
        self._widths: dict[tuple[int, str], list[int]] = {}
        self.too_long = len(text.encode("utf-8", "surrogatepass")) > budgets.EDITED_BYTES
        known = {} if before is None else before._pieces_by_text
        texts = [] if self.too_long else _split(text)
        self.pieces = [known.get(part) or Piece(part) for part in texts]
        self._starts = list(accumulate((piece.line_count for piece in self.pieces), initial=0))[: len(self.pieces)]

    @cached_property
    def _pieces_by_text(self) -> Mapping[str, Piece]:
        return MappingProxyType({piece.text: piece for piece in self.pieces})

    def piece_at(self, line: int) -> tuple[Piece, int] | None:
        """Return the piece that contains a line, and the number of lines before it."""
        if not self.pieces:
            return None
        index = max(0, bisect_right(self._starts, line - 1) - 1)
        return self.pieces[index], self._starts[index]

    def definitions(self) -> Iterator[Definition]:
        """Yield every param and every named block."""
        return (one for piece in self.pieces for one in piece.definitions)

    def spans(self, name: str) -> Iterator[Span]:
        """Yield every place where a name can mean a param or a block."""
        for piece, start in zip(self.pieces, self._starts, strict=True):
            yield from (_span(token, start) for token in piece.uses.get(name, ()))

    def definition(self, name: str) -> Span | None:
        """Return the place of the definition of a name, or None if there is none or more than one."""
        places = [
            _span(one.token, start)
            for piece, start in zip(self.pieces, self._starts, strict=True)
            for one in piece.definitions
            if one.name == name
        ]
        return places[0] if len(places) == 1 else None

    @property
    def problem(self) -> str | None:
        """The family that the document names."""
        return next((piece.problem for piece in self.pieces if piece.problem is not None), None)

    def column(self, line: int, units: int, encoding: str) -> int:
        """Return the column after that number of a client's units, at most the one after the line."""
        text = self.lines[line - 1]
        if text.isascii():
            return min(units, len(text)) + 1
        return min(bisect_left(self._units(line, encoding), units), len(text)) + 1

    def units(self, line: int, column: int, encoding: str) -> int:
        """Return a client's units before a column."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        before = min(max(column - 1, 0), len(text))
        return before if text.isascii() else self._units(line, encoding)[before]

    def _units(self, line: int, encoding: str) -> list[int]:
        """Return the number of units of an encoding before each character of a line, and before its end."""
        key = (line, encoding)
        if key not in self._widths:
            self._widths[key] = list(accumulate((_width(c, encoding) for c in self.lines[line - 1]), initial=0))
        return self._widths[key]


def _width(character: str, encoding: str) -> int:
    if encoding == "utf-8":
        return len(character.encode("utf-8", "surrogatepass"))
    return 2 if encoding == "utf-16" and character > "\uffff" else 1


def _span(token: Token, lines_before: int) -> Span:
    span = tree.span_of(token)
    return Span("", span.line + lines_before, span.column, span.end_line + lines_before, span.end_column)


def _split(text: str) -> list[str]:
    """Return the text in pieces that end with a statement of the top level.

    A place depends only on the next line, so that an edit moves no other end: before one line in :data:`_EVERY`.
    """
    for guess in (False, True):
        scanner = Scanner(text, guess)
        ends = [end for end in scanner.run(MARKS) if not scanner.open]
        if not scanner.open and not scanner.brackets:
            break
    pieces, start = [], 0
    for end in ends:
        line = text[end : text.find("\n", end) + 1].encode("utf-8", "surrogatepass")
        if crc32(line) % _EVERY == 0 and text[start:end].strip():
            pieces.append(text[start:end])
            start = end
    return [*pieces, text[start:]]


def is_named_value(statement: Any) -> bool:
    """Return True if a statement is ``param NAME = ...`` or ``let NAME = ...``."""
    return is_param(statement) or is_let(statement)


def _definitions(statements: Sequence[Any]) -> Iterator[Definition]:
    for statement in statements:
        if is_named_value(statement):
            yield Definition(tree.word_text(statement.words[1]), statement.words[1], str(statement.words[0]))
        elif isinstance(statement, tree.Block):
            if _is_named(statement):
                token = statement.words[1]
                yield Definition(tree.word_text(token), token, str(statement.words[0]))
            yield from _definitions(statement.statements or ())


def _is_named(block: tree.Block) -> bool:
    return (
        len(block.words) > 1
        and str(block.words[0]) not in _NO_NAMES
        and block.words[1] != "from"
        and (block.statements is not None or len(block.words) > 2)
    )


def _name_tokens(statements: Sequence[Any]) -> Iterator[Token]:
    """Yield every token that can mean a param or a block: names in values, names in headers."""
    for statement in statements:
        if isinstance(statement, tree.Assignment):
            if is_named_value(statement):
                yield statement.words[1]
            yield from _value_tokens(statement.value)
        elif isinstance(statement, tree.Block):
            if str(statement.words[0]) not in ("problem", "import", "solve"):
                yield from statement.words[1:]
                yield from statement.more
            yield from _name_tokens(statement.statements or ())
            if str(statement.words[0]) in SENSES:
                yield from _value_tokens(statement.call)
        else:
            yield from _value_tokens(statement.value if isinstance(statement, tree.Goal) else statement)


def _value_tokens(node: Any) -> Iterator[Token]:
    if isinstance(node, tree.Name | tree.Text):
        yield node.token
    elif isinstance(node, tree.Call):
        for argument in node.arguments:
            yield from _value_tokens(argument)
    elif isinstance(node, tuple) and not isinstance(node, tree.Number):
        for part in node:
            yield from _value_tokens(part)
