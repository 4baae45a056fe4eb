"""Reading of text to a syntax tree, statement by statement; texts with errors go to `recovery`.

`grammar/mrspec.lark` defines the language. This reader accepts the same texts and builds the same trees, without Lark.
"""

from __future__ import annotations

import re
from typing import Any

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic
from mrdsl.language import tree
from mrdsl.language.tree import Source, Token

_NAME = r"[^\W\d]\w*+"
_NUMBER = r"[0-9]++(?:_[0-9]++)*+(?:\.[0-9]++(?:_[0-9]++)*+)?+(?:[eE][+-]?[0-9]++)?+"
_STRING = r'"(?:\\.|[^"\\\n])*+"'
_GAP = r"[ \t\r\f]*+"
_BETWEEN: Any = re.compile(r"[ \t\r\f\n,]*+")
_STATEMENT = re.compile(
    rf"""{_BETWEEN.pattern}(?:
    ({_NAME}){_GAP}(?:
        ={_GAP}(?:({_NUMBER}){_GAP}({_NAME}|%)?+|({_NAME})){_GAP}(?=[,\n}}#]|\Z)
      | ({_NAME}|{_STRING})?+{_GAP}(\{{))
    | (\}}) | (\#[^\n]*+) | \Z)""",
    re.VERBOSE,
)
"""The next statement of a common form, or the beginning or end of a block, or a comment."""
_TOKEN = re.compile(
    rf"""{_GAP}(?:(?P<NAME>{_NAME})|(?P<CLOCK>(?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T)?[0-9]{{1,2}}:[0-9]{{2}}(?::[0-9]{{2}})?)
    |(?P<NUMBER>{_NUMBER})|(?P<COMMA>,)|(?P<PRODUCT_SIGN>[*/])|(?P<SUM_SIGN>[+-])|(?P<STRING>{_STRING})
    |(?P<LPAREN>\()|(?P<RPAREN>\))|(?P<LBRACKET>\[)|(?P<RBRACKET>\])|(?P<INTERVAL>\.\.)|(?P<PERCENT>%)
    |(?P<COMPARISON><=|>=|==)|(?P<EQUAL>=)|(?P<LBRACE>\{{)
    |(?P<NEWLINE>\n)|(?P<COMMENT>\#[^\n]*+)|(?P<RBRACE>\}})|(?P<END>\Z))""",
    re.VERBOSE,
)
_ENDS = frozenset({"NEWLINE", "COMMA", "COMMENT", "RBRACE", "END"})
_WORDS = frozenset({"NAME", "STRING"})
_SIGNS = frozenset({"SUM_SIGN", "PRODUCT_SIGN"})
_UNITS = frozenset({"NAME", "PERCENT"})


_make: Any = tuple.__new__
"""The constructor of a named tuple, in half of its time."""


class UnparsedError(Exception):
    """The text is not of the grammar, or nested too deeply."""


class _Reader:
    """One pass over a text. ``kind``, ``start`` and ``end`` are those of the next token of a statement."""

    def __init__(self, source: Source, at: int = 0) -> None:
        self.text = source.text
        self.source = source
        self.comments: list[Token] = []
        self.end = at
        self.brackets = self.signs = 0

    def document(self) -> tuple[Any, ...]:
        """Return the statements of the whole text. Raises UnparsedError."""
        text, source, match = self.text, self.source, _STATEMENT.match
        new, make = str.__new__, _make
        body: list[Any] = []
        outer: list[tuple[list[Any], tuple[Any, ...]]] = []
        at = 0
        while True:
            found = match(text, at)
            if found is None:
                self.end, self.signs = _BETWEEN.match(text, at).end(), 0
                statement = self.statement()
                at = self.start
                if self.kind == "LBRACE":
                    at = self.end
                    outer.append((body, statement))
                    body = []
                else:
                    body.append(statement)
                continue
            at = found.end()
            word, number, unit, name, second, _, closed, comment = found.groups()
            if word is not None:
                first = new(Token, word)
                first.type, first.start_pos, first.source = "NAME", found.start(1), source
                if number is not None:
                    value = new(Token, number)
                    value.type, value.start_pos, value.source = "NUMBER", found.start(2), source
                    if unit is not None:
                        kind = "NAME" if unit != "%" else "PERCENT"
                        unit = new(Token, unit)
                        unit.type, unit.start_pos, unit.source = kind, found.start(3), source
                    body.append(make(tree.Assignment, ((first,), make(tree.Number, (value, unit)))))
                elif name is not None:
                    value = Token.of(name, "NAME", found.start(4), source)
                    body.append(make(tree.Assignment, ((first,), make(tree.Name, (value,)))))
                else:
                    words: tuple[Token, ...] = (first,)
                    if second is not None:
                        kind = "STRING" if second[0] == '"' else "NAME"
                        words = (first, Token.of(second, kind, found.start(5), source))
                    outer.append((body, (words, None, (), None, Token.of("{", "LBRACE", at - 1, source))))
                    body = []
            elif closed is not None:
                if not 0 < len(outer) <= budgets.NESTING:
                    raise UnparsedError
                inner = tuple(body)
                body, header = outer.pop()
                body.append(make(tree.Block, (*header, inner, Token.of("}", "RBRACE", at - 1, source))))
            elif comment is not None:
                self.comments.append(Token.of(comment, "COMMENT", found.start(8), source))
            elif outer:
                raise UnparsedError
            else:
                return tuple(body)

    def expression(self) -> Any:
        """Return the expression that is the whole text. Raises UnparsedError."""
        self._advance()
        node = self._expression()
        if self.kind == "COMMENT":
            self._advance()
        if self.kind != "END":
            raise UnparsedError
        return node

    def _advance(self) -> None:
        while True:
            found = _TOKEN.match(self.text, self.end)
            if found is None:
                raise UnparsedError
            self.kind: str = found.lastgroup  # type: ignore[assignment]
            self.start, self.end = found.span(self.kind)
            if not self.brackets or self.kind not in ("NEWLINE", "COMMENT"):
                return
            if self.kind == "COMMENT":
                self.comments.append(Token.of(self.text[self.start : self.end], "COMMENT", self.start, self.source))

    def _take(self) -> Token:
        taken = Token.of(self.text[self.start : self.end], self.kind, self.start, self.source)
        self._advance()
        return taken

    def statement(self) -> Any:
        """Return a simple statement, or the header of a block up to its brace, which is then the next token."""
        self._advance()
        words: list[Token] = []
        more: list[Token] = []
        while self.kind in _WORDS:
            words.append(self._take())
        if not words:
            return self._comparison(self._expression())
        if self.kind == "EQUAL":
            self._advance()
            return self._ended(tree.Assignment(tuple(words), self._value()))
        if self.kind in _SIGNS:
            left = _leaf(words.pop())
            return self._comparison(self._expression(left)) if not words else self._goal(words, left)
        if self.kind == "COMPARISON" and len(words) == 1:
            return self._comparison(_leaf(words[0]))
        if self.kind == "NUMBER":
            return self._goal(words, None)
        index = call = None
        if self.kind == "LBRACKET":
            index = self._index()
            while self.kind in _WORDS:
                more.append(self._take())
        if self.kind == "LPAREN" and (more or index is None):
            call = self._call((more or words).pop())
            if not words:
                return self._equation(call) if self.kind == "EQUAL" else self._comparison(self._expression(call))
            if self.kind in _SIGNS and index is None:
                return self._goal(words, call)
        header = (tuple(words), index, tuple(more), call)
        if self.kind == "LBRACE":
            return (*header, Token.of("{", "LBRACE", self.start, self.source))
        return self._ended(tree.Block(*header, None, None, None))

    def _ended(self, statement: Any) -> Any:
        if self.kind not in _ENDS:
            raise UnparsedError
        return statement

    def _goal(self, words: list[Token], first: Any) -> Any:
        """Return a word with a sum, a product or a number; ``first`` is its operand before the next token."""
        if len(words) != 1 or first.__class__ is tree.Text:
            raise UnparsedError
        return self._ended(tree.Goal((words[0],), self._expression(first)))

    def _comparison(self, left: Any) -> Any:
        if self.kind != "COMPARISON":
            raise UnparsedError
        operator = str(self._take())
        return self._ended(tree.Comparison(left, operator, self._expression()))

    def _equation(self, call: tree.Call) -> Any:
        return self._ended(tree.Comparison(call, str(self._take()), self._expression()))

    def _index(self) -> tree.Index:
        opened, low = self._open(), self._expression()
        if self.kind != "INTERVAL":
            raise UnparsedError
        self._advance()
        return tree.Index(opened, low, self._expression(), self._close("RBRACKET"))

    def _value(self) -> Any:
        low = self._expression()
        if self.kind != "INTERVAL":
            return low
        self._advance()
        return tree.Interval(low, self._expression())

    def _expression(self, first: Any = None) -> Any:
        """Return a sum, or what stands in its place; ``first`` is its operand before the next token."""
        left = self._term(first)
        if self.kind != "SUM_SIGN":
            return left
        parts = [left]
        while self.kind == "SUM_SIGN":
            parts += (self._sign(), self._term())
        return tree.Sum(tuple(parts))

    def _term(self, first: Any = None) -> Any:
        left = self._factor() if first is None else first
        if self.kind != "PRODUCT_SIGN":
            return left
        parts = [left]
        while self.kind == "PRODUCT_SIGN":
            parts += (self._take(), self._factor())
        return tree.Product(tuple(parts))

    def _factor(self) -> Any:
        kind = self.kind
        if kind == "NUMBER":
            number = self._take()
            return tree.Number(number, self._take() if self.kind in _UNITS else None)
        if kind == "NAME":
            name = self._take()
            return tree.Name(name) if self.kind != "LPAREN" else self._call(name)
        if kind == "SUM_SIGN":
            return tree.Signed(self._sign(), self._factor())
        if kind == "STRING":
            return tree.Text(self._take())
        if kind == "CLOCK":
            return tree.Clock(self._take())
        if kind == "LPAREN":
            return tree.Group(self._open(), self._expression(), self._close("RPAREN"))
        if kind == "LBRACKET":
            opened = self._open()
            return tree.List(opened, self._items("RBRACKET"), self._close("RBRACKET"))
        raise UnparsedError

    def _call(self, function: Token) -> tree.Call:
        if function.type != "NAME":
            raise UnparsedError
        self._open()
        return tree.Call(function, self._items("RPAREN"), self._close("RPAREN"))

    def _items(self, closing: str) -> tuple[Any, ...]:
        """Return expressions between commas; a list, but not a call, can end with a comma."""
        items: list[Any] = []
        while self.kind != closing:
            items.append(self._expression())
            if self.kind != "COMMA":
                break
            self._advance()
            if self.kind == closing == "RPAREN":
                raise UnparsedError
        return tuple(items)

    def _sign(self) -> Token:
        sign = self._take()
        self.signs += self.kind == "SUM_SIGN"
        if self.signs > budgets.NESTING:
            raise UnparsedError
        return sign

    def _open(self) -> Token:
        self.brackets += 1
        if self.brackets > budgets.NESTING:
            raise UnparsedError
        return self._take()

    def _close(self, kind: str) -> Token:
        if self.kind != kind:
            raise UnparsedError
        self.brackets -= 1
        return self._take()


def _leaf(word: Token) -> tree.Name | tree.Text:
    return tree.Name(word) if word.type == "NAME" else tree.Text(word)


def parse(text: str, file: str) -> tuple[tree.Document, tuple[Diagnostic, ...]]:
    """Return the syntax tree of a whole file, with every syntax error found on the way; never raises on bad text."""
    reader = _Reader(Source(text, file))
    try:
        return tree.Document(file, text, reader.document(), tuple(reader.comments)), ()
    except UnparsedError:
        from mrdsl.language.recovery import parse_with_errors

        return parse_with_errors(text, file)


def statement_at(token: Token) -> Any:
    """Return the simple statement that begins with a token of a valid text."""
    return _Reader(token.source, token.start_pos).statement()


def parse_expression(text: str) -> Any:
    """Return the tree of one expression, as in ``-D name=expression``, or None if it is not one."""
    try:
        return _Reader(Source(text, "")).expression()
    except UnparsedError:
        return None
