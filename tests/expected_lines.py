"""Wrong specs that name their own diagnostics: lines ``#! place severity[code] message`` at their end."""

from __future__ import annotations

from pathlib import Path

from mrdsl.core.diagnostics import Diagnostic
from mrdsl.language.loading import load_file


def told(diagnostic: Diagnostic, spec: Path) -> str:
    """A diagnostic as such a line says it; every one has a place and a hint."""
    span = diagnostic.span
    assert span is not None, diagnostic
    assert diagnostic.hint, diagnostic
    place = f"{span.line}:{span.column}"
    if Path(span.file).name != spec.name:
        place = f"{Path(span.file).name}:{place}"
    return f"{place} {diagnostic.severity}[{diagnostic.code}] {diagnostic.message}"


def check_told(spec: Path) -> None:
    """Asserts that exactly the named diagnostics are told."""
    lines = spec.read_text(encoding="utf-8").splitlines()
    expected = [line.removeprefix("#! ") for line in lines if line.startswith("#! ")]
    assert sorted(told(d, spec) for d in load_file(spec).diagnostics) == sorted(expected)
    assert expected
