"""Names of generated blocks: they cost one step each, and only those that are shown are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrdsl.families.capacity.packing import Packing
from mrdsl.language.generators import IndexedNames
from mrdsl.language.loading import load_text
from tests.language.test_reading_cost import CLASS, HEAD, calls_of


@given(st.integers(0, 10**12), st.integers(1, 50))
def test_names_are_the_same_one_by_one_and_all_at_once(low: int, count: int) -> None:
    names = IndexedNames("c", low, low + count - 1)
    expected = [f"c{number}" for number in range(low, low + count)]
    assert list(names) == expected == [names[index] for index in range(count)] == names[:]
    assert names[-1] == expected[-1]


def test_a_list_of_names_takes_one_call_a_name() -> None:
    assert calls_of(lambda: list(IndexedNames("c", 1, 10_000))) <= 1.1 * 10_000


def test_generated_classes_are_read_without_a_step_for_each() -> None:
    def calls(count: int) -> int:
        return calls_of(lambda: load_text(f"{HEAD}class c[1..{count}] {{\n{CLASS}}}\nminimize cost\n"))

    calls(10)
    assert calls(20_000) <= calls(10) + 2_000


@pytest.mark.parametrize("written", ["class c7", "class c[5..9]", "class c[10..10]"])
def test_a_name_that_comes_up_twice_is_still_an_error(written: str) -> None:
    text = f"{HEAD}class c[1..10] {{\n{CLASS}}}\n{written} {{\n{CLASS}}}\nminimize cost\n"
    assert [each.code for each in load_text(text).diagnostics if each.code == "duplicate"]


class Counted(Sequence[str]):
    """Names that count how many of them are made."""

    def __init__(self, count: int) -> None:
        self.count, self.made = count, 0

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: Any) -> Any:
        self.made += 1
        return f"c{index}"


def test_a_table_of_patterns_makes_the_names_that_it_shows() -> None:
    count = 1_000
    each = np.arange(count)
    packing = Packing(
        of_vm=np.zeros(count, dtype=int),
        spot=np.zeros(count, dtype=bool),
        count=each + 1,
        of_pattern=each,
        of_class=each,
        reduces=np.zeros(count, dtype=bool),
        slots=np.full(count, 4),
    )
    names = Counted(count)
    table = packing.table(["m5"], names, np.zeros(count, dtype=bool), 3)
    assert [row[2] for row in table.rows[:3]] == ["4 map of c999", "4 map of c998", "4 map of c997"]
    assert names.made == 3
