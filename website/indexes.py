"""Lists of pages that the repository keeps as folders: every diagnostic, every decision, every family."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

DIAGNOSTICS = "grammar/diagnostics"


def pages(root: Path) -> Iterator[tuple[str, str]]:
    """The three lists."""
    yield "diagnostics/index.md", _diagnostics(root / DIAGNOSTICS)
    yield "decisions/index.md", _decisions(root / "docs" / "decisions")
    yield "families/index.md", _families(root / "docs" / "families")


def _diagnostics(folder: Path) -> str:
    lines = ["# Diagnostics", "", "Everything that mrdsl says about a spec; `mrdsl explain CODE` prints the same.", ""]
    lines += ["| code | meaning |", "|---|---|"]
    for path in sorted(folder.glob("*.md")):
        meaning = path.read_text(encoding="utf-8").split("\n\n")[1].replace("\n", " ").replace("|", "\\|")
        lines.append(f"| [{path.stem}]({path.name}) | {meaning} |")
    return "\n".join([*lines, ""])


def _decisions(folder: Path) -> str:
    lines = ["# Decisions", "", "Why things are as they are.", ""]
    for path in sorted(folder.glob("[0-9]*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        lines.append(f"- [{title}]({path.name})")
    return "\n".join([*lines, ""])


def _families(folder: Path) -> str:
    lines = ["# Families", "", "What a spec can ask for: the word after `problem`.", ""]
    for path in sorted(folder.glob("*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        lines.append(f"- [{title}]({path.name})")
    return "\n".join([*lines, ""])
