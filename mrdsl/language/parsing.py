"""Text to syntax tree. Whatever does not parse goes to :mod:`mrdsl.language.recovery`."""

from __future__ import annotations

from functools import cache
from typing import Any

from lark import Token

from mrdsl.core.diagnostics import Diagnostic
from mrdsl.language import tree
from mrdsl.language.fast_parser import Automaton, UnparsedError
from mrdsl.language.grammar import MAX_NESTING, TreeBuilder, grammar


@cache
def automaton(start: str) -> Automaton:
    """The fast parser of ``document`` or ``expression``."""
    return Automaton(grammar(), start, TreeBuilder(), MAX_NESTING)


def parse(text: str, file: str) -> tuple[tree.Document, tuple[Diagnostic, ...]]:
    """The syntax tree of a whole file, with every syntax error found on the way; never raises on bad text."""
    try:
        statements: Any = automaton("document").parse(text)
    except UnparsedError:
        from mrdsl.language.recovery import parse_with_errors

        return parse_with_errors(text, file)
    return tree.Document(file, text, statements), ()


def comments(text: str) -> list[Token]:
    """The comment tokens of a text, in order."""
    return [token for token in grammar().lex(text, dont_ignore=True) if token.type == "COMMENT"]


def parse_expression(text: str) -> Any:
    """The tree of one expression, as ``-D name=expression`` gives it; None where it is none."""
    try:
        return automaton("expression").parse(text)
    except UnparsedError:
        return None
