"""What MkDocs asks for: the site's pages, from the docs, the repository's own pages, the code and the shipped models.

``pip install -e '.[docs]' && mkdocs build`` writes the site to ``build/site``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import commands
import gallery
import indexes
import links
import reference
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
}
"""Pages that lie outside of ``docs``, and where they stand in the site."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fills the lists of the navigation that name a folder, such as `- Families: concepts/families/`."""
    config.nav = _filled(config.nav, Path(config.docs_dir))
    return config


def _filled(nav: list[Any], docs: Path) -> list[Any]:
    return [{title: _section(part, docs) for title, part in each.items()} for each in nav]


def _section(part: Any, docs: Path) -> Any:
    if isinstance(part, list):
        return _filled(part, docs)
    if not part.endswith("/"):
        return part
    return [f"{part}index.md", *(f"{part}{path.name}" for path in sorted((docs / part).glob("*.md")))]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """All pages: written ones with their links turned towards the site, and those that are made."""
    root = Path(config.config_file_path).parent
    pages = _pages(root, files)
    copied: set[str] = set()
    for source, page in pages.items():
        text = links.turned((root / source).read_text(encoding="utf-8"), source, pages, root, copied)
        if source.startswith(gallery.QUESTIONS) and config.extra["gallery"] != "none":
            text, picture = gallery.with_picture(root, source, text)
            _put(files, config, page.removesuffix(".md") + ".svg", picture)
        _put(files, config, page, text)
    for path in sorted(copied):
        _put(files, config, links.COPIES + path, (root / path).read_bytes())
    made = [
        *reference.pages(),
        *commands.pages(),
        *indexes.pages(root),
        *gallery.pages(root, config.extra["gallery"]),
    ]
    for page, content in made:
        _put(files, config, page, content)
    return files


def _pages(root: Path, files: Files) -> dict[str, str]:
    """Every written page: its path in the repository, and the one in the site."""
    docs = {f"docs/{each.src_uri}": each.src_uri for each in files.documentation_pages()}
    diagnostics = {
        path.relative_to(root).as_posix(): f"diagnostics/{path.name}"
        for path in (root / indexes.DIAGNOSTICS).glob("*.md")
    }
    return PAGES | docs | dict(sorted(diagnostics.items()))


def _put(files: Files, config: MkDocsConfig, page: str, content: str | bytes) -> None:
    there = files.get_file_from_path(page)
    if there is not None:
        files.remove(there)
    files.append(File.generated(config, page, content=content))
