"""JSON that mrdsl writes: the same values when it is read, and no number that JSON lacks."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrdsl.core.json_text import json_text

NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**70), 2**70)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_written_is_read_again(value: Any) -> None:
    text = json_text(value)
    assert json.loads(text) == value
    assert text.endswith("\n")
    assert not any(character in text for character in "\x7f\x1b\u202e\ufeff")


@given(VALUES)
def test_the_layout_is_that_of_the_standard_library(value: Any) -> None:
    """Numbers apart, whose exponents may be written in another way."""
    plain = json.loads(json.dumps(value), parse_float=lambda _: 0.5)
    assert json.loads(json_text(plain)) == plain
    assert len(json_text(plain).splitlines()) == len(json.dumps(plain, indent=2, ensure_ascii=True).splitlines())


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("within", [lambda x: x, lambda x: {"a": [1.0, {"b": x}]}, lambda x: [(0.0, x)]])
def test_numbers_that_json_lacks_are_errors(wrong: float, within: Any) -> None:
    with pytest.raises(ValueError, match="cannot be written as JSON"):
        json_text(within(wrong))


def test_halves_of_surrogate_pairs_and_numbers_of_numpy() -> None:
    assert json.loads(json_text({"a": "\ud800", "b": np.float64(0.1)})) == {"a": "\ud800", "b": 0.1}
    assert json_text({"é": "\x7f"}) == '{\n  "é": "\\u007f"\n}\n'
