"""The site of the docs: links turned towards its pages, no page left out. CI builds it; a broken link fails that."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "README.md": "index.md",
    "docs/tutorials/first.md": "tutorials/first.md",
    "docs/concepts/families/joint.md": "concepts/families/joint.md",
}


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"website_{name}", ROOT / "website" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


links = _module("links")


@pytest.mark.parametrize(
    ("source", "link", "turned"),
    [
        ("README.md", "[g](docs/tutorials/first.md)", "[g](tutorials/first.md)"),
        ("README.md", "[g](docs/tutorials/first.md#a-spec)", "[g](tutorials/first.md#a-spec)"),
        ("docs/tutorials/first.md", "[r](../../README.md)", "[r](../index.md)"),
        ("docs/concepts/families/joint.md", "[g](../../tutorials/first.md)", "[g](../../tutorials/first.md)"),
        ("docs/concepts/families/joint.md", "[m](../../../models/)", "[m](../../gallery/index.md)"),
        ("README.md", "[m](models/capacity/)", "[m](gallery/index.md)"),
        ("docs/tutorials/first.md", "[f](../concepts/families/)", "[f](../concepts/families/index.md)"),
        ("README.md", "[l](LICENSE)", "[l](files/LICENSE)"),
        ("docs/concepts/families/joint.md", "[l](../../../LICENSE)", "[l](../../files/LICENSE)"),
        ("README.md", "[h](https://example.org/a.md)", "[h](https://example.org/a.md)"),
        ("README.md", "[h](#here)", "[h](#here)"),
        ("README.md", "[n](nowhere.md)", "[n](nowhere.md)"),
        ("README.md", "```\n[g](docs/tutorials/first.md)\n```\n", "```\n[g](docs/tutorials/first.md)\n```\n"),
        ("README.md", "![p](docs/batch.svg)", "![p](files/docs/batch.svg)"),
    ],
)
def test_links_lead_to_the_site(source: str, link: str, turned: str) -> None:
    assert links.turned(link, source, PAGES, ROOT, set()) == turned


def test_linked_files_are_copied() -> None:
    copied: set[str] = set()
    links.turned("[l](../../LICENSE) [n](../../nowhere) [g](first.md)", "docs/tutorials/first.md", PAGES, ROOT, copied)
    assert copied == {"LICENSE"}


def test_every_page_is_in_the_navigation() -> None:
    """A folder such as `how-to/` stands for all its pages; decisions have an index of their own."""
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    missing = [
        page.as_posix()
        for page in pages
        if page.parent.name != "decisions"
        and not any(f" {name}\n" in f"{navigation}\n" for name in (page.as_posix(), f"{page.parent.as_posix()}/"))
    ]
    assert pages
    assert not missing, f"add to `nav` in mkdocs.yml: {missing}"


def test_indexes_name_every_page() -> None:
    made = dict(_module("indexes").pages(ROOT))
    for index, folder in (
        ("diagnostics", "grammar/diagnostics"),
        ("decisions", "docs/decisions"),
        ("how-to", "docs/how-to"),
        ("questions", "docs/questions"),
        ("concepts/families", "docs/concepts/families"),
        ("reference/families", "docs/reference/families"),
        ("validation", "docs/validation"),
    ):
        names = [path.name for path in (ROOT / folder).glob("*.md")]
        assert names
        assert all(f"]({name})" in made[f"{index}/index.md"] for name in names)
