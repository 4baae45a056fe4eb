"""Lists of pages that the repository keeps as folders: diagnostics, decisions, guides, families, validation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

DIAGNOSTICS = "grammar/diagnostics"
FOLDERS = {
    "how-to": ("How-to guides", "One task per page."),
    "questions": ("Common questions", "Each page has a spec, its result and a picture. Copy the spec and change it."),
    "reference/families": ("Families", "The blocks, items and quantities of each family of problems."),
    "concepts/families": ("Families", "The model, the methods and the limits of each family of problems."),
    "validation": ("Validation", "How results are checked, and how they compare with the papers."),
    "decisions": ("Decisions", "Decisions about the design, each with its context and consequences."),
}
"""Folders below `docs` with the title and the first sentence of their list."""


def pages(root: Path) -> Iterator[tuple[str, str]]:
    """All lists."""
    yield "diagnostics/index.md", _diagnostics(root / DIAGNOSTICS)
    for folder, (title, about) in FOLDERS.items():
        yield f"{folder}/index.md", _titles(root / "docs" / folder, title, about)


def _diagnostics(folder: Path) -> str:
    lines = ["# Diagnostics", "", "Everything that mrdsl says about a spec; `mrdsl explain CODE` prints the same.", ""]
    lines += ["| code | meaning |", "|---|---|"]
    for path in sorted(folder.glob("*.md")):
        meaning = path.read_text(encoding="utf-8").split("\n\n")[1].replace("\n", " ").replace("|", "\\|")
        lines.append(f"| [{path.stem}]({path.name}) | {meaning} |")
    return "\n".join([*lines, ""])


def _titles(folder: Path, head: str, about: str) -> str:
    """A list of links to the pages of a folder, by their titles."""
    lines = [f"# {head}", "", about, ""]
    for path in sorted(folder.glob("*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        lines.append(f"- [{title}]({path.name})")
    return "\n".join([*lines, ""])
