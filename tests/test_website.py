"""The site of the docs: links turned towards its pages, no page left out. CI builds it; a broken link fails that."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"README.md": "index.md", "docs/guide.md": "guide.md", "docs/families/joint.md": "families/joint.md"}


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
        ("README.md", "[g](docs/guide.md)", "[g](guide.md)"),
        ("README.md", "[g](docs/guide.md#a-spec)", "[g](guide.md#a-spec)"),
        ("docs/guide.md", "[r](../README.md)", "[r](index.md)"),
        ("docs/families/joint.md", "[g](../guide.md)", "[g](../guide.md)"),
        ("docs/families/joint.md", "[m](../../models/)", "[m](../gallery/index.md)"),
        ("README.md", "[m](models/capacity/)", "[m](gallery/index.md)"),
        ("docs/guide.md", "[f](families/)", "[f](families/index.md)"),
        ("README.md", "[l](LICENSE)", "[l](files/LICENSE)"),
        ("docs/families/joint.md", "[l](../../LICENSE)", "[l](../files/LICENSE)"),
        ("README.md", "[h](https://example.org/a.md)", "[h](https://example.org/a.md)"),
        ("README.md", "[h](#here)", "[h](#here)"),
        ("README.md", "[n](nowhere.md)", "[n](nowhere.md)"),
        ("README.md", "```\n[g](docs/guide.md)\n```\n", "```\n[g](docs/guide.md)\n```\n"),
        ("README.md", "![p](docs/batch.svg)", "![p](files/docs/batch.svg)"),
    ],
)
def test_links_lead_to_the_site(source: str, link: str, turned: str) -> None:
    assert links.turned(link, source, PAGES, ROOT, set()) == turned


def test_linked_files_are_copied() -> None:
    copied: set[str] = set()
    links.turned("[l](../LICENSE) [n](../nowhere) [g](guide.md)", "docs/guide.md", PAGES, ROOT, copied)
    assert copied == {"LICENSE"}


def test_every_page_is_in_the_navigation() -> None:
    """Decisions have an index of their own, families are added by the hook."""
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    pages = [
        path.relative_to(ROOT / "docs").as_posix()
        for path in (ROOT / "docs").rglob("*.md")
        if path.parent.name not in ("decisions", "families")
    ]
    missing = [page for page in pages if f" {page}\n" not in f"{navigation}\n"]
    assert pages
    assert not missing, f"add to `nav` in mkdocs.yml: {missing}"


def test_indexes_name_every_page() -> None:
    made = dict(_module("indexes").pages(ROOT))
    for index, folder in (
        ("diagnostics", "grammar/diagnostics"),
        ("decisions", "docs/decisions"),
        ("families", "docs/families"),
    ):
        names = [path.name for path in (ROOT / folder).glob("*.md")]
        assert names
        assert all(f"]({name})" in made[f"{index}/index.md"] for name in names)
