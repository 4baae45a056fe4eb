"""Every mistake of a deadline spec: its place, its code, its words. The expected lines end each spec as comments."""

from __future__ import annotations

from pathlib import Path

import pytest

from mrdsl.diagnostics import Diagnostic
from mrdsl.language.loading import load_file

FOLDER = Path(__file__).parent / "bad"
SPECS = sorted(FOLDER.glob("*.mrspec"))


def told(diagnostic: Diagnostic, spec: Path) -> str:
    span = diagnostic.span
    assert span is not None, diagnostic
    assert diagnostic.hint, diagnostic
    place = f"{span.line}:{span.column}"
    if Path(span.file).name != spec.name:
        place = f"{Path(span.file).name}:{place}"
    return f"{place} {diagnostic.severity}[{diagnostic.code}] {diagnostic.message}"


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_all_of_it_is_told_at_its_place(spec: Path) -> None:
    lines = spec.read_text(encoding="utf-8").splitlines()
    expected = [line.removeprefix("#! ") for line in lines if line.startswith("#! ")]
    assert sorted(told(d, spec) for d in load_file(spec).diagnostics) == sorted(expected)
    assert expected
