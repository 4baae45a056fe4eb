"""The reader accepts the texts that Lark accepts by the grammar, and builds the same trees, places included."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark, Token
from lark.exceptions import LarkError

from mrdsl.core.budgets import NESTING
from mrdsl.core.resources import resource_text
from mrdsl.language import parsing
from mrdsl.language.parsing import parse, parse_expression
from mrdsl.language.recovery import TreeBuilder, grammar, parse_with_errors

MODELS = sorted((Path(__file__).parents[2] / "models").rglob("*.mrspec"))
TEXTS = (
    "a = 1\r\n\r\n# a comment\r\nb { c = [1,\r\n 2,], d = -x * (y + 3 s) / 2 }",
    'problem x "t"\nclass c[1..9] extends d { m = 1 .. 2, t = 85% }\nvms from "t.csv"\n"q r" = "a\\"b"',
    "subject to { f(a) = 3, 2 * g(b) <= h(c, d) + 1 }\n\n\nsolve with highs { gap = 0.1% }\n",
    "minimize cost + 80 USD/t * f(a) - -3\nmaximize 2 * x\nlet y = x, d 10 min, e 85%\nminimize f(a) * 2\n",
    'arrivals from swim("a.tsv") { },,, x = f()\n',
    'a { b { c = 1 s } d = 22:00, e = [a, b] } "f" { } g = 2026-01-02T10:00 # last',
    "x = [1, # one\n 2 # two\n]\n(a) <= 3, - 4 == a, [1] >= x, f() * 2 <= 1, a <= b",
    'a b[1..f(2,\n3)] c d(e) { }, a[1..2]\n"a" "b" { }, a "b" c = 1, word call(1), a b c(1)',
    "",
    "\n\n",
    ",",
    "# nothing but a comment",
)
PIECES = (
    *("a", "b", "from", "extends", '"q"', '"a\\"b"', "1", "9", "2.5", "1_0", "1e5", "1e", "30 s", "85%", "s", "٣", "é"),
    *("=", "==", "<=", ">=", "<", "..", ".", "{", "}", "(", ")", "[", "]", "+", "-", "*", "/", "%", ",", ",,", "\n"),
    *(
        "\r\n",
        "\r",
        "\f",
        "\t",
        " ",
        "  ",
        "# c",
        "# }\n",
        "22:00",
        "7:5",
        "2026-01-02T10:00",
        "2026-01-02T10:0",
        '"',
        "$",
    ),
    *("a = 1", "b = 30 s", "c = x\n", "d {", "e f {", 'g "h" {', "f(a)", "[a, b]", "[1..2]", "1..2", "minimize a * 2"),
)


class Separators:
    """One newline for each run of newlines and commas that ends items; none inside ( ) and [ ]."""

    always_accept = ("_NEWLINE",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        brackets, ended = 0, False
        for token in stream:
            kind = token.type
            if kind == "_NEWLINE" or (kind == "COMMA" and not brackets):
                if not ended and not brackets:
                    token.type, ended = "_NEWLINE", True
                    yield token
                continue
            ended = False
            if kind in ("LBRACE", "RBRACE"):
                brackets = 0
            brackets = max(0, brackets + (kind in ("LPAREN", "LBRACKET")) - (kind in ("RPAREN", "RBRACKET")))
            yield token


@cache
def lark() -> Lark:
    return Lark(
        resource_text("grammar/mrspec.lark"),
        parser="lalr",
        lexer="basic",
        start=["document", "expression"],
        maybe_placeholders=False,
        postlex=Separators(),
        transformer=TreeBuilder(),
    )


def places(node: Any) -> Any:
    if isinstance(node, str) and hasattr(node, "type"):
        token: Any = node
        return (token.type, str(token), token.start_pos, token.line, token.column, token.end_line, token.end_column)
    if isinstance(node, tuple):
        return (type(node).__name__, *(places(part) for part in node))
    return node


def assert_as_lark(text: str) -> bool:
    """Return True if the text is valid."""
    document, found = parse(text, "x")
    try:
        expected: Any = lark().parse(text, start="document")
    except LarkError:
        assert found, text
        return False
    assert not found, text
    assert places(document.statements) == places(expected)
    comments = [token for token in lark().lex(text, dont_ignore=True) if token.type == "COMMENT"]
    assert list(map(places, document.comments)) == list(map(places, comments))
    return True


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_reference_specs_are_read_as_by_lark(path: Path) -> None:
    assert assert_as_lark(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", TEXTS)
def test_every_form_is_read_as_by_lark(text: str) -> None:
    assert assert_as_lark(text)
    assert places(parse_with_errors(text, "x")[0].statements) == places(parse(text, "x")[0].statements)


@given(st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join) | st.lists(st.sampled_from(PIECES)).map("".join))
def test_any_pieces_are_read_as_by_lark(text: str) -> None:
    assert_as_lark(text)


_TOKENS = re.compile(r'\s+|"[^"\n]*"|\w+|.')


@given(st.data())
def test_changed_texts_are_read_as_by_lark(data: st.DataObject) -> None:
    """A token is left out, put in or replaced."""
    words = _TOKENS.findall(data.draw(st.sampled_from(TEXTS)))
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.integers(0, len(words)))
        words[at : at + data.draw(st.integers(0, 1))] = (data.draw(st.sampled_from(["", *PIECES])),)
    assert_as_lark("".join(words))


@given(st.lists(st.sampled_from(PIECES), max_size=10).map("".join))
def test_expressions_are_read_as_by_lark(text: str) -> None:
    try:
        expected: Any = lark().parse(text, start="expression")
    except LarkError:
        expected = None
    assert places(parse_expression(text)) == places(expected)


@pytest.mark.parametrize(
    "text",
    ["a = ", "a = 1 }", "{", "a = $", 'a = "open', "a = 1 b = 2", "a" + "{ b" * (NESTING + 1), "a = " + "(" * 999],
)
def test_texts_with_errors_are_left_to_recovery(text: str) -> None:
    assert parse(text, "x") == parse_with_errors(text, "x")
    assert parse(text, "x")[1]


DEEP = {
    "blocks": lambda depth: "a { " * depth + "}" * depth,
    "brackets": lambda depth: "a = " + "(" * depth + "1" + ")" * depth,
    "signs": lambda depth: "a = -" + "-" * depth + "1",
}


@pytest.mark.parametrize("form", DEEP)
def test_nesting_has_a_limit(form: str) -> None:
    assert not parse(DEEP[form](NESTING), "x")[1]
    assert parse(DEEP[form](NESTING + 1), "x")[1]


def test_each_statement_is_matched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading is linear: as many matches for each of a thousand blocks as for each of ten."""
    steps = {count: _matches("class c { m { t = 1 s, u = f(2) } }\n" * count, monkeypatch) for count in (10, 1000)}
    assert steps[1000] - 1 == 100 * (steps[10] - 1)


def _matches(text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    matched = 0

    class Counting:
        def __init__(self, pattern: re.Pattern[str]) -> None:
            self.pattern = pattern

        def match(self, *of: Any) -> Any:
            nonlocal matched
            matched += 1
            return self.pattern.match(*of)

    with monkeypatch.context() as patch:
        for name in ("_STATEMENT", "_TOKEN"):
            patch.setattr(parsing, name, Counting(getattr(parsing, name)))
        assert not parse(text, "x")[1]
    return matched


def test_the_grammar_has_no_line_break_inside_a_token() -> None:
    """Lines are counted at newlines only: no other terminal may hold one."""
    for terminal in grammar().terminals:
        if terminal.name != "_NEWLINE":
            assert not re.fullmatch(terminal.pattern.to_regexp(), '"a\nb"')
            assert not re.fullmatch(terminal.pattern.to_regexp(), "\n")
