"""The canonical form: stable, without a change of meaning, with every comment in place (semantics, 8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrdsl.language import formatting
from mrdsl.language.formatting import format_text
from mrdsl.language.parsing import parse
from mrdsl.language.tree import Token

ROOT = Path(__file__).resolve().parents[2]
MODELS = sorted((ROOT / "models").rglob("*.mrspec"))


def shape(node: Any) -> Any:
    """A tree without places."""
    if isinstance(node, Token):
        return (node.type, str(node))
    if isinstance(node, tuple):
        return (type(node).__name__, *map(shape, node))
    return node


def formatted(text: str) -> str:
    made, problems = format_text(text, "x.mrspec")
    assert not problems
    assert made is not None
    return made


def check(text: str) -> None:
    made = formatted(text)
    assert formatted(made) == made
    assert shape(parse(made, "x")[0].statements) == shape(parse(text, "x")[0].statements)
    assert [c.rstrip() for c in parse(made, "x")[0].comments] == [c.rstrip() for c in parse(text, "x")[0].comments]
    assert not any(line != line.rstrip() for line in made.splitlines())


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_shipped_models_keep_their_meaning(path: Path) -> None:
    check(path.read_text(encoding="utf-8"))


def test_the_canonical_form() -> None:
    before = (
        "problem   capacity 'x'\n".replace("'", '"') + "\n\n\n# about the machine\nvm m5{on_demand{price=0.192USD/h}}\n"
        "class a {  # why\n\n  jobs=9 .. 10,deadline = 15min\n\n\n"
        "  x = 0.8*1200 / s*peak ..  (1+ 2)*-3  # last\n  map {  }\n\n}\n"
    )
    after = (
        'problem capacity "x"\n\n# about the machine\nvm m5 { on_demand { price = 0.192 USD/h } }\n'
        "class a {  # why\n  jobs     = 9..10\n  deadline = 15 min\n\n"
        "  x = 0.8 * 1200/s * peak .. (1 + 2) * -3  # last\n  map {}\n}\n"
    )
    assert formatted(before) == after
    check(before)


def test_a_syntax_error_changes_nothing() -> None:
    made, problems = format_text("class a {\n", "x.mrspec")
    assert made is None
    assert [problem.code for problem in problems] == ["unclosed-block"]


words = st.sampled_from(["a", "class", "from", "to", "m5", '"n1-highcpu-2"', "param", "x_1"])
numbers = st.sampled_from(["1", "2.5", "1_000", "1e3", "15 min", "85%", "0.192 USD / h", "1200 / s"])
atoms = st.one_of(numbers, words, st.sampled_from(["uniform( 1,3 )", "[1 ,2]", '"text # no comment"']))
expressions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" +", "-", " * ", "/"]), inner).map("".join),
        inner.map("( {} )".format),
        inner.map("-{}".format),
        inner.map("(\n  {}\n)".format),
    ),
    max_leaves=6,
)
values = st.one_of(expressions, st.tuples(expressions, expressions).map(" .. ".join))
remarks = st.sampled_from(["", "  # a remark", "\n# a line of its own", "\n\n\n"])
items = st.tuples(words, st.sampled_from(["=", " =  "]), values, remarks, st.sampled_from(["\n", "\n\n\n"])).map(
    "".join
)
one_liners = st.tuples(words, words, values).map(lambda t: f"{t[0]} {t[1]} {{a = {t[2]},b=1 }}\n")
bodies = st.lists(st.one_of(items, one_liners), max_size=4).map("".join)
blocks = st.tuples(words, words, bodies, remarks).map(lambda t: f"{t[0]} {t[1]} {{\n{t[2]}}}{t[3]}\n")


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.one_of(items, one_liners, blocks), max_size=5).map("".join))
def test_any_text_that_parses(text: str) -> None:
    _, problems = parse(text, "x")
    if not problems:
        check(text)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_shipped_models_are_in_the_canonical_form(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert formatted(text) == text


@pytest.mark.parametrize(
    "other", ["a 2", "a = 3", "a == 2", "a = 2 # why", "a { }", "a = 2\nb", '"a" = 2', "a = (2)", "a = $"]
)
def test_another_meaning_is_noticed(other: str) -> None:
    document, _ = parse("a = 2", "x")
    assert formatting._says_the_same(document, " a  =  2\n\n", "x")
    assert not formatting._says_the_same(document, other, "x")
