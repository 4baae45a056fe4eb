"""Text to syntax tree. Whatever does not parse goes to :mod:`mrdsl.language.recovery`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from lark import Token
from lark.exceptions import LarkError

from mrdsl.core.diagnostics import Diagnostic
from mrdsl.language import tree
from mrdsl.language.fast_parser import FastParser, Stretch, UnknownTablesError, UnparsedError
from mrdsl.language.grammar import MAX_NESTING, TreeBuilder, grammar

if TYPE_CHECKING:
    from mrdsl.language.alike import Finder, Row


LEAST_ALIKE = 4000
"""Characters from which on a text may hold enough blocks that are written alike for a search to be worth its start."""


@cache
def fast_parser(start: str) -> FastParser | None:
    """The fast parser of ``document`` or ``expression``; None where this Lark's tables are not those that it reads."""
    try:
        return FastParser(grammar(), start, TreeBuilder(), MAX_NESTING)
    except UnknownTablesError:
        return None


def parse(text: str, file: str) -> tuple[tree.Document, tuple[Diagnostic, ...]]:
    """The syntax tree of a whole file, with every syntax error found on the way; never raises on bad text."""
    return _parsed(text, file, None)


def parse_in_rows(text: str, file: str) -> tuple[tree.Document, tuple[Diagnostic, ...]]:
    """As :func:`parse`, but blocks that are written alike may stand in the tree as one :class:`tree.Alike`."""
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
    """The comment tokens of a text, in order."""
    return [token for token in grammar().lex(text, dont_ignore=True) if token.type == "COMMENT"]


def parse_expression(text: str) -> Any:
    """The tree of one expression, as ``-D name=expression`` gives it; None where it is none."""
    fast = fast_parser("expression")
    try:
        return fast.parse(text) if fast is not None else grammar().parse(text, start="expression")
    except (UnparsedError, LarkError):
        return None
