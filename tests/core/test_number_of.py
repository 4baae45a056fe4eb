"""Counts and their nouns in messages."""

from __future__ import annotations

import pytest

from mrdsl.core.diagnostics import number_of


@pytest.mark.parametrize(
    ("count", "noun", "form", "shown"),
    [
        (1, "VM", "", "1 VM"),
        (0, "VM", "", "0 VMs"),
        (2, "more class", "", "2 more classes"),
        (1, "more class", "", "1 more class"),
        (1.0, "job", "g", "1 job"),
        (1.0000000001, "job", "g", "1 job"),
        (1.5, "job", "g", "1.5 jobs"),
        (12_000, "run", ",", "12,000 runs"),
    ],
)
def test_a_noun_agrees_with_the_number_that_is_shown(count: float, noun: str, form: str, shown: str) -> None:
    assert number_of(count, noun, form) == shown
