"""Parsing of text to a syntax tree, by Lark's tables in one loop; errors go to `recovery`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from lark import Lark, Token
from lark.exceptions import LarkError

from mrdsl.core.diagnostics import Diagnostic
from mrdsl.language import tree
from mrdsl.language.grammar import MAX_NESTING, TreeBuilder, grammar

if TYPE_CHECKING:
    from mrdsl.language.alike import Finder, Row


_BRACKETS = frozenset({"LPAREN", "RPAREN", "LBRACKET", "RBRACKET"})
_BRACES = frozenset({"LBRACE", "RBRACE"})
_OTHER = "_OTHER"


class UnparsedError(Exception):
    """The text is not of the grammar, or nested too deeply."""


class UnknownTablesError(Exception):
    """Lark's tables are not laid out as in the versions that pyproject.toml names."""


class _Reduction(NamedTuple):
    """The end of a rule: a number of values become one, ``pick`` of them or the result of ``build`` for those in
    ``kept``.

    ``kept`` has the index of each value, and True if it is a list to insert into this one; None keeps all.
    """

    size: int
    pick: int | None
    kept: tuple[tuple[int, bool], ...] | None
    build: Callable[[list[Any]], Any]
    origin: str


class Stretch(NamedTuple):
    """A part of a text, its first line, and the start of that line."""

    start: int
    end: int
    line: int
    line_start: int


class FastParser:
    """The parser of one start rule of a grammar: ``parse`` gives what ``builder``'s methods make of a text.

    A comma outside brackets counts as a newline, a run of newlines as one, and inside brackets newlines do not count;
    a brace ends an unclosed bracket. Brackets, braces, and within one statement signs before signs, nest at most
    ``max_nesting`` deep.
    """

    def __init__(self, lark: Lark, start: str, builder: Any, max_nesting: int) -> None:
        """Raise UnknownTablesError."""
        self._max_nesting = max_nesting
        try:
            self._read(lark, start, builder)
        except (AttributeError, TypeError, ValueError, LookupError, re.error) as error:
            raise UnknownTablesError(f"{type(error).__name__}: {error}") from None

    def _read(self, lark: Lark, start: str, builder: Any) -> None:
        interactive: Any = lark.parse_interactive("", start=start)
        tables = interactive.parser_state.parse_conf
        rows: dict[Any, dict[str, Any]] = {state: {} for state in tables.states}
        reductions: dict[Any, _Reduction] = {}
        for state, actions in tables.states.items():
            for symbol, (_, target) in actions.items():
                if target.__class__ is tables.start_state.__class__:
                    rows[state][symbol] = rows[target]
                else:
                    if target not in reductions:
                        reductions[target] = _reduction(target, builder)
                    rows[state][symbol] = reductions[target]
        self._start, self._end = rows[tables.start_state], rows[tables.end_state]
        self._dropped = frozenset(terminal.name for terminal in lark.terminals if terminal.name.startswith("_"))
        self._dropped |= {
            symbol.name for rule in reductions for symbol in rule.expansion if symbol.is_term and symbol.filter_out
        }
        thread: Any = interactive.lexer_thread
        lexer = getattr(thread.lexer, "lexer", thread.lexer)
        self.terminals = {terminal.name: terminal.pattern.to_regexp() for terminal in lexer.terminals}
        self.pattern = _pattern(lexer.terminals, frozenset(lexer.ignore_types))
        self._next = self.pattern.finditer

    def parse(self, text: str, stretch: Stretch | None = None, finder: Finder | None = None) -> Any:
        """Return the builder's result for a text or a stretch of it; ``finder`` can take blocks out of it.

        Raises UnparsedError.
        """
        row = self._start
        rows: list[dict[str, Any]] = [row]
        values: list[Any] = []
        for kind, token in self._tokens(text, stretch or Stretch(0, len(text), 1, 0), finder):
            action = row.get(kind)
            while action.__class__ is _Reduction:
                size, pick, kept, build, origin = action
                parts = values[-size:] if size else []
                if size:
                    del values[-size:], rows[-size:]
                values.append(parts[pick] if pick is not None else build(parts if kept is None else _keep(parts, kept)))
                row = rows[-1][origin]
                rows.append(row)
                if kind == "$END" and row is self._end:
                    return values[-1]
                action = row.get(kind)
            if action is None:
                raise UnparsedError
            row = action
            rows.append(row)
            values.append(token)
        raise UnparsedError

    def _tokens(self, text: str, stretch: Stretch, finder: Finder | None) -> Iterator[tuple[str, Token | None]]:
        """Yield the kinds of the tokens in order, each with its token if the builder needs it. Raises UnparsedError."""
        dropped, new_token, token_class = self._dropped, str.__new__, Token
        position, stop, line, line_start = stretch
        brackets, braces, ended, closed = 0, 0, False, False
        signs, after_sign = 0, False
        while True:
            for match in self._next(text, position, stop):
                kind: Any = match.lastgroup
                start, end = match.span(kind)
                if kind == "_NEWLINE" or (kind == "COMMA" and not brackets):
                    if kind == "_NEWLINE":
                        line, line_start = line + 1, end
                    if not ended and not brackets:
                        ended, signs = True, 0
                        yield "_NEWLINE", None
                    continue
                ended = False
                if kind in _BRACKETS:
                    brackets += 1 if kind[0] == "L" else -1 if brackets else 0
                elif kind in _BRACES:
                    if finder is not None and not braces:
                        finder.opened(text, line_start, end)
                    brackets, braces = 0, braces + (1 if kind == "LBRACE" else -1)
                    closed = not braces
                elif kind == _OTHER:
                    if start < stop:
                        raise UnparsedError
                    kind = "$END"
                if kind == "SUM_SIGN":
                    signs += after_sign
                    after_sign = True
                else:
                    after_sign = False
                if brackets > self._max_nesting or braces > self._max_nesting or signs > self._max_nesting:
                    raise UnparsedError
                if kind in dropped:
                    yield kind, None
                    continue
                written = text[start:end]
                token = new_token(token_class, written)
                token.type, token.value, token.start_pos, token.end_pos = kind, written, start, end
                token.line = token.end_line = line
                token.column, token.end_column = start - line_start + 1, end - line_start + 1
                yield kind, token
                if closed:
                    closed = False
                    if finder is not None:
                        place = finder.closed(text, end, line, line_start)
                        if place[0] > end:
                            position, line, line_start = place
                            break
            else:
                return


def _keep(parts: list[Any], kept: tuple[tuple[int, bool], ...]) -> list[Any]:
    out: list[Any] = []
    for index, laid_in in kept:
        if not laid_in:
            out.append(parts[index])
        elif out:
            out += parts[index]
        else:
            out = parts[index]
    return out


def _reduction(rule: Any, builder: Any) -> _Reduction:
    """Return a rule as Lark reads it: ``_names`` are inserted into their parent, and ``?names`` with one child are that
    child.
    """
    origin = rule.origin.name
    kept = tuple(
        (index, not symbol.is_term and symbol.name.startswith("_"))
        for index, symbol in enumerate(rule.expansion)
        if not (symbol.is_term and symbol.filter_out)
    )
    alone = rule.options.expand1 and not rule.alias
    pick = kept[0][0] if alone and len(kept) == 1 and not kept[0][1] else None
    inner = origin.startswith("_") and not rule.alias
    build = _same if inner else getattr(builder, rule.alias or origin, _same)
    whole = len(kept) == len(rule.expansion) and not any(laid_in for _, laid_in in kept)
    return _Reduction(len(rule.expansion), pick, None if whole else kept, build, origin)


def _same(parts: list[Any]) -> list[Any]:
    return parts


def _pattern(terminals: Iterable[Any], ignored: frozenset[str]) -> re.Pattern[str]:
    """Return one expression for ignored text and the next token, in Lark's order of precedence, or ``_OTHER``.

    It never gives ignored text back, so that the time is linear for every text.
    """
    aside = "|".join(t.pattern.to_regexp() for t in terminals if t.name in ignored)
    tokens = "|".join(f"(?P<{t.name}>{t.pattern.to_regexp()})" for t in terminals if t.name not in ignored)
    return re.compile(rf"(?:{aside})*+(?:{tokens}|(?P<{_OTHER}>\Z|[\s\S]))")


LEAST_ALIKE = 4000
"""Characters from which on a text may hold enough blocks that are written alike for a search to be worth its start."""


@cache
def fast_parser(start: str) -> FastParser | None:
    """Return the fast parser of ``document`` or ``expression``, or None if it does not know the tables of this Lark
    version.
    """
    try:
        return FastParser(grammar(), start, TreeBuilder(), MAX_NESTING)
    except UnknownTablesError:
        return None


def parse(text: str, file: str) -> tuple[tree.Document, tuple[Diagnostic, ...]]:
    """Return the syntax tree of a whole file, with every syntax error found on the way; never raises on bad text."""
    return _parsed(text, file, None)


def parse_in_rows(text: str, file: str) -> tuple[tree.Document, tuple[Diagnostic, ...]]:
    """Parse like :func:`parse`, with blocks that are written alike as one :class:`tree.Alike`."""
    fast = fast_parser("document")
    if fast is None or len(text) < LEAST_ALIKE:
        return parse(text, file)
    from mrdsl.language.alike import Finder

    return _parsed(text, file, Finder(fast.pattern, fast.terminals))


def _parsed(text: str, file: str, finder: Finder | None) -> tuple[tree.Document, tuple[Diagnostic, ...]]:
    fast = fast_parser("document")
    try:
        if fast is None:
            raise UnparsedError
        statements: Any = fast.parse(text, finder=finder)
    except UnparsedError:
        from mrdsl.language.recovery import parse_with_errors

        return parse_with_errors(text, file)
    if finder is not None and finder.found:
        statements = tuple(_with_rows(statements, finder, text, fast))
    return tree.Document(file, text, statements), ()


def _with_rows(statements: Iterable[Any], finder: Finder, text: str, fast: FastParser) -> Iterator[Any]:
    def block(row: Row) -> Any:
        return fast.parse(text, Stretch(row.start, row.match.end(), row.line, row.line_start))[0]

    for statement in statements:
        yield statement
        if statement.__class__ is tree.Block and statement.close is not None:
            rows = finder.found.get(statement.close.end_pos or 0)
            if rows is not None:
                yield from (tree.Alike(list(same), block) for _, same in groupby(rows, lambda row: row.shape.word))


def comments(text: str) -> list[Token]:
    """Return the comment tokens of a text, in order."""
    return [token for token in grammar().lex(text, dont_ignore=True) if token.type == "COMMENT"]


def parse_expression(text: str) -> Any:
    """Return the tree of one expression, as in ``-D name=expression``, or None if it is not one."""
    fast = fast_parser("expression")
    try:
        return fast.parse(text) if fast is not None else grammar().parse(text, start="expression")
    except (UnparsedError, LarkError):
        return None
