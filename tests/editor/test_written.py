"""A document in pieces says what the whole text says, and an edit costs what it changed."""

from __future__ import annotations

import random

import pytest

from mrdsl.core import budgets
from mrdsl.core.resources import resource
from mrdsl.editor import written as module
from mrdsl.editor.written import Piece, Written
from mrdsl.language.parsing import parse
from tests.fuzz.making import mutated

SPECS = [path.read_text(encoding="utf-8") for path in sorted(resource("models").glob("*/*.mrspec"))]
CLASS = """class c%d {
  coefficients { A = 5400 s, B = 1250 s, C = 95 s }
  slots { map = 4, reduce = 2 }
  jobs = 4..6
  deadline = 10 min, penalty = 20 USD
}
"""
LONG = "problem capacity\nvm m5 { on_demand { price = 0.192 USD/h } }\nminimize cost\n"
LONG += "".join(CLASS % i for i in range(830))


def names(written: Written) -> tuple[list[tuple[str, str, int, int]], dict[str, list[tuple[int, int]]]]:
    found = [(one.name, one.word, *place(written, one.name)) for one in written.definitions()]
    return found, {name: [(s.line, s.column) for s in written.spans(name)] for name, *_ in found}


def place(written: Written, name: str) -> tuple[int, int]:
    span = written.definition(name)
    return (0, 0) if span is None else (span.line, span.column)


def whole(text: str) -> Written:
    """The same document as one piece."""
    made = Written(text)
    made.pieces, made._starts = [Piece(text)], [0]
    return made


@pytest.mark.parametrize("number", range(40))
def test_pieces_say_what_the_whole_says(number: int) -> None:
    """For every text that parses: the shipped specs, and mutants of them, indented or not."""
    draw = random.Random(f"pieces {number}")
    text = draw.choice(SPECS) if number % 4 else "\n".join(line.strip() for line in draw.choice(SPECS).split("\n"))
    made = Written(text)
    assert "".join(piece.text for piece in made.pieces) == text
    assert names(made) == names(whole(text))
    for _ in range(10):
        changed = mutated(draw, text, SPECS)
        again = Written(changed, made)
        assert "".join(piece.text for piece in again.pieces) == changed
        if not parse(changed, "")[1]:
            assert names(again) == names(whole(changed))


def test_no_piece_is_long_where_statements_are_short() -> None:
    assert max(piece.line_count for piece in Written(LONG).pieces) < 100


EDITS = {
    "an item": ("class c400 {\n", "class c400 {\n  note = 3\n"),
    "a mistake": ("class c400 {\n", "class c400 {\n  title = = 3\n"),
    "a new block": ("class c400 {\n", "class new { }\nclass c400 {\n"),
    "a line at the top": ("minimize cost\n", "minimize cost\nparam x = 1\n"),
    "a block that is not closed": ("class c400 {\n", "class new {\nclass c400 {\n"),
    "a brace too many": ("class c400 {\n", "}\nclass c400 {\n"),
    "a quote": ("class c400 {\n", '"\nclass c400 {\n'),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_parses_what_it_changed(edit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 5,000 lines: those of the statements around."""
    before = Written(LONG)
    assert len(list(before.definitions())) == 831
    read: list[int] = []
    monkeypatch.setattr(module, "parse", lambda text, file: (read.append(text.count("\n")), parse(text, file))[1])
    after = Written(LONG.replace(*EDITS[edit]), before)
    assert {"c399", "c401", "c829"} <= {one.name for one in after.definitions()}
    assert 0 < sum(read) < 200


def test_a_document_has_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "EDITED_BYTES", 1000)
    assert not Written("#" * 1000).too_long
    long = Written("# \u00e9" * 300)
    assert long.too_long
    assert (list(long.definitions()), long.problem, long.piece_at(1)) == ([], None, None)
    assert (long.definition("a"), list(long.spans("a"))) == (None, [])


@pytest.mark.parametrize(
    ("encoding", "units"), [("utf-8", [1, 2, 4, 3, 3]), ("utf-16", [1, 1, 2, 1, 1]), ("utf-32", [1] * 5)]
)
def test_columns_in_a_clients_units(encoding: str, units: list[int]) -> None:
    made = Written("abc\na\u00e9\U0001f600\u2028\ud800")
    for column in range(1, 7):
        assert made.units(2, column, encoding) == sum(units[: column - 1])
        assert made.column(2, sum(units[: column - 1]), encoding) == column
    assert made.column(2, 10**9, encoding) == 6
    assert (made.column(1, 99, encoding), made.units(1, 99, encoding), made.units(99, 5, encoding)) == (4, 3, 0)
