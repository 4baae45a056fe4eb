"""The fast parser and the recovering one are two readings of one grammar: equal trees, places included."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from lark import Token

from mrdsl.language.fast_parser import UnparsedError
from mrdsl.language.grammar import MAX_NESTING, grammar
from mrdsl.language.parsing import automaton
from mrdsl.language.recovery import parse_with_errors

MODELS = sorted((Path(__file__).parents[2] / "models").rglob("*.mrspec"))
TEXTS = (
    "a = 1\r\n\r\n# a comment\r\nb { c = [1,\r\n 2,], d = -x * (y + 3 s) / 2 }",
    'problem x "t"\nclass c[1..9] extends d { m = 1 .. 2, t = 85% }\nvms from "t.csv"\n"q r" = "a\\"b"',
    "subject to { f(a) = 3, 2 * g(b) <= h(c, d) + 1 }\n\n\nsolve with highs { gap = 0.1% }\n",
    'arrivals from swim("a.tsv") { },,, x = f()\n',
    "",
    "\n\n",
    "# nothing but a comment",
)


def places(node: Any) -> Any:
    if isinstance(node, Token):
        return (node.type, str(node), node.start_pos, node.line, node.column, node.end_line, node.end_column)
    if isinstance(node, tuple):
        return (type(node).__name__, *(places(part) for part in node))
    return node


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_reference_specs_parse_alike(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert_alike(text)


@pytest.mark.parametrize("text", TEXTS)
def test_every_form_parses_alike(text: str) -> None:
    assert_alike(text)


def assert_alike(text: str) -> None:
    slow, found = parse_with_errors(text, "x")
    assert not found
    assert places(automaton("document").parse(text)) == places(slow.statements)


@pytest.mark.parametrize(
    "text",
    ["a = ", "a = 1 }", "{", "a = $", 'a = "open', "a = 1 b = 2", "a" + "{ b" * (MAX_NESTING + 1), "a = " + "(" * 999],
)
def test_what_does_not_parse_is_left_to_recovery(text: str) -> None:
    with pytest.raises(UnparsedError):
        automaton("document").parse(text)
    assert parse_with_errors(text, "x")[1]


def test_every_token_is_matched_once() -> None:
    """Reading is linear: as many matches as tokens, so as many for each of a thousand blocks as for each of ten."""
    steps = {count: _matches("class c { m { t = 1 s, u = 2 } }\n" * count) for count in (10, 1000)}
    assert steps[1000] - 1 == 100 * (steps[10] - 1)


def _matches(text: str) -> int:
    parser = automaton("document")
    matched = 0
    original = parser._next

    def counting(text: str) -> Any:
        nonlocal matched
        for match in original(text):
            matched += 1
            yield match

    parser._next = counting  # type: ignore[assignment]
    try:
        parser.parse(text)
    finally:
        parser._next = original
    return matched


def test_the_grammar_has_no_line_break_inside_a_token() -> None:
    """Lines are counted at newlines only: no other terminal may hold one."""
    for terminal in grammar().terminals:
        if terminal.name != "_NEWLINE":
            assert not re.fullmatch(terminal.pattern.to_regexp(), '"a\nb"')
            assert not re.fullmatch(terminal.pattern.to_regexp(), "\n")
