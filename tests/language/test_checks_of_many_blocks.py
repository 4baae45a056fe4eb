"""Checks that look at the arrays of many written blocks report what they report of each block."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mrdsl.core.resources import resource
from mrdsl.language.loading import load_text
from mrdsl.spec import columns

MODELS = sorted(resource("models").glob("*/*.mrspec"))
_BLOCK = re.compile(r"^(\w+) (\w+) \{.*?^\}$", re.MULTILINE | re.DOTALL)


def _repeated(found: re.Match[str]) -> str:
    """Return a named block five times, with other whole numbers."""
    head, body = f"{found[1]} {found[2]}", found[0][len(found[1]) + len(found[2]) + 1 :]
    more = (re.sub(r"(?<== )\d+\b", lambda number, i=i: str(int(number[0]) + i % 3), body) for i in range(4))  # type: ignore[misc]
    return "\n".join(f"{head}{i}{one}" for i, one in enumerate((body, *more)))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_arrays_and_single_blocks_agree(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = path.read_text(encoding="utf-8")
    for spec in (text, _BLOCK.sub(_repeated, text)):
        found = []
        for many in (2, 10**9):
            monkeypatch.setattr(columns, "MANY", many)
            found.append(load_text(spec, folder=path.parent))
        assert found[0].diagnostics == found[1].diagnostics
        assert found[0].spec == found[1].spec
