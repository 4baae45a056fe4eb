"""All missing blocks are in the first round of messages, with hints that can be pasted."""

from __future__ import annotations

import re

import pytest

from mrdsl.families import SHIPPED
from mrdsl.language.loading import load_text

GOALS = {"bounds": "minimize slots\n"}
"""Goals without which a family has other blocks."""


@pytest.mark.parametrize("family", SHIPPED)
def test_the_hints_on_an_empty_spec_make_a_spec(family: str) -> None:
    text = f"problem {family}\n{GOALS.get(family, '')}"
    first = load_text(text).diagnostics
    blocks = [each for found in first if found.code == "missing-block" for each in re.findall("`(.*?)`", found.hint)]
    assert blocks
    second = load_text(text + "\n".join(blocks)).diagnostics
    assert {found.code for found in second if found.severity == "error"} <= {"missing-item"}, second


def test_a_block_lists_all_that_it_lacks() -> None:
    text = "problem capacity\nvm m { on_demand { price = 1 EUR/h } }\nclass a { deadline = 1 min }"
    (items, blocks) = load_text(text).diagnostics
    assert items.message == "`class a` lacks `jobs` and `penalty`"
    assert blocks.message == "`class a` lacks `map { ... }` and `slots { ... }`"
    assert "EUR" not in blocks.hint
    assert "USD" not in load_text("problem capacity\ncurrency = EUR\nclass a { penalty = 1 EUR }").diagnostics[0].hint
