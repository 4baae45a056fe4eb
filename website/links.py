"""Links of the repository's pages, turned towards the site: to a page of it, else to a copy of the file."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

COPIES = "files/"
"""Where copies of linked files stand in the site."""

FOLDERS = {
    "models": "gallery/index.md",
    "grammar/diagnostics": "diagnostics/index.md",
    "docs/decisions": "decisions/index.md",
    "docs/families": "families/index.md",
}
"""Folders of the repository that have a page in the site; what lies in ``models`` has the gallery."""

_LINK = re.compile(r"(?P<before>\]\()(?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?(?P<after>\))")
_FENCE = re.compile(r"^\s*(```|~~~)")


def turned(text: str, source: str, pages: Mapping[str, str], root: Path, copied: set[str]) -> str:
    """The text of the page at ``source``, with links for the site; ``copied`` gets the files that need a copy.

    Paths are relative to the repository's ``root``, with slashes. A link to nothing stays as it is, for MkDocs to tell.
    """

    def one(match: re.Match[str]) -> str:
        target = match["target"]
        if re.match(r"[a-z]+:|/", target):
            return match[0]
        there = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        here = posixpath.dirname(pages[source])
        found = _page(there, pages, root)
        if found is None:
            if not (root / there).is_file():
                return match[0]
            copied.add(there)
            found = COPIES + there
        return f"{match['before']}{posixpath.relpath(found, here or '.')}{match['anchor'] or ''}{match['after']}"

    return "".join(line if code else _LINK.sub(one, line) for line, code in _lines(text))


def _page(there: str, pages: Mapping[str, str], root: Path) -> str | None:
    """The site's page of a file or folder of the repository; None where it has none."""
    if not (root / there).is_dir():
        return pages.get(there)
    return FOLDERS.get(there.split("/")[0] if there.startswith("models/") else there) or pages.get(f"{there}/README.md")


def _lines(text: str) -> list[tuple[str, bool]]:
    """Every line, and whether it is code."""
    code, lines = False, []
    for line in text.splitlines(keepends=True):
        fence = bool(_FENCE.match(line))
        lines.append((line, code or fence))
        code ^= fence
    return lines
