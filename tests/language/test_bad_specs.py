"""Wrong specs and the whole text of what is said about them.

``NAME.mrspec`` in ``bad/`` stands beside ``NAME.txt``; a first line ``# options: -D x=1`` stands for the command line.
After a deliberate change, ``python -m tests.language.test_bad_specs`` writes the texts anew; read the difference before
keeping it.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from mrdsl.core.diagnostics import has_errors
from mrdsl.language.loading import load_file
from mrdsl.reporting.diagnostics import as_text

FOLDER = Path(__file__).parent / "bad"
SPECS = sorted(FOLDER.glob("*.mrspec"))


def verdict_word(path: Path) -> str:
    """What the checker says, with file names relative to the folder."""
    words = shlex.split(first_line(path).removeprefix("# options:"))
    defines = dict(word.split("=", 1) for word in words if word != "-D")
    before = Path.cwd()
    os.chdir(FOLDER)
    try:
        loaded = load_file(path.name, defines)
        assert loaded.diagnostics
        assert loaded.spec is None or not has_errors(d for d in loaded.diagnostics if not d.impossible)
        return as_text(loaded.diagnostics, loaded.texts)
    finally:
        os.chdir(before)


def first_line(path: Path) -> str:
    line = path.read_bytes()[:200].split(b"\n")[0].decode("utf-8", "replace")
    return line if line.startswith("# options:") else ""


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_what_is_said(path: Path) -> None:
    expected = path.with_suffix(".txt").read_text(encoding="utf-8")
    assert verdict_word(path) == expected
    assert "_NEWLINE" not in expected
    assert "RBRACE" not in expected


def test_there_are_enough() -> None:
    assert len(SPECS) >= 60


if __name__ == "__main__":
    for spec in SPECS:
        spec.with_suffix(".txt").write_text(verdict_word(spec), encoding="utf-8")
