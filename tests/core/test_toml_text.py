"""Places in TOML: every key and every value has one, and it is that of the text."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrdsl.core.toml_text import TomlError, TomlText, read_toml

TEXT = """title = "a \\" # b"  # not this one
[[runs]]
specs = ["x", 'y#', \"\"\"z]
\"\"\"]
params = { "a b" = 1, c.d = [1, [2, 3]] }
[runs.deep]
when = 1979-05-27 07:32:00
[[runs]]
seeds = [
  1,  # one
  2,
]
[[runs.inner]]
v = 1
"""


def places(text: TomlText) -> dict[Any, str]:
    lines = text_lines
    return {
        path: lines[span.line - 1][span.column - 1 : span.end_column - 1]
        for path, span in text.places[1].items()
        if span.line == span.end_line
    }


text_lines = TEXT.split("\n")


def test_values_stand_where_the_text_has_them() -> None:
    found = places(read_toml(TEXT, "a.toml"))
    assert found["title",] == '"a \\" # b"'
    assert found["runs", 0, "specs", 1] == "'y#'"
    assert found["runs", 0, "params", "a b"] == "1"
    assert found["runs", 0, "params", "c", "d", 1, 0] == "2"
    assert found["runs", 0, "deep", "when"] == "1979-05-27 07:32:00"
    assert found["runs", 1, "seeds", 1] == "2"
    assert found["runs", 1, "inner", 0, "v"] == "1"


def test_keys_stand_where_the_text_has_them() -> None:
    text = read_toml(TEXT, "a.toml")
    assert str(text.key(("runs", 1))) == "a.toml:8:3"
    assert str(text.key(("runs", 0, "params", "a b"))) == "a.toml:5:12"
    assert str(text.key(("runs", 0, "deep"))) == "a.toml:6:7"
    assert str(text.value(("runs", 0, "no", "such"))) == "a.toml:2:3"


def ways(value: Any, path: tuple[Any, ...] = ()) -> set[tuple[Any, ...]]:
    """Every path to something that is no table."""
    if isinstance(value, dict):
        return {way for key, inner in value.items() for way in ways(inner, (*path, key))}
    if isinstance(value, list) and not (value and all(isinstance(each, dict) for each in value)):
        return {path} | {way for number, inner in enumerate(value) for way in ways(inner, (*path, number))}
    if isinstance(value, list):
        return {way for number, inner in enumerate(value) for way in ways(inner, (*path, number))}
    return {path}


KEYS = st.sampled_from(["a", "b-1", '"c d"', "'e.f'", "g"])
PLAIN = st.sampled_from(
    ["1", "1.5", "true", "1979-05-27", '"x"', "'#'", '"""a""b"""', "'''\nc'''", '"\\u00e4]"', "inf", '""', "'[1]'"]
)
GAPS = st.sampled_from(["", " ", "\n", " # [x]\n"])
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(st.tuples(GAPS, inner, GAPS), max_size=3).map(
            lambda listed: "[" + ",".join(before + value + after for before, value, after in listed) + "]"
        ),
        st.lists(st.tuples(KEYS, inner), max_size=2, unique_by=lambda pair: pair[0]).map(
            lambda pairs: "{ " + ", ".join(f"{key} = {value}" for key, value in pairs) + " }"
        ),
    ),
    max_leaves=8,
)
LINES = st.one_of(
    st.tuples(KEYS, VALUES).map(lambda pair: f"{pair[0]} = {pair[1]}"),
    st.tuples(KEYS, KEYS, PLAIN).map(lambda parts: f"{parts[0]} . {parts[1]}={parts[2]}"),
    KEYS.map(lambda key: f"[{key}]"),
    st.tuples(KEYS, KEYS).map(lambda keys: f"[ {keys[0]}.{keys[1]} ] # x"),
    KEYS.map(lambda key: f"[[{key}]]"),
    st.just("# a comment = 1"),
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(LINES, max_size=6))
def test_every_value_that_tomllib_reads_has_a_place(lines: list[str]) -> None:
    text = "\n".join(lines)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(TomlError):
            read_toml(text, "a.toml")
        return
    found = read_toml(text, "a.toml")
    assert found.data == data
    keys, values = found.places
    assert ways(data) <= values.keys()
    assert all(way[:length] in keys | values for way in ways(data) for length in range(1, len(way) + 1))


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("a = 1\nb = = 2\n", "a.toml:2:5", "invalid value"),
        ("a = [1,", "a.toml:1:8", "invalid value"),
        ("a = " + "[" * 2000, "a.toml:1:1", "nested too deeply"),
        ("a = " + "9" * 5000, "a.toml:1:1", "integer string conversion"),
    ],
    ids=["sign", "end", "deep", "digits"],
)
def test_what_is_no_toml_is_told_with_its_place(text: str, place: str, reason: str) -> None:
    with pytest.raises(TomlError, match=reason) as told:
        read_toml(text, "a.toml")
    assert str(told.value.span) == place
