"""Text to syntax tree. Whatever does not parse goes to :mod:`mrdsl.language.recovery`."""

from __future__ import annotations

from functools import cache
from typing import Any

from lark import Token
from lark.exceptions import LarkError

from mrdsl.core.diagnostics import Diagnostic
from mrdsl.language import tree
from mrdsl.language.fast_parser import FastParser, UnknownTablesError, UnparsedError
from mrdsl.language.grammar import MAX_NESTING, TreeBuilder, grammar


@cache
def fast_parser(start: str) -> FastParser | None:
    """The fast parser of ``document`` or ``expression``; None where this Lark's tables are not those that it reads."""
    try:
        return FastParser(grammar(), start, TreeBuilder(), MAX_NESTING)
    except UnknownTablesError:
        return None


def parse(text: str, file: str) -> tuple[tree.Document, tuple[Diagnostic, ...]]:
    """The syntax tree of a whole file, with every syntax error found on the way; never raises on bad text."""
    fast = fast_parser("document")
    try:
        if fast is None:
            raise UnparsedError
        statements: Any = fast.parse(text)
    except UnparsedError:
        from mrdsl.language.recovery import parse_with_errors

        return parse_with_errors(text, file)
    return tree.Document(file, text, statements), ()


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
