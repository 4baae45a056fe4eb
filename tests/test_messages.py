"""One hand in messages: what was written stands in backticks, articles fit; and what benchmarks import is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from mrdsl.cli.extending import _text, entries
from mrdsl.contracts.family import kind_words
from mrdsl.families import SHIPPED
from tests.sources import REPR, ROOT, VALUE, modules

TELLING = {"error", "one_error", "warning", "note", "impossible", "mistake", "fail", "warn", "_broken", "_told"}
TELLING |= {"Diagnostic", "Mistake", "FormatError", "WorkflowError", "UnreadableError", "message=", "hint="}


def messages() -> Iterator[tuple[str, str]]:
    """Every text in a call that tells a mistake, or that is kept as ``message`` or ``hint`` for one."""
    for source in modules().values():
        for each in source.texts:
            if each.name in TELLING:
                place = f"{source.path.relative_to(ROOT)}:{each.line}"
                yield from ((place, text) for text in each.texts)


def test_what_was_written_stands_in_backticks() -> None:
    quoted = re.compile(rf"(?<![\w`(=\[])'[^'`]+'(?!\w)|{REPR}")
    own = {place: text for place, text in messages() if quoted.search(text) and not text.startswith("method.options[")}
    assert own == {}


def test_articles_fit_the_family() -> None:
    wrong = {place: text for place, text in messages() if re.search(rf"\ba {VALUE} (problem|plan)", text)}
    assert wrong == {}, "write it with kind_words"
    assert [kind_words(name) for name in SHIPPED if kind_words(name).startswith("an ")] == ["an energy"]


def test_a_method_that_comes_along_is_not_installed_with_a_sentence() -> None:
    told = _text(entries("direct")[0], True)
    assert "comes with mrdsl\n" in told
    assert "install with" not in told


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").rglob("*.py")), ids=lambda path: path.stem)
def test_what_a_benchmark_imports_is_there(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mrdsl"):
            module = import_module(str(node.module))
            for alias in node.names:
                assert hasattr(module, alias.name) or find_spec(f"{node.module}.{alias.name}"), alias.name
