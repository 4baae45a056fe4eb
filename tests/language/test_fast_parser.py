"""The fast parser and the recovering one are two readings of one grammar: equal trees, places included."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from lark import Lark, Token

from mrdsl.language import parsing
from mrdsl.language.fast_parser import UnparsedError
from mrdsl.language.grammar import MAX_NESTING, grammar
from mrdsl.language.parsing import fast_parser, parse, parse_expression
from mrdsl.language.recovery import parse_with_errors

MODELS = sorted((Path(__file__).parents[2] / "models").rglob("*.mrspec"))
TEXTS = (
    "a = 1\r\n\r\n# a comment\r\nb { c = [1,\r\n 2,], d = -x * (y + 3 s) / 2 }",
    'problem x "t"\nclass c[1..9] extends d { m = 1 .. 2, t = 85% }\nvms from "t.csv"\n"q r" = "a\\"b"',
    "subject to { f(a) = 3, 2 * g(b) <= h(c, d) + 1 }\n\n\nsolve with highs { gap = 0.1% }\n",
    "minimize cost + 80 USD/t * f(a) - -3\nmaximize 2 * x\nlet y = x, d 10 min, e 85%\nminimize f(a) * 2\n",
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


def _document(text: str) -> Any:
    fast = fast_parser("document")
    assert fast is not None
    return fast.parse(text)


def assert_alike(text: str) -> None:
    slow, found = parse_with_errors(text, "x")
    assert not found
    assert places(_document(text)) == places(slow.statements)


@pytest.mark.parametrize(
    "text",
    ["a = ", "a = 1 }", "{", "a = $", 'a = "open', "a = 1 b = 2", "a" + "{ b" * (MAX_NESTING + 1), "a = " + "(" * 999],
)
def test_what_does_not_parse_is_left_to_recovery(text: str) -> None:
    with pytest.raises(UnparsedError):
        _document(text)
    assert parse_with_errors(text, "x")[1]


def test_every_token_is_matched_once() -> None:
    """Reading is linear: as many matches as tokens, so as many for each of a thousand blocks as for each of ten."""
    steps = {count: _matches("class c { m { t = 1 s, u = 2 } }\n" * count) for count in (10, 1000)}
    assert steps[1000] - 1 == 100 * (steps[10] - 1)


def _matches(text: str) -> int:
    parser = fast_parser("document")
    matched = 0
    original = parser._next

    def counting(*of: Any) -> Any:
        nonlocal matched
        for match in original(*of):
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


class Renamed:
    """A table of Lark as another version might lay it out: ``name`` is missing, or is ``instead``."""

    def __init__(self, table: Any, name: str, *instead: Any) -> None:
        self.__dict__.update(table=table, gone=name, instead=instead)

    def __getattr__(self, name: str) -> Any:
        if name != self.gone:
            return getattr(self.table, name)
        if self.instead:
            return self.instead[0]
        raise AttributeError(name)


def _other_tables(parser: Any) -> dict[str, Any]:
    state = parser.parser_state
    tables = state.parse_conf
    named = [(symbol, action) for actions in tables.states.values() for symbol, action in actions.items()]
    lexer = getattr(parser.lexer_thread.lexer, "lexer", parser.lexer_thread.lexer)
    listed = Renamed(state, "parse_conf", Renamed(tables, "states", named))
    return {
        "no state": Renamed(parser, "parser_state"),
        "no rows": Renamed(parser, "parser_state", Renamed(state, "parse_conf", Renamed(tables, "states"))),
        "rows as a list": Renamed(parser, "parser_state", listed),
        "no terminals": Renamed(
            parser, "lexer_thread", Renamed(parser.lexer_thread, "lexer", Renamed(lexer, "terminals"))
        ),
    }


OTHER_TABLES = ("no state", "no rows", "rows as a list", "no terminals")


@pytest.mark.parametrize("change", OTHER_TABLES)
def test_tables_of_another_lark_leave_parsing_to_lark(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Same trees, same expressions, same refusals, whichever part of the tables is not as known."""
    expected = {text: places(parse(text, "x")[0].statements) for text in TEXTS}
    expressions = {text: places(parse_expression(text)) for text in ("1 + 2 * x", "f(a) ", "1 +", "$", "(1")}
    whole = Lark.parse_interactive

    def changed(self: Lark, text: Any = None, start: str | None = None) -> Any:
        return _other_tables(whole(self, text, start))[change]

    with monkeypatch.context() as patch:
        patch.setattr(Lark, "parse_interactive", changed)
        parsing.fast_parser.cache_clear()
        assert fast_parser("document") is None
        assert fast_parser("expression") is None
    assert {text: places(parse(text, "x")[0].statements) for text in TEXTS} == expected
    assert {text: places(parse_expression(text)) for text in expressions} == expressions
    assert [found.code for found in parse("a = $", "x")[1]]
    parsing.fast_parser.cache_clear()
    assert fast_parser("document") is not None
