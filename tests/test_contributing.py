"""The lists of CONTRIBUTING.md name existing files, and everything registered by hand is in them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from mrdsl.cli import COMMANDS
from mrdsl.families import SHIPPED

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`((?:mrdsl|tests|docs|grammar|solvers|models)/[\w./-]*)`", PAGE)))
LISTS = (
    "A field of a spec",
    "A unit",
    "An objective",
    "A family",
    "A heuristic",
    "A field with a price",
    "A log format",
    "A solver",
    "A reader",
    "A writer",
    "A command",
    "A change of saved plans",
    "A diagnostic",
)


@pytest.mark.parametrize("path", PATHS)
def test_named_paths_exist(path: str) -> None:
    folder = path.rpartition("/")[0] if "NAME" in path else None
    for place in [folder] if folder else [re.sub(r"\bX\b", family, path) for family in SHIPPED]:
        assert (ROOT / place).exists(), place


@pytest.mark.parametrize("what", LISTS)
def test_every_list_names_files(what: str) -> None:
    _, found, rest = PAGE.partition(f"\n### {what}\n")
    assert found
    assert re.findall(r"^- `?\w", rest.partition("\n#")[0], re.MULTILINE)


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([\w./-]+)\)", PAGE):
        assert (ROOT / target).exists(), target


def test_every_command_is_in_the_list() -> None:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "mrdsl" / "cli").glob("*.py")}
    assert {name: text.count("@click.command") for name, text in texts.items() if "@click.command" in text} == Counter(
        COMMANDS.values()
    )


def test_folders_are_the_families() -> None:
    places = ("mrdsl/families", "models", "tests/families")
    for place in places:
        declaring = {path.parent.name for path in (ROOT / place).glob("*/__init__.py")}
        if place == "models":
            declaring = {path.parent.name for path in (ROOT / place).glob("*/reference.mrspec")}
        assert declaring - {"foreign"} == set(SHIPPED), place
    for place in ("concepts/families", "reference/families"):
        assert {path.stem for path in (ROOT / "docs" / place).glob("*.md")} == set(SHIPPED), place
