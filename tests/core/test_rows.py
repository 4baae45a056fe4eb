"""Rows that are made when they are read: each slice is that of the list."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mrdsl.core.tables import Rows, Table, print_tables

NUMBERS = st.none() | st.integers(-8, 8)


@given(st.integers(0, 6), NUMBERS, NUMBERS, NUMBERS.filter(bool))
def test_rows_are_read_like_a_list(count: int, start: int | None, stop: int | None, step: int | None) -> None:
    rows = Rows(count, lambda part: ((i, str(i)) for i in range(part.start, part.stop)))
    whole = [(i, str(i)) for i in range(count)]
    assert rows == whole
    assert rows[start:stop:step] == whole[start:stop:step]
    assert [rows[i] for i in range(-count, count)] == whole * 2


def test_a_table_makes_only_the_rows_that_it_shows() -> None:
    made: list[int] = []

    def make(part: slice) -> list[tuple[str, int]]:
        made.extend(range(part.start, part.stop))
        return [(f"row {i}", i) for i in range(part.start, part.stop)]

    table = Table("Long", ("name", "number"), Rows(10**9, make), most=2)
    text = print_tables([table])
    assert text.splitlines()[-1] == "  ... and 999,999,998 more       –"
    assert set(made) == {0, 1}
    assert "... and 999,999,998 more" in table.html()
    assert set(made) == {0, 1}


def test_an_empty_line_separates_tables_from_sentences() -> None:
    table = Table("T", ("x",), [(1,)])
    lines = print_tables(["one", "two", table, "three"]).splitlines()
    assert [bool(line) for line in lines] == [True, True, False, True, True, True, True, False, True]
