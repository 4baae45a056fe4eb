"""Comments wherever the grammar lets one stand, items on shared lines: nothing is lost, doubled or changed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrdsl.language import formatting
from mrdsl.language.formatting import format_text
from mrdsl.language.parsing import parse
from tests.language.test_formatting import check, formatted

SPACE = st.sampled_from(["", "", " ", "  "])
GAP = st.sampled_from(
    ["", "", " ", "\n", " # why\n", "# a\n# b\n  ", "\n\n  # alone\n\n", " # \N{PILE OF POO} (\n", "\r\n"]
)
"""Between tokens inside brackets, where newlines and comments may stand anywhere."""
END = st.sampled_from(
    [", ", ",", "\n", "\n\n\n", "  # said\n", ", # after a comma\n", "\n# of its own\n", "\n, # odd\n", ",\n"]
)
"""Between two statements."""
WORDS = st.sampled_from(["a", "jobs", "m5", '"two words"', "x_1", '"# no comment"'])
NUMBERS = st.sampled_from(["1", "2.5", "15 min", "85%", "1_000", "1200 / s"])


def inside(inner: Any) -> Any:
    """Brackets around values, with gaps at every seam."""
    call = st.tuples(st.sampled_from(["max(", "uniform(", "["]), GAP, inner, GAP, st.just(","), GAP, inner, GAP).map(
        lambda parts: "".join(parts) + ("]" if parts[0] == "[" else ")")
    )
    group = st.tuples(st.just("("), GAP, inner, GAP, st.just(")")).map("".join)
    wide = st.tuples(st.just("("), inner, GAP, st.sampled_from(["+", "*", "-"]), GAP, inner, st.just(")")).map("".join)
    return st.one_of(call, group, wide)


VALUES = st.recursive(st.one_of(NUMBERS, WORDS), inside, max_leaves=5)
RANGES = st.one_of(VALUES, st.tuples(VALUES, VALUES).map(" .. ".join))
ASSIGNMENTS = st.tuples(WORDS, SPACE, st.just("="), SPACE, RANGES).map("".join)
DIRECTIVES = st.tuples(WORDS, st.just(" "), WORDS, st.just(" from max("), GAP, NUMBERS, GAP, st.just(")")).map("".join)
COMPARISONS = st.tuples(st.just("max("), GAP, VALUES, GAP, st.just(")"), st.sampled_from([" <= ", ">="]), VALUES).map(
    "".join
)
HEADERS = st.one_of(
    st.tuples(WORDS, st.just(" "), WORDS).map("".join),
    st.tuples(
        WORDS, st.just(" "), WORDS, st.just("["), GAP, NUMBERS, GAP, st.just(".."), GAP, NUMBERS, GAP, st.just("]")
    ).map("".join),
    st.tuples(WORDS, st.just(" "), WORDS, st.just(" from max("), GAP, NUMBERS, GAP, st.just(")")).map("".join),
)


def bodies(statements: Any) -> Any:
    return st.lists(st.tuples(statements, END).map("".join), max_size=3).map("".join)


def blocks(inner: Any) -> Any:
    opening = st.sampled_from([" {", "{ ", " {\n", " {  # opened\n", "{\n# first\n"])
    return st.tuples(HEADERS, opening, bodies(st.one_of(SIMPLE, inner)), SPACE, st.just("}")).map("".join)


SIMPLE = st.one_of(ASSIGNMENTS, ASSIGNMENTS, DIRECTIVES, COMPARISONS)
STATEMENTS = st.recursive(SIMPLE, blocks, max_leaves=3)
TEXTS = st.tuples(st.sampled_from(["", "# first\n", "\n\n"]), bodies(STATEMENTS), bodies(STATEMENTS)).map("".join)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(TEXTS)
def test_comments_anywhere(text: str) -> None:
    if not parse(text, "x")[1]:
        check(text)


BROKEN_BEFORE = {
    "a value over two lines that shares the second": (
        "class a {\n  jobs = 1..2, deadline = max(5 min, # why\n    10 min), penalty = 20 USD\n}\n",
        "class a {\n  jobs = 1..2\n  deadline = max(5 min, # why\n    10 min)\n  penalty = 20 USD\n}\n",
    ),
    "a comment in a header": (
        "class a[1..max( # why\n  2)] { b = 1 }\n",
        "class a[1..max( # why\n  2)] {\n  b = 1\n}\n",
    ),
    "a comment after a comma of its own": ("a = 1\n, # why\nb = 2\n", "a = 1\n# why\nb = 2\n"),
    "a comment that belongs to what follows the brace": (
        "class a { b = max(1, # why\n 2) }\n",
        "class a {\n  b = max(1, # why\n 2)\n}\n",
    ),
    "a value that ends where its block does": (
        "class a { b = (\n# why\n1) } # end\n",
        "class a {\n  b = (\n# why\n1)\n}  # end\n",
    ),
}


@pytest.mark.parametrize("case", BROKEN_BEFORE)
def test_what_was_written_twice_or_lost(case: str) -> None:
    before, after = BROKEN_BEFORE[case]
    check(before)
    assert formatted(before) == after


@pytest.mark.parametrize("fault", ["a = 1\na = 1\n", "a = 2\n", "a = 1  # more\n", "a = {\n"])
def test_a_form_that_says_something_else_is_none(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong in the layout: the text is compared with what it became before anybody gets it."""
    monkeypatch.setattr(formatting, "_align", lambda lines: iter(fault.splitlines()))
    made, problems = format_text("a = 1\n", "x.mrspec")
    assert made is None
    assert [problem.code for problem in problems] == ["internal"]
