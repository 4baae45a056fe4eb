"""Tables and messages in the width of a terminal: nothing is lost, and no name or number is broken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrdsl.core.diagnostics import Diagnostic, Severity, Span
from mrdsl.core.resources import codes, page
from mrdsl.core.result import Table
from mrdsl.core.tables import cell_text, display_width, print_tables, table_text, unfolded, wrapped
from mrdsl.core.units import show
from mrdsl.reporting.diagnostics import as_text, colour

WORDS = st.text("abcxyz", min_size=1, max_size=12)
TEXTS = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)
NUMBERS = st.floats(-1e9, 1e9) | st.integers(-(10**9), 10**9)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    heads = draw(st.lists(TEXTS, min_size=1, max_size=12))
    kinds = [draw(st.sampled_from((WORDS, TEXTS, NUMBERS, st.none() | NUMBERS))) for _ in heads]
    rows = draw(st.lists(st.tuples(*kinds), max_size=5))
    return Table(draw(st.just("") | TEXTS), tuple(heads), rows)


@given(tables(), st.integers(20, 200))
def test_a_fitted_table_keeps_every_word_and_number_whole(table: Table, width: int) -> None:
    tokens = table_text(table, width).replace("(continued)", "").split()
    for text in (*table.columns, *(cell_text(cell) for row in table.rows for cell in row)):
        assert set(text.split()) <= set(tokens)


@given(tables(), st.integers(60, 200))
def test_a_fitted_table_is_as_wide_as_the_terminal_at_most(table: Table, width: int) -> None:
    """Two columns of at most 24 each always fit, and no word is longer."""
    body = [line for line in table_text(table, width).split("\n") if line.startswith("  ")]
    assert all(len(line) <= width for line in body) or len(table.columns) > 2
    assert all(len(line) <= max(width, 2 + 26 * 4) for line in body)


def test_a_table_without_a_width_is_one_table() -> None:
    table = Table("t", tuple(f"column {i}" for i in range(40)), [tuple(range(40))])
    assert len(table_text(table).splitlines()) == 4


def test_columns_without_room_follow_below_with_their_names() -> None:
    table = Table(
        "Classes", ("class", *(f"figure {i}" for i in range(9))), [("clicks", *range(9)), ("sort", *range(9))]
    )
    first, second, third = table_text(table, 40).split("\n\n")
    assert first.split("\n")[0] == "Classes"
    assert second.split("\n")[0] == "Classes (continued)"
    assert all("clicks" in part and "sort" in part for part in (first, second, third))


def test_wide_letters_count_twice() -> None:
    assert display_width("夜") == 2
    assert display_width("–") == 1
    assert display_width("e\u0301") == 1
    lines = table_text(Table("", ("name", "x"), [("夜の仕事", 1), ("night", 2)])).splitlines()
    assert len({display_width(line) for line in lines[1:]}) == 1


@given(TEXTS, st.integers(20, 60))
def test_sentences_are_wrapped_at_spaces(text: str, width: int) -> None:
    lines = wrapped(f"    {text}", width, 2).split("\n")
    assert " ".join(lines).split() == text.split()
    assert all(len(line) <= width and line.startswith("    ") for line in lines)
    assert print_tables([text], width).split() == text.split()


def test_messages_are_wrapped_with_and_without_color() -> None:
    message = "the deadline is before the release of the run " * 4
    found = Diagnostic(
        "late", Severity.WARNING, message.strip(), Span("a b.mrspec", 1, 1, 1, 1), "write a later one " * 6
    )
    plain = as_text([found], {}, width=50)
    assert all(len(line) <= 50 for line in plain.splitlines())
    assert " ".join(plain.split()) == " ".join(as_text([found], {}).split())
    colored = as_text([found], {}, colour, 50)
    assert colored.count("\x1b[") % 2 == 0
    assert "\x1b[1;33mwarning[late]" in colored


def test_values_side_by_side_have_one_unit() -> None:
    both = (900.0, 945.0)
    assert [show(value, "time", beside=both) for value in both] == ["15 min", "15.75 min"]
    both = (2700.0, 10100.0)
    assert [show(value, "time", beside=both) for value in both] == ["2700 s", "10100 s"]
    assert [show(value, "time", beside=(0.0, 60.0)) for value in (0.0, 60.0)] == ["0 min", "1 min"]


@pytest.mark.parametrize("code", codes())
def test_pages_of_diagnostics_fit_a_terminal(code: str) -> None:
    """All words stay in order, and only code, tables and long words are wider than the terminal."""
    text = unfolded(page(code))
    assert text.split() == page(code).split()
    parts = text.split("```")
    assert parts[1::2] == page(code).split("```")[1::2]
    lines = [line for part in parts[::2] for line in wrapped(part, 80).split("\n")]
    assert all(display_width(line) <= 80 or " " not in line.strip() for line in lines)


def test_items_and_headings_are_lines_of_their_own() -> None:
    text = "# Head\nfirst\nsecond\n- one\n  more\n- two\n\n| a |\n| - |\n```\nx\ny\n```\nlast\nline\n"
    assert unfolded(text) == "# Head\nfirst second\n- one more\n- two\n\n| a |\n| - |\n```\nx\ny\n```\nlast line\n"
