"""Plug-ins for tests: the templates in `extensions/` under names of the tests' choice."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

TEMPLATES = Path(__file__).resolve().parents[2] / "extensions"
NAMES = {
    "family": "streams",
    "formulation": "own-capacity",
    "pipeline": "by-work",
    "policy": "patient",
    "solver": "my-milp",
}


def kit(kind: str, name: str) -> Mapping[str, str]:
    """The files of the template of a kind, its plug-in and its module renamed."""
    words = {NAMES[kind].replace("-", "_"): name.replace("-", "_"), NAMES[kind]: name}

    def renamed(text: str) -> str:
        return re.sub(r"(?<![\w-])(?:" + "|".join(words) + r")(?!\w)", lambda match: words[match[0]], text)

    files = (path for path in (TEMPLATES / kind).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {
        renamed(path.relative_to(TEMPLATES / kind).as_posix()): renamed(path.read_text(encoding="utf-8"))
        for path in files
    }


def write(files: Mapping[str, str], folder: Path) -> None:
    """Write files into a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
