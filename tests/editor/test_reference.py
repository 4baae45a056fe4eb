"""The reference documents every item there is: its generated part is what the schema prints.

``python -m tests.editor.test_reference`` writes it anew.
"""

from __future__ import annotations

from pathlib import Path

from mrdsl.editor.reference import reference
from mrdsl.families import SHIPPED, family
from mrdsl.language.vocabulary import vocabulary
from mrdsl.spec.schema import Node

PAGE = Path(__file__).resolve().parents[2] / "docs" / "language.md"
MARK = "do not edit below -->\n"


def test_the_page_is_what_the_schema_says() -> None:
    assert PAGE.read_text(encoding="utf-8").partition(MARK)[2].strip() == reference(SHIPPED).strip()


def test_every_item_says_what_it_means() -> None:
    for name in SHIPPED:
        found = family(name)
        assert found is not None
        assert found.summary
        for node in nodes_below(found.facts):
            for _, item in vocabulary(node).items.values():
                assert item.doc.strip(), f"{node.__name__} has an item without a meaning"


def test_a_default_that_is_drawn_is_shown_as_a_spec_writes_it() -> None:
    page = reference(SHIPPED)
    assert "Distribution(" not in page
    assert "| `deadline_factor` | fixed or random plain number, `42` | `uniform(1, 3)` |" in page


def nodes_below(node: type[Node]) -> set[type[Node]]:
    words = vocabulary(node)
    inner = [block.node for table in (words.singles, words.repeated) for _, block in table.values()]
    return {node}.union(*(nodes_below(kind) for kind in inner))


if __name__ == "__main__":
    head = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    PAGE.write_text(f"{head}{MARK}\n{reference(SHIPPED)}", encoding="utf-8")
