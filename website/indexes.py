"""Lists of pages that the repository keeps as folders: every diagnostic, every decision, every family."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

DIAGNOSTICS = "grammar/diagnostics"


def pages(root: Path) -> Iterator[tuple[str, str]]:
    """The three lists."""
    yield "diagnostics/index.md", _diagnostics(root / DIAGNOSTICS)
    why = _titles(root / "docs" / "decisions", "Decisions", "Why things are as they are.", "[0-9]*.md")
    yield "decisions/index.md", why
    asked = _titles(root / "docs" / "families", "Families", "What a spec can ask for: the word after `problem`.")
    yield "families/index.md", asked


def _diagnostics(folder: Path) -> str:
    lines = ["# Diagnostics", "", "Everything that mrdsl says about a spec; `mrdsl explain CODE` prints the same.", ""]
    lines += ["| code | meaning |", "|---|---|"]
    for path in sorted(folder.glob("*.md")):
        meaning = path.read_text(encoding="utf-8").split("\n\n")[1].replace("\n", " ").replace("|", "\\|")
        lines.append(f"| [{path.stem}]({path.name}) | {meaning} |")
    return "\n".join([*lines, ""])


def _titles(folder: Path, head: str, about: str, pattern: str = "*.md") -> str:
    """A list of links to the pages of a folder, by their titles."""
    lines = [f"# {head}", "", about, ""]
    for path in sorted(folder.glob(pattern)):
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        lines.append(f"- [{title}]({path.name})")
    return "\n".join([*lines, ""])
